"""What the guide's page says of a ranking, and what its figures draw."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from ensedu import plot
from ensedu.book.experiments.contest import advice
from ensedu.book.figures import choosing, comparison
from ensedu.contest.statistics import Pooled
from ensedu.plot.style import LOOKS, PAGE, rendering
from ensedu.uncertainty import Interval
from tests.plot.looks import LIGHT, drawn, texts

MINUS = "\N{MINUS SIGN}"


def standing(contestant, beside_first=None, **options):
    """A contestant that is better by 1.25 units, 0.0317 nats, over 17 sources."""
    own = Pooled(
        interval=Interval(-1.25, -2.0, -0.004, 17, 0.01),
        prediction=(-4.0, 2.0),
        unscaled=Interval(-0.0317, -0.05, -0.01, 17, 0.01),
        sources={},
        tasks=(),
        adjusted=0.03,
        word="better",
    )
    given = {
        "contestant": contestant, "price": advice.Price(4, 1.3, 22.0), "word": "better",
        "difference": own, "beside_first": beside_first, "stopped": False, "images": None,
    }  # fmt: skip
    return advice.Standing(**given | options)


def told(*standings, score="nll", passed=(), **answers):
    """Return what is said of the recommended one."""
    whole = {key: values[0] for key, values in advice.ANSWERS.items()} | answers
    found = advice.Advice(answers=whole, score=score, passed=passed, standings=standings)
    entry = choosing.recommended(found)
    return entry.label, entry.method, " ".join(words for words, _ in entry.because)


def listed(**answers):
    """Return the candidates by their labels."""
    return {row.label: row for row in choosing.ranked(advice.advise(**answers)).rows}


def test_the_recommended_one_has_its_reason():
    assert told(standing("deep_ensemble")) == (
        "Deep ensemble",
        "deep_ensemble",
        "[Nothing else] fits your answers.",
    )


@pytest.mark.parametrize(
    "answers",
    [
        {}, {"trained": "yes"}, {"inputs": "images", "memory": "four"}, {"outside": "yes"},
        {"passes": "many", "memory": "twenty", "time": "one"}, {"target": "class"},
    ],
)  # fmt: skip
def test_all_candidates_are_listed_and_those_ruled_out_say_why(answers):
    found = advice.advise(**answers)
    rows = choosing.ranked(found).rows
    fit = [choosing.reading.label(one.contestant) for one in found.standings]
    assert len(rows) == len(advice.CANDIDATES)
    assert sorted(row.label.lower() for row in rows if row.state != "out") == sorted(
        label.lower() for label in fit
    )
    (first,) = (row for row in rows if row.state == "recommended")
    assert first.label.lower() == fit[0].lower()
    means = [row.score.mean for row in rows]
    assert means == sorted(means, reverse=found.score == "auroc")


def test_without_a_measurement_the_list_stays_and_says_so():
    for answers in ({}, {"outside": "yes", "target": "class", "trained": "yes"}):
        rows, others = listed(**answers, inputs="large"), listed(**answers)
        assert list(rows) == list(others)
        for label, row in rows.items():
            assert (row.said, row.state, row.over) == ("not measured", "unknown", [])
            assert row.score == others[label].score and row.own == others[label].own


def test_reasons_are_those_of_the_answers():
    rows = listed(time="one")
    assert rows["SWAG"].said == "needs 32 passes" and rows["SWAG"].over == [2, 0]
    assert rows["Mean-field BNN"].over == [2, 0, 1]
    assert rows["Linear model"].said == "worse" and rows["Linear model"].over == []
    assert listed(passes="four")["Deep ensemble"].said == "4.0 × parameters"
    assert listed(inputs="images")["Linear model"].said == "tables only"
    assert listed(trained="yes")["SWAG"].said == "trains anew"


def test_each_answer_but_the_first_changes_the_list():
    for key, (_, *others) in advice.ANSWERS.items():
        for other in others:
            assert listed(**{key: other}) != listed(), (key, other)


def test_a_row_has_the_contests_difference_and_the_own_kinds():
    for score, outside in (("nll", "no"), ("auroc", "yes")):
        row = listed(outside=outside)["BatchEnsemble"]
        whole = choosing.reading.compared(score)["batch_ensemble"].interval
        own = choosing.reading.compared(score, kind="numbers")["batch_ensemble"].interval
        assert (row.score.mean, row.score.interval) == (whole.mean, (whole.low, whole.high))
        assert row.own == (own.low, own.high) and row.method == "batch_ensemble"
    assert listed()["BatchEnsemble"].costs == ("1.3 ×", "2.0 ×", "4")


@pytest.mark.parametrize(
    ("passed", "others", "words"),
    [
        ((), [standing("rank1", "unclear")], "the cheaper one stays."),
        (("single_scaled", "swag"), [standing("swag", "worse")], "It is [better] than SWAG, and"),
        (
            (), [standing("swag", "better", stopped=True)],
            "SWAG is better over all sources. But on classes alone its interval is [all on",
        ),
    ],
)  # fmt: skip
def test_why_it_is_the_first(passed, others, words):
    found = told(standing("deep_ensemble"), *others, passed=passed, target="class")
    assert words in found[2]


def test_an_auroc_has_no_units_and_is_said_to_describe():
    _, _, words = told(standing("deep_ensemble"), score="auroc", trained="yes")
    assert "not corrected for the many comparisons" in words and "SWAG is fitted" in words
    assert choosing.MEASURES["auroc"].unit == ""


def test_small_images_have_the_difference_of_their_task():
    image = standing("swag", images=Interval(0.0124, -0.01, 0.03, 3, 0.4))
    _, _, words = told(image, inputs="images")
    assert f"With [LeNet-5 on MNIST-5000] alone: +0.012 ({MINUS}0.010 to +0.030) " in words


def test_published_numbers_are_those_of_their_page():
    for name, nll in choosing.CIFAR.items():
        assert comparison.cifar()[name]["NLL"] == nll
    _, _, words = told(inputs="large")
    assert re.findall(r"0\.\d+", words) == ["0.875", "0.690", "0.690", "0.666"]


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_drawn(look):
    before = {"single": (0.83, 15.0), "swag": (0.85, 16.5), "deep_ensemble": (0.8, 14.0)}
    after = {name: (0.9, width + 5) for name, (_, width) in before.items()}
    with rendering(look):
        conformal = choosing.draw_conformal(before, after, "MPa")
        ends = choosing.draw_ends([0.0, 0.5], np.array([0.9, 0.65]), np.linspace(0.98, 0.8, 5))
        relatives = choosing.draw_relatives(4, "narrow")
    widths = conformal.axes[1]
    ends_of = [line.get_xdata() for line in widths.lines if len(line.get_xdata()) == 2]
    assert [list(x) for x in ends_of[:3]] == [[15.0, 20.0], [16.5, 21.5], [14.0, 19.0]]
    assert [t.get_text() for t in conformal.axes[0].get_yticklabels()] == [
        "one network",
        "SWAG",
        "deep ensemble",
    ]
    for axes in conformal.axes[:2]:
        colors = [t.get_color() for t in axes.get_yticklabels()]
        assert colors[2:] in ([], [plot.PALETTE["deep_ensemble"]])
        assert all(float(tick).is_integer() for tick in axes.get_xticks())
    named = [len(axes.get_yticklabels()) for axes in conformal.axes[:2]]
    assert named[0] == 3
    assert list(ends.axes[0].lines[0].get_ydata()) == [90, 65]
    (axes,) = relatives.axes
    tops = [text.get_text().split() for text in axes.texts]
    assert tops[-2:] == [["one", "network"], ["deep", "ensemble"]]
    assert [t.get_text() for axes in ends.axes for t in axes.texts] == ["promised: 90%"] * 2
    named = [text.get_text() for axes in conformal.axes for text in axes.texts]
    assert named == ["promised: 90%", "one network"]
    at_90 = [conformal.axes[0].lines[-1], *(axes.lines[-1] for axes in ends.axes)]
    assert {line.get_ls() for line in at_90} == {":"}
    assert axes.get_xlim() == pytest.approx((0.3, 150))
    assert plot.PALETTE["deep_ensemble"] in [line.get_color() for line in axes.lines]


@pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])
@pytest.mark.parametrize("network", choosing.NETWORKS)
@pytest.mark.parametrize("members", [2, 4, 8])
def test_words_of_relatives_are_whole_and_struck_by_nothing(look, network, members):
    figure = drawn(lambda: choosing.draw_relatives(members, network), look)
    (axes,) = figure.axes
    boxes = {" ".join(t.get_text().split()): t.get_window_extent() for t in texts(figure)}
    for words in ("one network", "deep ensemble"):
        assert figure.bbox.x0 <= boxes[words].x0 and boxes[words].x1 <= figure.bbox.x1
    assert not boxes["one network"].overlaps(boxes["deep ensemble"])
    for text in axes.texts:
        if "million" in text.get_text():
            own = text.get_window_extent()
            assert own.x1 <= figure.bbox.x1
            assert text.get_bbox_patch().get_facecolor() == to_rgba(PAGE)
            hollow = [line for line in axes.lines if line.get_markerfacecolor() == PAGE]
            places = [axes.transData.transform(line.get_xydata()[0]) for line in hollow]
            assert not any(own.expanded(1.02, 1.02).contains(*place) for place in places)

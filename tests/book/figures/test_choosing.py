"""What the guide's page says of a ranking, and what its figures draw."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from ensedu import plot
from ensedu.book.experiments.contest import advice
from ensedu.book.figures import choosing, comparison
from ensedu.contest.statistics import Pooled, TaskDifference
from ensedu.plot.style import LOOKS, rendering
from ensedu.uncertainty import Interval
from tests.plot.looks import readable

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


def test_the_recommended_one_costs_what_its_row_says():
    for answers in ({}, {"outside": "yes", "memory": "four", "passes": "four"}):
        found = choosing.ranked(advice.advise(**answers))
        assert found.rows[0].state == "recommended"
        assert tuple(found.first.costs) == tuple(found.rows[0].costs)
    assert found.first.costs == ("4.0 ×", "1.4 ×", "4")
    assert found.first.unit == choosing.UNIT
    assert choosing.ranked(advice.advise(inputs="large")).first.costs == ()


def test_the_card_is_as_high_for_all_answers_to_the_open_questions():
    """A desk has room for 75 letters a line: what decides takes two lines."""
    open_ones = [one for one in choosing.QUESTIONS if not one.more]
    for values in itertools.product(*(one.options for one in open_ones)):
        given = dict(zip((one.key for one in open_ones), values, strict=True))
        ((words, _),) = choosing.ranked(advice.advise(**given)).first.because
        assert 80 < len(words.replace("[", "").replace("]", "")) < 145


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
    means = [
        choosing.reading.compared(found.score)[one.contestant].interval.mean
        for one in found.standings
    ]
    assert len(rows) == len(advice.CANDIDATES)
    fit = [row for row in rows if row.state != "out"]
    assert {row.score.mean for row in fit} == set(means)
    assert [row.state for row in fit] == ["recommended", *["fits"] * (len(fit) - 1)]
    out = rows[len(fit) :]
    assert {row.state for row in out} <= {"out"}
    # Each kind of thing is said once; those of which it is said have the best mean first.
    for part in (fit[1:], out):
        groups = [(said, [*rows]) for said, rows in itertools.groupby(part, lambda row: row.said)]
        assert len(groups) == len({said for said, _ in groups})
        for _, rows in groups:
            means = [row.score.mean for row in rows]
            assert means == sorted(means, reverse=found.score == "auroc")


def test_without_a_measurement_the_list_stays_and_says_so():
    for answers in ({}, {"outside": "yes", "target": "class", "trained": "yes"}):
        rows, others = listed(**answers, inputs="large"), listed(**answers)
        assert set(rows) == set(others)
        means = [row.score.mean for row in rows.values()]
        assert means == sorted(means, reverse="outside" in answers)
        for label, row in rows.items():
            assert (row.said, row.state, row.over) == (choosing.UNMEASURED, "unknown", [])
            assert row.score == others[label].score and row.own == others[label].own


def test_reasons_are_those_of_the_answers():
    rows = listed(time="one")
    assert rows["SWAG"].said == "too many passes" and rows["SWAG"].over == [2, 0]
    assert rows["Mean-field BNN"].over == [2, 0, 1]
    assert rows["Linear model"].said == "worse than the recommended one"
    assert rows["Linear model"].over == []
    assert listed(passes="four")["Deep ensemble"].said == "too many parameters"
    assert listed(passes="many", memory="twenty", time="one")["IVON"].said == "too long to train"
    assert listed(inputs="images")["Linear model"].said == "tables only"
    assert listed(trained="yes")["SWAG"].said == "trained anew"


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
            "SWAG is better over all sources, but on classes alone its interval is [all on",
        ),
    ],
)  # fmt: skip
def test_why_it_is_the_first(passed, others, words):
    found = told(standing("deep_ensemble"), *others, passed=passed, target="class")
    assert words in found[2]


def test_an_auroc_has_no_units_and_is_said_to_describe():
    _, _, words = told(standing("deep_ensemble"), score="auroc", trained="yes")
    assert "SWAG is fitted" in words
    assert choosing.MEASURES["auroc"].unit == ""
    assert any("those of an AUROC are not" in note for note, _ in choosing.NOTES)


def test_who_has_one_variance_for_all_rows_guesses():
    tables = [task for task in choosing.reading.task_scores("auroc") if not task.classes]
    for name in ("boosting", "linear"):
        assert all((task.values[name] == 0.5).all() for task in tables)
    assert len(tables) == 9


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
    assert [t.get_text() for axes in ends.axes for t in axes.texts] == ["promised: 90%"] * 2
    named = [text.get_text() for axes in conformal.axes for text in axes.texts]
    assert named == ["promised: 90%", "one network"]
    at_90 = [conformal.axes[0].lines[-1], *(axes.lines[-1] for axes in ends.axes)]
    assert {line.get_ls() for line in at_90} == {":"}


def difference(low, high, scaled=None):
    mean = (low + high) / 2
    return TaskDifference(
        task="a", source="a", interval=Interval(mean, low, high, 5, 0.1),
        scaled=mean if scaled is None else scaled, error=1.0, counted=mean,
    )  # fmt: skip


DIFFERENCES = {
    "wages": {"swag": difference(-0.5, 0.5), "deep_ensemble": difference(-2.0, -1.0)},
    "cells": {"swag": difference(0.1, 0.3, 7.0), "deep_ensemble": difference(-2.0, 0.0)},
}


def averages():
    """The deep ensemble is better, and SWAG is worse on average, which is unclear."""
    better = standing("deep_ensemble").difference
    return {
        "deep_ensemble": better,
        "swag": replace(better, interval=Interval(0.5, -0.5, 1.5, 17, 0.4), word="unclear"),
    }


@pytest.mark.parametrize("look", LOOKS)
def test_a_cell_is_striped_where_its_interval_includes_0(look):
    with rendering(look):
        figure = choosing.draw_sources(DIFFERENCES, averages())
        limits = [mesh.get_clim() for mesh in figure.axes[0].collections[::2]]
    assert len(figure.axes) == 1 + look.narrow
    assert [text.get_text() for text in figure.texts].count("lower NLL") == len(figure.axes)
    names = [text.get_text() for axes in figure.axes for text in axes.get_xticklabels()]
    assert names == ["Deep ensemble", "SWAG"]  # the best average first
    assert figure.axes[0].get_xticklabels()[0].get_color() == plot.PALETTE["deep_ensemble"]
    cells, stripes, last, striped = zip(*(axes.collections for axes in figure.axes), strict=True)
    assert np.hstack([one.get_array() for one in cells]).tolist() == [[-1.5, 0.0], [-1.0, 7.0]]
    assert np.hstack([one.get_array() for one in last]).tolist() == [[-1.25, 0.5]]
    assert limits == [(-2.0, 2.0)] * 2 and all(one.get_hatch() for one in stripes)
    for axes in figure.axes:
        assert [t.get_text() for t in axes.get_yticklabels()] == ["wages", "cells", "all, averaged"]

    def corners(parts):
        """Lower corners in the columns of all panels."""
        return [
            [x + panel, y]
            for panel, part in enumerate(parts)
            for x, y in (path.get_extents().p0.tolist() for path in part.get_paths())
        ]

    assert sorted(corners(stripes)) == [[0, 1], [1, 0]]
    assert corners(striped) == [[1, 2.5]]


def test_the_cells_of_all_data_sets_are_readable():
    names = "telephone customers", "MNIST-5000, LeNet-5", "wages"
    found = {name: DIFFERENCES["wages"] for name in names}
    readable(lambda: choosing.draw_sources(found, averages()))


def test_what_is_said_below_figures():
    assert choosing.say_sources(DIFFERENCES) == (
        "Of 4 differences from one network with a temperature, 2 are clear."
    )
    after = {"single": (0.9, 20.0), "swag": (0.9, 19.0), "deep_ensemble": (0.9, 21.0)}
    assert choosing.say_conformal(after).endswith(" for each, SWAG has the narrowest intervals.")
    said = choosing.say_ends(np.array([0.9, 0.654]), np.linspace(0.98, 0.8, 5))
    assert "65% of the rows" in said and "80% of the strongest" in said


def test_the_guide_asks_this_rule():
    found = choosing.guided(advice.advise, name="fig-a", caption="A.")
    asked = {"outside": "yes", "memory": "four", "passes": "four"}
    assert found.ranking(**asked) == choosing.ranked(advice.advise(**asked))
    assert [one.key for one in found.questions if not one.more] == list(asked)
    assert (found.name, found.caption) == ("fig-a", "A.") and found.costs == choosing.COSTS

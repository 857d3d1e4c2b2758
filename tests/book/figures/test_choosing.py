"""What the guide's page says of a ranking, and what its figures draw."""

import re
from pathlib import Path

import numpy as np
import pytest

from ensedu import plot
from ensedu.book.experiments.contest import advice
from ensedu.book.figures import choosing
from ensedu.contest.statistics import Pooled
from ensedu.plot.style import LOOKS, rendering
from ensedu.uncertainty import Interval

ROOT = Path(__file__).parents[3]
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
    """Return the sentences of a ranking."""
    whole = {key: values[0] for key, values in advice.ANSWERS.items()} | answers
    found = advice.Advice(answers=whole, score=score, passed=passed, standings=standings)
    return [
        (entry.label, entry.method, " ".join(words for words, _ in entry.because))
        for entry in choosing.entries(found)
    ]


def test_the_recommended_one_has_its_evidence_its_reason_and_its_price():
    alone = told(standing("deep_ensemble"))
    assert alone == [
        (
            "Deep ensemble",
            "deep_ensemble",
            "[Nothing else] fits your answers. "
            f"Beside one network: better, NLL {MINUS}1.25 units ({MINUS}2.00 to 0.00), "
            f"{MINUS}0.032 nats, [over 17 sources]. "
            "It [costs] 22 × the parameters, 1.3 × the training, 4 passes.",
        )
    ]


def test_others_stand_beside_the_recommended_one_and_beside_one_network():
    cheap = advice.Price(0, 0.014, 1.0)
    (first, *_), (label, method, words) = told(
        standing("single_scaled"), standing("boosting", "worse", word="unclear", price=cheap)
    )
    assert first == "One network, with a temperature"
    assert (label, method) == ("Gradient boosting", None)
    assert words == (
        "Beside one network with a temperature: worse. Beside one network: unclear, "
        f"NLL {MINUS}1.25 units ({MINUS}2.00 to 0.00), {MINUS}0.032 nats, [over 17 sources]. "
        "[Costs] 1.0 × the parameters, 0.01 × the training, no network's pass."
    )


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
    assert words in found[0][2]
    assert ("But on classes alone" in found[1][2]) == others[0].stopped


def test_an_auroc_has_no_units_and_is_said_to_describe():
    ((_, _, words),) = told(standing("deep_ensemble"), score="auroc", trained="yes")
    assert f"higher, AUROC {MINUS}1.250 ({MINUS}2.000 to {MINUS}0.004), [over 17" in words
    assert "not corrected for the many comparisons" in words and "SWAG is fitted" in words
    assert "units" not in words and "nats" not in words


def test_small_images_have_the_difference_of_their_task():
    image = standing("swag", images=Interval(0.0124, -0.01, 0.03, 3, 0.4))
    ((_, _, words),) = told(image, inputs="images")
    assert f"With [LeNet-5 on MNIST-5000] alone: +0.012 ({MINUS}0.010 to +0.030) " in words


def test_published_numbers_are_those_of_their_page():
    page = (ROOT / "book/counting/comparison.ipynb").read_text()
    for name, nll in choosing.CIFAR.items():
        (line,) = re.findall(rf"^ *\"{name};.*", page, flags=re.MULTILINE)
        assert float(line.split(";")[4]) == nll
    ((_, _, words),) = told(inputs="large")
    assert re.findall(r"0\.\d+", words) == ["0.875", "0.690", "0.690", "0.666"]


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_drawn(look):
    before = {"single": (0.83, 15.0), "swag": (0.85, 16.5), "deep_ensemble": (0.8, 14.0)}
    after = {name: (0.9, width + 5) for name, (_, width) in before.items()}
    kept = {"one": (0.5, 2.0), "far": (1.0, 3e6)}
    with rendering(look):
        conformal = choosing.draw_conformal(before, after, "MPa")
        ends = choosing.draw_ends([0.0, 0.5], np.array([0.9, 0.65]), np.linspace(0.98, 0.8, 5))
        relatives = choosing.draw_relatives(kept, 4, 0.3)
    widths = conformal.axes[1]
    ends_of = [line.get_xdata() for line in widths.lines if len(line.get_xdata()) == 2]
    assert [list(x) for x in ends_of[:3]] == [[15.0, 20.0], [16.5, 21.5], [14.0, 19.0]]
    assert [t.get_text() for t in conformal.axes[0].get_yticklabels()] == [
        "one network",
        "SWAG",
        "deep ensemble",
    ]
    assert list(ends.axes[0].lines[0].get_ydata()) == [90, 65]
    (axes,) = relatives.axes
    assert "3.0 million →" in [text.get_text() for text in axes.texts]
    assert axes.get_xlim() == pytest.approx((0.3, 150))
    assert plot.PALETTE["deep_ensemble"] in [line.get_color() for line in axes.lines]

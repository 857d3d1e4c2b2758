"""What *Training a BatchEnsemble* draws is what it is given, and each sentence says one thing."""

import pytest
from matplotlib.text import Annotation

from ensedu.book.figures.training_batch_ensemble import Alike, Diversity, Trained
from tests.plot.looks import LIGHT, drawn

ALIKE = Alike(
    {
        "digits": {"N(1, 0.1²)": 0.05, "random signs": 0.56, "deep ensemble": 0.6},
        "MNIST-5000": {"random signs": 0.3, "deep ensemble": 0.2},
    }
)
DIVERSITY = Diversity(
    {
        "N(1, 0.1²)": [Trained(0.002, 0.121)],
        "N(1, 0.5²)": [Trained(0.011, 0.097), Trained(0.032, 0.144)],
        "random signs": [Trained(0.029, 0.074), Trained(0.084, 0.133)],
        "deep ensemble": [Trained(0.033, 0.079), Trained(0.032, 0.111)],
    },
    0.118,
)


@pytest.mark.parametrize("images", ALIKE.choices["images"])
def test_ratios_are_bars_in_rows_that_stay(images):
    (axes,) = drawn(lambda: ALIKE.draw(images), LIGHT[0]).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [*ALIKE.ratios["digits"]]
    bars = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_lw() == 3]
    assert [(names[bar.get_ydata()[0]], bar.get_xdata()[1]) for bar in bars] == [
        *ALIKE.ratios[images].items()
    ]
    assert axes.get_xlim() == (0, 1)
    words = {text.get_text() for text in axes.texts}
    assert ("not run" in words) == (images == "MNIST-5000")


def test_alike_says_what_signs_and_a_deep_ensemble_reach():
    assert ALIKE.say("digits") == (
        "On digits, members from random signs reach 0.56 of independent errors' disagreement, a "
        "deep ensemble 0.60."
    )


def test_an_arrow_leads_from_the_average_to_the_mixture():
    (axes,) = drawn(DIVERSITY.draw, LIGHT[0]).axes
    single, *dots = axes.lines
    assert set(single.get_ydata()) == {0.118}
    first = {name: ends[0] for name, ends in DIVERSITY.ends.items()}
    assert [tuple(dot.get_xydata()[0]) for dot in dots] == [
        (100 * one.disagreement, one.nll) for one in first.values()
    ]
    arrows = [a for a in axes.texts if isinstance(a, Annotation) and a.arrow_patch is not None]
    assert [(arrow.xyann, arrow.xy) for arrow in arrows] == [
        tuple((100 * end.disagreement, end.nll) for end in ends)
        for ends in DIVERSITY.ends.values()
        if len(ends) > 1
    ]
    assert {*DIVERSITY.ends, "one network"} <= {text.get_text() for text in axes.texts}
    assert DIVERSITY.say() == (
        "From random signs, on its own loss: disagreement 8.4% instead of 2.9%, and a higher NLL."
    )

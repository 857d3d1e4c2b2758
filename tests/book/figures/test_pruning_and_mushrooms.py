"""What *Pruning and mushrooms* draws is what it is given, and each sentence says one thing."""

import numpy as np

from ensedu.book.figures import pruning_and_mushrooms as figures
from ensedu.plot.style import PAGE, Look
from ensedu.uncertainty import paired
from tests.plot.looks import drawn, texts

NAMES = ("one network", "N(0, 0.1²), the whole KL", "scale mixture, a hundredth")
MEANS = np.array([[6.0, 7, 11, 29], [14, 13, 15, 25], [5, 6, 10, 40]])
PUBLISHED = {0: 1.2, 50: 1.3, 98: 1.5}
CUTS = figures.Cuts(
    [0, 50, 90, 98],
    {name: [own, own - 0.5, own + 0.7] for name, own in zip(NAMES, MEANS, strict=True)},
    PUBLISHED,
)


def test_a_curve_of_errors_is_drawn_with_its_range():
    (axes,) = drawn(CUTS.draw, Look()).axes
    *lines, published = axes.lines
    left = [100, 50, 10, 2]
    for line, ranged, (mean, least, most) in zip(
        lines, axes.collections, CUTS.errors.values(), strict=True
    ):
        np.testing.assert_array_equal(line.get_xydata(), np.stack([left, mean], 1))
        ends = np.array(ranged.get_segments())  # (K, 2, 2)
        np.testing.assert_array_equal(ends[..., 1], np.stack([least, most], 1))
    assert published.get_xydata().tolist() == [[100, 1.2], [50, 1.3], [2, 1.5]]
    assert {*NAMES, "published"} <= {text.get_text() for text in texts(axes.figure)}


def test_the_flat_curve_is_the_one_that_is_named():
    assert CUTS.say() == (
        "N(0, 0.1²), the whole KL: 14% errors with all weights, 15% with a tenth."
    )


SEEDS = {
    "greedy": [2000.0, 2400.0, 2700.0], "5% random": [2500.0, 2900.0, 3300.0],
    "deep ensemble": [2100.0, 2200.0, 2600.0], "BNN": [2000.0, 2100.0, 2400.0],
    "BNN, whole KL": [2200.0, 2700.0, 2800.0],
}  # fmt: skip
AGAINST = {
    name: paired(np.subtract(seeds, SEEDS["greedy"])) for name, seeds in [*SEEDS.items()][1:]
}


REGRET = figures.Regret(AGAINST, np.mean(SEEDS["greedy"]))


def test_regret_is_a_row_an_agent_beside_greedy():
    figure = drawn(REGRET.draw, Look())
    (axes,) = figure.axes
    words = {text.get_text() for text in texts(figure)}
    assert {*AGAINST, "+533", "−200", "greedy: 2,367"} <= words
    intervals, means = axes.lines[:-1:2], axes.lines[1::2]
    for line, mean, one in zip(intervals, means, AGAINST.values(), strict=True):
        assert [*line.get_xdata(), *mean.get_xdata()] == [one.low, one.high, one.mean]
    hollow = [mean.get_markerfacecolor() == PAGE for mean in means]
    assert hollow == [one.low <= 0 <= one.high for one in AGAINST.values()]


def test_regret_names_the_least():
    one = AGAINST["BNN"]
    said = REGRET.say()
    low, high = (f"{end:+.0f}".replace("-", "−") for end in (one.low, one.high))
    assert said == (f"Least has the BNN: 200 below greedy, with an interval from {low} to {high}.")

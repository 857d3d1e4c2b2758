"""What *Fully connected layers* draws is what it is given, and it says what it holds."""

import itertools

import numpy as np
import pytest

from ensedu import counting, plot
from ensedu.book.figures.fully_connected import Learned, Network, Signal, Start
from tests.plot.looks import LIGHT, drawn, limits, texts

X = np.linspace(-4.6, 4.6, 31)
POINTS = np.array([[-2.0], [3.0]]), np.array([[0.5], [-0.7]])
START = Start(
    X, POINTS,
    {0: Learned(0 * X, 0.5), 1000: Learned(0 * X + 0.2, 0.4)},
    {0: Learned(X / 5, 1.25), 1000: Learned(np.sin(X), 0.0123)},
    0.02,
)  # fmt: skip
FALLING = [2.0 ** (-k * np.arange(9)) for k in (0, 0.5, 1)]
SIGNAL = Signal({50: FALLING, 200: FALLING[::-1]}, 6)


def curves(figure):
    """Return the heights of the lines of a figure that have as many points as are drawn."""
    return [line.get_ydata() for axes in figure.axes for line in axes.lines]


def holds(found, values):
    """Whether one of the lines has these heights."""
    return any(len(line) == len(values) and np.allclose(line, values) for line in found)


def test_a_network_says_the_count_of_its_parts():
    shown = Network()
    for width, depth in itertools.product(*shown.choices.values()):
        sizes = shown.sizes(width, depth)
        said = shown.say(width, depth)
        assert f" {counting.mlp(sizes).total:,} numbers" in said
        inner = sum(m * n for m, n in itertools.pairwise(sizes[1:-1]))
        assert said.endswith(f" {inner:,} of them as weights between hidden layers.")


@pytest.mark.parametrize("steps", START.choices["steps"])
def test_both_starts_have_a_panel(steps):
    figure = drawn(lambda: START.draw(steps), LIGHT[0])
    for axes, own in zip(figure.axes, (START.equal, START.random), strict=True):
        assert holds([line.get_ydata() for line in axes.lines], own[steps].curve)
    assert "every number starts at 0.02" in {text.get_text() for text in texts(figure)}


def test_starts_say_their_errors_on_axes_that_stay():
    assert START.say(0).startswith("Before the first step.")
    assert START.say(1000) == (
        "After 1,000 steps. Mean squared error at the points: 0.400 from the equal start, 0.012 "
        "from the random one."
    )
    assert limits(drawn(lambda: START.draw(0), LIGHT[0])) == limits(
        drawn(lambda: START.draw(1000), LIGHT[0])
    )


def test_a_signal_has_a_curve_a_kind_of_layer():
    for width in SIGNAL.choices["width"]:
        found = curves(drawn(lambda width=width: SIGNAL.draw(width), LIGHT[0]))
        assert all(holds(found, values) for values in FALLING)
    assert SIGNAL.say(50) == (
        "Of a signal, eight layers with ReLU leave 0.0039, without activation 0.062, with ReLU "
        "from a wider start 1.0."
    )
    assert (
        plot.PALETTE["single"]
        == drawn(lambda: SIGNAL.draw(50), LIGHT[0]).axes[0].lines[0].get_color()
    )

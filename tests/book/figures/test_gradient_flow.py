"""What *What moves when you train* draws is what it is given, and each sentence says one thing."""

import itertools

import numpy as np
import pytest

from ensedu.book.figures.gradient_flow import Before, First, Row, Units, Wide
from ensedu.book.page.said import too_much
from ensedu.plot.style import LOOKS
from tests.plot.looks import LIGHT, drawn, limits, readable

ANGLES, TARGETS = np.array([-90.0, 30.0]), np.array([0.5, -1.0])
GRID = np.arange(-180.0, 181.0, 30.0)
WAVE = np.sin(np.radians(GRID))
FIRST = First(
    ANGLES, TARGETS, 1, GRID, (0, 4),
    {
        width: [
            (WAVE, TARGETS + 0.3, WAVE, 1 + WAVE / 2),
            (2 * WAVE, TARGETS - 0.1, 2 * WAVE + 1 / width, 1 + WAVE / 3),
        ]
        for width in (5, 20)
    },
)  # fmt: skip
SPAN = np.linspace(0, 4, 9)
ROW = Row(SPAN, {w: (np.exp(-SPAN), 2 - np.exp(-SPAN / w)) for w in (1, 3)})
RNG = np.random.default_rng(0)
DRAWN = {width: RNG.standard_normal((300, 13)) * 0.5**0.5 for width in (4, 16)}
BEFORE = Before(DRAWN, GRID, 0.5 * np.cos(np.radians(GRID)) ** 2)
TIMES = np.array([0.0, 0.1, 1.0, 60.0])
REAL = np.outer(1 - np.exp(-TIMES), TARGETS)
MOVED = {16: (0.3, 0.94), 64: (0.1, 0.2), 256: (0.03, 0.08)}
WIDE = Wide({h: (TIMES, REAL, REAL + 1 / h) for h in MOVED}, TARGETS, MOVED)
ANGLE = np.linspace(-100, 100, 20) + np.linspace(0, 15, 3)[:, None]
ADDS = np.linspace(-4, 5, 20) * np.array([1.0, 1.2, 1.5])[:, None]
UNITS = Units({16: (ANGLE, ADDS, 0.47), 1024: (ANGLE, ADDS, 0.06)})
EVERY = {"first": FIRST, "row": ROW, "before": BEFORE, "wide": WIDE, "units": UNITS}


@pytest.mark.parametrize("figure", EVERY.values(), ids=EVERY)
def test_axes_stay_whatever_the_slider_says(figure):
    every = [*itertools.product(*figure.choices.values())]
    assert not any(too_much(figure.say(*one)) for one in every)
    readable(lambda: figure.draw(*every[-1]))
    for look in LIGHT:
        first, *others = (limits(drawn(lambda one=one: figure.draw(*one), look)) for one in every)
        assert all(other == first for other in others)


def test_points_pull_and_both_curves_are_drawn():
    outputs, at_data, still, row = FIRST.found[20][1]
    for look in LOOKS:
        left, right = drawn(lambda: FIRST.draw(4, 20), look).axes
        for line, angle, now, goal in zip(left.lines, ANGLES, at_data, TARGETS, strict=False):
            assert line.get_xydata().tolist() == [[angle, now], [angle, goal]]
        np.testing.assert_array_equal(left.lines[2].get_ydata(), outputs)
        np.testing.assert_array_equal(left.lines[3].get_ydata(), still)
        np.testing.assert_array_equal(right.lines[0].get_ydata(), row)
        np.testing.assert_array_equal(right.lines[1].get_ydata(), FIRST.found[20][0][3])
    assert FIRST.say(4, 20) == (
        "At time 4 the network is 0.10 from the data (root mean square), and the dashes up to 0.05 "
        "off."
    )


def test_two_weights_are_drawn_beside_an_exponential():
    for look in LOOKS:
        left, right = drawn(lambda: ROW.draw(3), look).axes
        np.testing.assert_array_equal(left.lines[0].get_ydata(), ROW.found[3][0])
        np.testing.assert_array_equal(left.lines[1].get_ydata(), np.exp(-SPAN))
        np.testing.assert_array_equal(right.lines[0].get_ydata(), ROW.found[3][1])
    assert ROW.say(3) == (
        "From weights of 3, Θ goes from 18 to 20, while the output rises to its target."
    )


def test_random_networks_and_their_covariance_are_drawn():
    for look in LOOKS:
        left, _, right = drawn(lambda: BEFORE.draw(16), look).axes
        for line, own in zip(left.lines, DRAWN[16], strict=False):
            np.testing.assert_array_equal(line.get_ydata(), own)
        products = [np.mean(DRAWN[16][:, 6] * column) for column in DRAWN[16].T]
        np.testing.assert_allclose(right.lines[0].get_ydata(), products, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(right.lines[1].get_ydata(), BEFORE.covariance)
    assert BEFORE.say(16) == "Five random networks of width 16, and the outputs of 300."


def test_outputs_are_drawn_over_time_and_a_start_is_a_dot():
    for look in LOOKS:
        left, right = drawn(lambda: WIDE.draw(64), look).axes
        np.testing.assert_array_equal(left.lines[0].get_ydata(), REAL[1:, 0])
        np.testing.assert_array_equal(left.lines[1].get_ydata(), REAL[1:, 0] + 1 / 64)
        for dots, (width, found) in zip(right.lines, MOVED.items(), strict=False):
            assert dots.get_xydata().tolist() == [[width, value] for value in found]
            assert (dots.get_markerfacecolor() == "none") == (width != 64)
    assert WIDE.say(16) == (
        "Outputs are up to 0.06 off the prediction. From ten starts the kernel moves by 30% to 94%."
    )


def test_units_are_sixteen_and_end_in_the_color_of_what_they_add():
    for look in LOOKS:
        (axes,) = drawn(lambda: UNITS.draw(16), look).axes
        ways = [line for line in axes.lines if len(line.get_xdata()) == 3]
        assert len(ways) == 3 * 16
        np.testing.assert_array_equal(ways[16].get_xydata(), np.stack([ANGLE, ADDS], -1)[:, 0])
    assert UNITS.say(1024) == ("Width 1,024: until time 64 weights move by 0.06, root mean square.")

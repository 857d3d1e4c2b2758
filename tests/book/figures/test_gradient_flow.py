"""What *What moves when you train* draws is what it is given, and each sentence says one thing."""

import numpy as np

from ensedu.book.figures.gradient_flow import First, Units
from tests.plot.looks import LIGHT, drawn

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
ANGLE = np.linspace(-100, 100, 20) + np.linspace(0, 15, 3)[:, None]
ADDS = np.linspace(-4, 5, 20) * np.array([1.0, 1.2, 1.5])[:, None]
UNITS = Units({16: (ANGLE, ADDS), 1024: (ANGLE[:1] + np.zeros((3, 1)), ADDS)})


def test_points_pull_and_both_curves_are_drawn():
    outputs, at_data, still, row = FIRST.found[20][1]
    left, right = drawn(lambda: FIRST.draw(4, 20), LIGHT[0]).axes
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


def test_units_are_sixteen_and_end_in_the_color_of_what_they_add():
    (axes,) = drawn(lambda: UNITS.draw(16), LIGHT[0]).axes
    ways = [line for line in axes.lines if len(line.get_xdata()) == 3]
    assert len(ways) == 3 * 16
    np.testing.assert_array_equal(ways[16].get_xydata(), np.stack([ANGLE, ADDS], -1)[:, 0])
    assert UNITS.say(16) == ("Width 16: until time 64 these units turn by 15° (root mean square).")
    assert " turn by 0° " in UNITS.say(1024)

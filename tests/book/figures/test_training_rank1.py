"""What *Training a rank-1 BNN* draws is what it is given, and each sentence says one thing."""

import numpy as np

from ensedu.book.figures.training_rank1 import Path, Swapped, Trap
from tests.plot.looks import LIGHT, drawn

SWAPPED = Swapped({"as learned": 0.08, "at their means": 0.09, "from the prior": 0.07}, 0.1, 0.12)
TRAP = Trap(
    [1, 3, 40],
    {
        "normal": Path([0.49, 0.3, 0.01], [1.4, 0.2, 0.05]),
        "Cauchy": Path([0.49, 0.48, 0.4], [2, 0.3, 0.04]),
    },
)


def test_what_stands_in_the_place_of_r_and_s_is_a_dot_a_row():
    (axes,) = drawn(SWAPPED.draw, LIGHT[0]).axes
    single, *dots = axes.lines
    assert set(single.get_xdata()) == {0.12}
    assert [dot.get_xydata()[0].tolist() for dot in dots] == [
        [x, y] for y, x in enumerate([*SWAPPED.values.values(), 0.1])
    ]
    low, high = axes.get_xlim()
    assert all(low < dot.get_xdata()[0] < high for dot in dots)
    assert SWAPPED.say() == "r and s as learned: NLL 0.080; from the prior: 0.070."


def test_the_trap_is_two_panels_of_two_paths():
    panels = drawn(TRAP.draw, LIGHT[0]).axes
    for axes, part, times in zip(panels, ("negative", "nll"), (100, 1), strict=True):
        for line, path in zip(axes.lines, TRAP.paths.values(), strict=True):
            wanted = times * np.array(getattr(path, part))
            np.testing.assert_allclose(line.get_ydata(), wanted)
            low, high = axes.get_ylim()
            assert low < wanted.min() <= wanted.max() < high
    assert TRAP.say() == "Means below 0 at the end: normal 1%, Cauchy 40%."

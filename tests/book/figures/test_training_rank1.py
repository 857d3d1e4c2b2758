"""What *Training a rank-1 BNN* draws is what it is given, and each sentence says one thing."""

import numpy as np
import pytest

from ensedu.book.figures.training_rank1 import EPOCHS, STARTS, Cloud, Path, Swapped, Trap
from ensedu.book.page.said import too_much
from ensedu.plot.style import LOOKS
from tests.plot.looks import LIGHT, drawn, readable

RNG = np.random.default_rng(0)
ENTRIES = {
    name: np.stack(
        [RNG.uniform(-1.5, 1.5, (len(EPOCHS), 31)), RNG.uniform(0.02, 0.2, (len(EPOCHS), 31))], 1
    ).tolist()
    for name in STARTS.values()
}
CLOUD = Cloud(ENTRIES)
SWAPPED = Swapped({"as learned": 0.08, "at their means": 0.09, "from the prior": 0.07}, 0.1, 0.12)
TRAP = Trap(
    [1, 3, 40],
    {
        "normal": Path([0.49, 0.3, 0.01], [1.4, 0.2, 0.05]),
        "Cauchy": Path([0.49, 0.48, 0.4], [2, 0.3, 0.04]),
    },
)


@pytest.mark.parametrize("start", STARTS)
def test_the_cloud_is_the_entries_around_the_prior(start):
    readable(lambda: CLOUD.draw(start, 8))
    for look in LOOKS:
        (axes,) = drawn(lambda: CLOUD.draw(start, 8), look).axes
        dots, ring = axes.lines
        wanted = np.array(ENTRIES[STARTS[start]])[EPOCHS.index(8)]
        np.testing.assert_array_equal(dots.get_xydata().T, wanted)
        assert ring.get_xydata().tolist() == [[1, 0.1]]
        for (low, high), values in zip((axes.get_xlim(), axes.get_ylim()), wanted, strict=True):
            assert low < values.min() <= values.max() < high
    assert not too_much(CLOUD.say(start, 8))


def test_the_cloud_says_where_its_middle_is():
    mean, std = np.array([[-1.0, 1, 1, 1], [0.05, 0.06, 0.08, 0.09]])
    own = Cloud({name: [[mean.tolist(), std.tolist()]] for name in STARTS.values()})
    assert own.say("random signs", 0) == (
        "After 0 epochs half of the σ lie above 0.07, and 25% of the means are negative."
    )


def test_what_stands_in_the_place_of_r_and_s_is_a_dot_a_row():
    readable(SWAPPED.draw)
    for look in LOOKS:
        (axes,) = drawn(SWAPPED.draw, look).axes
        single, *dots = axes.lines
        assert set(single.get_xdata()) == {0.12}
        assert [dot.get_xydata()[0].tolist() for dot in dots] == [
            [x, y] for y, x in enumerate([*SWAPPED.values.values(), 0.1])
        ]
        low, high = axes.get_xlim()
        assert all(low < dot.get_xdata()[0] < high for dot in dots)
    assert SWAPPED.say() == "r and s as learned: NLL 0.080; from the prior: 0.070."


def test_the_trap_is_two_panels_of_two_paths():
    readable(TRAP.draw)
    for look in LIGHT:
        panels = drawn(TRAP.draw, look).axes
        for axes, part, times in zip(panels, ("negative", "nll"), (100, 1), strict=True):
            for line, path in zip(axes.lines, TRAP.paths.values(), strict=True):
                wanted = times * np.array(getattr(path, part))
                np.testing.assert_allclose(line.get_ydata(), wanted)
                low, high = axes.get_ylim()
                assert low < wanted.min() <= wanted.max() < high
    assert TRAP.say() == "Means below 0 at the end: normal 1%, Cauchy 40%."
    assert not too_much(TRAP.say())

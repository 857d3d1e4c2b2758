"""What *Width or members* draws is what it is given, and each sentence says one thing."""

import numpy as np

from ensedu import plot
from ensedu.book.figures.width_and_ensemble_size import Carried, Gap, Pull
from tests.plot.looks import LIGHT, drawn

BATCH, DEEP = "batch_ensemble", "deep_ensemble"
WIDTHS = {"digits": (16, 64, 256), "mnist5000": (16, 64, 256), "convolution": (4, 8)}
MEMBERS = (1, 2, 4, 8)


def scores(value):
    """Scores of all ensembles."""
    return {
        (task, method, width): {m: value(task, method, width, m) for m in MEMBERS}
        for task, widths in WIDTHS.items()
        for method in (BATCH, DEEP)
        for width in widths
    }


def nll(task, method, width, m):
    """A BatchEnsemble is best with 2 members in the narrowest layers, with 4 elsewhere."""
    narrow = width == WIDTHS[task][0]
    if method == DEEP:
        return 0.1 + 0.1 / m + 0.1 * narrow
    return 0.1 + 0.03 * abs(np.log2(m) - (1 if narrow else 2)) + 0.1 * narrow


NLL = scores(nll)
CARRIED = Carried(NLL)
TITLES = "member, training, points", "ensemble, NLL"
GAP = Gap(
    {
        m: {
            TITLES[0]: {"width 16": (-m - 1.0, -m, 1.0 - m), "width 256": (-0.5, 0.04, 0.5)},
            TITLES[1]: {"width 16": (0.01, 0.02 * m, 0.04 * m), "width 256": (-0.1, 0.0, 0.1)},
        }
        for m in (2, 8)
    },
    {2: {title: [] for title in TITLES}, 8: {TITLES[0]: ["width 16"], TITLES[1]: []}},
)
PULL = Pull((16, 64), {2: np.array([0.1, 0.06]), 8: np.array([0.27, 0.12])}, 0.4)


def test_a_line_is_a_width_and_its_best_is_marked():
    assert CARRIED.best("convolutions", BATCH) == {4: 2, 8: 4}
    for axes, method in zip(
        drawn(lambda: CARRIED.draw("digits"), LIGHT[0]).axes, (BATCH, DEEP), strict=True
    ):
        lines, marks = axes.lines[::2], axes.lines[1::2]
        thick = [line.get_linewidth() for line in lines]
        assert thick == sorted(set(thick))
        for width, line, mark in zip(WIDTHS["digits"], lines, marks, strict=True):
            own = NLL["digits", method, width]
            np.testing.assert_array_equal(line.get_xydata(), [*own.items()])
            best = min(own, key=own.get)
            np.testing.assert_array_equal(mark.get_xydata(), [(best, own[best])])
            assert line.get_color() == plot.PALETTE[method]
    assert CARRIED.say("digits") == (
        "The narrowest BatchEnsemble has its least NLL with 2 members, the widest with 4."
    )


def test_others_are_dots_beside_the_line_of_their_number():
    lines = drawn(PULL.draw, LIGHT[0]).axes[0].lines
    for (m, own), line, dots in zip(PULL.found.items(), lines[::2], lines[1::2], strict=True):
        np.testing.assert_allclose(line.get_ydata() ** 2, 0.16 * (m - 1) / np.array([16, 64]))
        np.testing.assert_array_equal(dots.get_xydata(), np.stack([[16, 64], own], axis=1))
    assert PULL.say() == (
        "With 8 members the others add 0.27 of a member's own pull in the narrowest layers, 0.12 "
        "in the widest."
    )


def test_what_is_clear_is_full():
    for members, full in ((2, 0), (8, 1)):
        figure = drawn(lambda members=members: GAP.draw(members), LIGHT[0])
        marks = [
            line for axes in figure.axes for line in axes.lines
            if line.get_marker() == plot.MARKERS[BATCH]
        ]  # fmt: skip
        own = plot.PALETTE[BATCH]
        assert sum(line.get_markerfacecolor() == own for line in marks) == full
    assert GAP.say(8) == (
        "At width 16 members are 8.0 points worse on their training images, in the widest layers "
        "0.0."
    )

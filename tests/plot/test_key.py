"""The key shows the looks and the methods as all other figures do."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from ensedu import plot
from ensedu.methods import METHODS
from ensedu.plot import style
from tests.plot.looks import LIGHT, drawn, readable


def test_readable():
    readable(plot.key)


def squares(axes, word):
    return [patch for patch in axes.patches if patch.get_gid() == word]


@pytest.mark.parametrize("look", LIGHT)
def test_four_looks(look):
    (axes,) = drawn(plot.key, look).axes
    own = style.PALETTE["rank1"]
    named = [t for t in axes.texts if t.get_text() in ("shared", "own", "computed", "random")]
    assert len(named) == 4
    for text in named:
        word = text.get_text()
        found = squares(axes, word)
        corners = np.array([patch.get_xy() for patch in found])
        side = found[0].get_width()
        # Two full rows, left of the word.
        assert len(np.unique(np.round(corners / side - corners[0] / side), axis=0)) == len(found)
        assert np.ptp(corners, axis=0) == pytest.approx([side * (len(found) / 2 - 1), side])
        assert corners[:, 0].max() + side < text.get_position()[0]
        assert corners[0, 1] < text.get_position()[1] < corners[-1, 1] + side
        faint = word in ("computed", "random")
        assert {to_hex(patch.get_facecolor()) for patch in found} == {
            style.SHARED if word == "shared" else own
        }
        assert all((patch.get_alpha() or 1) < 0.5 for patch in found) == faint
        assert {patch.get_linewidth() for patch in found} == {0}
    (hatched,) = [patch for patch in axes.patches if patch.get_hatch()]
    assert to_hex(hatched.get_edgecolor()) == own
    first, last = (squares(axes, "random")[i].get_bbox() for i in (0, -1))
    np.testing.assert_allclose(hatched.get_bbox().extents, [*first.p0, *last.p1])


@pytest.mark.parametrize("look", LIGHT)
def test_methods_in_their_order(look):
    (axes,) = drawn(plot.key, look).axes
    names = [t for t in axes.texts if t.get_text() in style.LABELS.values()]
    assert [t.get_text() for t in names] == [style.LABELS[key] for key in METHODS]
    heights = [t.get_position()[1] for t in names]
    assert heights == sorted(heights)
    for text, key in zip(names, METHODS, strict=True):
        y = text.get_position()[1]
        line, mark = [li for li in axes.lines if list(li.get_ydata()) in ([y, y], [y])]
        assert text.get_color() == line.get_color() == mark.get_color() == style.PALETTE[key]
        assert mark.get_marker() == style.MARKERS[key]
        with plot.house_style():
            (other,) = plot.Figure().add_subplot().plot([0, 1], [0, 1], ls=style.LINES[key])
        assert line._dash_pattern == other._dash_pattern
        assert max(line.get_xdata()) < text.get_position()[0]
    # Beside the looks on a wide page, below them on a narrow one.
    (last,) = [t for t in axes.texts if t.get_text() == "random"]
    assert (heights[0] > last.get_position()[1]) == look.narrow

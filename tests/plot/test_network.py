"""The network shows its sizes and counts, and areas that are true to what its layers store."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, Rectangle

from ensedu import counting, plot
from ensedu.plot import style
from tests.errors import check_error
from tests.plot.looks import LIGHT, box, drawn, readable

SIZES = [1, 50, 50, 1]
LOOKS = pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])


def network(sizes, look=LIGHT[0], widest=None):
    """The axes of a network, laid out."""
    return drawn(lambda: plot.network(sizes, widest=widest), look).axes[0]


def words(axes):
    return [text.get_text() for text in axes.texts]


def nodes(axes):
    return [patch for patch in axes.patches if isinstance(patch, Circle)]


def matrices(axes):
    """The rectangles of what is stored, one row each: left, top, width, height in inches."""
    patches = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    return np.array([[*p.get_xy(), p.get_width(), p.get_height()] for p in patches])


def lines(axes, ink):
    """How many lines of this color each collection has."""
    found = [c for c in axes.collections if isinstance(c, LineCollection)]
    return [len(c.get_segments()) for c in found if to_hex(c.get_color()[0]) == ink]


INPUTS = [
    SIZES, [1, 5, 5, 1], [1, 1], [1, *[50] * 9, 1], [784, 300, 300, 100, 10], [10**6, 10**9, 3],
    [10**12, 10**12],
]  # fmt: skip


@LOOKS
@pytest.mark.parametrize("sizes", INPUTS)
def test_networks_are_readable(sizes, look):
    readable(lambda: plot.network(sizes), (look,))
    axes = network(sizes, look)
    # No area covers a text, or leaves its place between the nodes and the sums.
    inch, tall = axes.figure.dpi, axes.figure.get_figheight()
    for left, top, width, height in matrices(axes):
        assert left > 0 and top > max(node.center[1] for node in nodes(axes))
        for text in axes.texts:
            place = box(text)
            apart = place.x1 / inch < left or place.x0 / inch > left + width
            below = tall - place.y1 / inch + 0.05 > top + height
            assert apart or below or tall - place.y0 / inch - 0.05 < top, text.get_text()
    for (left, _, width, _), (right, *_) in pairwise(matrices(axes)):
        assert left + width < right


@LOOKS
def test_another_width_moves_nothing(look):
    frames = [network([1, width, width, 1], look, widest=50) for width in (1, 50)]
    assert len({axes.figure.get_figheight() for axes in frames}) == 1
    first, second = (
        {
            text.get_text(): text.get_position()
            for text in axes.texts
            if text.get_text() in ("weights", "biases", "hidden", "output")
        }
        for axes in frames
    )
    assert first and first == second
    first, second = ([t.get_position() for t in a.texts if "total" in t.get_text()] for a in frames)
    assert first and first == second


@LOOKS
def test_network_writes_the_counts(look):
    axes = network(SIZES, look)
    count = counting.mlp(SIZES)
    assert [w for w in words(axes) if w.startswith("= ")] == [
        f"= {layer.total:,}" for layer in count.layers
    ]
    assert f"total {count.total:,}" in words(axes)
    assert words(axes)[:4] == ["1", "50", "50", "1"]


@LOOKS
def test_terms_of_the_network_add_up(look):
    sign = "+" if look.narrow else "+ "
    said = words(network([2, 3, 5], look))
    assert said[-9:] == [
        "weights", "2·3", "3·5", "biases", f"{sign}3", f"{sign}5", "= 9", "= 20", "total 29"
    ]  # fmt: skip


def test_network_draws_every_node_and_edge_of_a_small_network():
    axes = network([2, 3, 4])
    assert len(nodes(axes)) == 2 + 3 + 4
    assert lines(axes, style.PALETTE["single"]) == [6, 12]


@LOOKS
def test_network_elides_wide_layers(look):
    axes = network([1, 1000, 1], look)
    assert "⋮" in words(axes) and "1,000" in words(axes)
    assert len(nodes(axes)) == 1 + 5 + 1


@LOOKS
def test_areas_are_true_to_scale_between_their_nodes(look):
    sizes = [11, 17, 13]
    axes = network(sizes, look)
    found = matrices(axes)
    unit = found[0, 2] / sizes[1]
    for (_, top, width, height), (m, n) in zip(found, pairwise(sizes), strict=True):
        assert (width, height) == pytest.approx((n * unit, m * unit))
        assert top + height / 2 == pytest.approx(found[0, 1] + found[0, 3] / 2)
    middles = sorted({node.center[0] for node in nodes(axes)})
    np.testing.assert_allclose(
        found[:, 0] + found[:, 2] / 2, [sum(p) / 2 for p in pairwise(middles)]
    )


@LOOKS
def test_a_matrix_a_tenth_as_wide_is_drawn_a_tenth_as_wide(look):
    small, large = (matrices(network([1, w, w, 1], look, widest=50))[1, 2:] for w in (5, 50))
    assert small == pytest.approx(large / 10)
    assert large[0] == pytest.approx(large[1])


def test_numbers_are_squares_of_their_own_where_they_are_large():
    assert lines(network([5, 3]), style.PAGE) == [4 + 2]
    assert lines(network([5, 3], widest=50), style.PAGE) == []


BAD = [
    (lambda: plot.network([10**400, 1]), ValueError, ("sizes[0]", "2**63")),
    (lambda: plot.network([5]), ValueError, ("sizes", "at least two", "[5]")),
    (lambda: plot.network([5, 0]), ValueError, ("sizes[1]", "0")),
    (lambda: plot.network(7), TypeError, ("sizes", "7")),
    (lambda: plot.network([2] * 12), ValueError, ("sizes", "2 to 11", "12")),
    (lambda: plot.network([2, 7, 3], widest=5), ValueError, ("widest", "at least 7", "got 5")),
    (lambda: plot.network([2, 3], widest=0), ValueError, ("widest", "positive", "0")),
    (lambda: plot.network([2, 3], widest="50"), TypeError, ("widest", "'50'")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])

"""What a layer stores: areas true to scale, apart from each other, in the look of their role."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from ensedu import counting, plot
from ensedu.methods import METHODS
from ensedu.plot import style
from tests.plot.networks import INPUTS, LOOKS, SIZES, STORED, areas, members, network, nodes


@LOOKS
@pytest.mark.parametrize("sizes, method, number", INPUTS)
def test_areas_are_apart_and_cover_no_text(sizes, method, number, look):
    axes = network(sizes, method, number, look)
    figure = axes.figure
    figure.draw_without_rendering()
    boxes = areas(axes)
    low, high = boxes[:, :2], boxes[:, :2] + boxes[:, 2:]
    assert low.min() >= 0
    assert (high <= figure.get_size_inches()).all()
    over = (low[:, None] < high - 1e-6).all(axis=2) & (high[:, None] > low + 1e-6).all(axis=2)
    np.testing.assert_array_equal(over, np.eye(len(boxes), dtype=bool))
    tall = figure.get_figheight()
    for text in axes.texts:
        box = text.get_window_extent()
        left, right = box.x0 / figure.dpi, box.x1 / figure.dpi
        # A line is taller than its letters.
        top, bottom = tall - box.y1 / figure.dpi + 0.05, tall - box.y0 / figure.dpi - 0.05
        covers = (low[:, 0] < right) & (high[:, 0] > left)
        covers &= (low[:, 1] < bottom) & (high[:, 1] > top)
        assert not covers.any(), text.get_text()
    lowest = max(node.center[1] for node in nodes(axes))
    assert low[:, 1].min() > lowest


@LOOKS
@pytest.mark.parametrize("method", METHODS)
def test_areas_are_true_to_scale(method, look):
    sizes, number = [11, 17, 13], 3
    axes = network(sizes, method, number, look)
    count = counting.mlp(sizes, method, members(method, number))
    first = areas(axes, "shared" if count.shared else "per_member")[0]
    unit = first[2] / sizes[1]
    assert first[3] == pytest.approx(unit * sizes[0])
    for role in STORED:
        total = areas(axes, role)[:, 2:].prod(axis=1).sum()
        assert total == pytest.approx(unit**2 * getattr(count, role)), role


@pytest.mark.parametrize("method", ["batch_ensemble", "rank1"])
def test_members_too_thin_to_be_seen_are_one_block_of_their_area(method):
    sizes = [1, *[50] * 9, 1]
    axes = network(sizes, method, 11)
    matrix = max(areas(axes, "shared").tolist(), key=lambda box: box[2] * box[3])
    unit = matrix[2] / 50
    (left, *_) = matrix
    beside = [box for box in areas(axes, "per_member") if 0 < left - box[0] < 0.3]
    (r,) = [box for box in beside if box[3] == pytest.approx(matrix[3])]
    assert r[2] == pytest.approx(11 * unit)


@LOOKS
@pytest.mark.parametrize("method", METHODS)
def test_a_matrix_a_tenth_as_wide_is_drawn_a_tenth_as_wide(method, look):
    largest = {}
    for width in (5, 50):
        axes = network([1, width, width, 1], method, 3, look, widest=50)
        role = "per_member" if method == "deep_ensemble" else "shared"
        largest[width] = max(areas(axes, role).tolist(), key=lambda box: box[2] * box[3])
    assert largest[5][2:] == pytest.approx([side / 10 for side in largest[50][2:]])
    assert largest[50][2] == pytest.approx(largest[50][3])


def test_one_scale_for_all_methods():
    sides = {
        max(areas(network(SIZES, method, number), "shared", "per_member")[:, 2]).round(9)
        for method in METHODS
        for number in (1, 64)
    }
    assert len(sides) == 1


@pytest.mark.parametrize(
    "width, number, drawn", [(50, 2, 2), (50, 4, 4), (5, 64, 64), (50, 16, 4), (50, 64, 4)]
)
def test_members_have_a_matrix_each_in_piles_where_they_have_no_room(width, number, drawn):
    axes = network([1, width, width, 1], "deep_ensemble", number, widest=50)
    boxes = areas(axes, "per_member")
    wide = np.isclose(boxes[:, 2], boxes[:, 3])
    assert wide.sum() == drawn
    # In a pile, of each sheet behind the first one an edge is seen.
    side = boxes[wide][0, 2]
    behind = np.isclose(boxes[:, 2], side) & (boxes[:, 3] < 0.1 * side)
    if drawn < number:
        left, right = boxes[wide][:, 0].min(), boxes[wide][:, 0].max() + side
        here = (boxes[:, 0] >= left - 1e-9) & (boxes[:, 0] < right)
        assert (behind & here).sum() == number - drawn


@LOOKS
@pytest.mark.parametrize("method", ["batch_ensemble", "rank1"])
def test_r_stands_left_of_the_matrix_and_s_above(method, look):
    M, m, n = 3, 11, 7
    axes = network([m, n], method, M, look)
    ((left, top, width, height),) = areas(axes, "shared")
    roles = [role for role in STORED[1:] if getattr(counting.mlp([m, n], method, M), role)]
    for role in roles:
        strips = areas(axes, role)
        assert len(strips) == 2 * M
        tall = strips[strips[:, 3] > strips[:, 2]]
        flat = strips[strips[:, 3] < strips[:, 2]]
        assert len(tall) == len(flat) == M
        np.testing.assert_allclose(tall[:, 1], top)
        np.testing.assert_allclose(tall[:, 3], height)
        np.testing.assert_allclose(flat[:, 0], left)
        np.testing.assert_allclose(flat[:, 2], width)
        assert (tall[:, 0] + tall[:, 2]).max() < left - 0.03
        assert (flat[:, 1] + flat[:, 3]).max() < top - 0.03
    (r,) = [text for text in axes.texts if text.get_text() == "r"]
    (s,) = [text for text in axes.texts if text.get_text() == "s"]
    assert r.get_position()[0] < left and r.get_position()[1] > top + height
    assert left < s.get_position()[0] < left + width and s.get_position()[1] < flat[:, 1].min()


def test_strips_that_have_no_room_end_in_dots():
    dots = [len(network(SIZES, "batch_ensemble", number).lines) for number in (4, 16, 64)]
    assert dots[0] == dots[1] < dots[2]
    assert len(areas(network(SIZES, "batch_ensemble", 16), "per_member")) == 3 * 2 * 16


@LOOKS
def test_strips_of_four_members_have_room_beside_small_matrices(look):
    for method in ("batch_ensemble", "rank1"):
        axes = network([1, 5, 5, 1], method, 4, look)
        roles = 2 if METHODS[method].spread else 1
        assert len(areas(axes, "per_member", "scales")) == 3 * 2 * 4 * roles


@pytest.mark.parametrize("method", METHODS)
def test_shared_is_gray_and_own_in_color(method):
    axes = network([2, 5, 3], method)
    row, own = METHODS[method], plot.PALETTE[method]
    inks = {"shared": style.SHARED if row.members else own, "per_member": own}
    found = set()
    for collection in axes.collections:
        role = collection.get_gid()
        if role in inks:
            assert {to_hex(color) for color in collection.get_facecolor()} == {inks[role]}
            assert (collection.get_linewidth() == 0).all()
        elif role == "scales":
            assert not len(collection.get_facecolor())
            assert {to_hex(color) for color in collection.get_edgecolor()} == {own}
        found.add(role)
    count = counting.mlp([2, 5, 3], method, members(method, 4))
    assert found - {None} == {role for role in STORED if getattr(count, role)}


def test_numbers_are_squares_of_their_own_where_they_are_large():
    def lines(axes):
        white = [c for c in axes.collections if isinstance(c, LineCollection)]
        return sum(len(c.get_segments()) for c in white if to_hex(c.get_color()[0]) == style.PAGE)

    assert lines(network([5, 3])) == 4 + 2
    assert lines(network([5, 3], widest=50)) == 0

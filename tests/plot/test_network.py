"""The network shows its sizes and counts, and areas that are true to what its layers store."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Circle

from ensedu import counting, plot
from ensedu.methods import METHODS
from ensedu.plot import style
from tests.errors import check_error
from tests.plot.looks import LIGHT, readable

SIZES = [1, 50, 50, 1]
STORED = ("shared", "per_member", "scales")
LOOKS = pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])


def members(method, number):
    """The number of members, or none for a method that has none."""
    return number if METHODS[method].members else None


def network(sizes, method="single", number=4, look=LIGHT[0], **options):
    with style.rendering(look):
        return plot.network(sizes, method, members(method, number), **options).axes[0]


def words(axes):
    return [text.get_text() for text in axes.texts]


def areas(axes, *roles):
    """The rectangles of what is stored, one row each: left, top, width, height in inches."""
    rows = [np.zeros((0, 4))]
    for collection in axes.collections:
        if isinstance(collection, PatchCollection) and collection.get_gid() in (roles or STORED):
            boxes = [path.get_extents() for path in collection.get_paths()]
            rows.append(np.array([[b.x0, b.y0, b.width, b.height] for b in boxes]))
    return np.concatenate(rows)


def table(axes):
    """The texts of 11 points below all areas: the sums, without their results."""
    low = (areas(axes)[:, 1] + areas(axes)[:, 3]).max()
    return [text for text in axes.texts if text.get_size() == 11 and text.get_position()[1] > low]


def nodes(axes):
    return [patch for patch in axes.patches if isinstance(patch, Circle)]


def edges(axes):
    """The number of edges of each fan between two columns."""
    fans = [c for c in axes.collections if isinstance(c, LineCollection) and c.get_zorder() == 1]
    return [len(fan.get_segments()) for fan in fans if fan.get_linewidth()[0] < 2]


INPUTS = [
    *[(SIZES, method, 4) for method in METHODS],
    *[(SIZES, method, 64) for method in METHODS if METHODS[method].members],
    ([1, 5, 5, 1], "batch_ensemble", 4),
    ([1, 5, 5, 1], "rank1", 7),
    ([1, 5, 5, 1], "last_layer", 1),
    ([1, 1], "deep_ensemble", 3),
    ([1, *[50] * 9, 1], "batch_ensemble", 7),
    ([1, *[1000] * 9, 1], "rank1", 7),
    ([784, 300, 300, 100, 10], "deep_ensemble", 8),
    ([784, 300, 100, 10], "last_layer", 1000),
    ([10**6, 10**9, 3], "rank1", 10**6),
    ([2, 3], "deep_ensemble", 10**7),
    ([10**12, 10**12], "mean_field", 1),
]


@pytest.mark.parametrize("sizes, method, number", INPUTS)
def test_networks_are_readable(sizes, method, number):
    readable(lambda: plot.network(sizes, method, members(method, number)))


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


@LOOKS
# The last has room for its terms in a narrow figure while its layers are narrow.
@pytest.mark.parametrize(
    "method, number",
    [*((name, 4) for name in METHODS), ("deep_ensemble", 1000), ("batch_ensemble", 128)],
)
def test_another_width_moves_nothing(method, number, look):
    frames = [
        network([1, width, width, 1], method, number, look, widest=50) for width in (1, 2, 50)
    ]
    assert len({axes.figure.get_figheight() for axes in frames}) == 1
    kept = [
        {
            (text.get_text(), text.get_position())
            for text in axes.texts
            if text.get_text() in ("shared", "weights", "biases", "hidden", "output")
        }
        for axes in frames
    ]
    assert kept[0] and all(each == kept[0] for each in kept)
    totals = [[t.get_position() for t in a.texts if "total" in t.get_text()] for a in frames]
    assert totals[0] and all(each == totals[0] for each in totals)


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


@LOOKS
@pytest.mark.parametrize("method", METHODS)
def test_network_writes_the_counts(method, look):
    axes = network(SIZES, method, look=look)
    count = counting.mlp(SIZES, method, members(method, 4))
    assert [w for w in words(axes) if w.startswith("= ")] == [
        f"= {layer.total:,}" for layer in count.layers
    ]
    assert f"total {count.total:,}" in words(axes)
    assert [w for w in words(axes)[:4]] == ["1", "50", "50", "1"]


@LOOKS
@pytest.mark.parametrize("method", METHODS)
def test_terms_of_the_network_add_up(method, look):
    axes = network([2, 3, 5], method, 7, look)
    layers = counting.mlp([2, 3, 5], method, members(method, 7)).layers
    columns = {}
    for text in table(axes):
        entry = text.get_text().removeprefix("+").strip()
        if entry[0].isdigit():
            columns.setdefault(round(text.get_position()[0], 3), []).append(entry)
    sums = [
        sum(eval(term.replace("·", "*")) for term in columns[center]) for center in sorted(columns)
    ]
    assert sums == [layer.total for layer in layers]


def test_network_draws_every_node_and_edge_of_a_small_network():
    axes = network([2, 3, 4])
    assert len(nodes(axes)) == 2 + 3 + 4
    assert edges(axes) == [6, 12]


@LOOKS
def test_network_repeats_a_deep_ensemble_and_shares_a_batch_ensemble(look):
    deep = network([2, 3], "deep_ensemble", 3, look)
    batch = network([2, 3], "batch_ensemble", 3, look)
    assert [len(nodes(axes)) for axes in (deep, batch)] == [3 * 5, 5]
    assert [w for w in words(deep) if "member " in w] == ["member 1", "member 2", "member 3"]
    assert not [w for w in words(batch) if "member " in w]


@LOOKS
def test_network_repeats_the_outputs_of_a_last_layer_ensemble(look):
    axes = network([2, 5, 3], "last_layer", 4, look)
    own = plot.PALETTE["last_layer"]
    colors = [to_hex(node.get_facecolor()) for node in nodes(axes)]
    assert colors == [style.SHARED] * (2 + 5) + [own] * (4 * 3)
    # A narrow figure says once what the numbers are.
    names = ["member", "1", "2", "3", "4"] if look.narrow else [f"member {i}" for i in range(1, 5)]
    assert [t.get_text() for t in axes.texts if t.get_color() == own and t.get_size() == 11][
        : len(names)
    ] == sorted(names, key=lambda name: name == "member")
    fans = [c for c in axes.collections if isinstance(c, LineCollection) and c.get_zorder() == 1]
    assert edges(axes) == [2 * 5] + [5 * 3] * 4
    assert [to_hex(c.get_color()[0]) for c in fans] == [style.SHARED] + [own] * 4
    ends = {tuple(segment[-1]) for c in fans[1:] for segment in c.get_segments()}
    assert ends == {tuple(node.center) for node in nodes(axes)[-4 * 3 :]}
    # One member is one network: nothing is named.
    axes = network([2, 5, 3], "last_layer", 1, look)
    assert len(nodes(axes)) == 2 + 5 + 3
    assert not [w for w in words(axes) if w.startswith("member")]


@LOOKS
@pytest.mark.parametrize(
    "method, names",
    [
        ("single", ["weights", "biases"]),
        ("deep_ensemble", ["own", "biases"]),
        ("rank1", ["shared", "own", "standard deviations", "biases"]),
        ("mean_field", ["weights", "standard deviations", "biases"]),
        ("last_layer", ["shared", "own", "biases"]),
    ],
)
def test_network_names_the_rows_of_the_sum(method, names, look):
    axes = network([2, 3, 5], method, 7, look)
    rows = [t.get_text() for t in table(axes) if t.get_position()[0] == 0.1]
    assert [row.replace("\n", " ") for row in rows] == names


def test_the_first_term_of_a_layer_has_no_sign():
    axes = network([2, 3, 5], "last_layer", 7)
    assert {"2·3", "+ 3", "7·3·5", "+ 7·5"} <= set(words(axes))


@LOOKS
def test_network_elides_wide_layers_and_many_members(look):
    axes = network([1, 1000, 1], "deep_ensemble", 9, look)
    assert [w for w in words(axes) if "member " in w] == [f"member {i}" for i in (1, 2, 3, 9)]
    assert "⋮" in words(axes)
    assert "1,000" in words(axes)
    assert len(nodes(axes)) == 4 * (1 + 3 + 1)


def test_every_second_hidden_unit_is_dropped():
    axes = network([3, 5, 5, 3], "mc_dropout")
    hollow = [node.center for node in nodes(axes) if to_hex(node.get_facecolor()) == style.PAGE]
    assert len(hollow) == 2 * 2
    crosses = {(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if
               line.get_marker() == "x"}  # fmt: skip
    assert crosses == {tuple(center) for center in hollow}


def test_same_input_same_bytes():
    one, other = (plot.png(plot.network(SIZES, "rank1", 4)) for _ in range(2))
    assert one == other


def test_numbers_are_squares_of_their_own_where_they_are_large():
    def lines(axes):
        white = [c for c in axes.collections if isinstance(c, LineCollection)]
        return sum(len(c.get_segments()) for c in white if to_hex(c.get_color()[0]) == style.PAGE)

    assert lines(network([5, 3])) == 4 + 2
    assert lines(network([5, 3], widest=50)) == 0


BAD = [
    (lambda: plot.network([10**400, 1]), ValueError, ("sizes[0]", "2**63")),
    (lambda: plot.network([5]), ValueError, ("sizes", "at least two", "[5]")),
    (lambda: plot.network([5, 0]), ValueError, ("sizes[1]", "0")),
    (lambda: plot.network(7), TypeError, ("sizes", "7")),
    (lambda: plot.network([2] * 12), ValueError, ("sizes", "2 to 11", "12")),
    (lambda: plot.network([2, 3], "swag"), ValueError, ("method", "'swag'", "'rank1'")),
    (lambda: plot.network([2, 3], "rank1", 0), ValueError, ("ensemble_size", "0")),
    (lambda: plot.network([2, 3], "rank1"), TypeError, ("ensemble_size", "None")),
    (lambda: plot.network([2, 3], "mc_dropout", 2), ValueError, ("ensemble_size", "no members")),
    (lambda: plot.network([2, 7, 3], widest=5), ValueError, ("widest", "at least 7", "got 5")),
    (lambda: plot.network([2, 3], widest=0), ValueError, ("widest", "positive", "0")),
    (lambda: plot.network([2, 3], widest="50"), TypeError, ("widest", "'50'")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])

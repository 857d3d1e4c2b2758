"""What the figures show is what they were given: read back from the drawn artists."""

import functools
import io
import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PatchCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, Rectangle
from matplotlib.text import Text

from ensedu import counting, plot
from ensedu.counting import Count
from ensedu.methods import METHODS, ROLES
from ensedu.plot import style
from ensedu.plot.inside import SHAPES

M, m, n = 5, 3, 7
SIZES = [1, 50, 50, 1]


def members(method, number):
    """The number of members, or none for a method that has none."""
    return number if METHODS[method].members else None


def mlp(sizes, method, number=4):
    return counting.mlp(sizes, method, members(method, number))


COUNTS = {name: mlp(SIZES, name) for name in METHODS}


def parts(M=M, m=m, n=n, seed=0):
    rng = np.random.default_rng(seed)
    sizes = {"M": M, "m": m, "n": n}
    return {
        method: {
            name: rng.uniform(0.1, 1, [sizes[letter] for letter in shape])
            for name, shape in shapes.items()
        }
        for method, shapes in SHAPES.items()
    }


def growth(names=METHODS):
    return {name: [mlp([1, *[50] * h, 1], name).total for h in range(1, 10)] for name in names}


def layers(x, names=("deep_ensemble", "batch_ensemble", "rank1")):
    return {name: [counting.layer(h, h, name, 4).total for h in x] for name in names}


def product(M, m, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, n)), rng.normal(size=(M, m)), rng.normal(size=(M, n))


def draws(S, m, n, unit=1.0):
    """The mean of a rank-1 layer, the standard deviations of its entries, and samples."""
    mean, r, s = product(S, m, n)
    samples = mean * (1 + 0.5 * r[:, :, None]) * (1 + 0.5 * s[:, None, :])
    return unit * mean, unit * 0.75 * np.abs(mean), unit * samples


OURS = {"ours": "batch_ensemble"}


def measured(colors=OURS, **rows):
    rows = {"ours": (1.01, 1.05, 1.2), "rank1": (2.0, 2.0, 2.0)} | rows
    return plot.ratios(rows, xlabel="time", reference="best", colors=colors)


def roof(flops=100e9, **points):
    points = {"deep_ensemble": [("1", 0.5, 8e9), ("256", 85.0, 90e9)]} | points
    return plot.roofline(flops, 20e9, points)


FIGURES = {
    **{f"network {k}": (lambda k=k: plot.network(SIZES, k, members(k, 4))) for k in METHODS},
    "network of many": lambda: plot.network([1, *[50] * 9, 1], "batch_ensemble", 7),
    "network of large sums": lambda: plot.network([784, 300, 300, 100, 10], "deep_ensemble", 8),
    "network of many outputs": lambda: plot.network([784, 300, 100, 10], "last_layer", 8),
    "matrices": lambda: plot.weight_matrices(np.full((M, m, n), 0.5)),
    "measured": lambda: measured(),
    "measured, far apart": lambda: measured(**{"a package of a long name": (40, 200, 1000)}),
    "measured, faster": lambda: measured(**{"slow": (0.2, 0.25, 0.5)}),
    "roofline": lambda: roof(),
    "bars": lambda: plot.parameter_bars(COUNTS),
    "bars of large totals": lambda: plot.parameter_bars(
        {"single": Count(shared=36_479_194), "deep_ensemble": Count(per_member=10**12)}
    ),
    "curves": lambda: plot.growth_curves(range(1, 10), growth(), xlabel="of x", ylabel="of y"),
    "log curves": lambda: plot.growth_curves(
        range(1, 10), growth(), xlabel="x", ylabel="y", log=True
    ),
    "ratios": lambda: plot.growth_curves(
        range(1, 10), growth(), xlabel="x", ylabel="y", relative_to="single"
    ),
    "marked curves": lambda: marked(range(1, 13), batch_ensemble=3, rank1=6),
    "marked log curves": lambda: marked(
        [10, 30, 100, 300, 1000], log=True, batch_ensemble=200, rank1=600.5
    ),
    "doubling curves": lambda: marked(
        [1, 2, 4, 8, 16, 32, 64], log_x=True, batch_ensemble=3, rank1=6
    ),
    "marks at one place": lambda: marked(
        [10, 100, 1000], log=True, batch_ensemble=10, rank1=10, deep_ensemble=1000
    ),
    **{
        f"modulation {sizes}": (lambda sizes=sizes: plot.modulation(*product(*sizes)))
        for sizes in [(1, 1, 1), (1, 3, 5), (2, 2, 3), (4, 8, 8), (2, 8, 2), (3, 2, 8)]
    },
    **{
        f"distribution {sizes}": (lambda sizes=sizes: plot.distribution(*draws(*sizes)))
        for sizes in [(1, 1, 1), (3, 5, 5), (4, 3, 2), (6, 16, 16), (2, 16, 2), (5, 2, 16)]
    },
    "distribution of small numbers": lambda: plot.distribution(
        *draws(2, 3, 5, 0.00123), method="mean_field"
    ),
    "distribution of large numbers": lambda: plot.distribution(*draws(2, 3, 5, 12345.0)),
    "inside": lambda: plot.inside(parts(M=4, n=4), {k: COUNTS[k] for k in SHAPES}),
}


def marked(x, log=False, log_x=False, **marks):
    axes = {"xlabel": "x", "ylabel": "y", "log": log, "log_x": log_x}
    return plot.growth_curves(x, layers(x), **axes, marks=marks)


def pixels(figure):
    """The pixels of a picture, which are what takes time in making a PNG."""
    buffer = io.BytesIO()
    with plot.house_style():
        figure.savefig(buffer, format="raw")
    return buffer.getvalue()


@functools.cache
def drawn(name):
    """One of the figures, and its pixels; rendered, so that all texts have their places."""
    figure = FIGURES[name]()
    return figure, pixels(figure)


def meshes(axes):
    """All heat maps of a figure, as they were drawn."""
    return [c for c in axes.collections if isinstance(c, QuadMesh)]


def words(axes):
    return [text.get_text() for text in axes.texts]


def boxes(figure):
    """All that is written in a figure that was rendered, with its box in pixels."""
    texts = [*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())]
    for axes in filter(lambda axes: axes.get_visible(), figure.axes):
        texts += [*axes.texts, axes.title]
        if axes.axison:
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                texts.append(axis.label)
                ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
                texts += [label for place, label in ticks if low <= place <= high]
    # The box of an annotation holds its arrow too: Text's own method leaves it out.
    shown = [text for text in texts if text.get_text().strip() not in ("", "⋮", "…")]
    return [(text.get_text(), Text.get_window_extent(text)) for text in shown]


@pytest.mark.parametrize("name", FIGURES)
def test_texts_do_not_overlap_nor_leave_the_figure(name):
    figure, _ = drawn(name)
    written = boxes(figure)
    assert len(written) > 3
    for text, box in written:
        assert box.x0 >= 0 and box.x1 <= figure.bbox.x1, text
        assert box.y0 >= 0 and box.y1 <= figure.bbox.y1, text
    for (a, one), (b, two) in itertools.combinations(written, 2):
        wide = min(one.x1, two.x1) - max(one.x0, two.x0)
        high = min(one.y1, two.y1) - max(one.y0, two.y0)
        # A line is taller than its letters: a little shared height is air.
        assert wide <= 0 or high <= 0.03 * figure.dpi, (a, b)


@pytest.mark.parametrize("name", FIGURES)
def test_same_input_same_pixels(name):
    assert drawn(name)[1] == pixels(FIGURES[name]())


def test_same_pixels_same_bytes():
    assert plot.png(drawn("inside")[0]) == plot.png(FIGURES["inside"]())


@pytest.mark.parametrize("method", METHODS)
def test_network_writes_the_counts(method):
    (axes,) = drawn(f"network {method}")[0].axes
    count = COUNTS[method]
    assert [w for w in words(axes) if w.startswith("= ")] == [
        f"= {layer.total:,}" for layer in count.layers
    ]
    assert f"total {count.total:,}" in words(axes)


@pytest.mark.parametrize("method", METHODS)
def test_terms_of_the_network_add_up(method):
    (axes,) = plot.network([2, 3, 5], method, members(method, 7)).axes
    layers = mlp([2, 3, 5], method, 7).layers
    columns = {}
    for text in axes.texts:
        entry = text.get_text().removeprefix("+ ")
        if text.get_fontsize() == 11 and entry[0].isdigit():
            columns.setdefault(round(text.get_position()[0], 3), []).append(entry)
    sums = [
        sum(eval(term.replace("·", "*")) for term in columns[center]) for center in sorted(columns)
    ]
    assert sums == [layer.total for layer in layers]


def test_network_draws_every_node_and_edge_of_a_small_network():
    (axes,) = plot.network([2, 3, 4]).axes
    assert sum(isinstance(patch, Circle) for patch in axes.patches) == 2 + 3 + 4
    edges = [c for c in axes.collections if isinstance(c, LineCollection)]
    assert [len(c.get_segments()) for c in edges] == [6, 12]


def test_network_repeats_a_deep_ensemble_and_shares_a_batch_ensemble():
    (deep,) = plot.network([2, 3], "deep_ensemble", 3).axes
    (batch,) = plot.network([2, 3], "batch_ensemble", 3).axes
    nodes = [sum(isinstance(p, Circle) for p in axes.patches) for axes in (deep, batch)]
    assert nodes == [3 * 5, 5]
    assert [w for w in words(deep) if "member " in w] == ["member 1", "member 2", "member 3"]
    # One square for each entry of r and of s.
    squares = [len(c.get_paths()) for c in batch.collections if isinstance(c, PatchCollection)]
    assert sum(squares) == 3 * (2 + 3)


def test_network_repeats_the_outputs_of_a_last_layer_ensemble():
    (axes,) = plot.network([2, 5, 3], "last_layer", 4).axes
    own = plot.PALETTE["last_layer"]
    nodes = [p for p in axes.patches if isinstance(p, Circle)]
    colors = [to_hex(node.get_facecolor()) for node in nodes]
    assert colors == [style.SHARED] * (2 + 5) + [own] * (4 * 3)
    assert [w for w in words(axes) if "member " in w] == [f"member {i}" for i in (1, 2, 3, 4)]
    edges = [c for c in axes.collections if isinstance(c, LineCollection)]
    assert [len(c.get_segments()) for c in edges] == [2 * 5] + [5 * 3] * 4
    assert [to_hex(c.get_color()[0]) for c in edges] == [style.SHARED] + [own] * 4
    ends = {tuple(segment[-1]) for c in edges[1:] for segment in c.get_segments()}
    assert ends == {tuple(node.center) for node in nodes[-4 * 3 :]}
    # One member is one network: nothing is named.
    (axes,) = plot.network([2, 5, 3], "last_layer", 1).axes
    assert sum(isinstance(patch, Circle) for patch in axes.patches) == 2 + 5 + 3
    assert not [w for w in words(axes) if "member " in w]


@pytest.mark.parametrize(
    "method, names",
    [
        ("single", ["weights", "biases"]),
        ("deep_ensemble", ["members' own", "biases"]),
        ("rank1", ["shared weights", "members' own", "std. deviations", "biases"]),
        ("mean_field", ["weights", "std. deviations", "biases"]),
        ("last_layer", ["shared weights", "members' own", "biases"]),
    ],
)
def test_network_names_the_rows_of_the_sum(method, names):
    (axes,) = plot.network([2, 3, 5], method, members(method, 7)).axes
    rows = [t.get_text() for t in axes.texts if t.get_position()[0] == 0.1 and t.get_size() == 11]
    assert rows == names


def test_the_first_term_of_a_layer_has_no_sign():
    (axes,) = plot.network([2, 3, 5], "last_layer", 7).axes
    assert {"2·3", "+ 3", "7·3·5", "+ 7·5"} <= set(words(axes))


def test_network_elides_wide_layers_and_many_members():
    (axes,) = plot.network([1, 1000, 1], "deep_ensemble", 9).axes
    assert [w for w in words(axes) if "member " in w] == [f"member {i}" for i in (1, 2, 3, 9)]
    assert "⋮" in words(axes)
    assert "1,000" in words(axes)
    assert len(axes.patches) < 30


def test_weight_matrices_show_the_arrays():
    weights = np.random.default_rng(0).normal(size=(M, m, n))
    kept = weights.copy()
    figure = plot.weight_matrices(weights)
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in panels] == [f"member {i}" for i in range(1, M + 1)]
    for axes, matrix in zip(panels, weights, strict=True):
        (image,) = axes.images
        np.testing.assert_array_equal(image.get_array(), matrix)
        limit = np.abs(weights).max()
        assert image.get_clim() == (-limit, limit)
        assert axes.yaxis_inverted()  # input 1 on top
    np.testing.assert_array_equal(weights, kept)


def test_weight_matrices_write_small_matrices():
    matrix = np.array([[0.5, -0.25, 0.0], [1.0, -1.0, -0.001]])
    (axes, _) = plot.weight_matrices(matrix[None]).axes
    assert words(axes) == ["0.50", "−0.25", "0.00", "1.00", "−1.00", "0.00"]
    (axes, _) = plot.weight_matrices(np.ones((1, 9, 2))).axes
    assert words(axes) == []
    (axes, _) = plot.weight_matrices(matrix[None], annotate=False).axes
    assert words(axes) == []


def test_weight_matrices_take_titles_and_a_range():
    figure = plot.weight_matrices(np.ones((2, 3, 5)), titles=["a", "b"], value_range=4)
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in panels] == ["a", "b"]
    assert all(axes.images[0].get_clim() == (-4, 4) for axes in panels)


def test_four_members_stand_in_two_rows():
    figure = plot.weight_matrices(np.ones((4, 50, 50)))
    figure.draw_without_rendering()
    corners = {
        (round(b.x0, 2), round(b.y0, 2))
        for b in (axes.get_position() for axes in figure.axes if axes.images)
    }
    assert len({x for x, _ in corners}) == len({y for _, y in corners}) == 2


def test_zero_weights_have_a_scale():
    assert plot.weight_matrices(np.zeros((1, 2, 3))).axes[0].images[0].get_clim() == (-1, 1)


@pytest.mark.parametrize("name", METHODS)
def test_bars_have_the_lengths_of_the_roles(name):
    (axes,) = plot.parameter_bars({name: COUNTS[name]}).axes
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert {bar.get_gid(): round(bar.get_width()) for bar in bars} == {
        role: getattr(COUNTS[name], role) for role in ROLES if getattr(COUNTS[name], role)
    }
    assert bars[0].get_x() == 0
    for left, right in itertools.pairwise(bars):
        assert left.get_x() + left.get_width() == pytest.approx(right.get_x())
    assert f"{COUNTS[name].total:,}" in words(axes)


def test_bars_name_their_parts():
    counts = {"batch_ensemble": Count(2500, 400, 0, 200), "mine": Count(biases=7), "empty": Count()}
    figure = plot.parameter_bars(counts)
    (axes,) = figure.axes
    assert "2,500 shared + 400 members' own + 200 biases" in words(axes)
    assert {"BatchEnsemble", "mine", "empty", "7 biases", "0"} <= set(words(axes))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "shared", "each member's own", "biases",
    ]  # fmt: skip


def test_roles_differ_without_color():
    looks = [style.role_style(role, "rank1") for role in ROLES]
    assert looks[0]["facecolor"] != looks[1]["facecolor"]
    assert [(look["facecolor"] == "none", look.get("hatch")) for look in looks[1:]] == [
        (False, None), (True, "////"), (True, None),
    ]  # fmt: skip


def test_curves_go_through_the_totals():
    figure, _ = drawn("curves")
    (axes,) = figure.axes
    for line, (name, totals) in zip(axes.lines, growth().items(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), range(1, 10))
        np.testing.assert_array_equal(line.get_ydata(), totals)
        assert (line.get_color(), line.get_marker()) == (plot.PALETTE[name], plot.MARKERS[name])
    assert words(axes) == [plot.LABELS[name] for name in METHODS]
    assert axes.get_xlabel() == "of x"
    assert [text.get_text() for text in figure.texts] == ["of y"]


def test_names_stand_in_the_order_of_the_ends():
    (axes,) = drawn("curves")[0].axes
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    ends = {plot.LABELS[name]: totals[-1] for name, totals in growth().items()}
    assert sorted(heights, key=heights.get) == sorted(ends, key=ends.get)


def test_curves_relative_to_one_of_them():
    totals = growth(["single", "deep_ensemble"])
    figure = plot.growth_curves(
        range(1, 10), totals, xlabel="x", ylabel="y", relative_to="single", log=True
    )
    single, deep = figure.axes[0].lines
    assert set(single.get_ydata()) == {1}
    assert set(deep.get_ydata()) == {4}
    assert figure.axes[0].get_yscale() == "log"


def test_bars_in_words():
    counts = {"rank1": COUNTS["rank1"], "mine": Count(shared=1_200)}
    assert plot.in_words(counts) == (
        "rank-1 BNN 4,620: 2,600 shared + 808 members' own + 808 std. deviations + 404 biases; "
        "mine 1,200: 1,200 shared"
    )
    (axes,) = plot.parameter_bars(counts).axes
    for part in plot.in_words(counts).split("; "):
        assert part.partition(": ")[2] in words(axes)


@pytest.mark.parametrize("log_x", [False, True])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("x, words_", [(3, "from 3"), (4.5, "from 4.5")])
def test_marks_lie_on_their_curves(log, log_x, x, words_):
    figure = marked(range(1, 13), log, log_x, rank1=x)
    (axes,) = figure.axes
    (ring,) = [line for line in axes.lines if line.get_gid() == "mark rank1"]
    low, high = (counting.layer(h, h, "rank1", 4).total for h in (int(x), int(x) + 1))
    part = np.log(x / int(x)) / np.log(1 + 1 / int(x)) if log_x else x - int(x)
    y = low ** (1 - part) * high**part if log else low + part * (high - low)
    assert ring.get_xdata() == [x]
    np.testing.assert_allclose(ring.get_ydata(), [y])
    assert ring.get_markerfacecolor() == "none"
    (text,) = [text for text in axes.texts if text.get_text() == words_]
    assert ring.get_markeredgecolor() == text.get_color() == plot.PALETTE["rank1"]
    # The straight line between two totals passes through the ring, as drawn.
    ends = axes.transData.transform([(int(x), low), (int(x) + 1, high)])
    point = axes.transData.transform((x, y))
    np.testing.assert_allclose(point, (1 - part) * ends[0] + part * ends[1])


def test_a_short_logarithmic_axis_has_more_than_powers_of_ten():
    for last, expected in ((70, {1, 2, 5, 10, 20, 50}), (5000, {1, 10, 100, 1000})):
        (axes,) = plot.growth_curves(
            [1, 2], {"single": [1, last]}, xlabel="x", ylabel="y", log=True
        ).axes
        low, high = axes.get_ylim()
        assert {y for y in axes.get_yticks() if low <= y <= high} == expected


def test_a_logarithmic_x_axis_names_each_x():
    sizes = [1, 2, 4, 8, 16, 32, 64]
    (axes,) = marked(sizes, log_x=True).axes
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == [str(x) for x in sizes]
    assert len(axes.xaxis.get_minorticklocs()) == 0


def test_marks_follow_ratios_and_may_be_none():
    totals = {"deep_ensemble": [10, 20], "rank1": [20, 10]}
    options = {"xlabel": "x", "ylabel": "y", "relative_to": "deep_ensemble"}
    (axes,) = plot.growth_curves([1, 2], totals, marks={"rank1": 2}, **options).axes
    assert axes.lines[-1].get_ydata() == [0.5]
    unmarked = plot.png(plot.growth_curves([1, 2], totals, **options))
    assert plot.png(plot.growth_curves([1, 2], totals, marks={}, **options)) == unmarked


@pytest.mark.parametrize("log", [False, True])
def test_labels_of_marks_are_off_the_curves(log):
    figure = marked(range(1, 13), log, batch_ensemble=3, rank1=6)
    (axes,) = figure.axes
    figure.draw_without_rendering()
    labels = [Text.get_window_extent(t) for t in axes.texts if t.get_text().startswith("from")]
    assert len(labels) == 2
    for line in axes.lines:
        path = axes.transData.transform_path(line.get_path())
        assert not any(path.intersects_bbox(box, filled=False) for box in labels)
    assert all(axes.bbox.contains(*corner) for box in labels for corner in box.corners())


@pytest.mark.parametrize("sizes", [(1, 2, 3), (2, 3, 5), (4, 8, 7)])
def test_modulation_multiplies(sizes):
    W, r, s = product(*sizes)
    kept = W.copy(), r.copy(), s.copy()
    (axes,) = plot.modulation(W, r, s).axes
    drawn = iter(meshes(axes))
    factors = max(abs(a).max() for a in (r, s, r[:, :, None] * s[:, None]))
    weights = max(abs(W).max(), abs(W * r[:, :, None] * s[:, None]).max())
    edges = [to_hex(patch.get_edgecolor()) for patch in axes.patches]
    own = plot.PALETTE["batch_ensemble"]
    assert edges == [style.SHARED, own, own, own] * len(r)
    for a, b in zip(r, s, strict=True):
        outer = np.outer(a, b)
        for values, limit in [
            (W, weights), (a[:, None], factors), (b[None], factors), (outer, factors),
            (W * outer, weights),
        ]:  # fmt: skip
            mesh = next(drawn)
            np.testing.assert_allclose(mesh.get_array(), values)
            assert mesh.get_clim() == pytest.approx((-limit, limit))
            assert mesh.get_cmap() == style.HEAT
    assert next(drawn, None) is None
    for one, other in zip((W, r, s), kept, strict=True):
        np.testing.assert_array_equal(one, other)


def test_modulation_aligns_r_and_s_with_their_product():
    (axes,) = plot.modulation(*product(2, 3, 5)).axes
    grids = [mesh.get_coordinates() for mesh in meshes(axes)]
    for i in (0, 5):
        _, r, s, outer, _ = grids[i : i + 5]
        np.testing.assert_allclose(r[:, 0, 1], outer[:, 0, 1])
        np.testing.assert_allclose(s[0, :, 0], outer[0, :, 0])
        assert r[..., 0].max() < outer[..., 0].min()
        assert s[..., 1].max() < outer[..., 1].min()
    np.testing.assert_allclose(grids[0][..., 0], grids[5][..., 0])  # W below W


def test_modulation_writes_headings_once_and_entries_that_fit():
    (axes,) = plot.modulation(*product(2, 2, 3)).axes
    for heading in ("W, shared", "r sᵀ, member's own", "W ∘ r sᵀ"):
        assert words(axes)[:3].count(heading) == 1
    assert [w for w in words(axes) if w.startswith("member")] == ["member 1", "member 2"]
    W, r, s = product(2, 2, 3)
    entries = [w for w in words(axes) if w.replace("−", "").replace(".", "").isdigit()]
    assert len(entries) == 2 * (3 * 2 * 3 + 2 + 3) + 4  # and the ends of two scales
    assert f"{W[0, 1] * r[1, 0] * s[1, 1]:.2f}".replace("-", "−") in entries
    (axes,) = plot.modulation(*product(2, 3, 5)).axes
    assert not [w for w in words(axes)[3:-6] if "." in w and w[-1].isdigit()]


def test_modulation_takes_a_range_for_weights():
    W, r, s = product(2, 3, 5)
    (axes,) = plot.modulation(W, r, s, value_range=7).axes
    limits = [mesh.get_clim()[1] for mesh in meshes(axes)]
    assert [limit == 7 for limit in limits] == [True, False, False, False, True] * 2
    (axes,) = plot.modulation(0 * W, 0 * r, 0 * s).axes
    assert all(mesh.get_clim() == (-1, 1) for mesh in meshes(axes))


@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_distribution_draws_what_it_is_given(method):
    given = draws(5, 3, 7)
    kept = [array.copy() for array in given]
    mean, std, samples = given
    (axes,) = plot.distribution(*given, method=method).axes
    first, second, *rest = meshes(axes)
    limit = max(abs(mean).max(), abs(samples).max())
    for mesh, values in [(first, mean), *zip(rest[::2], samples, strict=True)]:
        np.testing.assert_array_equal(mesh.get_array(), values)
        assert mesh.get_clim() == (-limit, limit)
    np.testing.assert_array_equal(second.get_array(), std)
    assert second.get_clim() == (0, std.max())
    own = plot.PALETTE[method]
    assert [to_hex(second.get_cmap()(end)) for end in (0.0, 1.0)] == ["#ffffff", own]
    assert {to_hex(patch.get_edgecolor()) for patch in axes.patches} == {own}
    assert sum(patch.get_hatch() is not None for patch in axes.patches) == 1
    for one, other in zip(given, kept, strict=True):
        np.testing.assert_array_equal(one, other)
    names = [w for w in words(axes) if w in ("mean", "standard deviation") or "sample " in w]
    assert names == ["mean", "standard deviation", *(f"sample {i}" for i in range(1, 6))]


def test_rows_of_a_rank1_layer_move_together():
    mean, std, _ = draws(1, 5, 7)
    factor = np.array([1.75, 0.25, 1.0, 1.375, -0.5])
    (axes,) = plot.distribution(mean, std, (mean * factor[:, None])[None]).axes
    change = meshes(axes)[-1]
    np.testing.assert_allclose(
        change.get_array(), np.repeat((factor[:, None] - 1) / 0.75, 7, axis=1), atol=1e-12
    )
    assert change.get_clim() == (-2, 2)


def test_distribution_without_spread_has_no_change():
    mean = np.array([[1.0, -2.0], [0.0, 3.0]])
    (axes,) = plot.distribution(mean, 0 * mean, mean[None], value_range=4).axes
    first, second, sample, change = meshes(axes)
    assert first.get_clim() == sample.get_clim() == (-4, 4)
    assert second.get_clim() == (0, 1)
    np.testing.assert_array_equal(change.get_array(), 0 * mean)


def test_distribution_writes_entries_up_to_five_columns():
    (axes,) = plot.distribution(*draws(1, 5, 5)).axes
    mean, std, _ = draws(1, 5, 5)
    for array in (mean, std):
        assert {f"{x:.2f}".replace("-", "−") for x in array.ravel()} <= set(words(axes))
    (axes,) = plot.distribution(*draws(1, 5, 6)).axes
    assert len(words(axes)) == 13  # no entry among headings and scales


def test_inside_draws_what_it_is_given():
    given = parts()
    kept = parts()
    (axes,) = plot.inside(given, {k: COUNTS[k] for k in SHAPES}).axes
    meshes = [c.get_array() for c in axes.collections if isinstance(c, QuadMesh)]
    drawn = {np.asarray(mesh).tobytes() for mesh in meshes}
    for method, arrays in given.items():
        for name, values in arrays.items():
            np.testing.assert_array_equal(values, kept[method][name])
            members = values if "M" in SHAPES[method][name] else [values]
            assert all(np.ascontiguousarray(member).tobytes() in drawn for member in members), name
    W = given["batch_ensemble"]["weight"]
    for r, s in zip(given["batch_ensemble"]["r"], given["batch_ensemble"]["s"], strict=True):
        assert (W * np.outer(r, s)).tobytes() in drawn
    # Besides the stored arrays only what BatchEnsemble, rank-1 and mean-field compute.
    stored = 2 + 2 * M + (1 + 3 * M) + (1 + 5 * M) + 4
    assert len(meshes) == stored + 3 * M


def test_inside_writes_the_counts():
    (axes,) = plot.inside(parts(), {k: COUNTS[k] for k in SHAPES}, counts_title="of 1-50-50-1").axes
    assert {f"{COUNTS[k].total:,}" for k in SHAPES} | {"of 1-50-50-1"} <= set(words(axes))
    bars = [patch for patch in axes.patches if patch.get_gid() == "per_member"]
    lengths = [bar.get_width() for bar in bars]
    owned = [COUNTS[k].per_member for k in ("deep_ensemble", "batch_ensemble", "rank1")]
    np.testing.assert_allclose(np.array(lengths) / lengths[0], np.array(owned) / owned[0])


def test_inside_takes_some_methods_and_one_member():
    some = {k: v for k, v in parts(M=1).items() if k in ("single", "rank1")}
    assert plot.inside(some, {k: COUNTS[k] for k in some}).axes
    assert plot.inside({"single": some["single"]}, {"single": COUNTS["single"]}).axes


def changed(method, name, value):
    result = parts()
    result[method][name] = value
    return result


def matrices(M, **options):
    return plot.weight_matrices(np.ones((M, 2, 3)), **options)


def inside(given):
    return plot.inside(given, {k: COUNTS[k] for k in SHAPES})


def curves(x=(1, 2), totals=None, **options):
    totals = {"single": [3, 4]} if totals is None else totals
    return plot.growth_curves(x, totals, **({"xlabel": "x", "ylabel": "y"} | options))


def ones(*shape):
    return np.ones(shape)


def modulation(M=2, m=2, n=3, **options):
    return plot.modulation(np.ones((m, n)), np.ones((M, m)), np.ones((M, n)), **options)


def distribution(S=2, m=2, n=3, std=1.0, **options):
    return plot.distribution(np.ones((m, n)), np.full((m, n), std), np.ones((S, m, n)), **options)


def test_ratios_stand_where_they_were_measured():
    (axes,) = measured().axes
    lines = [list(line.get_xdata()) for line in axes.lines]
    assert lines[1:] == [[1.01, 1.2], [1.05], [2.0, 2.0], [2.0]]  # after the line at 1
    assert {1} == set(axes.lines[0].get_xdata())
    words = [text.get_text() for text in axes.texts]
    assert words == ["best", "1.05", "ours", "2.00", style.LABELS["rank1"]]
    assert axes.lines[2].get_color() == style.PALETTE["batch_ensemble"]
    low, high = axes.get_xlim()
    assert low < 1 < 2 < high


def test_roofline_bounds_what_is_under_it():
    (axes,) = roof().axes
    edge, passes = axes.lines[0], axes.lines[1]
    x, y = edge.get_data()
    np.testing.assert_allclose(y, np.minimum(100, 20 * x))
    assert x[1] == 100e9 / 20e9  # the ridge
    np.testing.assert_allclose(passes.get_data(), [[0.5, 85], [8, 90]])
    words = [text.get_text() for text in axes.texts]
    assert words == ["100 GFLOP/s: computing", "20 GB/s: moving", "1", "256"]


NAN = float("nan")
FORMULA = r"$\frac$"  # that lacks its arguments
BAD = [
    (lambda: measured(ours=(2, 1, 3)), ValueError, ("values['ours']", "rise", "[2, 1, 3]")),
    (lambda: measured(ours=(0.0, 1, 3)), ValueError, ("values['ours']", "above 0")),
    (lambda: measured(ours=(1, 2)), ValueError, ("values['ours']", "3 finite", "(2,)")),
    (lambda: plot.ratios({}, xlabel="x", reference="y"), ValueError, ("values", "one entry")),
    (lambda: plot.ratios({"a": (1, 1, 1)}, xlabel=1, reference="y"), TypeError, ("xlabel", "1")),
    (lambda: plot.ratios({"a": (1, 1, 1)}, xlabel="x", reference=2), TypeError, ("reference", "2")),
    (lambda: measured("not a mapping"), TypeError, ("colors", "mapping", "'not a mapping'")),
    (lambda: measured(5), TypeError, ("colors", "mapping", "5")),
    (lambda: measured(0), TypeError, ("colors", "mapping", "0")),
    (lambda: measured({"ours": 5}), TypeError, ("colors['ours']", "'rank1'", "5")),
    (lambda: measured({"ours": "red"}), ValueError, ("colors['ours']", "'rank1'", "'red'")),
    (
        lambda: plot.ratios(
            {"a": (1, 1, 1)}, xlabel="x", reference="y", colors={"b": "rank1"}
        ),
        ValueError,
        ("colors", "['b']"),
    ),
    (lambda: roof(0.0), ValueError, ("flops_per_second", "0.0")),
    (lambda: roof(rank1=[("1", -1.0, 2.0)]), ValueError, ("points['rank1'][0][1]", "-1.0")),
    (lambda: roof(rank1=[(1, 1.0, 2.0)]), TypeError, ("points['rank1'][0][0]", "1")),
    (lambda: roof(1e308), ValueError, ("flops_per_second", "1e+308", "below 1e+100")),
    (lambda: roof(rank1=[]), ValueError, ("points['rank1']", "at least one", "none")),
    (lambda: roof(rank1=3), TypeError, ("points['rank1']", "3", "at least one")),
    (lambda: roof(rank1=[("a", 1.0)]), TypeError, ("points['rank1'][0]", "('a', 1.0)")),
    (lambda: roof(rank1=[(FORMULA, 1.0, 2.0)]), ValueError, ("points['rank1'][0][0]", "formula")),
    (lambda: measured(**{FORMULA: (1, 1, 1)}), ValueError, ("values", "formula", "frac")),
    (lambda: measured(ours=(1, 1, 1e308)), ValueError, ("values['ours'][2]", "1e+308")),
    (lambda: plot.parameter_bars({FORMULA: Count(1)}), ValueError, ("counts", "formula", "frac")),
    (lambda: plot.parameter_bars({"a": Count(10**400)}), ValueError, ("counts['a']", "1e+100")),
    (lambda: plot.in_words({"a": Count(10**400)}), ValueError, ("counts['a']", "1e+100")),
    (lambda: plot.network([10**400, 1]), ValueError, ("sizes[0]", "2**63")),
    (lambda: plot.weight_matrices(np.full((1, 2, 3), 1e308)), ValueError, ("weights", "1e+308")),
    (lambda: plot.weight_matrices(ones(1, 2, 3), value_range=1e308), ValueError, ("value_range",)),
    (lambda: plot.weight_matrices(np.ma.ones((1, 2, 3))), TypeError, ("weights", "MaskedArray")),
    (lambda: matrices(1, titles=[FORMULA]), ValueError, ("titles[0]", "formula", "frac")),
    (lambda: matrices(1, value_range=10**400), TypeError, ("value_range", "1000")),
    (lambda: curves(totals={"single": [1, 1e308]}), ValueError, ("totals['single'][1]", "1e+308")),
    (lambda: curves(totals={"single": [1, 10**400]}), TypeError, ("totals['single'][1]", "1000")),
    (lambda: curves(x=np.array(1.0)), ValueError, ("x", "()", "at least two")),
    (lambda: curves(xlabel=FORMULA), ValueError, ("xlabel", "formula", "frac")),
    (lambda: curves(ylabel=FORMULA), ValueError, ("ylabel", "formula", "frac")),
    (lambda: plot.network([5]), ValueError, ("sizes", "at least two", "[5]")),
    (lambda: plot.network([5, 0]), ValueError, ("sizes[1]", "0")),
    (lambda: plot.network(7), TypeError, ("sizes", "7")),
    (lambda: plot.network([2] * 12), ValueError, ("sizes", "2 to 11", "12")),
    (lambda: plot.network([2, 3], "swag"), ValueError, ("method", "'swag'", "'rank1'")),
    (lambda: plot.network([2, 3], "rank1", 0), ValueError, ("ensemble_size", "0")),
    (lambda: plot.network([2, 3], "rank1"), TypeError, ("ensemble_size", "None")),
    (lambda: plot.network([2, 3], "mc_dropout", 2), ValueError, ("ensemble_size", "no members")),
    (lambda: plot.png(None), TypeError, ("figure", "Matplotlib", "None")),
    (lambda: plot.weight_matrices([[1.0]]), TypeError, ("weights", "(M, m, n)", "list")),
    (lambda: plot.weight_matrices(np.ones((2, 3))), ValueError, ("weights", "(2, 3)", "(M, m, n)")),
    (lambda: plot.weight_matrices(np.ones((1, 2, 3), int)), TypeError, ("weights", "int64")),
    (lambda: plot.weight_matrices(np.ones((0, 2, 3))), ValueError, ("weights", "(0, 2, 3)")),
    (lambda: plot.weight_matrices(np.full((1, 2, 3), NAN)), ValueError, ("weights", "nan")),
    (lambda: plot.weight_matrices(np.ones((17, 2, 3))), ValueError, ("weights", "17", "1 to 16")),
    (lambda: matrices(2, titles=["a"]), ValueError, ("titles", "2", "1")),
    (lambda: matrices(2, titles="ab"), TypeError, ("titles", "'ab'")),
    (lambda: matrices(1, titles=[7]), TypeError, ("titles[0]", "7")),
    (lambda: matrices(1, annotate=1), TypeError, ("annotate", "1")),
    (lambda: matrices(1, value_range=0), ValueError, ("value_range", "0")),
    (lambda: plot.parameter_bars([Count()]), TypeError, ("counts", "mapping", "list")),
    (lambda: plot.in_words({}), ValueError, ("counts", "at least one")),
    (lambda: plot.parameter_bars({}), ValueError, ("counts", "at least one")),
    (lambda: plot.parameter_bars({1: Count()}), TypeError, ("counts", "key 1")),
    (lambda: plot.parameter_bars({"single": 7}), TypeError, ("counts['single']", "Count", "7")),
    (lambda: curves(x=[2, 1]), ValueError, ("x", "increase", "[2, 1]")),
    (lambda: curves(x=[1]), ValueError, ("x", "at least two", "(1,)")),
    (lambda: curves(x=7), TypeError, ("x", "7")),
    (lambda: curves(x=["1", "2"]), TypeError, ("x[0]", "number", "'1'")),
    (lambda: curves(x=[0, True]), TypeError, ("x[1]", "number", "True")),
    (lambda: curves(x=ones(2, 1)), ValueError, ("x", "(2, 1)")),
    (lambda: curves(totals={"single": [1, "2"]}), TypeError, ("totals['single'][1]", "'2'")),
    (lambda: curves(totals={"single": [1, 2, 3]}), ValueError, ("totals['single']", "2", "(3,)")),
    (lambda: curves(totals={"single": ["a", "b"]}), TypeError, ("totals['single']", "'a'")),
    (lambda: curves(totals={"single": [1, NAN]}), ValueError, ("totals['single']", "nan")),
    (lambda: curves(xlabel=3), TypeError, ("xlabel", "3")),
    (lambda: curves(log=1), TypeError, ("log", "1")),
    (lambda: curves(log=True, totals={"single": [0, 1]}), ValueError, ("totals", "above 0")),
    (lambda: curves(relative_to="rank1"), ValueError, ("relative_to", "'rank1'", "'single'")),
    (lambda: curves(relative_to="mine", totals={"mine": [0, 1]}), ValueError, ("totals['mine']",)),
    (lambda: curves(log_x=1), TypeError, ("log_x", "1", "True or False")),
    (lambda: curves(x=[0, 2], log_x=True), ValueError, ("x", "above 0", "log_x", "got 0")),
    (lambda: curves(marks=3), TypeError, ("marks", "mapping", "3")),
    (lambda: curves(marks={1: 1}), TypeError, ("marks", "key 1")),
    (lambda: curves(marks={"rank1": 1}), ValueError, ("marks", "'rank1'", "'single'")),
    (lambda: curves(marks={"single": "a"}), TypeError, ("marks['single']", "'a'")),
    (lambda: curves(marks={"single": NAN}), ValueError, ("marks['single']", "nan")),
    (lambda: curves(marks={"single": 2.5}), ValueError, ("marks['single']", "1 to 2", "2.5")),
    (lambda: plot.modulation([[1.0]], 1, 1), TypeError, ("weight", "(m, n)", "list")),
    (lambda: plot.modulation(ones(2, 3), ones(4, 3), ones(4, 3)), ValueError, ("r", "(M, 2)")),
    (lambda: plot.modulation(ones(2, 3), ones(4, 2), ones(5, 3)), ValueError, ("s", "(4, 3)")),
    (lambda: plot.modulation(ones(2, 3), ones(4, 2), 7), TypeError, ("s", "int")),
    (lambda: modulation(M=5), ValueError, ("r has M = 5", "up to 4")),
    (lambda: modulation(m=9), ValueError, ("weight has m = 9", "up to 8")),
    (lambda: modulation(n=9), ValueError, ("weight has n = 9", "up to 8")),
    (lambda: modulation(value_range=-1), ValueError, ("value_range", "-1")),
    (lambda: distribution(S=7), ValueError, ("samples has S = 7", "up to 6")),
    (lambda: distribution(m=17), ValueError, ("mean has m = 17", "up to 16")),
    (lambda: distribution(n=17), ValueError, ("mean has n = 17", "up to 16")),
    (lambda: distribution(std=-1.0), ValueError, ("std", ">= 0", "-1")),
    (lambda: distribution(method="single"), ValueError, ("method", "'single'", "'rank1'")),
    (lambda: distribution(value_range=NAN), ValueError, ("value_range", "nan")),
    (lambda: plot.distribution(ones(2, 3), ones(3, 2), 1), ValueError, ("std", "(2, 3)")),
    (
        lambda: plot.distribution(ones(2, 3), ones(2, 3), ones(2, 3)), ValueError,
        ("samples", "(S, 2, 3)"),
    ),
    (lambda: plot.inside({}, {}), ValueError, ("parts", "at least one")),
    (lambda: plot.inside({"swag": {}}, {}), ValueError, ("parts", "'swag'", "'rank1'")),
    (lambda: plot.inside(parts(), {}), ValueError, ("counts", "at least one")),
    (lambda: plot.inside(parts(), COUNTS), ValueError, ("counts", "'mc_dropout'", "'single'")),
    (lambda: inside(changed("single", "r", np.ones(m))), ValueError, ("parts['single']", "'r'")),
    (lambda: inside(changed("rank1", "s_mean", np.ones((M, m)))), ValueError, ("s_mean", "(5, 7)")),
    (lambda: inside(changed("rank1", "s_std", -np.ones((M, n)))), ValueError, ("s_std", "-1")),
    (lambda: inside(parts(m=9)), ValueError, ("m = 9", "up to 8")),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    call, error, expected = BAD[case]
    with pytest.raises(error) as raised:
        call()
    for part in expected:
        assert part in str(raised.value)

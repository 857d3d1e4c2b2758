"""What the figures show is what they were given: read back from the drawn artists."""

import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PatchCollection, QuadMesh
from matplotlib.patches import Circle, Rectangle
from matplotlib.text import Text

from ensedu import counting, plot
from ensedu.counting import METHODS, ROLES, Count
from ensedu.plot import style
from ensedu.plot.inside import SHAPES

M, m, n = 5, 3, 7
COUNTS = {name: counting.mlp([1, 50, 50, 1], name, 4) for name in METHODS}
SIZES = [1, 50, 50, 1]


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
    return {
        name: [counting.mlp([1, *[50] * h, 1], name, 4).total for h in range(1, 10)]
        for name in names
    }


FIGURES = {
    **{f"network {k}": (lambda k=k: plot.network(SIZES, k, 4)) for k in METHODS},
    "network of many": lambda: plot.network([1, *[50] * 9, 1], "batch_ensemble", 7),
    "network of large sums": lambda: plot.network([784, 300, 300, 100, 10], "deep_ensemble", 8),
    "matrices": lambda: plot.weight_matrices(np.full((M, m, n), 0.5)),
    "bars": lambda: plot.parameter_bars(COUNTS),
    "curves": lambda: plot.growth_curves(range(1, 10), growth(), xlabel="x", ylabel="y"),
    "log curves": lambda: plot.growth_curves(
        range(1, 10), growth(), xlabel="x", ylabel="y", log=True
    ),
    "ratios": lambda: plot.growth_curves(
        range(1, 10), growth(), xlabel="x", ylabel="y", relative_to="single"
    ),
    "inside": lambda: plot.inside(parts(M=4, n=4), {k: COUNTS[k] for k in SHAPES}),
}


def words(axes):
    return [text.get_text() for text in axes.texts]


def boxes(figure):
    """All that is written in the figure, with its box in pixels."""
    figure.draw_without_rendering()
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
    figure = FIGURES[name]()
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
def test_same_input_same_bytes(name):
    assert plot.png(FIGURES[name]()) == plot.png(FIGURES[name]())


@pytest.mark.parametrize("method", METHODS)
def test_network_writes_the_counts(method):
    (axes,) = plot.network(SIZES, method, 4).axes
    count = COUNTS[method]
    assert [w for w in words(axes) if w.startswith("= ")] == [
        f"= {layer.total:,}" for layer in count.layers
    ]
    assert f"total {count.total:,}" in words(axes)


@pytest.mark.parametrize("method", METHODS)
def test_terms_of_the_network_add_up(method):
    (axes,) = plot.network([2, 3, 5], method, 7).axes
    layers = counting.mlp([2, 3, 5], method, 7).layers
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
    assert [w for w in words(deep) if "member" in w] == ["member 1", "member 2", "member 3"]
    # One square for each entry of r and of s.
    squares = [len(c.get_paths()) for c in batch.collections if isinstance(c, PatchCollection)]
    assert sum(squares) == 3 * (2 + 3)


def test_network_elides_wide_layers_and_many_members():
    (axes,) = plot.network([1, 1000, 1], "deep_ensemble", 9).axes
    assert [w for w in words(axes) if "member" in w] == [f"member {i}" for i in (1, 2, 3, 9)]
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
    figure = plot.growth_curves(range(1, 10), growth(), xlabel="hidden layers", ylabel="numbers")
    (axes,) = figure.axes
    for line, (name, totals) in zip(axes.lines, growth().items(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), range(1, 10))
        np.testing.assert_array_equal(line.get_ydata(), totals)
        assert (line.get_color(), line.get_marker()) == (plot.PALETTE[name], plot.MARKERS[name])
    assert words(axes) == [plot.LABELS[name] for name in METHODS]
    assert axes.get_xlabel() == "hidden layers"
    assert [text.get_text() for text in figure.texts] == ["numbers"]


def test_names_stand_in_the_order_of_the_ends():
    (axes,) = plot.growth_curves(range(1, 10), growth(), xlabel="x", ylabel="y").axes
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


NAN = float("nan")
BAD = [
    (lambda: plot.network([5]), ValueError, ("sizes", "at least two", "[5]")),
    (lambda: plot.network([5, 0]), ValueError, ("sizes[1]", "0")),
    (lambda: plot.network(7), TypeError, ("sizes", "7")),
    (lambda: plot.network([2] * 12), ValueError, ("sizes", "2 to 11", "12")),
    (lambda: plot.network([2, 3], "swag"), ValueError, ("method", "'swag'", "'rank1'")),
    (lambda: plot.network([2, 3], "rank1", 0), ValueError, ("ensemble_size", "0")),
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
    (lambda: plot.parameter_bars({}), ValueError, ("counts", "at least one")),
    (lambda: plot.parameter_bars({1: Count()}), TypeError, ("counts", "key 1")),
    (lambda: plot.parameter_bars({"single": 7}), TypeError, ("counts['single']", "Count", "7")),
    (lambda: curves(x=[2, 1]), ValueError, ("x", "increase", "[2, 1]")),
    (lambda: curves(x=[1]), ValueError, ("x", "at least two", "(1,)")),
    (lambda: curves(x=7), TypeError, ("x", "7")),
    (lambda: curves(totals={"single": [1, 2, 3]}), ValueError, ("totals['single']", "2", "(3,)")),
    (lambda: curves(totals={"single": ["a", "b"]}), TypeError, ("totals['single']", "'a'")),
    (lambda: curves(totals={"single": [1, NAN]}), ValueError, ("totals['single']", "nan")),
    (lambda: curves(xlabel=3), TypeError, ("xlabel", "3")),
    (lambda: curves(log=1), TypeError, ("log", "1")),
    (lambda: curves(log=True, totals={"single": [0, 1]}), ValueError, ("totals", "above 0")),
    (lambda: curves(relative_to="rank1"), ValueError, ("relative_to", "'rank1'", "'single'")),
    (lambda: curves(relative_to="mine", totals={"mine": [0, 1]}), ValueError, ("totals['mine']",)),
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

"""Figure functions: what they are given can be read; they show it, say what follows, or refuse."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from ensedu import counting
from ensedu.counting import Count
from ensedu.methods import METHODS, ROLES, size_option
from tests.book import looking as looks
from tests.book.looking import LIGHT, NARROW, WIDE, drawn, meshes, place_of, words
from tests.errors import check_error
from workshop import plot
from workshop.plot import Belief, bars, style
from workshop.plot.colored_cells import INKS
from workshop.plot.inside import SHAPES
from workshop.plot.panels import POINTED
from workshop.plot.style import LOOKS, MUTED, PAGE, PALETTE, SHARED

X = np.linspace(-2.0, 3.0, 11)
COUNTS = {name: counting.mlp([3, 47, 53, 2], name, **size_option(name, 5)) for name in METHODS}


def array(*shape, unit=1.0):
    """Normal numbers that nobody may change."""
    values = unit * np.random.default_rng(shape).normal(size=shape)
    values.flags.writeable = False
    return values


def curves(x=(1, 2), totals=None, ylim=(1, 9), **options):
    totals = {"single": [3, 4]} if totals is None else totals
    return plot.growth_curves(x, totals, ylim=ylim, **{"xlabel": "x", "ylabel": "y"} | options)


def distribution(S=2, m=3, n=5, unit=1.0, **options):
    mean, draws = array(m, n, unit=unit), array(S, m, n, unit=unit)
    given = {"mean": mean, "std": 0.75 * np.abs(mean), "draws": draws, "method": "rank1"}
    return plot.distribution(**given | {"value_range": 2 * unit, "std_range": 3 * unit} | options)


def pooled(interval=(0.3, 0.6, 0.9), sources=(0.1, 1.1), word="worse by little", method=None):
    return plot.PooledEffect(interval, sources, word, method)


def forest(rows=None, **options):
    return plot.forest({"a": pooled()} if rows is None else rows, **{"xlabel": "x"} | options)


def functions(beliefs=None, x=X, **options):
    beliefs = {"a": Belief("rank1", X)} if beliefs is None else beliefs
    return plot.functions(x, beliefs, **{"ylim": (-4, 9)} | options)


def parts(M=2, m=3, n=5, methods=SHAPES):
    sizes = {"M": M, "m": m, "n": n}
    return {
        method: {
            name: np.abs(array(*(sizes[letter] for letter in shape))) + i / 7 + j / 70
            for i, (name, shape) in enumerate(SHAPES[method].items())
        }
        for j, method in enumerate(methods)
    }


def inside(arrays=None, **counts):
    arrays = parts() if arrays is None else arrays
    return plot.inside(arrays, {key: COUNTS[key] for key in arrays} | counts)


M, m, n = 2, 3, 5
TOTALS = {"mine": [1, 20, 300], "single": [2, 10, 100]}
TRUTH, MEMBERS = np.cos(X), np.sin(X) + 0.1 * np.arange(3)[:, None]
MATRICES, W = array(M, m, n), array(m, n)
STD = 0.75 * np.abs(W)
PARTS = parts(M, m, n)
BATCH, RANK1 = PARTS["batch_ensemble"], PARTS["rank1"]
COMPUTED = [
    *(BATCH["weight"] * np.outer(r, s) for r, s in zip(BATCH["r"], BATCH["s"], strict=True)),
    *(RANK1["weight"] * np.outer(r, s)
      for r, s in zip(RANK1["r_mean"], RANK1["s_mean"], strict=True)),
    *PARTS["mean_field"]["samples"],
]  # fmt: skip
NLL = {
    "a larger network": (-0.03, -0.011, 0.02), "deep_ensemble": (-0.09, -0.063, -0.03),
    "rank1": (0.01, 0.017, 0.05),
}  # fmt: skip
ROWS = {
    "rank1": pooled((0.3, 0.6, 0.9), [0.1, 0.6, 1.1], "worse"),
    "a larger network": pooled((-0.2, 0.0, 0.2), [-0.1, 0.05], "practically equal", "single"),
    "deep_ensemble": pooled((-2.0, -0.8, -0.4), [-3.0, -0.4, 1.0], "better"),
    "boosting": pooled((-1.9, -0.1, 1.7), [-3.0, -3.0, 0.5, 3.0], "unclear"),
}
BAND = Belief("rank1", MEMBERS.mean(0), np.full(11, 0.25), MEMBERS)
MISSED = np.where(np.abs(TRUTH - BAND.mean) <= 0.5, np.nan, TRUTH)
CASES = {
    "totals of counts, and their ratios": (
        lambda: plot.parameter_bars(COUNTS), [],
        {f"{c.total:,} · {c.total / COUNTS['single'].total:.2f} ×" for c in COUNTS.values()}
        | {"multiples of the single network", "2,738 weights", "2,738 shared"},
    ),
    "counts without the single network, one of them empty": (
        lambda: plot.parameter_bars({"mine": Count(6), "empty": Count()}), [],
        {"multiples of mine", "0 · 0.00 ×"},
    ),
    "curves": (
        lambda: curves((1, 2, 8), TOTALS, (0, 300)), TOTALS.values(), {"mine", "single network"},
    ),
    "curves as multiples": (
        lambda: curves((1, 2, 8), TOTALS, (0.4, 4), relative_to="single", log=True, log_x=True),
        [[0.5, 2, 3], [1, 1, 1]], {"0.5×", "1×", "2×", "1", "2", "8"},
    ),
    "a distribution": (
        distribution, [W, STD, *MATRICES, np.sign(W) * (MATRICES[1] - W) / STD],
        {"mean", "standard deviations", "draw 1", "draw 2"},
    ),
    "one without spread": (lambda: distribution(std=0 * STD), [0 * STD], {"draw 1"}),
    "effects": (
        lambda: plot.effects({"NLL": NLL}, levels={"NLL": "here 97.2"}),
        [[-0.03, 0.02], [-0.011], [-0.09, -0.03], [0.017]],
        {"NLL", "here 97.2", "−0.011", "+0.017", "deep ensemble", "unclear"},
    ),
    "a function": (
        lambda: functions({"a": BAND}, truth=TRUTH, data=(X, X / 2), shaded=(0.5, 1.0)),
        [*MEMBERS, BAND.mean, BAND.mean + 0.5, BAND.mean - 0.5, TRUTH, MISSED, X / 2],
        {"a", "mean ± 2σ", "true curve", "data", "no data"},
    ),
    "members alone": (
        lambda: functions({"a": Belief("rank1", members=MEMBERS)}, thin="each"), MEMBERS, {"each"}
    ),
    "functions together": (
        lambda: functions({k: Belief(k, X) for k in ("single", "rank1")}, together=True),
        [X], {"single network", "rank-1 BNN"},
    ),
    "words in a panel": (
        lambda: functions({"a": BAND}, data=(X, X), named={"data": (2, -1, 1.5, 0.5)}),
        [[2, -1, 1.5, 0.5]], {"data", "mean ± 2σ"},
    ),
    "inside": (
        lambda: inside(PARTS), [
            *COMPUTED, *PARTS["single"].values(), *PARTS["deep_ensemble"]["weight"],
            *RANK1["r_mean"], *RANK1["s_std"], *RANK1["bias"],
        ], {f"{COUNTS[k].total:,}" for k in SHAPES} | {"shared", "member 2", "draw 2", "biases"},
    ),
    "the key": (plot.key, [], {"computed", "never stored", *plot.LABELS.values()}),
}  # fmt: skip


LONG = "one network of as many parameters as four others have together, trained as long as they"
DEEP = {name: counting.mlp([1, *[1000] * 9, 1], name, **size_option(name, 64)) for name in METHODS}
DEVICES = [1, 2, 4, 16, 64, 256, 1024, 4096]


def beliefs(names, members, scale=1.0, **options):
    """Functions of these names around sines, with all that can be beside them."""
    found = {
        name: plot.Belief(
            name if name in METHODS else "single", scale * (np.sin(X) + i), np.full(11, scale / 4),
            array(members, 11, unit=scale),
        )
        for i, name in enumerate(names)
    }  # fmt: skip
    about = {"truth": scale * np.cos(X), "data": (X, scale * X), "shaded": (0.5, 1.0)}
    return functions(found, ylim=(-4 * scale, 9 * scale), **about | options)


def shared_panels():
    with plot.house_style():
        figure, found = plot.panels(5, height=1.5, columns=3, sharex=True, sharey=True)
        for axes in found:
            axes.set(xlabel="x", ylabel="y", title="a title")
        found[-1].set(xlim=(-3, 7), ylim=(2, 5))
    return figure


EXTREMES = {
    "bars": lambda: plot.parameter_bars(DEEP),
    "small bars": lambda: plot.parameter_bars({"single": Count(10**60), LONG: Count(1, 2, 3, 5)}),
    "many curves": lambda: curves((1, 2), {f"curve {i}": [1, i] for i in range(24)}, (0, 24)),
    "curves, long words": lambda: curves((1, 2), {LONG: [1, 2]}, (0, 3), xlabel=LONG, ylabel=LONG),
    "many ticks": lambda: curves(DEVICES, {"rank1": range(8)}, (0, 8), log_x=True),
    "one number distributed": lambda: distribution(1, 1, 1),
    "many distributed": lambda: distribution(6, 16, 16, 1e-9, method="mean_field"),
    "effects, long words": lambda: plot.effects(
        {title: NLL | {LONG: (0.0, 0.0, 0.0)} for title in ("NLL", LONG, "c", "d")},
        levels={"c": LONG},
    ),
    "a forest": lambda: forest(
        dict.fromkeys([*METHODS, LONG], pooled(sources=[0.1, 4, 4, 5])), xlim=(-1.5, 3.0)
    ),
    "functions": lambda: beliefs([*METHODS], 3, 3e6),
    "four together": lambda: beliefs([*METHODS][:4], 64, together=True),
    "bundles": lambda: beliefs([f"member {i}" for i in range(4)], 13, columns=(4, 2), thin=LONG),
    "a smallest layer": lambda: inside(parts(1, 1, 1)),
    "a largest layer": lambda: inside(parts(8, 8, 8), single=Count(10**60)),
    "a flat layer": lambda: inside(parts(3, 1, 5, ["single"]), single=Count()),
    "panels": shared_panels,
}


@pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])
@pytest.mark.parametrize("name", EXTREMES)
def test_whatever_is_given_can_be_read(name, look):
    figure = drawn(EXTREMES[name], look)
    looks.readable(figure, look)
    looks.of_the_house(figure)


@pytest.mark.parametrize("case", CASES)
def test_a_figure_shows_what_it_is_given_and_says_what_follows(case):
    draw, given, said = CASES[case]
    looks.readable(drawn(draw, NARROW), NARROW)
    figure = drawn(draw)
    looks.readable(figure, WIDE)
    for values in given:
        assert looks.holds(figure, values), values
    assert said <= {*words(figure)}, words(figure)


def pieces(figure):
    """Begin, length and role of the pieces of each bar, from top to bottom, lines included."""
    found = {}
    for one in figure.axes[0].patches:
        line = one.get_linewidth() / 72
        if one.get_height() + line == pytest.approx(bars.BAR):
            row = found.setdefault(round(one.get_y() + one.get_height() / 2, 3), [])
            row.append((one.get_x() - line / 2, one.get_width() + line, one.get_gid()))
    return [list(zip(*row, strict=True)) for row in found.values()]


@pytest.mark.parametrize("look", LIGHT)
def test_a_bar_is_as_long_as_its_total_and_its_pieces_as_their_roles(look):
    figure = drawn(lambda: plot.parameter_bars(COUNTS), look)
    box, high = figure.axes[1].get_position(), figure.axes[1].get_xlim()[1]
    begin, unit = box.x0 * look.width, box.width * look.width / high
    one = COUNTS["single"].total
    assert high == pytest.approx(max(count.total for count in COUNTS.values()) / one)
    for (starts, lengths, roles), count in zip(pieces(figure), COUNTS.values(), strict=True):
        end = starts[-1] + lengths[-1]
        assert (starts[0], end) == pytest.approx((begin, begin + unit * count.total / one))
        assert roles == tuple(role for role in ROLES if getattr(count, role))
        shares = [getattr(count, role) / count.total for role in roles]
        np.testing.assert_allclose(np.array(lengths) / sum(lengths), shares, atol=1e-9)
        assert np.diff(starts) - lengths[:-1] == pytest.approx(0.03)  # the page between two pieces


def test_names_stand_in_the_order_of_the_ends_and_have_the_look_of_a_method():
    totals = {name: [1, end] for name, end in zip(METHODS, (3, 4, 9, 1, 3.1, 2, 7), strict=True)}
    totals["mine"] = [1, 8]
    (axes,) = drawn(lambda: curves(totals=totals, ylim=(0, 9), colors={"mine": "rank1"})).axes
    ends = [total for _, total in totals.values()]
    heights = [text.get_position()[1] for text in axes.texts]
    np.testing.assert_array_equal(np.argsort(heights), np.argsort(ends))
    for line, text, name in zip(axes.lines, axes.texts, totals, strict=True):
        own = "rank1" if name == "mine" else name
        assert line.get_color() == text.get_color() == PALETTE[own]
        assert line.get_marker() == plot.MARKERS[own]


def test_effects_are_full_where_they_are_resolved_and_their_axis_holds_zero():
    def faces(**options):
        (axes,) = drawn(lambda: plot.effects({"NLL": NLL}, **options)).axes
        return [line.get_markerfacecolor() for line in axes.lines if len(line.get_xdata()) == 1]

    assert faces() == [PAGE, PALETTE["deep_ensemble"], PALETTE["rank1"]]
    assert faces(resolved={"NLL": ["rank1"]}) == [PAGE, PAGE, PALETTE["rank1"]]
    assert faces(resolved={}, colors={"a larger network": "single"}) == [PAGE] * 3
    one, other = plot.effects({"a": {"b": (1, 2, 3)}, "c": {"b": (-5, -4, -3)}}).axes
    (low, high), (left, right) = one.get_xlim(), other.get_xlim()
    assert low < 0 and 3 < high < 4 and -6 < left < -5 and right > 0


def labeled(axes, end):
    """Lines whose label ends so, by name, in the order in which they are drawn."""
    found = [line for line in axes.lines if line.get_label().endswith(end)]
    return {line.get_label().removesuffix(end): line for line in found}


@pytest.mark.parametrize("look", LIGHT)
def test_a_forest_has_the_best_first_and_says_its_numbers_where_it_stands(look):
    figure = drawn(lambda: forest(ROWS), look)
    (axes,) = figure.axes
    middles, intervals, dots = (labeled(axes, f", {k}") for k in ("middle", "interval", "sources"))
    assert [*middles] == ["deep ensemble", "boosting", "a larger network", "rank-1 BNN"]
    tops = [line.get_ydata()[0] for line in middles.values()]
    assert tops == sorted(tops)
    low, high = axes.get_xlim()
    assert -3 < low < -2 and 1.7 < high < 3  # it holds all intervals, and not all dots
    for name, row in ROWS.items():
        called, own = plot.LABELS.get(name, name), PALETTE.get(row.method or name, SHARED)
        assert [*intervals[called].get_xdata()] == [row.interval[0], row.interval[2]]
        assert [*middles[called].get_xdata()] == [row.interval[1]]
        face = middles[called].get_markerfacecolor()
        assert face == (PAGE if row.word == "unclear" else own)
        assert [*dots[called].get_xdata()] == [x for x in row.sources if low < x < high]
    said = next(one.get_label() for one in figure.artists if one.get_gid() == POINTED)
    assert said == (
        "deep ensemble: better\nmiddle −0.80 (−2.00 to −0.40)\nlower on 2 of 3 data sets"
    )
    assert {"← better", "worse →", "one network", "each data set", "further out"} <= {
        *words(figure)
    }


def test_what_leaves_a_forests_axis_is_an_arrowhead_with_its_number():
    (axes,) = drawn(lambda: forest(ROWS, xlim=(-1.5, 3.0))).axes
    heads = {(one.get_label(), one.get_marker(), one.get_xdata()[0]) for one in axes.lines
             if one.get_marker() in ("<", ">")}  # fmt: skip
    assert heads == {
        ("deep ensemble, 1 beyond", "<", -1.5), ("boosting, 2 beyond", "<", -1.5),
        ("boosting, 1 beyond", "<", -1.5), ("boosting, 1 beyond", ">", 3.0),
    }  # fmt: skip
    assert [text.get_text() for text in axes.texts] == ["2"]
    one = {"rank1": pooled((0.0, 0.1, 0.2), [0.1])}
    for ends, cut in (((-4, 4), True), (None, False)):  # others with these ends have arrowheads
        said = words(drawn(lambda ends=ends: forest(one, xlim=ends)))
        assert ("further out" in said) == cut and "this data set" in said


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_inside_has_a_frame_if_it_is_stored_and_is_faint_if_it_is_computed(look):
    (axes,) = drawn(lambda: inside(PARTS), look).axes
    patches = [one for one in axes.patches if one.get_gid() is None and one.get_facecolor()[3] == 0]
    framed = {place_of(one): to_hex(one.get_edgecolor()) for one in patches if one.get_linewidth()}
    faint, gray = {values.tobytes() for values in COMPUTED}, set()
    for mesh in meshes(axes):
        values = np.ascontiguousarray(mesh.get_array()).tobytes()
        assert (mesh.get_alpha() is None) == (place_of(mesh) in framed) == (values not in faint)
        if framed.get(place_of(mesh)) == SHARED:
            gray.add(values)
    shared = [PARTS[key]["weight"] for key in ("single", "batch_ensemble", "rank1")]
    assert gray == {one.tobytes() for one in (*shared, PARTS["mean_field"]["weight_mean"])}
    # Hatched are standard deviations, and the margins of draws.
    hatched = [bool(one.get_linewidth()) for one in patches if one.get_hatch()]
    assert (hatched.count(True), hatched.count(False)) == (2 * M + 2, M)
    signed = [one for one in meshes(axes) if one.get_cmap().name != "tint"]
    assert {one.get_cmap().name for one in signed} == {"dark heat" if look.dark else "heat"}
    assert len({one.get_clim() for one in signed}) == 2  # weights, and r and s
    ends = np.array([place_of(one) for one in meshes(axes)])
    assert ends[:, 0].min() >= 0.1 and ends[:, 2].max() <= look.width - 0.1


@pytest.mark.parametrize("look", LOOKS)
def test_color_maps_have_the_ends_that_were_given_on_their_page(look):
    found = {True: set(), False: set()}
    for mesh in meshes(drawn(distribution, look).axes[0]):
        heat = style.DARK_HEAT if look.dark else style.HEAT
        found[mesh.get_cmap() == heat].add(mesh.get_clim())
    assert found == {True: {(-2, 2)}, False: {(0, 3)}}


@pytest.mark.parametrize("look", LOOKS)
def test_entries_can_be_read_in_their_cells(look):
    mean = np.linspace(-1, 1, 9).reshape(3, 3)
    given = {"mean": mean, "std": mean + 1, "draws": mean[None], "method": "mean_field"}
    (axes,) = drawn(lambda: distribution(**given), look).axes
    cells = [mesh.to_rgba(mesh.get_array()).reshape(-1, 4) for mesh in meshes(axes)[:3]]
    inks = [text.get_color() for text in axes.texts if text.get_color() in INKS]
    for ink, cell in zip(inks, np.concatenate(cells), strict=True):
        assert looks.contrast(ink, cell[:3]) >= 4.5
    assert not {*style.DARK, *style.DARK.values()} & {*INKS}


@pytest.mark.parametrize("draw, solid, hatched", [
    (distribution, [], 1 + M),
    (lambda: distribution(method="mean_field"), [SHARED, PALETTE["mean_field"]], 1 + M),
])  # fmt: skip
def test_only_what_is_stored_has_a_solid_frame_and_what_is_random_is_hatched(draw, solid, hatched):
    (axes,) = drawn(draw).axes
    frames = [one for one in axes.patches if to_hex(one.get_edgecolor()) != style.GRID]
    whole = [one for one in frames if one.get_linestyle() in ("solid", "-")]
    assert [to_hex(one.get_edgecolor()) for one in whole if one.get_linewidth()] == solid
    assert len([one for one in frames if one.get_hatch()]) == hatched
    assert {to_hex(one.get_edgecolor()) for one in frames if one not in whole} <= {MUTED}


FORMULA = r"$\frac$"  # that lacks its arguments
EFFECT = {"NLL": {"rank1": (0.01, 0.02, 0.05)}}


def changed(method, name, value):
    arrays = parts(5, 3, 7)
    arrays[method][name] = value
    return inside(arrays)


BARS, PANELS = plot.parameter_bars, plot.panels
BAD = [
    (lambda: BARS({}), ValueError, ("counts", "at least one")),
    (lambda: BARS({"a": Count(10**400)}), ValueError, ("counts['a']", "1e+100")),
    (lambda: BARS({"a": Count()}), ValueError, ("counts['a']", "above 0", "multiples")),
    (lambda: curves(x=[2, 1]), ValueError, ("x", "increase", "[2, 1]")),
    (lambda: curves(x=[0, 2], log_x=True), ValueError, ("x", "above 0", "log_x", "got 0")),
    (lambda: curves(totals={"single": [1, 2, 3]}), ValueError, ("totals['single']", "(3,)")),
    (lambda: curves(totals={"single": [1, 1e308]}), ValueError, ("totals['single'][1]", "1e+308")),
    (lambda: curves(totals={"a": [0, 1]}, log=True), ValueError, ("totals", "above 0")),
    (lambda: curves(totals={"a": [0, 1]}, relative_to="a"), ValueError, ("totals['a']",)),
    (lambda: curves(relative_to="rank1"), ValueError, ("relative_to", "'rank1'", "'single'")),
    (lambda: curves(xlabel=FORMULA), ValueError, ("xlabel", "formula", "frac")),
    (lambda: curves(ylim=(3.5, 9)), ValueError, ("ylim", "all from 3 to 4", "3.5 to 9")),
    (lambda: curves(ylim=(0, 9), log=True), ValueError, ("ylim", "above 0", "logarithmic")),
    (lambda: curves(colors={"b": "rank1"}), ValueError, ("colors", "totals", "'b'")),
    (lambda: distribution(S=7), ValueError, ("draws has S = 7", "up to 6")),
    (lambda: distribution(m=17), ValueError, ("mean has m = 17", "up to 16")),
    (lambda: distribution(method="single"), ValueError, ("method", "'single'", "'rank1'")),
    (lambda: plot.effects(EFFECT, resolved={"c": []}), ValueError, ("resolved: a title", "'c'")),
    (lambda: plot.effects(EFFECT, resolved={"NLL": "rank1"}), TypeError, ("collection of names",)),
    (lambda: plot.effects(EFFECT, resolved={"NLL": ["c"]}), ValueError, ("resolved['NLL']", "'c'")),
    (lambda: pooled(sources=[]), ValueError, ("sources", "at least one", "(0,)")),
    (lambda: forest({"a": (1, 2, 3)}), TypeError, ("effects['a']", "PooledEffect")),
    (lambda: forest(words="better"), TypeError, ("words", "list or tuple", "'better'")),
    (lambda: forest(xlim=(-0.25, 3)), ValueError, ("xlim", "-0.25 to 0.6", "-0.25 to 3")),
    (lambda: Belief("rank1"), ValueError, ("mean", "(N,)", "members", "None")),
    (lambda: Belief("rank1", X, X[1:]), ValueError, ("std", "(10,)", "(11,)")),
    (lambda: Belief("rank1", None, X, X[None]), ValueError, ("std", "None without a mean")),
    (lambda: Belief("rank1", X, members=X), ValueError, ("members", "(11,)", "(M, 11)")),
    (lambda: functions(beliefs={"one": X}), TypeError, ("beliefs['one']", "Belief")),
    (lambda: functions(x=X[1:]), ValueError, ("beliefs['a'].mean", "(11,)", "(10,)")),
    (
        lambda: functions({"a": Belief("rank1", members=X[None])}, X[1:]), ValueError,
        ("beliefs['a'].members", "(1, 11)", "(M, 10)"),
    ),
    (lambda: functions(x=X[::-1]), ValueError, ("x must be two numbers or more that increase",)),
    (lambda: functions(truth=X[1:]), ValueError, ("truth", "(10,)", "(11,)")),
    (lambda: functions(data=(X, X[1:])), ValueError, ("data[1]", "(10,)", "(11,)")),
    (
        lambda: functions(beliefs=dict.fromkeys("ab", Belief("rank1", X)), together=True),
        ValueError, ("together must be False", "two of one method", "True for 2 of 1"),
    ),
    (
        lambda: functions(beliefs={m: Belief(m, X) for m in [*METHODS][:5]}, together=True),
        ValueError, ("together must be False for more than 4 beliefs",),
    ),
    (lambda: functions(named={"mean": (4, 0)}), ValueError, ("named['mean']", "-2 to 3", "(4, 0)")),
    (lambda: plot.inside({"swag": {}}, {}), ValueError, ("parts", "'swag'", "'rank1'")),
    (lambda: inside(mc_dropout=Count(1)), ValueError, ("counts", "'mc_dropout'")),
    (lambda: changed("single", "r", np.ones(3)), ValueError, ("parts['single']", "'r'")),
    (lambda: changed("rank1", "s_mean", np.ones((5, 3))), ValueError, ("s_mean", "(5, 7)")),
    (lambda: changed("rank1", "s_std", -np.ones((5, 7))), ValueError, ("s_std", ">= 0", "-1")),
    (lambda: inside(parts(5, 9, 7)), ValueError, ("m = 9", "up to 8")),
    (lambda: PANELS(101, height=1), ValueError, ("count", "up to 100, got 101")),
    (lambda: PANELS(9, height=1, columns=9), ValueError, ("columns", "0.4 inches", "got 9")),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])

"""Figure functions: whatever they are given can be read; they show it, and say what follows."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from ensedu.methods import METHODS
from tests.book import looking as looks
from tests.book.looking import LIGHT, NARROW, WIDE, drawn, words
from workshop import plot
from workshop.plot import Belief
from workshop.plot.panels import POINTED
from workshop.plot.style import INK, PAGE, PALETTE, SHARED

X = np.linspace(-2.0, 3.0, 11)


def array(*shape, unit=1.0):
    """Normal numbers that nobody may change."""
    values = unit * np.random.default_rng(shape).normal(size=shape)
    values.flags.writeable = False
    return values


def curves(x=(1, 2), totals=None, ylim=(1, 9), **options):
    words = {"xlabel": "x", "ylabel": "y"}
    totals = {"single": [3, 4]} if totals is None else totals
    return plot.growth_curves(x, totals, ylim=ylim, **words | options)


def pooled(interval=(0.3, 0.6, 0.9), sources=(0.1, 1.1), word="worse by little", method=None):
    return plot.PooledEffect(interval, sources, word, method)


def forest(rows=None, **options):
    given = {"xlabel": "x", "xlim": (-2.2, 2.5)} | options
    return plot.forest({"a": pooled()} if rows is None else rows, **given)


def functions(beliefs, x=X, **options):
    return plot.predictive_bands(x, beliefs, **{"ylim": (-4, 9)} | options)


def belief(method):
    return Belief(method, X, np.full(11, 0.25))


TOTALS = {"mine": [1, 20, 300], "single": [2, 10, 100]}
TRUTH, MEMBERS = np.cos(X), np.sin(X) + 0.1 * np.arange(3)[:, None]
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
    "curves as multiples": (
        lambda: curves((1, 2, 8), TOTALS, (0.4, 4), relative_to="single", log_x=True),
        [[0.5, 2, 3], [1, 1, 1]], {"1×", "2×", "1", "2", "8"},
    ),
    "a function": (
        lambda: functions({"a": BAND}, truth=TRUTH, data=(X, X / 2), thin="members"),
        [*MEMBERS, BAND.mean, BAND.mean + 0.5, BAND.mean - 0.5, TRUTH, MISSED, X / 2],
        {"a", "members", "mean ± 2σ", "true curve", "data"},
    ),
    "functions together": (
        lambda: functions({k: belief(k) for k in ("single", "rank1")}, together=True),
        [X], {"single network", "rank-1 BNN"},
    ),
}  # fmt: skip


LONG = "one network of as many parameters as four others have together, trained as long as they"
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
    about = {"truth": scale * np.cos(X), "data": (X, scale * X)}
    return functions(found, ylim=(-4 * scale, 9 * scale), **about | options)


def shared_panels():
    with plot.house_style():
        figure, found = plot.panels(5, height=1.5, columns=3, sharex=True, sharey=True)
        for axes in found:
            axes.set(xlabel="x", ylabel="y", title="a title")
        found[-1].set(xlim=(-3, 7), ylim=(2, 5))
    return figure


EXTREMES = {
    "many ticks": lambda: curves(DEVICES, {"rank1": range(8)}, (0, 8), log_x=True),
    "effects, long words": lambda: plot.effect_intervals(
        {title: NLL | {LONG: (0.0, 0.0, 0.0)} for title in ("NLL", LONG, "c", "d")},
        levels={"c": LONG},
    ),
    "a forest": lambda: forest(
        dict.fromkeys([*METHODS, LONG], pooled(sources=[0.1, 4, 4, 5])), xlim=(-1.5, 3.0)
    ),
    "functions": lambda: beliefs([*METHODS], 3, 3e6),
    "four together": lambda: beliefs([*METHODS][:4], 64, together=True),
    "bundles": lambda: beliefs([f"member {i}" for i in range(4)], 13, thin=LONG),
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


def test_names_stand_in_the_order_of_the_ends_and_have_the_look_of_a_method():
    totals = {name: [1, end] for name, end in zip(METHODS, (3, 4, 9, 1, 3.1, 2, 7), strict=True)}
    totals["mine"] = [1, 8]
    figure = drawn(lambda: curves(totals=totals, ylim=(0, 9)))
    (axes,) = figure.axes
    ends = [total for _, total in totals.values()]
    heights = [text.get_position()[1] for text in figure.texts]
    np.testing.assert_array_equal(np.argsort(heights), np.argsort(ends))
    for line, text, name in zip(axes.lines, figure.texts, totals, strict=True):
        assert line.get_color() == text.get_color() == PALETTE.get(name, INK)
        assert line.get_marker() == plot.MARKERS.get(name, ".")


def test_effects_are_full_where_they_are_resolved_and_their_axis_holds_zero():
    def faces(**options):
        (axes,) = drawn(lambda: plot.effect_intervals({"NLL": NLL}, **options)).axes
        return [line.get_markerfacecolor() for line in axes.lines if len(line.get_xdata()) == 1]

    assert faces() == [PAGE, PALETTE["deep_ensemble"], PALETTE["rank1"]]
    assert faces(resolved={"NLL": ["rank1"]}) == [PAGE, PAGE, PALETTE["rank1"]]
    assert faces(resolved={}, colors={"a larger network": "single"}) == [PAGE] * 3
    one, other = plot.effect_intervals({"a": {"b": (1, 2, 3)}, "c": {"b": (-5, -4, -3)}}).axes
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
        "deep ensemble: better\nmiddle −0.800 (−2.000 to −0.400)\nlower on 2 of 3 sources"
    )
    every = words(figure)
    assert {"← better", "worse →", "one network", "each source", "further out"} <= {*every}
    assert every.count("unclear") == 1  # in the key, and not at its row


@pytest.mark.parametrize("look", LIGHT)
@pytest.mark.parametrize("side", [-1, 1])
def test_an_interval_is_seen_up_to_its_end_beside_0(side, look):
    row = pooled(sorted([0.004 * side, 0.5 * side, 0.9 * side]), [side])
    figure = drawn(lambda: forest({"deep_ensemble": row}), look)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    seen = np.asarray(canvas.buffer_rgba())
    (axes,) = figure.axes
    (line,) = labeled(axes, ", interval").values()
    ends = np.linspace(0.01, 0.3, 30) * side
    across, up = axes.transData.transform([(x, line.get_ydata()[0]) for x in ends]).T
    found = seen[len(seen) - 1 - up.astype(int), across.astype(int), :3]
    own = np.array(to_rgb(PALETTE["deep_ensemble"])) * 255
    assert abs(found - own).max() < 2


def test_who_is_better_stands_first_and_apart_where_others_follow():
    best = {"a": "better", "b": "unclear", "c": "better by little", "d": "worse"}
    given = {name: pooled((k - 2, k - 1.5, k - 1), [0], word)
             for k, (name, word) in enumerate(reversed(best.items()))}  # fmt: skip
    for left_out, order, parted in (("", "cadb", True), ("ac", "db", False)):
        rows = {name: one for name, one in given.items() if name not in left_out}
        (axes,) = drawn(lambda rows=rows: forest(rows)).axes
        middles = labeled(axes, ", middle")
        tops = [line.get_ydata()[0] for line in middles.values()]
        assert "".join(middles) == order
        lines = [line.get_ydata()[0] for line in axes.lines if line.get_label() == "_part"]
        assert len(lines) == parted and all(tops[1] < line < tops[2] for line in lines)


def test_what_leaves_a_forests_axis_is_an_arrowhead_with_its_number():
    (axes,) = drawn(lambda: forest(ROWS, xlim=(-1.5, 3.0))).axes
    heads = {(one.get_label(), one.get_marker(), one.get_xdata()[0]) for one in axes.lines
             if one.get_marker() in ("<", ">")}  # fmt: skip
    assert heads == {
        ("deep ensemble, 1 beyond", "<", -1.5), ("boosting, 2 beyond", "<", -1.5),
        ("boosting, 1 beyond", ">", 3.0),
    }  # fmt: skip
    assert [text.get_text() for text in axes.texts] == ["2"]
    one = {"rank1": pooled((0.0, 0.1, 0.2), [0.1])}
    assert {"further out", "this data set"} <= {*words(drawn(lambda: forest(one)))}

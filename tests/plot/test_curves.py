"""Growth curves go through what they are given, and their names never touch."""

from functools import cache

import numpy as np
import pytest
from matplotlib.lines import Line2D

from ensedu import counting, plot
from ensedu.methods import METHODS
from ensedu.plot import style
from tests.errors import check_error
from tests.plot.looks import LIGHT, drawn, readable_figure, texts

LOOKS = pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])
THREE = ("deep_ensemble", "batch_ensemble", "rank1")


def total(sizes, method, number=4):
    size = {"ensemble_size": number} if METHODS[method].members else {}
    return counting.mlp(sizes, method, **size).total


def growth(names=METHODS):
    return {name: [total([1, *[50] * h, 1], name) for h in range(1, 10)] for name in names}


def layers(x, names=THREE):
    return {name: [counting.layer(h, h, name, 4).total for h in x] for name in names}


def held(totals, relative_to=None, log=False):
    """Ends of an axis that holds all totals."""
    values = np.array([*totals.values()], float)
    values = values / totals[relative_to] if relative_to else values
    low, high = values.min(), 1.1 * values.max()
    return (0.9 * low, high) if log else (min(0.0, 1.1 * low), high)


def curves(x=(1, 2), totals=None, **options):
    totals = {"single": [3, 4]} if totals is None else totals
    if "ylim" not in options:
        options["ylim"] = held(totals, options.get("relative_to"), options.get("log"))
    return plot.growth_curves(x, totals, **({"xlabel": "x", "ylabel": "y"} | options))


def asked(**options):
    return curves(**{"ylim": (1, 9)} | options)


def words(axes):
    return [text.get_text() for text in axes.texts]


DEVICES = [1, 2, 4, 16, 64, 256, 1024, 4096]
WIDTHS = list(range(2, 21))
LAYERS, DOUBLING = range(1, 13), [1, 2, 4, 8, 16, 32, 64]
FIGURES = {
    "all methods": lambda: curves(range(1, 10), growth(), xlabel="of x", ylabel="of y"),
    "logarithmic": lambda: curves(range(1, 10), growth(), log=True),
    "all end at one place": lambda: curves((1, 2), {name: [3, 4] for name in METHODS}),
    "all end at 0": lambda: curves((1, 2), {name: [3, 0] for name in METHODS}),
    "all end at the top": lambda: curves((1, 2), {name: [1, 9] for name in METHODS}, ylim=(0, 9)),
    "many names": lambda: curves((1, 2), {f"curve number {i}": [1, i] for i in range(24)}),
    "a long name": lambda: curves((1, 2), {"a name that is much longer than it should be": [1, 2]}),
    "long labels": lambda: curves(
        xlabel="devices in a network of many machines, four members each, measured",
        ylabel="speed of each device, in percent of one that is alone and has nothing to send",
    ),
    "large numbers": lambda: curves((10**5, 10**12), {"single": [10**12, 3 * 10**13]}),
    "huge numbers": lambda: curves((1, 2), {"single": [1e40, 2.5e60]}, log=True),
    "small numbers": lambda: curves((1e-7, 1e-3), {"single": [1e-5, 2e-5]}, log_x=True),
    "negative numbers": lambda: curves((-2, 1), {"single": [-30, 5]}),
    "relative": lambda: curves(WIDTHS, {
        name: [total([1, h, h, 1], name) for h in WIDTHS] for name in METHODS
    }, relative_to="single"),
    "devices": lambda: curves(
        DEVICES, {"rank1": [100 / (1 + d / 700) for d in DEVICES]}, log_x=True
    ),
    "layers": lambda: curves(LAYERS, layers(LAYERS)),
    "layers log": lambda: curves(LAYERS, layers(LAYERS), log=True),
    "doubling": lambda: curves(DOUBLING, layers(DOUBLING), log_x=True),
}  # fmt: skip


@cache
def shown(name, look):
    """One of these figures, which tests only read."""
    return drawn(FIGURES[name], look)


@pytest.mark.parametrize("name", FIGURES)
def test_curves_are_readable(name):
    for look in LIGHT:
        readable_figure(shown(name, look), look)


def test_curves_go_through_the_totals():
    figure = shown("all methods", LIGHT[0])
    (axes,) = figure.axes
    for line, (name, totals) in zip(axes.lines, growth().items(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), range(1, 10))
        np.testing.assert_array_equal(line.get_ydata(), totals)
        assert (line.get_color(), line.get_marker()) == (plot.PALETTE[name], plot.MARKERS[name])
    assert words(axes) == [plot.LABELS[name] for name in METHODS]
    assert axes.get_xlabel() == "of x"
    assert [text.get_text() for text in figure.texts] == ["of y"]
    assert axes.get_ylim()[0] == 0


def test_negative_totals_are_inside_the_axes():
    (axes,) = shown("negative numbers", LIGHT[0]).axes
    assert axes.get_ylim()[0] < -30 and axes.get_xlim()[0] < -2


@LOOKS
def test_names_stand_in_the_order_of_the_ends(look):
    (axes,) = shown("all methods", look).axes
    heights = {t.get_text().replace("\n", " "): t.get_position()[1] for t in axes.texts}
    ends = {plot.LABELS[name]: totals[-1] for name, totals in growth().items()}
    assert sorted(heights, key=heights.get) == sorted(ends, key=ends.get)
    assert {t.get_position()[0] > 1 for t in axes.texts} == {True}


@LOOKS
def test_a_name_far_from_others_stands_at_the_end_of_its_curve(look):
    totals = {"deep_ensemble": [1, 9], "rank1": [1, 5], "batch_ensemble": [1, 2]}
    (axes,) = drawn(lambda: curves((1, 2), totals), look).axes
    for text, (_, end) in zip(axes.texts, totals.values(), strict=True):
        height = axes.transAxes.inverted().transform(axes.transData.transform((2, end)))[1]
        assert text.get_position()[1] == pytest.approx(height)


def test_curves_relative_to_one_of_them():
    totals = growth(["single", "deep_ensemble"])
    figure = curves(range(1, 10), totals, relative_to="single", log=True)
    single, deep = figure.axes[0].lines
    assert set(single.get_ydata()) == {1}
    assert set(deep.get_ydata()) == {4}
    assert figure.axes[0].get_yscale() == "log"
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["1×", "2×"]


def test_a_short_logarithmic_axis_has_more_than_powers_of_ten():
    for last, expected in ((70, {1, 2, 5, 10, 20, 50}), (5000, {1, 10, 100, 1000})):
        (axes,) = curves((1, 2), {"single": [1, last]}, log=True).axes
        assert set(axes.get_yticks()) == expected
    # Where there is neither, ticks are numbers as on any axis.
    (axes,) = curves((1, 2), {"single": [12, 13]}, log=True, ylim=(11.95, 13.05)).axes
    assert len(axes.get_yticks()) >= 2
    assert all(11.9 < y < 13.1 for y in axes.get_yticks())


def test_a_logarithmic_x_axis_names_each_x():
    (axes,) = curves(DOUBLING, layers(DOUBLING), log_x=True).axes
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == [str(x) for x in DOUBLING]
    assert len(axes.xaxis.get_minorticklocs()) == 0


def test_of_ticks_that_stand_too_close_some_have_no_label():
    def labels(x):
        (axes,) = drawn(lambda: curves(x, layers(x), log_x=True), LIGHT[1]).axes
        assert list(axes.get_xticks()) == x
        return [label.get_text() for label in axes.get_xticklabels()]

    assert labels(DOUBLING) == ["1", "2", "4", "8", "16", "32", "64"]
    found = labels(DEVICES)
    assert found[0] == "1" and found[-1] == "4,096" and 3 < len(set(found)) < len(DEVICES)


@LOOKS
def test_names_at_the_ends_of_equal_curves_are_all_there(look):
    found = texts(shown("all end at one place", look))
    assert set(plot.LABELS.values()) <= {text.get_text().replace("\n", " ") for text in found}


NAN = float("nan")
FORMULA = r"$\frac$"  # that lacks its arguments
BAD = [
    (lambda: asked(totals={"single": [1, 1e308]}), ValueError, ("totals['single'][1]", "1e+308")),
    (lambda: asked(totals={"single": [1, 10**400]}), TypeError, ("totals['single'][1]", "1000")),
    (lambda: asked(x=np.array(1.0)), ValueError, ("x", "()", "at least two")),
    (lambda: asked(xlabel=FORMULA), ValueError, ("xlabel", "formula", "frac")),
    (lambda: asked(ylabel=FORMULA), ValueError, ("ylabel", "formula", "frac")),
    (lambda: asked(x=[2, 1]), ValueError, ("x", "increase", "[2, 1]")),
    (lambda: asked(x=[1]), ValueError, ("x", "at least two", "(1,)")),
    (lambda: asked(x=7), TypeError, ("x", "7")),
    (lambda: asked(x=["1", "2"]), TypeError, ("x[0]", "number", "'1'")),
    (lambda: asked(x=[0, True]), TypeError, ("x[1]", "number", "True")),
    (lambda: asked(x=np.ones((2, 1))), ValueError, ("x", "(2, 1)")),
    (lambda: asked(totals={"single": [1, "2"]}), TypeError, ("totals['single'][1]", "'2'")),
    (lambda: asked(totals={"single": [1, 2, 3]}), ValueError, ("totals['single']", "2", "(3,)")),
    (lambda: asked(totals={"single": ["a", "b"]}), TypeError, ("totals['single']", "'a'")),
    (lambda: asked(totals={"single": [1, NAN]}), ValueError, ("totals['single']", "nan")),
    (lambda: asked(xlabel=3), TypeError, ("xlabel", "3")),
    (lambda: asked(log=1), TypeError, ("log", "1")),
    (lambda: asked(log=True, totals={"single": [0, 1]}), ValueError, ("totals", "above 0")),
    (lambda: asked(relative_to="rank1"), ValueError, ("relative_to", "'rank1'", "'single'")),
    (lambda: asked(relative_to="mine", totals={"mine": [0, 1]}), ValueError, ("totals['mine']",)),
    (lambda: asked(log_x=1), TypeError, ("log_x", "1", "True or False")),
    (lambda: asked(x=[0, 2], log_x=True), ValueError, ("x", "above 0", "log_x", "got 0")),
    (lambda: asked(ylim=(9, 0)), ValueError, ("ylim", "(9, 0)")),
    (lambda: asked(ylim=(0, NAN)), ValueError, ("ylim[1]", "nan")),
    (lambda: asked(ylim=(3.5, 9)), ValueError, ("ylim", "all from 3 to 4", "3.5 to 9")),
    (lambda: asked(ylim=(0, 9), log=True), ValueError, ("ylim", "above 0", "logarithmic")),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])


def test_a_name_has_the_look_of_a_method():
    totals = {"mine": [1, 2, 3], "single": [3, 4, 5]}
    figure = curves([1, 2, 3], totals, colors={"mine": "rank1"})
    (axes,) = figure.axes
    own, line = style.PALETTE["rank1"], axes.lines[0]
    assert (line.get_color(), line.get_marker()) == (own, style.MARKERS["rank1"])
    assert line.get_linestyle() == Line2D([], [], ls=style.LINES["rank1"]).get_linestyle()
    named = {text.get_text(): text.get_color() for text in axes.texts}
    assert named["mine"] == own

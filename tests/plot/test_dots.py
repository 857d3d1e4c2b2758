"""A dot plot shows each seed, means with their intervals, and paired differences."""

import functools

import numpy as np
import pytest

from ensedu.methods import METHODS
from ensedu.plot import dots
from ensedu.plot.style import INK, LABELS, MARKERS, PALETTE
from ensedu.uncertainty import paired
from tests.plot.looks import LIGHT, drawn, limits, readable, repeats, texts

SEEDS = 7
LONG = "one network of as many parameters as four others have together"
RNG = np.random.default_rng(0)
NLL = {name: RNG.normal(2.0 + 0.3 * i, 0.1, SEEDS) for i, name in
       enumerate(("single", "deep_ensemble", "a third"))}  # fmt: skip
RMSE = {name: list(10.0 * values) for name, values in NLL.items()}
BOTH = {"NLL": NLL, "root mean squared error": RMSE}


def rows(axes):
    """Return of each row, from top to bottom, its mean, its interval, and its dots."""
    lines = [line for line in axes.lines if len(set(line.get_ydata())) == 1]
    heights = sorted({float(line.get_ydata()[0]) for line in lines})
    lanes = {y: [line for line in lines if float(line.get_ydata()[0]) == y] for y in heights}
    for upper, lower in zip(heights[::2], heights[1::2], strict=True):
        interval, mean = lanes[upper]
        (seeds,) = lanes[lower]
        yield mean, interval, seeds


def words(figure):
    return [text.get_text() for text in texts(figure)]


@pytest.mark.parametrize("look", LIGHT)
def test_each_row_shows_its_seeds_their_mean_and_its_interval(look):
    figure = drawn(lambda: dots({"NLL": NLL}), look)
    (axes,) = figure.axes
    for (mean, interval, seeds), (name, values) in zip(rows(axes), NLL.items(), strict=True):
        expected = paired(values)
        np.testing.assert_array_equal(seeds.get_xdata(), values)
        assert seeds.get_alpha() < 1
        assert mean.get_xdata()[0] == expected.mean == pytest.approx(values.mean())
        assert tuple(interval.get_xdata()) == (expected.low, expected.high)
        color, marker = PALETTE.get(name, INK), MARKERS.get(name, "o")
        assert {line.get_color() for line in (mean, interval, seeds)} == {color}
        assert {line.get_marker() for line in (mean, seeds)} == {marker}
        assert f"{values.mean():.2f}" in words(figure)
    assert {"NLL", "one seed", "mean, 95% interval"} <= set(words(figure))


@pytest.mark.parametrize("look", LIGHT)
def test_names_stand_at_the_height_of_their_rows(look):
    figure = drawn(lambda: dots({"NLL": NLL}), look)
    found = {text.get_text(): text.get_window_extent() for text in texts(figure)}
    (axes,) = figure.axes
    for (mean, _, seeds), (name, values) in zip(rows(axes), NLL.items(), strict=True):
        (_, upper), (_, lower) = (
            axes.transData.transform((0, line.get_ydata()[0])) for line in (mean, seeds)
        )
        box, number = found[LABELS.get(name, name)], found[f"{values.mean():.2f}"]
        if look.narrow:  # above the row
            assert box.y0 > upper - 4 and box.y1 - lower < 0.6 * figure.dpi
            assert number.x1 == pytest.approx(axes.get_window_extent().x1, abs=3)
        else:
            assert lower < (box.y0 + box.y1) / 2 < upper
            assert (number.y0 + number.y1) / 2 == pytest.approx(upper, abs=3)
            assert number.x0 > axes.get_window_extent().x1 > box.x1


@pytest.mark.parametrize("look", LIGHT)
def test_differences_are_paired_over_seeds(look):
    figure = drawn(lambda: dots(BOTH, reference="single"), look)
    assert len(figure.axes) == 4
    for axes, measured in zip(figure.axes[1::2], (NLL, RMSE), strict=True):
        zero = [line for line in axes.lines if list(line.get_xdata()) == [0, 0]]
        assert len(zero) == 1
        lines = [line for line in axes.lines if line not in zero and len(line.get_xdata()) > 1]
        names = ["deep_ensemble", "a third"]
        shown = {tuple(line.get_xdata()) for line in lines}
        for name in names:
            differences = np.array(measured[name]) - np.array(measured["single"])
            expected = paired(differences)
            assert {tuple(differences), (expected.low, expected.high)} <= shown
            sign = f"{expected.mean:+.2f}" if measured is NLL else f"{expected.mean:+.1f}"
            assert sign.replace("-", "−") in words(figure)
        assert len(lines) == 4
        # The reference itself has no dots, and on a wide page a hollow marker at 0.
        hollow = [line for line in axes.lines if line.get_markerfacecolor() == "#ffffff"]
        assert [list(line.get_xdata()) for line in hollow] == ([] if look.narrow else [[0]])
    assert sum("difference from single" in word for word in words(figure)) == 2


def test_panels_stand_side_by_side_or_stacked():
    for look in LIGHT:
        for options in ({}, {"reference": "a third"}):
            figure = drawn(functools.partial(dots, BOTH, **options), look)
            corners = [axes.get_position().bounds[:2] for axes in figure.axes]
            across = len({round(x, 6) for x, _ in corners})
            assert across == (1 if look.narrow else 2)
    figure = dots({"a": NLL, "b": RMSE, "c": NLL, "d": NLL})
    assert len({round(axes.get_position().x0, 6) for axes in figure.axes}) == 3

    # Long names and numbers leave room for fewer.
    wide = {name: 1e6 * values for name, values in (NLL | {LONG: NLL["single"]}).items()}
    figure = dots({"a": wide, "b": wide, "c": wide})
    assert len({round(axes.get_position().x0, 6) for axes in figure.axes}) == 2
    assert min(axes.get_position().width for axes in figure.axes) * 7.2 > 1.1


def test_an_axis_of_differences_holds_0():
    far = {"a": [1.0, 2.0, 3.0], "b": [31.0, 32.0, 33.5]}
    for reference in far:
        low, high = dots({"NLL": far}, reference=reference).axes[1].get_xlim()
        assert low < 0 < high


def test_colors_are_those_of_methods():
    figure = dots({"NLL": NLL}, colors={"a third": "rank1", "single": "mc_dropout"})
    found = [mean for mean, _, _ in rows(figure.axes[0])]
    methods = ("mc_dropout", "deep_ensemble", "rank1")
    assert [line.get_color() for line in found] == [PALETTE[name] for name in methods]
    assert [line.get_marker() for line in found] == [MARKERS[name] for name in methods]


def test_given_ends_fix_the_axes():
    fixed = {"xlim": {"NLL": (0, 5)}, "difference_xlim": {"NLL": (-1, 3)}, "reference": "single"}
    frames = [
        dots({"NLL": {name: values + i * shift for i, (name, values) in enumerate(NLL.items())}},
             **fixed)
        for shift in (0.0, 0.4, 30.0)
    ]  # fmt: skip
    first = limits(frames[0])
    assert all(limits(frame) == first for frame in frames)
    assert [axes.get_xlim() for axes in frames[0].axes] == [(0, 5), (-1, 3)]
    low, high = dots({"NLL": NLL}).axes[0].get_xlim()
    every = np.concatenate(list(NLL.values()))
    assert low < every.min() and every.max() < high


@pytest.mark.parametrize(
    ("number", "seeds", "scale"), [(2, 2, 1e-9), (2, 101, 3e7), (8, 2, 3e7), (8, 101, 1e-9)]
)
def test_it_can_be_read(number, seeds, scale):
    names = [*METHODS, LONG][-number:]
    rng = np.random.default_rng(0)
    table = {name: scale * rng.normal(1, 1, seeds) for name in names}
    # A row of two, and of many: paired with few seeds, or in four panels with many.
    if (number, seeds) in ((2, 2), (8, 101)):
        readable(lambda: dots({"NLL": table}, reference=names[-1]))
    else:
        readable(lambda: dots({"NLL": table, LONG: table, "c": table, "d": table}))


def test_seeds_that_agree_have_a_mean_without_an_interval():
    readable(lambda: dots({"NLL": {"a": [2.0, 2.0], "b": [2.0, 2.0]}}, reference="a"))


def test_the_same_figure_has_the_same_bytes():
    repeats(lambda: dots(BOTH, reference="single"))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: dots({}), ValueError, "values must be a mapping of names to mappings of names"),
        (lambda: dots({"a": [1.0, 2.0]}), TypeError, r"values\['a'\] must be a mapping of names"),
        (
            lambda: dots({"a": {"b": [1.0]}}),
            ValueError,
            r"values\['a'\]\['b'\] must be a sequence of at least two finite numbers",
        ),
        (
            lambda: dots({"a": NLL, "b": dict(reversed(NLL.items()))}),
            ValueError,
            r"values\['b'\] must have the names of all others, in their order",
        ),
        (lambda: dots({"a": NLL}, reference="two"), ValueError, "reference must be one of"),
        (
            lambda: dots({"a": {"b": [1.0, 2.0]}}, reference="b"),
            ValueError,
            "reference must be None for one name",
        ),
        (
            lambda: dots({"a": {"b": [1.0, 2.0], "c": [1.0, 2.0, 3.0]}}, reference="b"),
            ValueError,
            r"values\['a'\]\['c'\] must have a value for each seed of the reference, 2, got 3",
        ),
        (
            lambda: dots({"a": NLL}, colors={"two": "single"}),
            ValueError,
            r"colors must name entries of values, got \['two'\]",
        ),
        (
            lambda: dots({"a": NLL}, xlim={"b": (0, 1)}),
            ValueError,
            "xlim: a name must be one of 'a', got 'b'",
        ),
        (
            lambda: dots({"a": NLL}, difference_xlim={"a": (1, 0)}),
            ValueError,
            r"difference_xlim\['a'\] must rise",
        ),
    ],
)
def test_bad_input(call, kind, message):
    with pytest.raises(kind, match=message):
        call()

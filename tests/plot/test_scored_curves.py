"""A figure of beliefs shows what it was given, a row or a block a contestant, on common axes."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from ensedu.plot import Belief, scored_curves
from ensedu.plot.style import INK, PALETTE
from tests.plot.looks import LIGHT, drawn, limits, readable, repeats, texts

N, D = 11, 7
X = np.linspace(-2.0, 3.0, N)
DATA = (np.linspace(-1.5, 2.5, D), np.linspace(0.0, 1.0, D))
WIDE, NARROW = LIGHT


def belief(method, shift=0.0, members=3):
    means = np.sin(X) + shift + 0.1 * np.arange(members)[:, None]
    return Belief(method, means.mean(0), np.full(N, 0.25), means)


BELIEFS = {
    "one": belief("single", members=1), "four": belief("deep_ensemble", 0.5),
    "noisy": belief("rank1", -0.5),
}  # fmt: skip
COLUMNS = {"NLL": {"four": (-0.5, -0.25, 0.125), "noisy": (1.0, 2.0, 3.0)}}


def draw(beliefs=BELIEFS, columns=COLUMNS, **others):
    given = {"truth": np.cos(X), "data": DATA, "reference": "one"} | others
    return scored_curves(X, beliefs, columns, **given)


def panels(figure):
    """Return the axes of curves, and those of intervals."""
    curves = [axes for axes in figure.axes if axes.get_title("left")]
    return curves, [axes for axes in figure.axes if axes not in curves]


def intervals(axes):
    """Return (low, mean, high) by height, and a single mean where there is no interval."""
    found = {}
    for line in axes.lines:
        xs, ys = line.get_data()
        if len({*map(float, ys)}) == 1 and line.get_color() in PALETTE.values():
            found.setdefault(float(ys[0]), []).append(tuple(map(float, xs)))
    return found


@pytest.mark.parametrize("look", LIGHT)
def test_each_row_shows_its_own_curves_in_its_own_color(look):
    shown, others = panels(drawn(draw, look))
    for axes, (name, one) in zip(shown, BELIEFS.items(), strict=True):
        assert axes.get_title("left") == name
        lines = {len(line.get_xdata()): line for line in axes.lines}
        np.testing.assert_array_equal(lines[D].get_ydata(), DATA[1])
        curves = [line.get_ydata() for line in axes.lines if len(line.get_xdata()) == N]
        own = [] if len(one.members) == 1 else list(one.members)
        missed = [np.where(np.abs(np.cos(X) - one.mean) <= 2 * one.std, np.nan, np.cos(X))]
        np.testing.assert_array_equal(
            curves, [*own, one.mean, np.cos(X), *(missed if one.std.any() else [])]
        )
        colors = {line.get_color() for line in axes.lines[: len(own) + 1]}
        assert colors == {PALETTE[one.method]}
        (band,) = [c for c in axes.collections if isinstance(c, PolyCollection)]
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx((one.mean - 0.5).min())
        assert heights.max() == pytest.approx((one.mean + 0.5).max())
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in shown}) == 1
    assert len({axes.get_xlim() for axes in others}) == 1


def test_a_column_shows_each_interval_at_the_height_of_its_row():
    figure = drawn(draw, WIDE)
    shown, (column,) = panels(figure)
    found = intervals(column)
    expected = [[(0.0,)], [(-0.5, 0.125), (-0.25,)], [(1.0, 3.0), (2.0,)]]
    assert list(found.values()) == expected
    assert [text.get_text() for text in column.texts] == ["−0.25", "+2.00"]
    for y, axes in zip(found, shown, strict=True):
        middle = column.transData.transform((0, y))[1]
        box = axes.get_window_extent()
        assert middle == pytest.approx((box.y0 + box.y1) / 2, abs=1)
        assert column.get_window_extent().x0 > box.x1


def test_on_a_narrow_page_each_curve_stands_on_its_own_scores():
    columns = COLUMNS | {"coverage": {"noisy": (0.1, 0.2, 0.3)}}
    figure = drawn(lambda: draw(columns=columns), NARROW)
    shown, strips = panels(figure)
    expected = [
        [(0.0,)], [(0.0,)],
        [(-0.5, 0.125), (-0.25,)], [],
        [(1.0, 3.0), (2.0,)], [(0.1, 0.3), (0.2,)],
    ]  # fmt: skip
    found = [[xs for row in intervals(axes).values() for xs in row] for axes in strips]
    assert found == expected
    tops = [axes.get_window_extent().y1 for axes in shown] + [0]
    for i, axes in enumerate(shown):
        curves = axes.get_window_extent()
        for below in strips[2 * i : 2 * i + 2]:
            box = below.get_window_extent()
            assert box.y1 < curves.y0 and box.y0 > tops[i + 1]
            assert curves.x0 - 1 <= box.x0 and box.x1 <= curves.x1 + 1
    # One column has one axis in all blocks.
    assert len({axes.get_xlim() for axes in strips[::2]}) == 1
    names = [text.get_text() for text in texts(figure)]
    assert names.count("NLL") == names.count("coverage") == 3


@pytest.mark.parametrize("look", LIGHT)
def test_the_reference_says_its_own_score(look):
    figure = drawn(lambda: draw(levels={"NLL": 13.1}), look)
    found = [text.get_text() for axes in panels(figure)[1] for text in axes.texts]
    assert found == ["one: 13.10", "−0.25", "+2.00"]
    named = {"one network (2,701)": BELIEFS["one"], "four": BELIEFS["four"]}
    column = {"NLL": {"four": (-9.0, -8.0, -7.0)}}
    options = {"levels": {"NLL": 13.1}, "reference": "one network (2,701)"}
    figure = drawn(lambda: draw(named, column, **options), look)
    (level,) = [text for text in texts(figure) if text.get_text() == "one network: 13.10"]
    assert level.get_window_extent().x1 < figure.bbox.x1


def test_small_differences_have_the_digits_that_tell_them_apart():
    small = {"NLL": {"four": (-0.005, -0.0025, 0.001), "noisy": (0.0, 0.0013, 0.002)}}
    figure = draw(columns=small, levels={"NLL": 0.0131})
    found = [text.get_text() for text in panels(figure)[1][0].texts]
    assert found == ["one: 0.0131", "−0.0025", "+0.0013"]
    large = {"NLL": {"four": (-5e5, -123456.0, 0.0)}}
    found = [text.get_text() for text in panels(draw(columns=large))[1][0].texts]
    assert found == ["−1.23e+05"]


def test_without_columns_the_curves_have_the_width_and_a_gap_is_shaded():
    for look in LIGHT:
        figure = drawn(lambda: draw({"one": BELIEFS["one"]}, {}, shaded=(0.5, 1.0)), look)
        (axes,) = figure.axes
        assert axes.get_position().width > 0.82
        (patch,) = axes.patches
        assert (patch.get_x(), patch.get_width()) == (0.5, 0.5)
        assert "no data" in [text.get_text() for text in texts(figure)]


def test_given_ends_fix_the_axes():
    fixed = {"ylim": (-3, 3), "xlim": {"NLL": (-4, 5)}}
    frames = [
        draw(
            {name: belief("rank1", shift) for name in BELIEFS},
            {"NLL": {"four": (-shift, 0.0, shift)}},
            **fixed,
        )
        for shift in (0.1, 0.7, 40.0)
    ]
    first = limits(frames[0])
    assert all(limits(frame) == first for frame in frames)
    shown, (column,) = panels(frames[0])
    assert shown[0].get_ylim() == (-3, 3) and column.get_xlim() == (-4, 5)


def test_the_same_figure_has_the_same_bytes():
    repeats(draw)


LONG = "one network of as many parameters as four others have together"


@pytest.mark.parametrize(
    ("rows", "name", "number"),
    [(5, LONG, 0), (1, "contestant", 1), (1, "contestant", 2), (5, LONG, 3)],
)
def test_it_can_be_read(rows, number, name):
    names = [f"{i} {name}" for i in range(rows)]
    beliefs = {name: belief("rank1", members=13) for name in names}
    columns = {
        "NLL in the gap": {name: (-12.0, -7.0, 0.5) for name in names[1:]},
        "NLL where there is data": {name: (-0.15, -0.1, 0.14) for name in names[1:]},
        "coverage": {name: (10_000.0, 200_000.0, 210_000.0) for name in names[1:]},
    }
    columns = dict([*columns.items()][:number])
    levels = {title: 13.1 for title in columns}
    words = "difference from one network, 95\xa0% interval"
    given = {"reference": names[0], "levels": levels, "xlabel": words, "shaded": (0, 1)}
    readable(lambda: draw(beliefs, columns, **given))


def test_inks_are_those_that_a_dark_page_exchanges():
    figure = draw(levels={"NLL": 13.1}, shaded=(0, 1))
    shown, _ = panels(figure)
    known = {*PALETTE.values(), INK}
    assert {line.get_color() for axes in shown for line in axes.lines} <= known


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: draw({}), ValueError, "beliefs must be a mapping of names to Beliefs"),
        (lambda: draw({"one": X}), TypeError, r"beliefs\['one'\] must be a Belief"),
        (lambda: draw(truth=X[1:]), ValueError, r"truth has shape \(10,\), accepted is \(11,\)"),
        (lambda: draw(data=X), TypeError, "data must be a pair of arrays"),
        (
            lambda: draw(data=(X, X[1:])),
            ValueError,
            r"data\[1\] has shape \(10,\), accepted is \(11,\)",
        ),
        (
            lambda: draw(columns={str(i): {} for i in range(4)}),
            ValueError,
            "differences must have at most three columns, got 4",
        ),
        (
            lambda: draw(levels={"x": 1.0}),
            ValueError,
            r"levels\['x'\] must be of a column of differences, 'NLL'",
        ),
        (lambda: draw(reference="two"), ValueError, "reference must be one of 'one', 'four'"),
        (lambda: draw(ylim=(1, 1)), ValueError, r"ylim must rise, got \(1, 1\)"),
        (
            lambda: draw(xlim={"x": (0, 1)}),
            ValueError,
            r"xlim\['x'\] must be of a column of differences, 'NLL'",
        ),
        (lambda: draw(xlim={"NLL": (1, 0)}), ValueError, r"xlim\['NLL'\] must rise, got \(1, 0\)"),
        (lambda: draw(shaded=(1.0, 0.5)), ValueError, r"shaded must rise, got \(1.0, 0.5\)"),
        (
            lambda: draw(columns={"NLL": {"two": (1, 2, 3)}}),
            ValueError,
            r"differences\['NLL'\]\['two'\] must be of one of beliefs, 'one'",
        ),
        (
            lambda: draw(columns={"NLL": {"four": (3, 2, 1)}}),
            ValueError,
            r"differences\['NLL'\]\['four'\] must rise, got \(3, 2, 1\)",
        ),
        (
            lambda: scored_curves(X[::-1], BELIEFS, {}, truth=X, data=DATA, reference="one"),
            ValueError,
            "x must be two numbers or more that increase, got",
        ),
    ],
)
def test_bad_input(call, kind, words):
    with pytest.raises(kind, match=words):
        call()

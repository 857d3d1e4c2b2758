"""A figure of beliefs shows what it was given, a row a contestant, on common axes."""

import numpy as np
import pytest

from ensedu.plot import Belief, contest, png
from ensedu.plot.style import PALETTE

N, D = 11, 7
X = np.linspace(-2.0, 3.0, N)
DATA = (np.linspace(-1.5, 2.5, D), np.linspace(0.0, 1.0, D))


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
    return contest(X, beliefs, columns, **given)


def test_each_row_shows_its_own_curves_in_its_own_color():
    figure = draw()
    panels, column = figure.axes[:3], figure.axes[3]
    for axes, (name, one) in zip(panels, BELIEFS.items(), strict=True):
        assert axes.get_title("left") == name
        lines = {len(line.get_xdata()): line for line in axes.lines}
        np.testing.assert_array_equal(lines[D].get_ydata(), DATA[1])
        drawn = [line.get_ydata() for line in axes.lines if len(line.get_xdata()) == N]
        own = [] if len(one.members) == 1 else list(one.members)
        np.testing.assert_array_equal(drawn, [*own, one.mean, np.cos(X)])
        colors = {line.get_color() for line in axes.lines[: len(own) + 1]}
        assert colors == {PALETTE[one.method]}
        band = axes.collections[0].get_paths()[0].vertices[:, 1]
        assert band.min() == pytest.approx((one.mean - 0.5).min())
        assert band.max() == pytest.approx((one.mean + 0.5).max())
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
    assert column.get_title() == "NLL"


def test_a_column_shows_each_interval_at_the_height_of_its_row():
    figure = draw()
    figure.draw_without_rendering()
    column = figure.axes[3]
    found = {}
    for line in column.lines[1:]:
        xs, ys = line.get_data()
        found.setdefault(float(ys[0]), []).append(tuple(map(float, xs)))
    expected = [[(0.0,)], [(-0.5, 0.125), (-0.25,)], [(1.0, 3.0), (2.0,)]]
    assert list(found.values()) == expected
    assert [text.get_text() for text in column.texts] == ["−0.25", "+2.00"]
    for y, axes in zip(found, figure.axes, strict=False):
        middle = column.transData.transform((0, y))[1]
        box = axes.get_window_extent()
        assert middle == pytest.approx((box.y0 + box.y1) / 2, abs=1)


def test_the_reference_says_its_own_score():
    texts = [text.get_text() for text in draw(levels={"NLL": 13.1}).axes[3].texts]
    assert texts == ["13.10", "−0.25", "+2.00"]


def test_without_columns_the_curves_have_the_width_and_a_gap_is_shaded():
    figure = draw({"one": BELIEFS["one"]}, {}, shaded=(0.5, 1.0))
    (axes,) = figure.axes
    assert axes.get_position().width > 0.85
    (patch,) = axes.patches
    assert (patch.get_x(), patch.get_width()) == (0.5, 0.5)


def test_the_same_figure_has_the_same_bytes():
    assert png(draw()) == png(draw())


@pytest.mark.parametrize("number", [0, 1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_no_text_leaves_the_figure_or_touches_other_text(rows, number):
    names = [f"contestant {i}" for i in range(rows)]
    beliefs = {name: belief("rank1") for name in names}
    columns = {
        "NLL in the gap": {name: (-12.0, -7.0, 0.5) for name in names[1:]},
        "NLL where there is data": {name: (-0.15, -0.1, 0.14) for name in names[1:]},
        "coverage": {name: (0.01, 0.2, 0.21) for name in names[1:]},
    }
    columns = dict([*columns.items()][:number])
    levels = {title: 13.1 for title in columns}
    words = "difference from one network, 95 % interval"
    figure = draw(beliefs, columns, reference=names[0], levels=levels, xlabel=words, shaded=(0, 1))
    figure.draw_without_rendering()
    whole = figure.bbox
    texts = [t for axes in figure.axes for t in (axes.title, axes._left_title, *axes.texts)]
    for axes in figure.axes:
        low, high = axes.get_xlim()
        texts += [t for t in axes.get_xticklabels() if low <= t.get_position()[0] <= high]
    texts += [*figure.texts, *figure.legends[0].get_texts()]
    boxes = [t.get_window_extent() for t in texts if t.get_text() and t.get_visible()]
    for i, box in enumerate(boxes):
        assert box.x0 >= whole.x0 and box.x1 <= whole.x1, texts[i]
        assert box.y0 >= whole.y0 and box.y1 <= whole.y1, texts[i]
        for other in boxes[:i]:
            assert not box.overlaps(other), texts[i]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: belief("rank2"), ValueError, "method must be one of .*, got 'rank2'"),
        (
            lambda: Belief("rank1", X, X[:-1], X[None]),
            ValueError,
            r"std has shape \(10,\), accepted is \(11,\)",
        ),
        (lambda: Belief("rank1", X, X - 3, X[None]), ValueError, "std must be 0 or more, got -5"),
        (
            lambda: Belief("rank1", X, X + 3, X),
            ValueError,
            r"members has shape \(11,\), accepted is \(M, 11\)",
        ),
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
            lambda: contest(X[::-1], BELIEFS, {}, truth=X, data=DATA, reference="one"),
            ValueError,
            "x must increase, got",
        ),
    ],
)
def test_bad_input(call, kind, words):
    with pytest.raises(kind, match=words):
        call()

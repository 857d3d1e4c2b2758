"""Counts as multiples of one, and their roles: read back from what was drawn, and in words."""

import itertools
from functools import cache

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from ensedu import counting, plot
from ensedu.counting import Count
from ensedu.methods import METHODS, ROLE_LABELS, ROLES, size_option
from ensedu.plot import bars, style
from ensedu.plot.style import LOOKS
from tests.plot.looks import LIGHT, drawn, limits, readable, repeats

M = 5
LONG = "a package of a long name, and of a longer one"


def mlp(sizes, name, number=M):
    return counting.mlp(sizes, name, **size_option(name, number))


COUNTS = {name: mlp([3, 47, 53, 2], name) for name in METHODS}
MINE = {"mine": Count(shared=1_200), "rank1": COUNTS["rank1"], "empty": Count()}
CASES = {
    "all": COUNTS,
    "one": {"mine": Count(biases=7)},
    "one member": {name: mlp([3, 47, 53, 2], name, 1) for name in METHODS},
    "64 members": {name: mlp([1, *[1000] * 9, 1], name, 64) for name in METHODS},
    "large": {"single": Count(shared=36_479_194), "deep_ensemble": Count(per_member=10**12)},
    "huge": {"single": Count(shared=1), LONG: Count(2 * 10**60, 3, 5, 7)},
    "small": {"single": Count(shared=10**60), LONG: Count(1, 2, 3, 5)},
    "long": {LONG: COUNTS["single"], f"{LONG}, longest": COUNTS["rank1"]},
    "two lines": {"mine, of a short kind averyverylongworditis": COUNTS["rank1"]},
    "unbroken": {"x" * 70: Count(3, 5, 7, 11)},
    "formula": {"$W_i = W \\circ r_i s_i^T$": Count(3, 5)},
    "near": {"single": Count(10**6), "mine": Count(10**6 + 70)},
    "below": {"deep_ensemble": Count(per_member=150), "mine": Count(shared=31)},
}


@cache
def of_all(look):
    """The figure of all methods, which tests only read."""
    return drawn(lambda: plot.parameter_bars(COUNTS), look)


def page_of(figure):
    """The axes of all words and strips, in inches, and those of the multiples."""
    page, axes = figure.axes
    assert not page.axison
    return page, axes


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def marks(figure):
    """Where the mark of each name stands, as (multiple, inches)."""
    found = [line for line in figure.axes[1].lines if (line.get_gid() or "").startswith("mark ")]
    return {
        line.get_gid().removeprefix("mark "): (*line.get_xdata(), *line.get_ydata())
        for line in found
    }


def rectangles(figure):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]


def strips(figure):
    """The pieces of each strip, as lists from top to bottom: samples are as wide as `SWATCH`."""
    pieces = [p for p in rectangles(figure) if outer(p)[1] != pytest.approx(bars.SWATCH)]
    rows = itertools.groupby(pieces, key=lambda piece: round(middle(piece), 3))
    return [list(group) for _, group in rows]


def outer(piece):
    """Where a piece begins and how long it is, its line included."""
    line = piece.get_linewidth() / 72
    return piece.get_x() - line / 2, piece.get_width() + line


def middle(piece):
    return piece.get_y() + piece.get_height() / 2


@pytest.mark.parametrize("name", CASES)
def test_readable(name):
    readable(lambda: plot.parameter_bars(CASES[name]))


@pytest.mark.parametrize("reference", ["deep_ensemble", "last_layer"])
def test_readable_against_another(reference):
    readable(lambda: plot.parameter_bars(COUNTS, relative_to=reference, xlim=(0.05, 150)))


@pytest.mark.parametrize("look", LIGHT)
def test_marks_stand_at_the_ratios(look):
    figure = of_all(look)
    one = COUNTS["single"].total
    assert {name: x for name, (x, _) in marks(figure).items()} == {
        name: count.total / one for name, count in COUNTS.items()
    }
    axes = page_of(figure)[1]
    assert axes.get_xscale() == "log"
    for name, (x, y) in marks(figure).items():
        (line,) = [
            li for li in axes.lines if list(li.get_xdata()) == [1, x] and y in li.get_ydata()
        ]
        assert line.get_color() == style.PALETTE[name]
    shapes = {li.get_gid(): li.get_marker() for li in axes.lines if li.get_gid()}
    assert shapes == {f"mark {name}": style.MARKERS[name] for name in METHODS}


@pytest.mark.parametrize("look", LIGHT)
def test_rows_are_named_and_in_order(look):
    figure = of_all(look)
    page, axes = page_of(figure)
    names = [text for text in page.texts if text.get_weight() == "bold"]
    assert [text.get_text() for text in names] == [style.LABELS[name] for name in COUNTS]
    assert [text.get_color() for text in names] == [style.PALETTE[name] for name in COUNTS]
    heights = [text.get_position()[1] for text in names]
    # Both axes have the same inches: each mark is below its own name, and above the next one.
    places = [y for _, y in marks(figure).values()]
    assert sorted([*heights, *places]) == [
        y for pair in zip(heights, places, strict=True) for y in pair
    ]
    for y in places:
        np.testing.assert_allclose(
            axes.transData.transform((1, y))[1], page.transData.transform((1, y))[1]
        )


def test_total_and_ratio_are_written():
    one = COUNTS["single"].total
    sums = [word for word in words(plot.parameter_bars(COUNTS)) if " · " in word]
    assert sums == [f"{c.total:,} · {c.total / one:.2f} ×" for c in COUNTS.values()]
    near = words(plot.parameter_bars(CASES["near"]))
    assert {"1,000,000 · 1.00 ×", "1,000,070 · 1.0001 ×"} <= set(near)


@pytest.mark.parametrize("ratio, said", [
    (0, "0.00 ×"), (1e-9, "1e-09 ×"), (0.0042, "0.0042 ×"), (0.2, "0.20 ×"), (0.996, "0.9960 ×"),
    (1.0, "1.00 ×"), (1.004, "1.0040 ×"), (1.41, "1.41 ×"), (150.0, "150.00 ×"),
    (12345.6, "12,346 ×"), (1.5e40, "1.5e+40 ×"),
])  # fmt: skip
def test_ratios_in_few_digits(ratio, said):
    assert bars._multiple_words(ratio) == said


def test_what_stands_at_one():
    others = {"mine": Count(6), "single": Count(2), "deep_ensemble": Count(3)}
    for options, expected in [
        ({}, (3, 1, 1.5)), ({"relative_to": "mine"}, (1, 1 / 3, 0.5)),
        ({"relative_to": "deep_ensemble"}, (2, 2 / 3, 1)),
    ]:  # fmt: skip
        figure = plot.parameter_bars(others, **options)
        assert tuple(x for x, _ in marks(figure).values()) == pytest.approx(expected)
    assert "multiples of the deep ensemble" in words(figure)
    del others["single"]
    figure = plot.parameter_bars(others)
    assert {name: x for name, (x, _) in marks(figure).items()} == {"mine": 1, "deep_ensemble": 0.5}
    assert "multiples of mine" in words(figure)


def test_what_is_empty_has_no_mark():
    figure = plot.parameter_bars(MINE)
    assert list(marks(figure)) == ["mine", "rank1"]
    assert "0 · 0.00 ×" in words(figure)
    assert len(strips(figure)) == 2


@pytest.mark.parametrize("look", LIGHT)
def test_strips_show_the_shares_of_the_roles(look):
    figure = of_all(look)
    found = strips(figure)
    assert len(found) == len(COUNTS)
    left, length = (0.1, look.width - 0.2) if look.narrow else (3.68, 3.42)
    for pieces, (name, count) in zip(found, COUNTS.items(), strict=True):
        roles = [role for role in ROLES if getattr(count, role)]
        assert [piece.get_gid() for piece in pieces] == roles
        starts, widths = np.transpose([outer(piece) for piece in pieces])
        np.testing.assert_allclose(
            widths / widths.sum(), [getattr(count, role) / count.total for role in roles], atol=1e-9
        )
        # All strips are as long, with the page between two pieces.
        np.testing.assert_allclose(starts[1:] - (starts + widths)[:-1], 0.03)
        np.testing.assert_allclose([starts[0], (starts + widths)[-1]], [left, left + length])
        for role, piece in zip(roles, pieces, strict=True):
            ink = piece.get_edgecolor() if role in ("scales", "biases") else piece.get_facecolor()
            gray = role == "shared"
            assert to_hex(ink) == (style.SHARED if gray else style.PALETTE[name])


@pytest.mark.parametrize("look", LIGHT)
def test_the_parts_are_in_words_behind_their_samples(look):
    figure = of_all(look)
    samples = [p for p in rectangles(figure) if outer(p)[1] == pytest.approx(bars.SWATCH)]
    texts = [t for t in figure.axes[0].texts if t.get_text().endswith(tuple(ROLE_LABELS.values()))]
    said = [
        (role, f"{getattr(count, role):,} {ROLE_LABELS[role]}")
        for count in COUNTS.values()
        for role in ROLES
        if getattr(count, role)
    ]
    assert [
        (piece.get_gid(), text.get_text()) for piece, text in zip(samples, texts, strict=True)
    ] == said
    for piece, text in zip(samples, texts, strict=True):
        x, y = text.get_position()
        assert x == pytest.approx(sum(outer(piece)) + 0.06)
        assert y == pytest.approx(middle(piece))


def test_roles_differ_without_color():
    looks = [style.role_style(role, "rank1") for role in ROLES]
    assert looks[0]["facecolor"] != looks[1]["facecolor"]
    assert [(look["facecolor"] == "none", look.get("hatch")) for look in looks[1:]] == [
        (False, None), (True, "/////"), (True, None),
    ]  # fmt: skip


# Width, hidden layers and members: each pair of their ends once, and a width between.
SHAPES = [(5, 1, 1), (5, 9, 64), (50, 9, 1), (1000, 1, 64), (1000, 9, 1)]


def frame(width, hidden, members):
    names = ("single", "batch_ensemble", "rank1", "mean_field")
    sizes = [1, *[width] * hidden, 1]
    return {name: mlp(sizes, name, members) for name in names}


@pytest.mark.parametrize("look", LIGHT)
def test_nothing_moves_but_the_marks(look):
    counts = [frame(*shape) for shape in SHAPES]
    assert len({str(count) for count in counts}) == len(SHAPES)
    figures = [drawn(lambda c=c: plot.parameter_bars(c, xlim=(1, 128)), look) for c in counts]
    first = figures[0]
    for figure in figures[1:]:
        assert limits(figure) == limits(first)
        assert figure.get_figheight() == first.get_figheight()
        places = [[text.get_position() for text in f.axes[0].texts] for f in (first, figure)]
        assert places[0] == places[1]
    assert len({str(marks(figure)) for figure in figures}) > 1


def test_a_longer_total_moves_no_name():
    places = set()
    for total in (3, 5_000_000):
        counts = {"single": Count(total), "another one, of mine": Count(total)}
        figure = plot.parameter_bars(counts, xlim=(1, 2))
        places.add(tuple(text.get_position() for text in figure.axes[0].texts))
    assert len(places) == 1


@pytest.mark.parametrize(
    "xlim, ticks",
    [
        ((1, 2), {1: "1×", 2: "2×"}),
        ((1, 4), {1: "1×", 2: "2×", 4: "4×"}),
        ((0.2, 5), {0.25: "0.25×", 0.5: "0.5×", 1: "1×", 2: "2×", 4: "4×"}),
        ((1, 64), {2**i: f"{2**i}×" for i in range(7)}),
        ((1, 1000), {1: "1×", 4: "4×", 16: "16×", 64: "64×", 256: "256×"}),
        ((0.05, 150), {0.1: "0.1×", 1: "1×", 10: "10×", 100: "100×"}),
        ((0.01, 1e5), {0.01: "0.01×", 1: "1×", 100: "100×", 1e4: "10,000×"}),
        ((1, 1e30), {1: "1×", 1e10: "1e+10×", 1e20: "1e+20×", 1e30: "1e+30×"}),
    ],
)  # fmt: skip
def test_ticks_are_round_and_have_room(xlim, ticks):
    figure = plot.parameter_bars({"single": Count(3)}, xlim=xlim)
    axes = figure.axes[1]
    found = dict(zip(axes.get_xticks(), axes.get_xticklabels(), strict=True))
    readable(lambda: plot.parameter_bars({"single": Count(3)}, xlim=xlim))
    assert axes.get_xlim() == pytest.approx(xlim)
    assert {x: text.get_text() for x, text in found.items()} == ticks


def test_by_default_the_axis_holds_all():
    for name, ends in {
        "one": (1, 2),
        "below": (31 / 150, 2),
        "large": (1, 10**12 / 36_479_194),
    }.items():
        assert plot.parameter_bars(CASES[name]).axes[1].get_xlim() == pytest.approx(ends)


def test_dark_figures_are_the_same():
    assert len({str(limits(of_all(look))) for look in LOOKS}) == 2


def test_in_words():
    counts = {"rank1": Count(2600, 808, 808, 404), "single": Count(2600, biases=101)}
    counts |= {"mine": Count(shared=1_200), "empty": Count()}
    assert plot.in_words(counts) == (
        "Numbers to train: single network 2,701, rank-1 BNN 4,620 (1.71 × as many), "
        "mine 1,200 (0.44 ×), empty 0 (0.00 ×)."
    )
    assert plot.in_words(counts, relative_to="mine", parts=True) == (
        "Numbers to train: mine 1,200: 1,200 shared; rank-1 BNN 4,620 (3.85 × as many): "
        "2,600 shared + 808 own + 808 standard deviations + 404 biases; "
        "single network 2,701 (2.25 ×): 2,600 shared + 101 biases; empty 0 (0.00 ×): nothing."
    )
    assert plot.in_words({"single": Count(7)}) == "Numbers to train: single network 7."


def test_words_say_what_the_figure_shows():
    said = plot.in_words(COUNTS, parts=True)
    for shown in words(plot.parameter_bars(COUNTS)):
        if " · " in shown:
            total, ratio = shown.split(" · ")
            assert f" {total}" in said and (ratio == "1.00 ×" or f"({ratio}" in said)
        elif shown[0].isdigit():
            assert shown in said


def test_same_input_same_bytes():
    repeats(lambda: plot.parameter_bars(COUNTS))


FORMULA = r"$\frac$"  # that lacks its arguments
TWO = {"single": Count(2), "mine": Count(10)}
BAD = [
    (lambda f: f({FORMULA: Count(1)}), ValueError, ("counts", "formula", "frac")),
    (lambda f: f({"a": Count(10**400)}), ValueError, ("counts['a']", "1e+100")),
    (lambda f: f([Count()]), TypeError, ("counts", "mapping", "list")),
    (lambda f: f({}), ValueError, ("counts", "at least one")),
    (lambda f: f({1: Count()}), TypeError, ("counts", "key 1")),
    (lambda f: f({"single": 7}), TypeError, ("counts['single']", "Count", "7")),
    (lambda f: f({"a": Count()}), ValueError, ("counts['a']", "above 0", "multiples")),
    (lambda f: f(TWO, relative_to="rank1"), ValueError, ("relative_to", "'rank1'", "'mine'")),
    (lambda f: f(TWO, relative_to=2), TypeError, ("relative_to", "2")),
]
BAD_BARS = [
    ({"xlim": 3}, TypeError, ("xlim", "3")),
    ({"xlim": (1, 2, 3)}, ValueError, ("xlim", "(3,)")),
    ({"xlim": (8, 1)}, ValueError, ("xlim", "rise", "(8, 1)")),
    ({"xlim": (0, 8)}, ValueError, ("xlim", "above 0", "(0, 8)")),
    ({"xlim": (2, 8)}, ValueError, ("xlim", "hold 1", "(2, 8)")),
    ({"xlim": (1, 4)}, ValueError, ("xlim", "ratios", "to 5", "(1, 4)")),
    ({"xlim": (1, float("nan"))}, ValueError, ("xlim[1]", "nan")),
]


def raises(call, error, expected):
    with pytest.raises(error) as raised:
        call()
    for part in expected:
        assert part in str(raised.value)


@pytest.mark.bad_input
@pytest.mark.parametrize("function", [plot.parameter_bars, plot.in_words])
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case, function):
    call, error, expected = BAD[case]
    raises(lambda: call(function), error, expected)


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD_BARS)))
def test_bad_axis(case):
    options, error, expected = BAD_BARS[case]
    raises(lambda: plot.parameter_bars(TWO, **options), error, expected)


@pytest.mark.bad_input
def test_bad_parts():
    raises(lambda: plot.in_words(TWO, parts=1), TypeError, ("parts", "1", "True or False"))

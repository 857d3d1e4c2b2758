"""Counts as multiples of one, and their roles: read back from what was drawn."""

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
from tests.errors import check_error
from tests.plot.looks import LIGHT, drawn, readable

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
    """The axes of all words and bars, in inches, and those of the multiples."""
    page, axes = figure.axes
    assert not page.axison
    return page, axes


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def rectangles(figure):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]


def is_sample(piece):
    """Whether a piece stands before the words of a role."""
    height = piece.get_height() + piece.get_linewidth() / 72
    return height == pytest.approx(bars.SWATCH_HIGH)


def drawn_bars(figure):
    """The pieces of each bar, as lists from top to bottom."""
    pieces = [piece for piece in rectangles(figure) if not is_sample(piece)]
    rows = itertools.groupby(pieces, key=lambda piece: round(middle(piece), 3))
    return [list(group) for _, group in rows]


def span(figure):
    """Where the axis of multiples begins, and how long one multiple is, in inches."""
    axes, page = page_of(figure)[1], figure.get_figwidth()
    box = axes.get_position()
    return box.x0 * page, box.width * page / axes.get_xlim()[1]


def outer(piece):
    """Where a piece begins and how long it is, its line included."""
    line = piece.get_linewidth() / 72
    return piece.get_x() - line / 2, piece.get_width() + line


def middle(piece):
    return piece.get_y() + piece.get_height() / 2


@pytest.mark.parametrize("name", CASES)
def test_readable(name):
    readable(lambda: plot.parameter_bars(CASES[name]))


@pytest.mark.parametrize("look", LIGHT)
def test_a_bar_is_as_long_as_its_total(look):
    figure = of_all(look)
    begin, unit = span(figure)
    one = COUNTS["single"].total
    for pieces, count in zip(drawn_bars(figure), COUNTS.values(), strict=True):
        starts, widths = np.transpose([outer(piece) for piece in pieces])
        ratio = count.total / one
        np.testing.assert_allclose(
            [starts[0], (starts + widths)[-1]], [begin, begin + ratio * unit], atol=1e-9
        )
    longest = max(count.total for count in COUNTS.values()) / one
    assert page_of(figure)[1].get_xlim() == pytest.approx((0, longest))


@pytest.mark.parametrize("look", LIGHT)
def test_rows_are_named_and_in_order(look):
    figure = of_all(look)
    page, axes = page_of(figure)
    names = [text for text in page.texts if text.get_weight() == "bold"]
    assert [text.get_text() for text in names] == [style.LABELS[name] for name in COUNTS]
    assert [text.get_color() for text in names] == [style.PALETTE[name] for name in COUNTS]
    heights = [text.get_position()[1] for text in names]
    # The middle of each name is above the next bar, and at or above its own.
    places = [middle(pieces[0]) for pieces in drawn_bars(figure)]
    for name, own, following in zip(heights, places, [*heights[1:], np.inf], strict=True):
        assert name <= own + 1e-9 < following
    # Both axes have the same inches: the lines of the ticks cross each bar.
    for line in axes.collections:
        for (_, low), (_, high) in line.get_segments():
            assert any(low < y < high for y in places)


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
    figure = plot.parameter_bars(others)
    lengths = [outer(piece)[1] / span(figure)[1] for (piece,) in drawn_bars(figure)]
    assert lengths == pytest.approx((3, 1, 1.5))
    assert "multiples of the single network" in words(figure)
    del others["single"]
    figure = plot.parameter_bars(others)
    assert "multiples of mine" in words(figure)


def test_what_is_empty_has_no_bar():
    figure = plot.parameter_bars(MINE)
    assert "0 · 0.00 ×" in words(figure)
    assert len(drawn_bars(figure)) == 2


@pytest.mark.parametrize("look", LIGHT)
def test_pieces_are_as_long_as_their_roles(look):
    figure = of_all(look)
    for pieces, (name, count) in zip(drawn_bars(figure), COUNTS.items(), strict=True):
        roles = [role for role in ROLES if getattr(count, role)]
        assert [piece.get_gid() for piece in pieces] == roles
        starts, widths = np.transpose([outer(piece) for piece in pieces])
        np.testing.assert_allclose(
            widths / widths.sum(), [getattr(count, role) / count.total for role in roles], atol=1e-9
        )
        # The page stands between two pieces.
        np.testing.assert_allclose(starts[1:] - (starts + widths)[:-1], 0.03)
        for role, piece in zip(roles, pieces, strict=True):
            ink = piece.get_edgecolor() if role in ("scales", "biases") else piece.get_facecolor()
            gray = role == "shared"
            assert to_hex(ink) == (style.SHARED if gray else style.PALETTE[name])


@pytest.mark.parametrize("look", LIGHT)
def test_the_parts_are_in_words_behind_their_samples(look):
    figure = of_all(look)
    samples = [piece for piece in rectangles(figure) if is_sample(piece)]
    ends = (*ROLE_LABELS.values(), "weights")
    texts = [text for text in figure.axes[0].texts if text.get_text().endswith(ends)]
    alone = ROLE_LABELS | {"shared": "weights"}  # of what has no members
    said = [
        (role, f"{getattr(count, role):,} {labels[role]}")
        for name, count in COUNTS.items()
        for labels in [ROLE_LABELS if METHODS[name].members else alone]
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
def test_nothing_moves_but_the_bars_and_their_axis(look):
    counts = [frame(*shape) for shape in SHAPES]
    assert len({str(count) for count in counts}) == len(SHAPES)
    figures = [drawn(lambda c=c: plot.parameter_bars(c), look) for c in counts]
    first = figures[0]
    for figure in figures[1:]:
        assert figure.get_figheight() == first.get_figheight()
        places = [[text.get_position() for text in f.axes[0].texts] for f in (first, figure)]
        assert places[0] == places[1]
    assert len({page_of(figure)[1].get_xlim() for figure in figures}) > 1


def test_a_longer_total_moves_no_name():
    places = set()
    for total in (3, 5_000_000):
        counts = {"single": Count(total), "another one, of mine": Count(total)}
        figure = plot.parameter_bars(counts)
        places.add(tuple(text.get_position() for text in figure.axes[0].texts))
    assert len(places) == 1


@pytest.mark.parametrize(
    "longest, ticks",
    [
        (1, {0: "0×", 0.25: "0.25×", 0.5: "0.5×", 0.75: "0.75×", 1: "1×"}),
        (4, {0: "0×", 1: "1×", 2: "2×", 3: "3×", 4: "4×"}),
        (64, {0: "0×", 20: "20×", 40: "40×", 60: "60×"}),
        (1000, {0: "0×", 250: "250×", 500: "500×", 750: "750×", 1000: "1,000×"}),
        (10**12, {0: "0×", 5e11: "5e+11×", 1e12: "1e+12×"}),
    ],
)  # fmt: skip
def test_ticks_are_round_and_have_room(longest, ticks):
    counts = {"single": Count(3), "mine": Count(3 * longest)}
    figure = plot.parameter_bars(counts)
    axes = figure.axes[1]
    found = dict(zip(axes.get_xticks(), axes.get_xticklabels(), strict=True))
    readable(lambda: plot.parameter_bars(counts))
    assert {x: text.get_text() for x, text in found.items()} == ticks
    drawn_at = {line.get_segments()[0][0][0] for line in axes.collections}
    assert drawn_at == {*ticks, 1}


@pytest.mark.parametrize(("name", "end"), [
    ("one", 1), ("below", 1), ("large", 10**12 / 36_479_194),
])  # fmt: skip
def test_the_axis_ends_at_the_longest_bar_or_at_the_reference(name, end):
    assert plot.parameter_bars(CASES[name]).axes[1].get_xlim() == pytest.approx((0, end))


FORMULA = r"$\frac$"  # that lacks its arguments
BAD = [
    (lambda: plot.parameter_bars({FORMULA: Count(1)}), ValueError, ("counts", "formula", "frac")),
    (lambda: plot.parameter_bars({"a": Count(10**400)}), ValueError, ("counts['a']", "1e+100")),
    (lambda: plot.parameter_bars([Count()]), TypeError, ("counts", "mapping", "list")),
    (lambda: plot.parameter_bars({}), ValueError, ("counts", "at least one")),
    (lambda: plot.parameter_bars({1: Count()}), TypeError, ("counts", "key 1")),
    (lambda: plot.parameter_bars({"single": 7}), TypeError, ("counts['single']", "Count", "7")),
    (
        lambda: plot.parameter_bars({"a": Count()}),
        ValueError,
        ("counts['a']", "above 0", "multiples"),
    ),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])

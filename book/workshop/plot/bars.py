"""Parameter counts: how many times those of one network they are, and what they are made of."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from ensedu.counting import Count
from ensedu.methods import METHODS, ROLE_LABELS, ROLES
from workshop.plot import figure_checks, text_layout
from workshop.plot.panels import cut_to_lines, place, set_axis, ticks
from workshop.plot.style import (
    GRID,
    LABELS,
    MUTED,
    Figure,
    canvas,
    color,
    house_style,
    label,
    look,
    role_style,
)
from workshop.plot.text_layout import SMALL

NAME = 12  # points: the letters of names
EDGE = 0.1  # inches: the margin
LINE = 0.21  # inches: a line of words
NUMBERS = 1.33  # inches: what total and ratio need, so that a few digits more move nothing
NAMES, BETWEEN = 2.1, 0.15  # inches: from the names to the bars of a wide page, and left free there
BAR, GAP = 0.16, 0.03  # inches: the height of a bar, and the page between two of its pieces
SWATCH, SPACE, AFTER = 0.15, 0.06, 0.16  # inches: a sample of a role, behind it, behind its words
SWATCH_HIGH = 0.09  # inches: the height of a sample
ABOVE = 0.7  # inches: for what the numbers of the axis are, and these
EXACT = 10**13  # totals from here on are rounded
ROOMY = 9_999_999  # up to here more digits move no words while a slider moves


def parameter_bars(counts: Mapping[str, Count]) -> Figure:
    """Draw each Count as one bar, as long as its total, of pieces as long as its roles.

    All bars have one axis, in multiples of the total of ``"single"`` if it is there, else of the
    first one, whose end is a line through all of them. It ends at the longest bar. Beside or above
    a bar stand total and ratio, below it how many numbers each role has.

    Parameters
    ----------
    counts
        Names to Counts, drawn from top to bottom. A method's name gives its color and label; any
        other name is its own label.

    Raises
    ------
    TypeError, ValueError
        If `counts` is no mapping of strings to Counts, or is empty; if what stands at 1×
        has a total of 0.
    """
    named, reference, ratios = _multiples_of_reference(counts)
    longest = max(1.0, *ratios.values())
    narrow, wide = look().narrow, look().width
    sums = {
        name: f"{exact_digits(named[name].total)} · {_multiple_words(r)}"
        for name, r in ratios.items()
    }
    widest = max(NUMBERS, *(text_layout.text_width(words, SMALL) for words in sums.values()))
    begin = EDGE if narrow else EDGE + max(NAMES, widest + BETWEEN)
    room = wide - EDGE - begin
    left = room if narrow else begin - EDGE - BETWEEN
    titles = {name: cut_to_lines(label(name), left, 2, NAME, "bold") for name in named}
    # Where one name leaves no room for the numbers, all stand on lines of their own.
    beside = narrow and not any(
        "\n" in t or text_layout.text_width(t, NAME, "bold") > left - 0.15 - widest
        for t in titles.values()
    )
    said = f"multiples of {'the ' * (reference in LABELS)}{label(reference)}"

    with house_style():
        figure, page = canvas(wide, 1.0)
        page.text(
            begin, EDGE + LINE / 2, cut_to_lines(said, room, 1), color=MUTED, va="center",
            fontsize=SMALL,
        )  # fmt: skip
        y, places = ABOVE, []
        for name, count in named.items():
            height = text_layout.text_height(titles[name], NAME)
            page.text(
                EDGE, y + height / 2, titles[name], va="center", linespacing=1.1,
                color=color(name), weight="bold", fontsize=NAME,
            )  # fmt: skip
            line = y + height + (0.0 if beside else LINE)
            at = (wide - EDGE, "right") if beside else (EDGE, "left")
            page.text(at[0], line - 0.04, sums[name], ha=at[1], va="baseline", fontsize=SMALL)
            top = line + 0.1 if narrow else y + 0.04
            draw_shares(page, count, name, (begin, top), (room * ratios[name] / longest, BAR))
            places.append(top + BAR / 2)
            bottom = _write_roles(page, count, name, (begin, top + BAR + 0.07), room)
            y = max(line, bottom) + 0.2
        height = y - 0.2 + EDGE
        figure.set_figheight(height)
        page.set_ylim(height, 0)
        _multiples_axis(figure, height, (begin, room), longest, places)
    return figure


def draw_shares(
    axes: Axes, count: Count, name: str, corner: tuple[float, float], size: tuple[float, float]
) -> None:
    """Draw the shares of the roles in a rectangle, from its upper left corner."""
    (left, top), (width, height) = corner, size
    roles = [role for role in ROLES if getattr(count, role)]
    gap = min(GAP, 0.1 * width)
    for role in roles:
        share = getattr(count, role) / count.total
        length = share * (width - gap * (len(roles) - 1))
        draw_sample(axes, role, name, (left, top), (length, height))
        left += length + gap


def draw_sample(
    axes: Axes, role: str, name: str, corner: tuple[float, float], size: tuple[float, float]
) -> None:
    """Fill a rectangle as numbers of this role are shown, from its upper left corner."""
    style = role_style(role, name)
    (x, y), (width, height) = corner, size
    # Half of a line stands outside what it frames.
    inset = min(style["linewidth"] / 72, width, height) / 2
    width, height = width - 2 * inset, height - 2 * inset
    axes.add_artist(Rectangle((x + inset, y + inset), width, height, gid=role, **style))


def flow_in_lines(widths: Iterable[float], room: float | int) -> list[tuple[float, int]]:
    """Return where each entry begins and in which line, so that lines are no wider than `room`."""
    x, line, places = 0.0, 0, []
    for width in widths:
        if x and x + width > room:
            x, line = 0.0, line + 1
        places.append((x, line))
        x += width + AFTER
    return places


def _write_roles(
    axes: Axes, count: Count, name: str, corner: tuple[float, float], room: float | int
) -> float:
    """Write how many numbers each role has, behind a sample of it; return where that ends.

    Each has the room of a number of seven digits, so that words stay where they are.
    """
    words, reserved = _words_by_role(count, name), _words_by_role(count, name, ROOMY)
    widths = [SWATCH + SPACE + text_layout.text_width(part, SMALL) for part in reserved.values()]
    bottom = corner[1]
    for (role, part), (x, line) in zip(words.items(), flow_in_lines(widths, room), strict=True):
        x, y = corner[0] + x, corner[1] + (line + 0.5) * LINE
        draw_sample(axes, role, name, (x, y - SWATCH_HIGH / 2), (SWATCH, SWATCH_HIGH))
        axes.text(x + SWATCH + SPACE, y, part, va="center", color=MUTED, fontsize=SMALL)
        bottom = y + LINE / 2
    return bottom


def _multiples_axis(
    figure: Figure,
    height: float | int,
    span: tuple[float, float],
    longest: float | int,
    places: list[float],
) -> None:
    """Draw the numbers of ticks above all bars, and their lines behind each."""
    begin, width = span
    top = ABOVE - 0.14
    axes = place(figure, begin, top, width, height - top)
    axes.set_zorder(-1)
    axes.set(ylim=(height, top), yticks=[])
    multiples = _multiple_ticks(longest, width)
    set_axis(axes.xaxis, (0, longest), multiples)
    axes.tick_params(length=0, pad=2)
    axes.xaxis.tick_top()
    for spine in axes.spines.values():
        spine.set_visible(False)
    # The ends of the numbers stay within the width.
    for value, words in zip(multiples, axes.get_xticklabels(), strict=True):
        half = text_layout.text_width(words.get_text(), SMALL) / 2
        at = width * value / longest
        words.set_ha("left" if at < half else "right" if at > width - half else "center")
    for tick in sorted({*multiples, 1.0}):
        pieces = [[(tick, y - BAR), (tick, y + BAR)] for y in places]
        line: dict[str, Any] = {"colors": MUTED, "lw": 1.2} if tick == 1 else {"colors": GRID}
        line = {"lw": 0.8, "label": "_tick"} | line
        axes.add_collection(LineCollection(pieces, clip_on=False, zorder=1, **line))


def _multiple_ticks(longest: float | int, width: float | int) -> dict[float, str]:
    """Return multiples from 0 on, as many as have room, and how they are written."""
    for most in range(4, 0, -1):
        found = {value: f"{value:,g}×" for value in ticks((0.0, longest), most)}
        widths = [text_layout.text_width(words, SMALL) for words in found.values()]
        apart = [width * (b - a) / longest for a, b in pairwise(found)]
        if all(gap >= 1.5 * max(widths) + 0.1 for gap in apart):
            break
    return found


def _multiples_of_reference(counts: Any) -> tuple[dict[str, Count], str, dict[str, float]]:
    """Return the Counts, the name of the reference, and each total in multiples of its total."""
    named = figure_checks.counts("counts", counts)
    reference = "single" if "single" in named else next(iter(named))
    one = named[reference].total
    if not one:
        raise ValueError(
            f"counts[{reference!r}] must have a total above 0, since others are multiples of it"
        )
    return named, reference, {name: count.total / one for name, count in named.items()}


def _words_by_role(count: Count, name: str, least: int = 0) -> dict[str, str]:
    """Return how many numbers each role has that has any, at least so many, in words.

    A method without members shares its weights with nobody.
    """
    alone = name in METHODS and not METHODS[name].members
    return {
        role: f"{exact_digits(max(least, getattr(count, role)))} {words}"
        for role, words in (ROLE_LABELS | ({"shared": "weights"} if alone else {})).items()
        if getattr(count, role)
    }


def exact_digits(number: int) -> str:
    """Return all digits of a number, and of one with very many the first."""
    return f"{number:,}" if number < EXACT else f"{number:.3g}"


def _multiple_words(ratio: float | int) -> str:
    """Return a ratio in two decimals, or in more if it would look like 0 or 1 and is not."""
    if ratio >= 1000:
        return f"{ratio:,.0f} ×" if ratio < EXACT else f"{ratio:.3g} ×"
    if 0 < ratio < 0.01:
        return f"{ratio:.2g} ×"
    close = ratio != 1 and f"{ratio:.2f}" == "1.00"
    return f"{ratio:.4f} ×" if close else f"{ratio:.2f} ×"

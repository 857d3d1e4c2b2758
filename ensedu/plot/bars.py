"""Parameter counts: how many times those of one network they are, and what they are made of."""

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from ensedu.common import checks
from ensedu.counting import Count
from ensedu.methods import ROLE_LABELS, ROLES
from ensedu.plot import figure_checks, text_layout
from ensedu.plot.panels import axis_ends, cut_to_lines, place, set_axis
from ensedu.plot.style import (
    GRID,
    LABELS,
    MARKERS,
    MUTED,
    PAGE,
    Figure,
    canvas,
    color,
    house_style,
    label,
    look,
    role_style,
)
from ensedu.plot.text_layout import SMALL

NAME = 12  # points: the letters of names
EDGE = 0.1  # inches: the margin
LINE = 0.21  # inches: a line of words
NUMBERS = 1.33  # inches: what total and ratio need, so that a few digits more move nothing
STRIP, GAP = 0.09, 0.03  # inches: the height of a strip, and the page between two segments
SWATCH, SPACE, AFTER = 0.15, 0.06, 0.16  # inches: a sample of a role, behind it, behind its words
BASE = 0.155  # inches: from the top of a line to where its letters stand
ABOVE = 0.7  # inches: for what the numbers of the axis are, and these
EXACT = 10**13  # totals from here on are rounded
ROOMY = 9_999_999  # up to here more digits move no words while a slider moves


def parameter_bars(
    counts: Mapping[str, Count],
    *,
    relative_to: str | None = None,
    xlim: tuple[float | int, float | int] | None = None,
) -> Figure:
    """Draw each Count on one logarithmic axis of multiples, and the shares of its roles.

    A line leads from 1×, where the reference stands, to the mark of the method. Above it are total
    and ratio. A strip, as long for all, shows the shares of the roles, and the words below it how
    many numbers they are. Strips stand to the right on a wide page, and below on a narrow one.

    Parameters
    ----------
    counts
        Names to Counts, drawn from top to bottom. A method's name gives its color and label; any
        other name is its own label.
    relative_to
        The name that stands at 1×; by default ``"single"`` if it is there, else the first one.
    xlim
        Ends of the axis in multiples, such as ``(1, 16)``: with them it stays while a slider moves.
        By default it holds 1×, 2× and every ratio.

    Raises
    ------
    TypeError, ValueError
        If `counts` is no mapping of strings to Counts, or is empty; if it lacks `relative_to`, or
        that has a total of 0; and if `xlim` does not rise, or leaves 1 or a ratio outside.
    """
    named, reference, ratios = _multiples_of_reference(counts, relative_to)
    ends = _ends_of_multiples(ratios, xlim)
    narrow, wide = look().narrow, look().width
    left, right = (wide - 2 * EDGE,) * 2 if narrow else (3.35, 3.42)
    titles = {name: cut_to_lines(label(name), left, 2, NAME, "bold") for name in named}
    sums = {
        name: f"{exact_digits(named[name].total)} · {_multiple_words(r)}"
        for name, r in ratios.items()
    }
    # Where one name leaves no room for the numbers, all stand on lines of their own.
    room = (
        left
        - 0.15
        - max(NUMBERS, *(text_layout.text_width(words, SMALL) for words in sums.values()))
    )
    apart = any(
        "\n" in t or text_layout.text_width(t, NAME, "bold") > room for t in titles.values()
    )
    said = cut_to_lines(f"multiples of {'the ' * (reference in LABELS)}{label(reference)}", left, 1)

    with house_style():
        figure, page = canvas(wide, 1.0)
        small: dict[str, Any] = {"va": "center", "fontsize": SMALL}
        page.text(EDGE, EDGE + LINE / 2, said, color=MUTED, **small)
        if not narrow:
            page.text(
                wide - EDGE - right, EDGE + LINE / 2, "shares of its total", color=MUTED, **small
            )
        page.plot([EDGE, wide - EDGE], [ABOVE - 0.1] * 2, color=GRID, lw=0.8)
        y, places = ABOVE, []
        for name, count in named.items():
            title: dict[str, Any] = {"s": titles[name], "color": color(name)}
            title |= {"weight": "bold", "fontsize": NAME}
            if apart:
                height = text_layout.text_height(titles[name], NAME)
                page.text(EDGE, y + height / 2, va="center", linespacing=1.1, **title)
            else:
                height = 0.0
                page.text(EDGE, y + BASE, **title)
            page.text(EDGE + left, y + height + BASE, sums[name], ha="right", fontsize=SMALL)
            places.append(y + height + LINE + 0.16)
            under = places[-1] + 0.17
            corner = (EDGE, under) if narrow else (wide - EDGE - right, y + 0.06)
            draw_shares(page, count, name, corner, (right, STRIP))
            least = ROOMY if xlim else 0
            bottom = _write_roles(
                page, count, name, (corner[0], corner[1] + STRIP + 0.06), right, least
            )
            y = max(under, bottom) + 0.2
        height = y - 0.2 + EDGE
        figure.set_figheight(height)
        page.set_ylim(height, 0)
        axes = _multiples_axis(figure, height, left, ends, places)
        for (name, ratio), at in zip(ratios.items(), places, strict=True):
            if ratio:
                own: dict[str, Any] = {"color": color(name), "clip_on": False}
                axes.plot([1, ratio], [at, at], lw=3, solid_capstyle="butt", label="_bar", **own)
                axes.plot([ratio], [at], marker=MARKERS.get(name, "o"), ms=9, mec=PAGE, mew=0.8,
                          gid=f"mark {name}", label=label(name), **own)  # fmt: skip
    return figure


def in_words(
    counts: Mapping[str, Count], *, relative_to: str | None = None, parts: bool = False
) -> str:
    """Say what `parameter_bars` shows in a sentence, for its alt text: totals and their ratios.

    With `parts` it also says how many numbers each role has. The reference stands first.
    Raises as `parameter_bars` does, and if `parts` is not a bool.

    Examples
    --------
    >>> from ensedu import counting
    >>> in_words({"single": counting.layer(3, 4), "deep_ensemble": counting.deep_ensemble(3, 4, 2)})
    'Numbers to train: single network 16, deep ensemble 32 (2.00 × as many).'
    """
    named, reference, ratios = _multiples_of_reference(counts, relative_to)
    checks.boolean("parts", parts)
    said: list[str] = []
    for name in [reference, *(name for name in named if name != reference)]:
        words = f"{label(name)} {exact_digits(named[name].total)}"
        if name != reference:
            words += f" ({_multiple_words(ratios[name])}{' as many' if len(said) == 1 else ''})"
        if parts:
            words += ": " + (" + ".join(_words_by_role(named[name]).values()) or "nothing")
        said.append(words)
    return f"Numbers to train: {('; ' if parts else ', ').join(said)}."


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
    axes: Axes, count: Count, name: str, corner: tuple[float, float], room: float | int, least: int
) -> float:
    """Write how many numbers each role has, behind a sample of it; return where that ends.

    Each has the room of a number that is `least` or more.
    """
    words, reserved = _words_by_role(count), _words_by_role(count, least)
    widths = [SWATCH + SPACE + text_layout.text_width(part, SMALL) for part in reserved.values()]
    bottom = corner[1]
    for (role, part), (x, line) in zip(words.items(), flow_in_lines(widths, room), strict=True):
        x, y = corner[0] + x, corner[1] + (line + 0.5) * LINE
        draw_sample(axes, role, name, (x, y - STRIP / 2), (SWATCH, STRIP))
        axes.text(x + SWATCH + SPACE, y, part, va="center", color=MUTED, fontsize=SMALL)
        bottom = y + LINE / 2
    return bottom


def _multiples_axis(
    figure: Figure,
    height: float | int,
    width: float | int,
    ends: tuple[float, float],
    places: list[float],
) -> Axes:
    """Return logarithmic axes below the numbers of ticks, with their lines at each place."""
    ticks = _multiple_ticks(ends, width)
    # The first and the last number stay within the width.
    pad = max(text_layout.text_width(words, SMALL) for words in ticks.values()) / 2
    top = ABOVE - 0.14
    axes = place(figure, EDGE + pad, top, width - 2 * pad, height - top)
    axes.set(xscale="log", ylim=(height, top), yticks=[])
    set_axis(axes.xaxis, ends, ticks)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for tick in ticks:
        pieces = [[(tick, y - 0.09), (tick, y + 0.09)] for y in places]
        line: dict[str, Any] = {"colors": MUTED, "lw": 1.2} if tick == 1 else {"colors": GRID}
        line = {"lw": 0.8, "label": "_tick"} | line
        axes.add_collection(LineCollection(pieces, clip_on=False, zorder=1, **line))
    return axes


def _multiple_ticks(ends: tuple[float, float], width: float | int) -> dict[float, str]:
    """Return multiples between both ends, as many as have room, and how they are written."""
    low, high = map(math.log2, ends)
    steps = [1, 2, *(math.log2(10) * power for power in (1, 2, 5, 10, 20, 50, 100))]
    for step in steps:
        found = {}
        for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
            tick = 2.0 ** (i * step) if step < 3 else 10.0 ** round(i * step / math.log2(10))
            found[tick] = f"{tick:,g}×"
        widths = [text_layout.text_width(words, SMALL) for words in found.values()]
        apart = step / (high - low) * (width - max(widths))
        if all((one + two) / 2 + 0.1 <= apart for one, two in pairwise(widths)):
            break
    return found


def _multiples_of_reference(
    counts: Any, relative_to: Any
) -> tuple[dict[str, Count], str, dict[str, float]]:
    """Return the Counts, the name of the reference, and each total in multiples of its total."""
    named = figure_checks.counts("counts", counts)
    if relative_to is None:
        relative_to = "single" if "single" in named else next(iter(named))
    one = named[checks.one_of("relative_to", relative_to, named)].total
    if not one:
        raise ValueError(
            f"counts[{relative_to!r}] must have a total above 0, since others are multiples of it"
        )
    return named, relative_to, {name: count.total / one for name, count in named.items()}


def _ends_of_multiples(ratios: Mapping[str, float], xlim: Any) -> tuple[float, float]:
    seen = [1.0, *filter(None, ratios.values())]
    if xlim is None:
        return min(seen), max(2.0, *seen)
    low, high = axis_ends("xlim", xlim)
    if not 0 < low <= min(seen) or max(seen) > high:
        raise ValueError(
            f"xlim must be above 0 and hold 1 and all ratios, from {min(seen):.3g} to "
            f"{max(seen):.3g}, got {checks.given(xlim)}"
        )
    return low, high


def _words_by_role(count: Count, least: int = 0) -> dict[str, str]:
    """Return how many numbers each role has that has any, at least so many, in words."""
    return {
        role: f"{exact_digits(max(least, getattr(count, role)))} {words}"
        for role, words in ROLE_LABELS.items()
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

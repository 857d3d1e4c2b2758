"""How much each of several names differs from one of them: intervals beside a line at 0."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from matplotlib.axes import Axes

from workshop.plot.panels import (
    EDGE,
    LINE,
    TITLE,
    Ends,
    Number,
    cut_to_lines,
    decimal,
    ends_around_zero,
    inches,
    key_rows,
    place,
    set_row_axis,
    write,
    write_key,
)
from workshop.plot.style import MARKERS, MUTED, PAGE, Figure, color, house_style, label, look
from workshop.plot.text_layout import SMALL

Interval = tuple[Number, Number, Number]
#: Inches: of a row, below a panel, between panels, of the widest names.
ROW, TICKS, BETWEEN, WIDEST = 0.46, 0.34, 0.34, 2.5
MARGIN, OUT = 0.16, 0.14
MOST_ACROSS = 3
LEAST = 1.0


def effects(
    columns: Mapping[str, Mapping[str, Interval]],
    *,
    resolved: Mapping[str, Collection[str]] | None = None,
    levels: Mapping[str, str] | None = None,
    colors: Mapping[str, str] | None = None,
    xlim: Mapping[str, Ends] | None = None,
) -> Figure:
    """Draw a mean difference with its interval a row, a panel a score, and a line at 0.

    A marker, with the mean in words, is full where the difference is resolved, and hollow where it
    is unclear. On a wide page the panels stand beside each other, on a narrow one below.

    Parameters
    ----------
    columns
        Titles of panels, such as "NLL", to names to (low, mean, high). A row is a name, in the
        order in which they are first named; a panel may lack some.
    resolved
        Titles to the names whose difference is resolved, as an adjusted p-value may say. By default
        those whose interval does not hold 0.
    levels
        Titles to what stands below a panel's title: what is at 0, in words.
    colors
        Some of the names to the method whose color and marker they get; a method's own name has
        them without.
    xlim
        Titles to the ends of their axes. By default each holds its intervals, and 0.
    """
    known, words = xlim or {}, levels or {}
    names = list(dict.fromkeys(name for table in columns.values() for name in table))
    methods = {name: name for name in names} | dict(colors or {})
    sure = {title: _resolved_names(table, title, resolved) for title, table in columns.items()}
    ends = {
        title: known.get(title) or ends_around_zero(end for row in table.values() for end in row)
        for title, table in columns.items()
    }
    heads = {title: [title, *([words[title]] if title in words else [])] for title in columns}
    with house_style():
        draw = _columns_stacked if look().narrow else _columns_side_by_side
        return draw(columns, names, methods, sure, ends, heads)


def _columns_side_by_side(
    tables: Mapping[str, Mapping[str, Interval]], names: list[str], methods: Mapping[str, str],
    sure: Mapping[str, Collection[str]], ends: Mapping[str, Ends],
    heads: Mapping[str, list[str]],
) -> Figure:  # fmt: skip
    """Draw panels side by side, with the names of rows to their left."""
    shown = {name: cut_to_lines(label(name), WIDEST, weight="bold", size=TITLE) for name in names}
    left = EDGE + 0.12 + max(inches(words, TITLE, "bold") for words in shown.values())
    across = min(MOST_ACROSS, len(tables))
    width = (look().width - left - EDGE - OUT - BETWEEN * (across - 1)) / across
    while width < LEAST and across > 1:
        across -= 1
        width = (look().width - left - EDGE - OUT - BETWEEN * (across - 1)) / across
    row = max(ROW, 0.22 * max(1 + words.count("\n") for words in shown.values()))
    entries = _effect_key_entries()
    top, high = LINE * key_rows(entries) + 0.1, row * len(names)
    lines = {title: _title_lines(heads[title], width + 0.5 * BETWEEN) for title in tables}
    head = LINE * max(map(len, lines.values())) + 0.08
    block = head + high + TICKS
    figure = Figure(figsize=(look().width, top + block * math.ceil(len(tables) / across)))
    for i, (title, table) in enumerate(tables.items()):
        down, column = divmod(i, across)
        x, y = left + column * (width + BETWEEN), top + down * block
        _write_title(figure, lines[title], x + width / 2, y, ha="center")
        axes = place(figure, x, y + head, width, high)
        axes.set_label(title)
        axes.set_ylim(high, 0)
        for k, name in enumerate(names):
            middle = row * (k + 0.62)
            if column == 0:
                write(
                    figure, left - 0.12, y + head + middle, shown[name], va="center", ha="right",
                    color=color(methods[name]), weight="bold", fontsize=TITLE, linespacing=1.0,
                )  # fmt: skip
            if name in table:
                _draw_interval(axes, name, table[name], methods[name], middle, name in sure[title])
                axes.annotate(
                    decimal(table[name][1], _decimals_for(ends[title]), "+"),
                    (table[name][1], middle), (0, 6), textcoords="offset points",
                    ha="center", va="bottom", color=color(methods[name]), fontsize=SMALL,
                    bbox={"facecolor": PAGE, "lw": 0, "pad": 0.8},
                )  # fmt: skip
        set_row_axis(axes, ends[title], width, OUT)
    write_key(figure, entries)
    return figure


def _columns_stacked(
    tables: Mapping[str, Mapping[str, Interval]], names: list[str], methods: Mapping[str, str],
    sure: Mapping[str, Collection[str]], ends: Mapping[str, Ends],
    heads: Mapping[str, list[str]],
) -> Figure:  # fmt: skip
    """Draw panels below each other, in each the names, with their means, above their rows."""
    width = look().width - 2 * MARGIN
    row = LINE + 0.3
    entries = _effect_key_entries()
    top = LINE * key_rows(entries) + 0.1
    lines = {title: _title_lines(heads[title], width) for title in tables}
    shown = {title: [name for name in names if name in table] for title, table in tables.items()}
    blocks = {title: LINE * len(lines[title]) + row * len(shown[title]) + TICKS for title in tables}
    gap = 0.16
    figure = Figure(figsize=(look().width, top + sum(blocks.values()) + gap * len(tables)))
    y = top
    for title, table in tables.items():
        _write_title(figure, lines[title], MARGIN, y, ha="left")
        start, high = y + LINE * len(lines[title]), row * len(shown[title])
        axes = place(figure, MARGIN, start, width, high)
        axes.set_label(title)
        axes.set_ylim(high, 0)
        for k, name in enumerate(shown[title]):
            own, at = color(methods[name]), start + k * row + LINE / 2 + 0.05
            mean = decimal(table[name][1], _decimals_for(ends[title]), "+")
            paper: dict[str, Any] = {"facecolor": PAGE, "lw": 0, "pad": 1.2}
            text = cut_to_lines(label(name), width - inches(mean) - 0.1, 1, weight="bold")
            write(figure, MARGIN, at, text, va="center", color=own, weight="bold", bbox=paper)
            write(figure, MARGIN + width, at, mean, va="center", ha="right", color=own, bbox=paper)
            middle = k * row + LINE + (row - LINE) / 2
            _draw_interval(axes, name, table[name], methods[name], middle, name in sure[title])
        set_row_axis(axes, ends[title], width, OUT)
        y += blocks[title] + gap
    write_key(figure, entries)
    return figure


def _draw_interval(
    axes: Axes, name: str, value: Interval, method: str, y: Number, sure: bool
) -> None:
    own, (low, mean, high) = color(method), value
    axes.plot(
        [low, high], [y, y], color=own, lw=2.4, solid_capstyle="round",
        label=f"{label(name)}, interval",
    )  # fmt: skip
    axes.plot(
        [mean], [y], marker=MARKERS.get(method, "o"), ms=8, color=own, mfc=own if sure else PAGE,
        mew=1.6, label=f"{label(name)}, mean",
    )  # fmt: skip


def _title_lines(words: Iterable[str], width: Number) -> list[str]:
    """Return the lines above a panel: its title, and what stands at 0."""
    first, *rest = words
    lines = cut_to_lines(first, width, 2, weight="bold").split("\n")
    return [*lines, *(line for more in rest for line in cut_to_lines(more, width, 2).split("\n"))]


def _write_title(figure: Figure, lines: Iterable[str], x: Number, y: Number, ha: str) -> None:
    for k, line in enumerate(lines):
        write(
            figure, x, y + LINE * (k + 0.5), line, va="center", ha=ha,
            weight="normal" if k else "bold",
        )  # fmt: skip


def _effect_key_entries() -> dict[str, dict[str, Any]]:
    line = {"color": MUTED, "lw": 2.4, "marker": "o", "ms": 8, "mew": 1.6}
    return {
        "mean, 95% interval": line,
        "unclear": line | {"mfc": PAGE},
    }


def _decimals_for(ends: Ends) -> int:
    return min(6, max(0, math.ceil(math.log10(40 / (ends[1] - ends[0])))))


def _resolved_names(
    table: Mapping[str, Interval], title: str, resolved: Mapping[str, Collection[str]] | None
) -> Collection[str]:
    if resolved is None:
        return [name for name, (low, _, high) in table.items() if low > 0 or high < 0]
    return resolved.get(title, ())

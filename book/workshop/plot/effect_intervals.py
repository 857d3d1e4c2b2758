"""How much each of several names differs from one of them: intervals beside a line at 0."""

import math
from collections.abc import Collection, Mapping
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
    panels,
    set_row_axis,
    widths,
    write_key,
)
from workshop.plot.style import INK, MARKERS, MUTED, PAGE, Figure, color, house_style, label, look
from workshop.plot.text_layout import SMALL

Interval = tuple[Number, Number, Number]
#: Inches: of a row, where names stand beside rows and where above; below a panel; of the widest
#: names; at the sides; and by how much the label of a tick may stand out.
ROW, TALL, TICKS, WIDEST, MARGIN, OUT = 0.46, 0.5, 0.34, 2.5, 0.16, 0.14
MOST_ACROSS = 3
MEAN: dict[str, Any] = {"color": MUTED, "lw": 2.4, "marker": "o", "ms": 8, "mew": 1.6}
BESIDE: dict[str, Any] = {"textcoords": "offset points", "fontsize": SMALL}
PAPER: dict[str, Any] = {"facecolor": PAGE, "lw": 0, "pad": 1}
KEY = {"mean, 95% interval": MEAN, "unclear": MEAN | {"mfc": PAGE}}


def effect_intervals(
    columns: Mapping[str, Mapping[str, Interval]],
    *,
    resolved: Mapping[str, Collection[str]] | None = None,
    levels: Mapping[str, str] | None = None,
    colors: Mapping[str, str] | None = None,
    xlim: Mapping[str, Ends] | None = None,
    xlabel: str = "",
) -> Figure:
    """Draw a mean difference with its interval a row, a panel a score, and a line at 0.

    A marker, with the mean in words, is full where the difference is resolved, and hollow where it
    is unclear. On a wide page names stand beside their rows, on a narrow one above.

    Parameters
    ----------
    columns
        Titles of panels, such as "NLL", to names to (low, mean, high). A row is a name, in the
        order in which they are first named.
    resolved
        Titles to the names whose difference is resolved, as an adjusted p-value may say. By default
        those whose interval does not hold 0.
    levels
        Titles to what is at 0, in words: they stand there, below a panel's title.
    colors
        Some of the names to the method whose color and marker they get; a method's own name has
        them without. Where all have one, it is that of marks alone.
    xlim
        Titles to the ends of their axes. By default each holds its intervals, and 0.
    xlabel
        What stands below each axis, such as which way is better.
    """
    names = list(dict.fromkeys(name for table in columns.values() for name in table))
    methods = {name: name for name in names} | dict(colors or {})
    one_method = len(names) > len({*methods.values()}) == 1
    narrow, (row, size) = look().narrow, (TALL, SMALL) if look().narrow else (ROW, TITLE)
    room = look().width - 2 * MARGIN - inches("+0.000") - 0.1 if narrow else WIDEST
    shown = {name: cut_to_lines(label(name), room, 2 - narrow, size, "bold") for name in names}
    left = EDGE + 0.12 + max(inches(words, size, "bold") for words in shown.values())
    left = MARGIN if narrow else left
    across, width, _ = widths(len(columns), MOST_ACROSS, left, MARGIN, sharey=not narrow)
    heads = {title: cut_to_lines(title, width, weight="bold") for title in columns}
    below = {title: cut_to_lines((levels or {}).get(title, ""), width) for title in columns}
    lines = {title: below[title].count("\n") + bool(below[title]) for title in columns}
    above = LINE * max(1 + heads[title].count("\n") + lines[title] for title in columns)
    with house_style():
        figure, found = panels(
            len(columns), height=row * len(names), columns=MOST_ACROSS, sharey=not narrow,
            left=left, right=MARGIN, above=above + 0.12,
            below=TICKS + LINE * bool(xlabel), top=LINE * key_rows(KEY),
        )  # fmt: skip
        for i, (axes, (title, table)) in enumerate(zip(found, columns.items(), strict=True)):
            every = [end for interval in table.values() for end in interval]
            ends = (xlim or {}).get(title) or ends_around_zero(every)
            sure = [name for name, (low, _, high) in table.items() if low > 0 or high < 0]
            sure = sure if resolved is None else resolved.get(title, ())
            pad = 72 * LINE * lines[title] + 5
            axes.set_title(heads[title], pad=pad, fontsize=SMALL, weight="bold")
            low, high = ends
            decimals = min(6, max(0, math.ceil(math.log10(40 / (high - low)))))
            half = inches(below[title]) / 2
            zero = min(max(-width * low / (high - low), half), width - half) / width
            axes.annotate(
                below[title], (zero, 1), (0, 5), xycoords="axes fraction", ha="center", **BESIDE
            )  # fmt: skip
            for k, name in enumerate(names):
                method, y = methods[name], k + (0.72 if narrow else 0.62)
                pen: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), **BESIDE}
                own = INK if one_method else color(method)
                pen |= {"color": own, "bbox": PAPER, "va": "center"}
                above_row, bold = y - 0.42, {"weight": "bold", "linespacing": 1.0}
                if narrow:
                    axes.annotate(shown[name], (0, above_row), (0, 0), **pen | bold)
                elif i % across == 0:
                    bold |= {"fontsize": size, "ha": "right"}
                    axes.annotate(shown[name], (0, y), (-9, 0), **pen | bold)
                if name not in table:
                    continue
                _draw_interval(axes, label(name), table[name], method, y, name in sure)
                words = decimal(table[name][1], decimals, "+")
                if narrow:
                    axes.annotate(words, (1, above_row), (0, 0), **pen | {"ha": "right"})
                else:
                    pen |= {"xycoords": "data", "ha": "center", "va": "bottom"}
                    aside = _aside_from_zero(table[name][1], words, ends, width)
                    axes.annotate(words, (table[name][1], y), (aside, 6), **pen)
            axes.set_label(title)
            axes.set_xlabel(xlabel, fontsize=SMALL)
            axes.set_ylim(len(names), 0)
            set_row_axis(axes, ends, width, OUT)
            axes.grid(visible=False)  # each mean has its number
        write_key(figure, KEY)
    return figure


def _draw_interval(
    axes: Axes, name: str, value: Interval, method: str, y: Number, sure: bool
) -> None:
    own, (low, mean, high) = color(method), value
    axes.plot(
        [low, high], [y, y], color=own, lw=2.4, solid_capstyle="butt", label=f"{name}, interval"
    )
    axes.plot(
        [mean], [y], marker=MARKERS.get(method, "o"), ms=8, color=own, mfc=own if sure else PAGE,
        mew=1.6, label=f"{name}, mean",
    )  # fmt: skip


def _aside_from_zero(mean: Number, words: str, ends: Ends, width: Number) -> float:
    """Return by how many points the number above a mean stands aside, off the line at 0."""
    half, inch = inches(words) / 2 + 0.05, width / (ends[1] - ends[0])
    side = 1 if mean >= 0 else -1
    if inch * max(side * end for end in ends) < 2 * half:  # there it would leave the panel
        side = -side
    return 72 * side * max(0.0, half - side * mean * inch)

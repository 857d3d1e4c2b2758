"""One dot a seed: what several names score, and how they differ from one of them on its seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.plot import figure_checks
from ensedu.plot.panels import (
    EDGE,
    LINE,
    TITLE,
    Ends,
    Number,
    axis_ends,
    cut_to_lines,
    decimal,
    inches,
    key_rows,
    methods_of,
    number,
    place,
    set_row_axis,
    write,
    write_key,
)
from ensedu.plot.style import (
    MARKERS,
    MUTED,
    PAGE,
    Figure,
    color,
    house_style,
    label,
    look,
)
from ensedu.uncertainty import Interval, paired

Seeds = Sequence[int] | Sequence[float] | Array
#: Inches: from a row's middle up to its mean, and down to its dots; a row without its name.
LANE, ROW = 0.1, 0.46
#: Inches: below a panel ticks and a line of its title; between panels, and beside a number.
TICKS, TITLE_LINE, BETWEEN, BESIDE = 0.3, 0.22, 0.3, 0.08
#: Inches beside a panel on a narrow page, and that a label of a tick may stand out.
MARGIN, OUT = 0.16, 0.14
#: Inches: the widest names beside a panel, and the narrowest of several panels side by side.
WIDEST, LEAST = 2.2, 1.1
MOST_ACROSS = 3
#: An axis is as long as so many of the last digit of its means, at least.
DIGITS = 40
#: Behind words that stand in a panel, so that no line crosses them.
PAPER = {"facecolor": PAGE, "lw": 0, "pad": 1.5}


@dataclass(frozen=True, eq=False)
class _Panel:
    """What one axis shows: values a seed of each row, with mean and interval."""

    title: str
    rows: dict[str, Array]
    ends: Ends
    differences: bool = False

    @property
    def means(self) -> dict[str, Interval]:
        return {name: paired(values) for name, values in self.rows.items()}

    def words(self, mean: Number) -> str:
        """Return a mean with the digits that tell rows apart."""
        decimals = max(0, math.ceil(math.log10(DIGITS / (self.ends[1] - self.ends[0]))))
        sign = "+" if self.differences else ""
        if decimals > 6 or abs(mean) >= 1e6:
            return number(mean, 3, sign)
        return decimal(mean, decimals, sign)


def dots(
    values: Mapping[str, Mapping[str, Seeds]],
    *,
    reference: str | None = None,
    colors: Mapping[str, str] | None = None,
    xlim: Mapping[str, Ends] | None = None,
    difference_xlim: Mapping[str, Ends] | None = None,
) -> Figure:
    """Draw one dot a seed, and above the dots of a row their mean with its 95% interval.

    With a `reference`, a second panel shows the difference of each row from that one, seed by
    seed, with the interval of its mean as `ensedu.uncertainty.paired` gives it.

    Parameters
    ----------
    values
        What is measured, such as "NLL", to names to at least two seeds. A panel is what one of
        them shows, with a row a name; all have the same names.
    reference
        The name from which others differ: seeds of all names are then those of the same runs.
    colors
        Some of the names to the method whose color and marker they get; a method's own name has
        them without.
    xlim, difference_xlim
        What is measured to the ends of its axis, and of that of its differences. By default each
        holds all that it shows.

    Raises
    ------
    TypeError, ValueError
        For fewer seeds than two, other names in some panel, numbers of seeds that differ where
        there is a reference, an unknown method, and ends that do not rise.
    ImportError
        If SciPy is not installed.
    """
    measured = figure_checks.mapping("values", values, "mappings of names to seeds")
    tables = {
        title: _seeds_by_row(f"values[{title!r}]", table) for title, table in measured.items()
    }
    names = list(next(iter(tables.values())))
    for title, table in tables.items():
        if list(table) != names:
            raise ValueError(
                f"values[{title!r}] must have the names of all others, in their order, {names}, "
                f"got {list(table)}"
            )
    methods = methods_of(colors, names, "values")
    ends = _given_ends("xlim", xlim, tables)
    other_ends = _given_ends("difference_xlim", difference_xlim, tables)
    if reference is not None:
        checks.one_of("reference", reference, names)
        if len(names) < 2:
            raise ValueError(f"reference must be None for one name, got {checks.given(reference)}")
    panels = []
    for title, table in tables.items():
        panels.append(_Panel(title, table, ends.get(title) or _ends_of_seeds(table)))
        if reference is None:
            continue
        apart = {}
        for name, seeds in table.items():
            if len(seeds) != len(table[reference]):
                raise ValueError(
                    f"values[{title!r}][{name!r}] must have a value for each seed of the "
                    f"reference, {len(table[reference])}, got {len(seeds)}"
                )
            if name != reference:
                apart[name] = seeds - table[reference]
        words = f"difference from {label(reference)}"
        span = other_ends.get(title) or _ends_of_seeds(apart, 0.0)
        panels.append(_Panel(words, apart, span, differences=True))
    with house_style():
        return (_panels_stacked if look().narrow else _panels_side_by_side)(panels, names, methods)


def _panels_side_by_side(
    panels: list[_Panel], names: list[str], methods: Mapping[str, str]
) -> Figure:
    """Draw panels side by side, with the names of rows to their left."""
    words = {name: cut_to_lines(label(name), WIDEST, weight="bold", size=TITLE) for name in names}
    left = EDGE + 0.1 + max(inches(text, TITLE, "bold") for text in words.values())
    numbers = [_number_room(panel) for panel in panels]
    for across in range(2 if panels[-1].differences else min(MOST_ACROSS, len(panels)), 0, -1):
        room = max(sum(numbers[i : i + across]) for i in range(0, len(panels), across))
        width = (look().width - left - EDGE - room - BETWEEN * (across - 1)) / across
        if width >= LEAST:
            break
    titles = [cut_to_lines(panel.title, width + 0.4, 3, TITLE) for panel in panels]
    lines = max(1 + title.count("\n") for title in titles)
    entries = _seed_key_entries()
    top, high = LINE * key_rows(entries) + 0.1, ROW * len(names)
    block = high + TICKS + TITLE_LINE * lines + MARGIN
    figure = Figure(figsize=(look().width, top + block * math.ceil(len(panels) / across)))
    for i, (panel, title) in enumerate(zip(panels, titles, strict=True)):
        row, column = divmod(i, across)
        y = top + row * block
        if column == 0:
            x = left
            for k, name in enumerate(names):
                write(
                    figure, left - 0.1, y + ROW * (k + 0.5), words[name], va="center", ha="right",
                    color=color(methods[name]), weight="bold", fontsize=TITLE,
                )  # fmt: skip
        axes = place(figure, x, y, width, high)
        axes.set_ylim(len(names), 0)
        means = panel.means
        for k, name in enumerate(names):
            if name in means:
                _draw_row(axes, panel, name, means[name], methods[name], k + 0.5, LANE / ROW)
                write(
                    figure, x + width + BESIDE, y + ROW * (k + 0.5) - LANE,
                    panel.words(means[name].mean), va="center", color=color(methods[name]),
                )  # fmt: skip
            else:
                _draw_reference(axes, methods[name], k + 0.5 - LANE / ROW)
        set_row_axis(axes, panel.ends, width, OUT, zero=panel.differences)
        write(
            figure, x + width / 2, y + high + TICKS, title, va="top", ha="center", fontsize=TITLE
        )  # fmt: skip
        x += width + numbers[i] + BETWEEN
    write_key(figure, entries)
    return figure


def _panels_stacked(panels: list[_Panel], names: list[str], methods: Mapping[str, str]) -> Figure:
    """Draw panels below each other, in each the names above their rows."""
    width = look().width - 2 * MARGIN
    row = LINE + ROW
    entries = _seed_key_entries()
    top = LINE * key_rows(entries) + 0.1
    titles = [cut_to_lines(panel.title, width, 3, TITLE) for panel in panels]
    shown = [[name for name in names if name in panel.rows] for panel in panels]
    blocks = [
        row * len(rows) + TICKS + TITLE_LINE * (1 + title.count("\n")) + MARGIN
        for title, rows in zip(titles, shown, strict=True)
    ]
    figure = Figure(figsize=(look().width, top + sum(blocks)))
    y = top
    for panel, title, rows, block in zip(panels, titles, shown, blocks, strict=True):
        high = row * len(rows)
        axes = place(figure, MARGIN, y, width, high)
        axes.set_ylim(high, 0)
        for k, (name, mean) in enumerate(panel.means.items()):
            own = color(methods[name])
            words = panel.words(mean.mean)
            space = width - inches(words) - BESIDE
            text = cut_to_lines(label(name), space, 1, weight="bold")
            at = y + k * row + LINE / 2 + 0.04
            line = {"va": "center", "color": own, "bbox": PAPER}
            write(figure, MARGIN, at, text, weight="bold", **line)
            write(figure, MARGIN + width, at, words, ha="right", **line)
            _draw_row(axes, panel, name, mean, methods[name], k * row + LINE + ROW / 2, LANE)
        set_row_axis(axes, panel.ends, width, OUT, zero=panel.differences)
        write(
            figure, look().width / 2, y + high + TICKS, title, va="top", ha="center",
            fontsize=TITLE,
        )  # fmt: skip
        y += block
    write_key(figure, entries)
    return figure


def _draw_row(
    axes: Axes, panel: _Panel, name: str, mean: Interval, method: str, y: Number, lane: Number
) -> None:
    """Draw the dots of a row below its middle, and above it their mean with its interval."""
    own, called = color(method), label(name)
    marker: dict[str, Any] = {"marker": MARKERS.get(method, "o"), "color": own, "ls": ""}
    values = panel.rows[name]
    axes.set_label(panel.title)
    axes.plot(
        values, np.full(len(values), y + lane), ms=5.5, alpha=0.4, mew=0,
        label=f"{called}, seeds", **marker,
    )  # fmt: skip
    axes.plot(
        [mean.low, mean.high], [y - lane] * 2, color=own, lw=2.4, solid_capstyle="round",
        label=f"{called}, interval",
    )  # fmt: skip
    axes.plot([mean.mean], [y - lane], ms=8, label=f"{called}, mean", **marker)


def _draw_reference(axes: Axes, method: str, y: Number) -> None:
    marker = MARKERS.get(method, "o")
    axes.plot(
        [0], [y], marker=marker, ms=8, mfc=PAGE, mew=1.6, color=color(method),
        label="reference",
    )  # fmt: skip


def _seed_key_entries() -> dict[str, dict[str, Any]]:
    return {
        "one seed": {"color": MUTED, "ls": "", "marker": "o", "ms": 5.5, "alpha": 0.5},
        "mean, 95% interval": {
            "color": MUTED, "lw": 2.4, "marker": "o", "ms": 8,
        },
    }  # fmt: skip


def _number_room(panel: _Panel) -> float:
    return BESIDE + max(inches(panel.words(mean.mean)) for mean in panel.means.values())


def _seeds_by_row(name: str, value: Any) -> dict[str, Array]:
    rows = figure_checks.mapping(name, value, "seeds")
    return {row: figure_checks.series(f"{name}[{row!r}]", seeds) for row, seeds in rows.items()}


def _given_ends(name: str, value: Any, tables: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    found = figure_checks.optional_mapping(name, value, "ends of an axis")
    for title in found:
        checks.one_of(f"{name}: a name", title, tables)
    return {title: axis_ends(f"{name}[{title!r}]", ends) for title, ends in found.items()}


def _ends_of_seeds(table: Mapping[str, Array], *others: Number) -> tuple[float, float]:
    """Return ends that hold all values and intervals, with a margin."""
    known = [paired(values) for values in table.values()]
    every = np.concatenate(
        [*table.values(), [one.low for one in known], [one.high for one in known], others]
    )
    low, high = float(every.min()), float(every.max())
    margin = 0.06 * (high - low) or max(1.0, abs(high))
    return low - margin, high + margin

"""What each contestant believes of one curve, and how its scores differ from those of one."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.plot import figure_checks
from ensedu.plot.functions import (
    Belief,
    Scene,
    checked_beliefs,
    ends_of_beliefs,
    key_entries,
    name_panel,
    thin_line_words,
)
from ensedu.plot.panels import (
    EDGE,
    LINE,
    RIGHT,
    TITLE,
    Ends,
    Number,
    axis_ends,
    cut_to_lines,
    decimal,
    inches,
    key_rows,
    number,
    place,
    set_axis,
    tick_room,
    ticks,
    ticks_along,
    write,
    write_key,
)
from ensedu.plot.style import MARKERS, MUTED, PAGE, Figure, color, house_style, look
from ensedu.plot.text_layout import SMALL

MOST_COLUMNS = 3
#: Inches: a panel of curves, wide and narrow; a line of its title, and what is below all panels.
HIGH, NAME, BELOW = (1.6, 1.15), 0.23, 0.56
#: Inches: an interval with its number above it, and what is between two columns.
INTERVAL, BETWEEN = 0.46, 0.3
#: Inches that words may stand out of a column.
OUT = 0.12
#: Inches: how wide curves are beside so many columns.
WIDE = (6.6, 4.3, 3.2, 2.05)

Interval = tuple[Number, Number, Number]


def scored_curves(
    x: Float[Array, " N"],
    beliefs: Mapping[str, Belief],
    differences: Mapping[str, Mapping[str, Interval]],
    *,
    truth: Float[Array, " N"],
    data: tuple[Float[Array, " D"], Float[Array, " D"]],
    reference: str,
    xlabel: str = "difference",
    levels: Mapping[str, Number] | None = None,
    shaded: Ends | None = None,
    ylim: Ends | None = None,
    xlim: Mapping[str, Ends] | None = None,
) -> Figure:
    """Draw each contestant's curve with band and members, and how its scores differ.

    On a wide page the scores stand to the right of the curve, on a narrow one below it.

    Parameters
    ----------
    x
        (N,), where the curves are drawn, increasing.
    beliefs
        Names to `Belief`, drawn from top to bottom, any number of them.
    differences
        What a column shows, such as "NLL in the gap", to names to (low, mean, high) of a paired
        difference from `reference`. A column has one axis for all rows. At most three columns;
        without any the curves have the whole width.
    truth
        (N,), the curve that the data come from.
    data
        x and y of the examples, (D,) each.
    reference
        The name of the belief that stands at 0 in each column.
    xlabel
        What the columns show, such as "difference from one network, 95% interval".
    levels
        Titles of columns to the score of the reference itself, which is written beside it, behind
        its name up to a bracket.
    shaded
        Ends of an interval of x, such as a gap in the data, from low to high.
    ylim
        Ends of the y-axis of curves. By default it holds all curves and data; bands may leave it.
    xlim
        Titles of columns to the ends of their axis. By default each holds its intervals.

    Raises
    ------
    TypeError, ValueError
        For other arrays, names of differences that have no belief, and numbers that do not rise.
    """
    scene = Scene(x, truth, data, None if shaded is None else axis_ends("shaded", shaded))
    rows = checked_beliefs(beliefs, scene)
    checks.one_of("reference", reference, rows)
    columns = {
        title: _checked_differences(title, column, rows)
        for title, column in figure_checks.optional_mapping(
            "differences", differences, "columns"
        ).items()
    }
    if len(columns) > MOST_COLUMNS:
        raise ValueError(f"differences must have at most three columns, got {len(columns)}")
    figure_checks.text("xlabel", xlabel)
    own_levels = _checked_by_column("levels", levels, columns, checks.real)
    own_ends = _checked_by_column("xlim", xlim, columns, axis_ends)
    ends = ends_of_beliefs(rows, scene) if ylim is None else axis_ends("ylim", ylim)
    found = [
        _ScoreColumn(title, column, reference, own_levels.get(title), own_ends.get(title))
        for title, column in columns.items()
    ]
    with house_style():
        return (_scores_below if look().narrow else _scores_beside)(
            rows, scene, ends, found, xlabel
        )


def _scores_beside(
    rows: Mapping[str, Belief], scene: Scene, ends: Ends,
    columns: "list[_ScoreColumn]", xlabel: str,
) -> Figure:  # fmt: skip
    """Draw a row a contestant: its curve, and at its height the intervals."""
    entries = key_entries(rows, scene, thin_line_words(rows))
    rises = ticks(ends, 3)
    left, width = tick_room(rises), WIDE[len(columns)]
    room = look().width - left - width - RIGHT
    each = room / max(1, len(columns)) - BETWEEN
    names = [cut_to_lines(name, width, size=TITLE, weight="bold") for name in rows]
    titles = [cut_to_lines(column.title, each + BETWEEN - 0.05, most=3) for column in columns]
    most = max((1 + title.count("\n") for title in titles), default=0)
    above = [0.07 + NAME * (1 + name.count("\n")) for name in names]
    top = LINE * key_rows(entries) + 0.06
    top += max(0.0, LINE * most - (above[0] - 0.1))
    words = cut_to_lines(xlabel, len(columns) * (each + BETWEEN), most=3) if columns else ""
    height = top + sum(above) + HIGH[0] * len(rows) + BELOW + LINE * words.count("\n")
    figure = Figure(figsize=(look().width, height))
    middles, panels, y = [], [], top
    for belief, title, room_above in zip(rows.values(), names, above, strict=True):
        y += room_above
        panels.append(place(figure, left, y, width, HIGH[0]))
        _draw_curve(panels[-1], title, scene, belief, width, ends, rises)
        middles.append(y + HIGH[0] / 2)
        y += HIGH[0]
        panels[-1].tick_params(labelbottom=len(panels) == len(rows))
    panels[-1].set_xlabel("x")
    for k, (column, title) in enumerate(zip(columns, titles, strict=True)):
        start = left + width + BETWEEN + k * (each + BETWEEN)
        first = top + above[0]
        axes = place(figure, start, first, each, y - first)
        axes.set_ylim(y, first)
        for (name, belief), middle in zip(rows.items(), middles, strict=True):
            column.draw(axes, name, belief, middle)
        column.set_axis(axes, each)
        axes.grid(axis="x")
        axes.set_title(title, pad=7, fontsize=SMALL)
    if columns:
        middle = left + width + BETWEEN + (room - BETWEEN) / 2
        write(figure, middle, y + 0.34, words, ha="center", va="top", color=MUTED)
    write_key(figure, entries)
    return figure


def _scores_below(
    rows: Mapping[str, Belief], scene: Scene, ends: Ends,
    columns: "list[_ScoreColumn]", xlabel: str,
) -> Figure:  # fmt: skip
    """Draw a block a contestant: its curve, and below it the intervals side by side."""
    entries = key_entries(rows, scene, thin_line_words(rows))
    rises = ticks(ends, 4)
    left = tick_room(rises)
    width = look().width - left - RIGHT
    between = 0.26
    each = (width + between) / max(1, len(columns)) - between
    names = [cut_to_lines(name, width, size=TITLE, weight="bold") for name in rows]
    titles = [cut_to_lines(column.title, each, most=3) for column in columns]
    lines = max((1 + title.count("\n") for title in titles), default=0)
    # What a contestant has below its curve: ticks and x, then titles and intervals.
    under = 0.1 + LINE * lines + INTERVAL if columns else 0.0
    top = LINE * key_rows(entries) + 0.06
    above = [(0.2 if columns else 0.1) + NAME * (1 + name.count("\n")) for name in names]
    words = cut_to_lines(xlabel, look().width - 2 * EDGE, most=3) if columns else ""
    low = 0.32 + LINE * (1 + words.count("\n")) if columns else 0.0
    height = top + sum(above) + (HIGH[1] + under) * len(rows) + 0.5 + low
    figure = Figure(figsize=(look().width, height))
    y = top
    for i, ((name, belief), title) in enumerate(zip(rows.items(), names, strict=True)):
        last = i == len(rows) - 1
        y += above[i]
        axes = place(figure, left, y, width, HIGH[1])
        _draw_curve(axes, title, scene, belief, width, ends, rises)
        axes.tick_params(labelbottom=last)
        y += HIGH[1]
        if last:
            axes.set_xlabel("x", labelpad=1)
            y += 0.44
        if not columns:
            continue
        y += 0.1 + LINE * lines
        for k, column in enumerate(columns):
            start = left + k * (each + between)
            write(figure, start, y - 0.02, titles[k], va="bottom", color=MUTED)
            axes = place(figure, start, y, each, INTERVAL)
            axes.set_ylim(INTERVAL, 0)
            column.draw(axes, name, belief, INTERVAL - 0.12)
            column.set_axis(axes, each)
            if not last:
                axes.tick_params(bottom=False, labelbottom=False)
                axes.spines["bottom"].set_visible(False)
        y += INTERVAL
    if columns:
        write(figure, left, y + 0.3, words, va="top", color=MUTED)
    write_key(figure, entries)
    return figure


def _draw_curve(
    axes: Axes, title: str, scene: Scene, belief: Belief, width: Number,
    ends: Ends, rises: Mapping[Number, str],
) -> None:  # fmt: skip
    name_panel(axes, title, belief)
    scene.draw(axes, belief)
    scene.set_axes(axes, width, ends, rises, out=RIGHT - 0.02)


class _ScoreColumn:
    """One score: an interval a contestant, all on one axis."""

    def __init__(
        self, title: str, intervals: dict[str, Array], reference: str, level: Number | None,
        ends: Ends | None,
    ) -> None:  # fmt: skip
        self.title, self._intervals = title, intervals
        self._reference, self._level = reference, level
        every = np.concatenate([[0.0], *intervals.values()])
        span = float(every.max() - every.min()) or 1.0
        self._ends = ends or (float(every.min()) - span / 5, float(every.max()) + span / 5)
        largest = float(np.abs(every).max()) or 1.0
        self._decimals = min(6, max(2, 1 - math.floor(math.log10(largest))))

    def draw(self, axes: Axes, name: str, belief: Belief, y: Number) -> None:
        """Draw the interval of a contestant at the height y, its mean in words above it."""
        own = color(belief.method)
        axes.set_label(self.title)
        marker: dict[str, Any] = {"marker": MARKERS[belief.method], "ms": 8, "color": own}
        if name == self._reference:
            axes.plot([0], [y], mfc=PAGE, mew=1.6, label="reference", **marker)
            if self._level is not None:
                self._write_level(axes, y, own)
        elif name in self._intervals:
            low, mean, high = self._intervals[name]
            axes.plot(
                [low, high], [y, y], color=own, lw=2.4, solid_capstyle="round",
                label=f"{name}, interval",
            )  # fmt: skip
            axes.plot([mean], [y], label=f"{name}, mean", **marker)
            self._write(axes, self._number(mean, "+"), mean, y, own)

    def _number(self, value: Number, sign: str = "") -> str:
        few = abs(value) < 1000
        return decimal(value, self._decimals, sign) if few else number(value, 3, sign)

    def _write_level(self, axes: Axes, y: Number, own: str) -> None:
        """Write what stands at 0, which is no difference, with its name: between the ends."""
        low, high = self._ends
        width = axes.bbox.width / axes.figure.dpi
        level = f": {self._number(self._level or 0.0)}"
        name = self._reference.partition(" (")[0]
        words = cut_to_lines(name, width + 2 * OUT - inches(level), 1) + level
        zero, half = -low / (high - low) * width, inches(words) / 2
        middle = max(half - OUT, min(width + OUT - half, zero))
        self._write(axes, words, 0.0, y, own, 72 * (middle - zero))

    def _write(
        self, axes: Axes, words: str, x: Number, y: Number, own: str, aside: Number = 0
    ) -> None:
        axes.annotate(
            words, (x, y), (aside, 8), textcoords="offset points",
            ha="center", va="bottom", color=own, fontsize=SMALL,
            bbox={"facecolor": PAGE, "lw": 0, "pad": 0.8},
        )  # fmt: skip

    def set_axis(self, axes: Axes, width: Number) -> None:
        """Draw the line at 0, and the axis of axes that are so many inches wide."""
        labels = ticks_along(self._ends, width, out=OUT)
        axes.axvline(0, color=MUTED, lw=1.2, zorder=1)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        set_axis(axes.xaxis, self._ends, labels)


def _checked_by_column(
    name: str, value: Any, columns: Mapping[str, Any], check: Any
) -> dict[str, Any]:
    """Return a mapping of titles of columns to what `check` makes of each value."""
    found = figure_checks.optional_mapping(name, value, "columns")
    for title in found:
        if title not in columns:
            known = ", ".join(map(repr, columns)) or "none"
            raise ValueError(f"{name}[{title!r}] must be of a column of differences, {known}")
    return {title: check(f"{name}[{title!r}]", one) for title, one in found.items()}


def _checked_differences(
    title: str, column: object, rows: Mapping[str, object]
) -> dict[str, np.ndarray]:
    named = figure_checks.optional_mapping(f"differences[{title!r}]", column, "(low, mean, high)")
    found = {}
    for name, value in named.items():
        where = f"differences[{title!r}][{name!r}]"
        if name not in rows:
            raise ValueError(f"{where} must be of one of beliefs, {', '.join(map(repr, rows))}")
        found[name] = figure_checks.interval(where, value)
    return found

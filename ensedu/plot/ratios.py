"""Measured ratios: a dot at the median, a line from quartile to quartile."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from ensedu.common import checks
from ensedu.methods import METHODS
from ensedu.plot import figure_checks, label_layout, text_layout
from ensedu.plot.panels import axis_ends
from ensedu.plot.style import GRID, MARKERS, MUTED, Figure, color, house_style, label, look
from ensedu.plot.text_layout import SMALL

EDGE = 0.08  # inches between the edge of the figure and what is written
NAMES = 2.75  # inches: room for names beside their rows
INSIDE = 0.2  # inches: where names stand above their rows, axes begin so far behind them
ROW = 0.34  # inches: a row without a name above it
VALUES = 0.6  # inches: room for a median to the right of the axes
AIR = 0.12  # inches between two ticks' labels
# Round numbers of a power of ten, from many to few.
STEPS: tuple[tuple[float, ...], ...] = (
    (1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 9.5),
    (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8),
    (1, 1.5, 2, 3, 5, 7),
    (1, 2, 5),
    (1,),
)


def ratios(
    values: Mapping[str, Sequence[float | int] | np.ndarray],
    *,
    xlabel: str,
    reference: str,
    colors: Mapping[str, str] | None = None,
    xlim: Sequence[float | int] | np.ndarray | Sequence[int] | np.ndarray | None = None,
) -> Figure:
    """Draw one row a name: quartiles of measured ratios on a logarithmic axis, and a line at 1.

    Parameters
    ----------
    values
        Names to (first quartile, median, third quartile), drawn from top to bottom.
    xlabel
        What is divided by what.
    reference
        What stands at 1.
    colors
        Some of the names to the method whose color, marker and weight they get; a method's own
        name has them without.
    xlim
        The two ends of the axis, which hold 1 and all quartiles. By default they follow from them;
        a slider gives them, so that its frames have the same axis.

    Raises
    ------
    TypeError, ValueError
        For quartiles that do not rise or are not above 0, for a name in `colors` that is not in
        `values`, an unknown method, and ends that do not rise or leave something out.
    """
    named = figure_checks.mapping("values", values, "three quartiles each")
    rows = {name: _checked_quartiles(name, value) for name, value in named.items()}
    figure_checks.text("xlabel", xlabel)
    figure_checks.text("reference", reference)
    methods = figure_checks.optional_mapping("colors", colors, "methods")
    if unknown := methods.keys() - rows.keys():
        raise ValueError(f"colors must name rows of values, got {sorted(unknown)}")
    for name, method in methods.items():
        checks.one_of(f"colors[{name!r}]", method, METHODS)
    low, high = _ends_of_ratios(xlim, np.concatenate(list(rows.values())))
    with house_style():
        medians = [_median_words(median) for _, median, _ in rows.values()]
        over = text_layout.wrapped(reference, look().width - 2 * EDGE, SMALL)
        axes, bands = _ratio_axes(list(rows), medians, xlabel, over)
        axes.set(xscale="log", xlim=(low, high))
        _write_reference(axes, over)
        ticks = _round_ticks(axes)
        axes.set_xticks(ticks, [_tick_words(tick) for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        for band, (name, (first, median, third)) in zip(bands, rows.items(), strict=True):
            # Lines leave out where a name stands.
            axes.vlines(ticks, *band, color=GRID, lw=0.6, zorder=0, label="_tick")
            axes.vlines([1], *band, color=MUTED, lw=1.2, zorder=1, label="_tick")
            y, method = sum(band) / 2, methods.get(name, name)
            own = color(method)
            axes.plot(
                [first, third], [y, y], color=own, lw=2.4, solid_capstyle="round",
                label=f"{label(name)}, quartiles",
            )  # fmt: skip
            marker: dict[str, Any] = {
                "marker": MARKERS.get(method, "o"),
                "ms": 8 if method in METHODS else 5,
            }
            axes.plot([median], [y], color=own, label=f"{label(name)}, median", **marker)
            at: dict[str, Any] = {
                "xycoords": ("axes fraction", "data"), "textcoords": "offset points",
                "color": own, "annotation_clip": False,
            }  # fmt: skip
            axes.annotate(_median_words(median), (1, y), (6, 0), va="center", fontsize=SMALL, **at)
            at |= {"weight": "bold" if method != name else "normal"}
            if look().narrow:
                axes.annotate(_row_name(name), (0, band[0]), (-72 * INSIDE, 1), va="bottom", **at)
            else:
                axes.annotate(_row_name(name), (0, y), (-8, 0), va="center", ha="right", **at)
    return label_layout.figure_of(axes)


def _ends_of_ratios(value: Any, drawn: np.ndarray) -> tuple[float, float]:
    """Return `value` as the ends of the axis that hold 1 and all that is drawn."""
    least, most = min(1.0, drawn.min()), max(1.0, drawn.max())
    if value is None:
        return least / 1.12, most * 1.12
    low, high = axis_ends("xlim", value)
    if not 0 < low <= least or high < most:
        raise ValueError(
            f"xlim must be above 0 and hold all from {least:g} to {most:g}, got {low:g} to {high:g}"
        )
    return low, high


def _ratio_axes(
    names: Sequence[str], medians: Sequence[str], xlabel: str, reference: str
) -> tuple[Axes, list[tuple[float, float]]]:
    """Return axes with names beside or above their rows, medians behind, and where each row lies.

    The unit of y is an inch.
    """
    wide, narrow = look().width, look().narrow
    left = EDGE + INSIDE if narrow else NAMES + EDGE + 0.12
    right = wide - max(
        VALUES, *(text_layout.text_width(median, SMALL) + 2 * EDGE for median in medians)
    )
    heights = [text_layout.text_height(_row_name(name)) for name in names]
    if narrow:
        ends = np.cumsum([ROW + height + 0.06 for height in heights])
        bands = [(end - ROW, end) for end in ends]
    else:
        steps = [max(ROW, height + 0.14) for height in heights]
        ends = np.cumsum(steps)
        bands = [(end - step, end) for end, step in zip(ends, steps, strict=True)]
    under = text_layout.wrapped(xlabel, wide - 2 * EDGE)
    top, bottom = (
        text_layout.text_height(reference, SMALL) + 0.14,
        text_layout.text_height(under) + 0.36,
    )
    whole = top + ends[-1] + bottom
    figure = Figure(figsize=(wide, whole))
    axes = figure.add_axes((left / wide, bottom / whole, (right - left) / wide, ends[-1] / whole))
    axes.set(ylim=(ends[-1], 0), yticks=[])
    axes.spines["left"].set_visible(False)
    label_layout.name_x(axes, under)
    return axes, bands


def _row_name(name: str) -> str:
    room = look().width - 2 * EDGE if look().narrow else NAMES
    return text_layout.wrapped(label(name), room, weight="bold")


def _write_reference(axes: Axes, words: str) -> None:
    """Write above the line at 1 what stands there, inside the figure."""
    wide = label_layout.figure_of(axes).get_figwidth()
    box = axes.get_position()
    at = wide * (box.x0 + box.width * axes.transAxes.inverted().transform(
        axes.transData.transform((1.0, 0.0))
    )[0])  # fmt: skip
    half = EDGE + text_layout.text_width(words, SMALL) / 2
    shift = max(half, min(wide - half, at)) - at
    axes.annotate(
        words, (1, 1), (72 * shift, 4), xycoords=("data", "axes fraction"),
        textcoords="offset points", ha="center", color=MUTED, fontsize=SMALL,
        linespacing=1.1,
    )  # fmt: skip


def _round_ticks(axes: Axes) -> list[float]:
    """Return round numbers between the ends, as many as have room to be read."""
    low, high = axes.get_xlim()
    wide, box = label_layout.figure_of(axes).get_figwidth(), axes.get_position()
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in STEPS:
        ticks = [round(step * 10.0**power, 12) for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        middles = wide * (box.x0 + box.width * np.log(np.divide(ticks, low)) / math.log(high / low))
        half = np.array([text_layout.text_width(_tick_words(tick), SMALL) / 2 for tick in ticks])
        inside = (middles - half >= 0.02) & (middles + half <= wide - 0.02)
        ticks = [tick for tick, shown in zip(ticks, inside, strict=True) if shown]
        lows, highs = (middles - half)[inside], (middles + half)[inside]
        if (highs[:-1] + AIR <= lows[1:]).all():
            return ticks
    return ticks[:: max(1, len(ticks) // 4)]


def _tick_words(tick: float | int) -> str:
    return f"{text_layout.number_in_words(tick)}×"


def _median_words(median: float | int) -> str:
    if 0.1 <= median < 10:
        return f"{median:.2f}"
    return text_layout.number_in_words(float(f"{median:.{3 if median > 1 else 2}g}"))


def _checked_quartiles(name: str, value: Any) -> np.ndarray:
    three = figure_checks.series(f"values[{name!r}]", value, 3)
    if three[0] <= 0 or (np.diff(three) < 0).any():
        raise ValueError(
            f"values[{name!r}] must rise and be above 0, got {checks.given(list(value))}"
        )
    return three

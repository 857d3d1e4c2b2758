"""Where ticks, labels and names stand, so that they touch nothing."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from matplotlib.axes import Axes

from workshop.plot import text_layout
from workshop.plot.style import Figure
from workshop.plot.text_layout import SMALL

EDGE = 0.08  # inches between the edge of the figure and what is written
AIR = 0.1  # inches between two ticks' labels


def figure_of(axes: Axes) -> Figure:
    """Return the figure of axes that were put into one of ours."""
    return cast(Figure, axes.figure)


def ticks_within(
    values: Sequence[float | int] | np.ndarray, low: float | int, high: float | int
) -> list[float]:
    """Return the ticks that are not outside two ends."""
    return [float(value) for value in values if low <= value <= high]


def which_have_labels(axes: Axes, values: Sequence[float | int] | np.ndarray) -> list[bool]:
    """Return which ticks have a label: each second or third, or else from the left what fits.

    None that would leave the figure has one.
    """
    middles = axes.transData.transform([(x, axes.get_ylim()[0]) for x in values])[:, 0]
    half = [text_layout.text_width(text_layout.number_in_words(x), SMALL) / 2 for x in values]
    figure = figure_of(axes)
    lows, highs = middles / figure.dpi - half, middles / figure.dpi + half
    inner = np.flatnonzero((lows >= 0.02) & (highs <= figure.get_figwidth() - 0.02))
    chosen = set(inner[_labels_apart(lows[inner], highs[inner])].tolist())
    return [i in chosen for i in range(len(values))]


def _labels_apart(lows: np.ndarray, highs: np.ndarray) -> list[int]:
    """Choose labels from `lows` to `highs` that have room beside each other."""
    last = len(lows) - 1
    for step in (1, 2, 3):
        if last % step == 0 and (highs[:-step:step] + AIR <= lows[step::step]).all():
            return list(range(0, last + 1, step))
    found = [0]
    for i in range(1, last + 1):
        room = lows[i] >= highs[found[-1]] + AIR
        if room and (i == last or highs[i] + AIR <= lows[last]):
            found.append(i)
    return found


def name_x(axes: Axes, words: str) -> None:
    """Name the x-axis: below its middle, and inside the figure."""
    wide, box = figure_of(axes).get_figwidth(), axes.get_position()
    half = (EDGE + text_layout.text_width(words) / 2) / wide
    middle = max(half, min(1 - half, (box.x0 + box.x1) / 2))
    axes.set_xlabel(words, x=(middle - box.x0) / box.width, linespacing=1.1)

"""Where ticks, labels and names stand, so that they touch nothing."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator

from ensedu.plot import text_layout
from ensedu.plot.style import Figure
from ensedu.plot.text_layout import SMALL

EDGE = 0.08  # inches between the edge of the figure and what is written
AIR = 0.1  # inches between two ticks' labels

Box = tuple[np.ndarray, np.ndarray]  # lower left and upper right corner


def figure_of(axes: Axes) -> Figure:
    """Return the figure of axes that were put into one of ours."""
    return cast(Figure, axes.figure)


def log_ticks(low: float | int, high: float | int, span: float | int) -> list[float]:
    """Return powers of ten inside two ends, and numbers between them where they are too few."""
    found = LogLocator(subs=(1, 2, 5) if span < 300 else (1,)).tick_values(low, high)
    few = ticks_within(found, low, high)
    return few if len(few) > 1 else ticks_within(MaxNLocator(4).tick_values(low, high), low, high)


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


def in_points(axes: Axes, xy: Any) -> np.ndarray:
    """Return where points of the axes stand, in points from the figure's corner."""
    return np.array(axes.transData.transform(np.array(xy, float))) * 72 / figure_of(axes).dpi


def panel_box(axes: Axes) -> Box:
    """Return the box of the axes, in points."""
    box, point = axes.get_window_extent(), 72 / figure_of(axes).dpi
    return np.array(box.min) * point, np.array(box.max) * point


def segments_of_curves(curves: Sequence[np.ndarray]) -> np.ndarray:
    """Return the segments (N, 2, 2) of curves of several points each."""
    return np.concatenate([np.stack([curve[:-1], curve[1:]], axis=1) for curve in curves])


def free_offset(
    anchor: np.ndarray,
    half: np.ndarray,
    panel: Box,
    taken: Sequence[Box],
    lines: np.ndarray,
    *,
    clear: float | int,
    far: float | int = 130,
) -> np.ndarray:
    """Return how far from an anchor a label of this half size covers the least; all in points.

    Near is better than far. Worse is a label outside the panel, on a taken box or on a line, and a
    leader across one. `lines` are segments (N, 2, 2) with both ends; a leader begins
    `clear` points from the anchor.
    """
    angles = np.radians(np.arange(90, 450, 15))
    way = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    out = clear + np.arange(0, far, 6)
    offsets = (way[None] * (half + out[:, None, None])).reshape(-1, 2)
    low, high = anchor + offsets - half, anchor + offsets + half
    cost = np.linalg.norm(offsets, axis=1) / 36
    cost += 1000 * ((low < panel[0]) | (high > panel[1])).any(axis=1)
    for corner, other in taken:
        cost += 500 * ((low < other) & (high > corner)).all(axis=1)
    ink = _points_along(lines, 2.0)
    ink = ink[(np.abs(ink - anchor) < np.abs(offsets).max(axis=0) + half).all(axis=1)]
    cost += 2 * _points_in_box(ink[None], low[:, None], high[:, None]).sum(axis=1)
    start = anchor + clear * offsets / np.linalg.norm(offsets, axis=1)[:, None]
    end = anchor + offsets
    cost += 5 * _segments_cross(start, end, lines[:, 0], lines[:, 1])
    steps = start[:, None] + np.linspace(0, 1, 16)[:, None] * (end - start)[:, None]
    for corner, other in taken:
        if not _points_in_box(anchor, corner, other):
            cost += 20 * np.any(_points_in_box(steps, corner, other), axis=1)
    return offsets[np.argmin(cost)]


def _points_in_box(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | np.bool_:
    """Return which points are in a box: one coordinate after the other, which is fast."""
    x, y = points[..., 0], points[..., 1]
    return (x > low[..., 0]) & (x < high[..., 0]) & (y > low[..., 1]) & (y < high[..., 1])


def _points_along(lines: np.ndarray, step: float | int) -> np.ndarray:
    """Return points along segments, about so far apart."""
    pieces = np.maximum(1, np.ceil(np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1) / step))
    which = np.repeat(np.arange(len(lines)), pieces.astype(int))
    first = np.concatenate([[0], np.cumsum(pieces)[:-1]])[which]
    part = ((np.arange(len(which)) - first + 0.5) / pieces[which])[:, None]
    return lines[which, 0] + part * (lines[which, 1] - lines[which, 0])


def _segments_cross(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return which of the segments from a to b cross one of those from c to d."""
    a, b, c, d = a[:, None], b[:, None], c[None], d[None]
    apart = _side_of_line(a, b, c) * _side_of_line(a, b, d) < 0
    return (apart & (_side_of_line(c, d, a) * _side_of_line(c, d, b) < 0)).any(axis=1)


def _side_of_line(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Tell by its sign on which side of the line from a to b a point lies."""
    one, other = b - a, c - a
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]

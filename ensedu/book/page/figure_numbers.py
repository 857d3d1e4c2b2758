"""The numbers of a figure, read off what is drawn, so that they are always those of the picture."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.figure
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import (
    FillBetweenPolyCollection,
    LineCollection,
    PathCollection,
    QuadMesh,
)
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

__all__ = ["MOST_CELLS", "MOST_KB", "MOST_POINTS", "Series", "numbers", "table"]

MOST_KB = 500  # of a file; beyond that curves are thinned, and then one setting stands for all
MOST_POINTS = 100  # of a thinned curve
MOST_CELLS = 4096  # of a matrix: larger ones are pictures
#: What a point has, in this order; only what any of them has is written.
COLUMNS = ("x", "y", "low", "high", "value")
#: A label that hides an artist and is none that Matplotlib gives, such as _child3 or _nolegend_.
OURS = re.compile(r"_(?!child\d|nolegend_|container\d|image\d)")
Numbers = dict[str, np.ndarray]
States = list[tuple[Mapping[str, Any], list["Series"]]]


@dataclass(frozen=True)
class Series:
    """What one artist draws: arrays of one length by column, of `COLUMNS`."""

    panel: str
    name: str
    points: Numbers
    #: Whether fewer points say the same.
    curve: bool = False

    def thinned(self) -> "Series":
        """Return at most `MOST_POINTS` of a curve's points, the first and the last among them."""
        length = len(next(iter(self.points.values())))
        if not self.curve or length <= MOST_POINTS:
            return self
        kept = np.linspace(0, length - 1, MOST_POINTS).round().astype(int)
        points = {column: values[kept] for column, values in self.points.items()}
        return Series(self.panel, self.name, points, curve=True)


def numbers(figure: matplotlib.figure.Figure) -> list[Series]:
    """Return the series of a figure: curves, dots, intervals, bars, bands, cells of matrices.

    A series is called what its artist's label says, else what it is, and counted. Left out are
    artists with a label of ours that begins with "_", such as "_tick", lines that span the axes,
    what is drawn into axes that are off (the cells of a matrix stay, by column and row), and
    matrices of more than `MOST_CELLS` cells.
    """
    shown = [a for a in figure.axes if a.get_visible() and a.get_label() != "<colorbar>"]
    found = [(axes, list(_series_of_axes(axes))) for axes in shown]
    found = [(axes, series) for axes, series in found if series]
    return [
        Series(_panel(axes) or (f"panel {i}" if len(found) > 1 else ""), *rest)
        for i, (axes, series) in enumerate(found, start=1)
        for rest in series
    ]


def table(states: States, start: int) -> tuple[str, str]:
    """Return the series of each state of the sliders as CSV, and what had to be left out.

    If the file had more than `MOST_KB`, its curves are thinned; if that does not suffice, it has
    the state `start` alone.
    """
    text = _written(states)
    if len(text.encode()) <= 1000 * MOST_KB:
        return text, ""
    few = [(values, [one.thinned() for one in series]) for values, series in states]
    text = _written(few)
    said = f"at most {MOST_POINTS} points of a curve"
    if len(text.encode()) <= 1000 * MOST_KB:
        return text, said
    values = states[start][0]
    setting = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values.items())
    alone = f"{setting} alone" if setting else ""
    text = _written([states[start]])
    if alone and len(text.encode()) <= 1000 * MOST_KB:
        return text, alone
    return _written([few[start]]), ", ".join(filter(None, (alone, said)))


def _written(states: States) -> str:
    every = [one for _, series in states for one in series]
    if not every:
        return ""
    used = [column for column in COLUMNS if any(column in one.points for one in every)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*states[0][0], "panel", "series", *used])
    for values, series in states:
        for one in series:
            before = *values.values(), one.panel, one.name
            for i in range(len(next(iter(one.points.values())))):
                point = (one.points.get(column) for column in used)
                writer.writerow([*before, *("" if p is None else f"{p[i]:.6g}" for p in point)])
    return file.getvalue()


def _panel(axes: Axes) -> str:
    """Return what axes are called: by their label, their title, or their axes."""
    titles = (axes.get_title(loc) for loc in ("center", "left", "right"))
    called = str(axes.get_label() or "") or next(filter(None, titles), "")
    by = " by ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel())))
    return " ".join((called or by).split())


def _series_of_axes(axes: Axes) -> Iterator[tuple[str, Numbers, bool]]:
    """Yield the name of each series, its points, and whether it is a curve."""
    names = _names_of_containers(axes)
    kept = []
    for kind, artist, points in _drawn(axes):
        finite = np.logical_and.reduce([np.isfinite(values) for values in points.values()])
        if finite.any() and artist.get_visible():
            points = {column: values[finite] for column, values in points.items()}
            label = names.get(artist, str(artist.get_label() or ""))
            if OURS.match(label):
                continue  # drawn to be looked at: a tick, a scale of colors
            kept.append((kind, "" if label.startswith("_") else label, points))
    titles = [label or kind for kind, label, _ in kept]
    several = {title for title, count in Counter(titles).items() if count > 1}
    met: Counter[str] = Counter()
    for title, (kind, label, points) in zip(titles, kept, strict=True):
        met[title] += 1
        numbered = title in several or not label
        name = " ".join(f"{title} {met[title] if numbered else ''}".split())
        yield name, points, kind in ("line", "band")


def _names_of_containers(axes: Axes) -> dict[Any, str]:
    """Return, of artists that belong together, the name of the whole."""
    found: dict[Any, str] = {}
    for whole in axes.containers:
        if isinstance(whole, ErrorbarContainer):
            line, caps, bars = whole.lines
            found |= dict.fromkeys(filter(None, (line, *caps, *bars)), str(whole.get_label()))
    return found


def _drawn(axes: Axes) -> Iterator[tuple[str, Any, Numbers]]:
    """Yield what axes show: its kind, the artist, and its points by column."""
    for image in (*axes.images, *axes.collections):
        if isinstance(image, (AxesImage, QuadMesh)) and _colored(image):
            yield "cells", image, _cells(image, axes.axison)
    if not axes.axison:
        return
    for bars in axes.containers:
        if isinstance(bars, BarContainer) and len(bars):
            yield "bars", _Whole(bars), _bars(bars)
    for artist in (*axes.lines, *axes.collections):
        if not _in_data(artist, axes):
            continue
        if isinstance(artist, Line2D):
            x, y = (np.asarray(values, dtype=float) for values in artist.get_data(orig=False))
            yield ("line" if artist.get_linestyle() != "None" else "dots"), artist, {"x": x, "y": y}
        elif isinstance(artist, PathCollection):
            x, y = np.ma.filled(np.ma.asarray(artist.get_offsets(), dtype=float), np.nan).T
            colors = artist.get_array()
            more = {} if colors is None else {"value": np.asarray(colors, dtype=float).ravel()}
            yield "dots", artist, {"x": x, "y": y} | more
        elif isinstance(artist, LineCollection):
            yield from (("intervals", artist, points) for points in _segments(artist))
        elif isinstance(artist, FillBetweenPolyCollection):
            yield "band", artist, _band(artist)


class _Whole:
    """A container as an artist: with a label, and whether it is seen."""

    def __init__(self, bars: BarContainer) -> None:
        self.get_label, self.get_visible = bars.get_label, bars.patches[0].get_visible


def _in_data(artist: Artist, axes: Axes) -> bool:
    """Whether both coordinates of an artist are those of its axes."""
    dots = isinstance(artist, PathCollection)
    transform = artist.get_offset_transform() if dots else artist.get_transform()  # type: ignore[attr-defined]
    return all(transform.contains_branch_seperately(axes.transData))


def _colored(image: AxesImage | QuadMesh) -> bool:
    """Whether these are numbers shown in color, and few enough."""
    values = image.get_array()
    return values is not None and values.ndim == 2 and values.size <= MOST_CELLS


def _cells(image: AxesImage | QuadMesh, axis: bool) -> Numbers:
    """Return the middle of each cell, or where no axis tells it column and row, from 1."""
    values: np.ndarray = np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan)
    rows, columns = values.shape
    if not axis:
        x, y = np.meshgrid(np.arange(1.0, columns + 1), np.arange(1.0, rows + 1))
    elif isinstance(image, QuadMesh):
        corners = np.asarray(image.get_coordinates(), dtype=float)
        x, y = np.moveaxis((corners[:-1, :-1] + corners[1:, 1:]) / 2, -1, 0)
    else:
        left, right, bottom, top = image.get_extent()
        if image.origin == "upper":
            bottom, top = top, bottom
        across = left + (right - left) * (np.arange(columns) + 0.5) / columns
        up = bottom + (top - bottom) * (np.arange(rows) + 0.5) / rows
        x, y = np.meshgrid(across, up)
    return {"x": x.ravel(), "y": y.ravel(), "value": values.ravel()}


def _bars(bars: BarContainer) -> Numbers:
    """Return the middle of each bar, and its two ends."""
    boxes = [(b.get_x(), b.get_y(), b.get_width(), b.get_height()) for b in bars.patches]
    x, y, width, height = np.array(boxes, dtype=float).T
    if bars.orientation == "horizontal":
        return {"y": y + height / 2, "low": x, "high": x + width}
    return {"x": x + width / 2, "low": y, "high": y + height}


def _segments(lines: LineCollection) -> Iterator[Numbers]:
    """Yield upright lines by x, flat ones by y, then each that is neither."""
    upright, flat, others = [], [], []
    for segment in lines.get_segments():
        ends = np.asarray(segment, dtype=float)
        if len(ends) == 2 and ends[0, 0] == ends[1, 0]:
            upright.append((ends[0, 0], *ends[:, 1]))
        elif len(ends) == 2 and ends[0, 1] == ends[1, 1]:
            flat.append((ends[0, 1], *ends[:, 0]))
        elif len(ends):
            others.append(ends)
    for axis, found in (("x", upright), ("y", flat)):
        if found:
            yield dict(zip((axis, "low", "high"), np.array(found).T, strict=True))
    yield from ({"x": ends[:, 0], "y": ends[:, 1]} for ends in others)


def _band(band: FillBetweenPolyCollection) -> Numbers:
    """Return where a band is, and its two edges there.

    A piece begins at one corner, follows one edge, turns, follows the other edge back, and closes.
    """
    pieces = []
    for path in band.get_paths():
        corners = np.asarray(path.vertices, dtype=float)
        if len(corners) > 3:
            half = (len(corners) - 3) // 2
            there, back = corners[1 : half + 1], corners[half + 2 : 2 * half + 2][::-1]
            pieces.append(np.column_stack([there, back]))
    x, low, other, high = np.concatenate(pieces).T if pieces else np.empty((4, 0))
    if band.t_direction == "y":  # type: ignore[attr-defined]
        return {"y": low, "low": x, "high": other}
    return {"x": x, "low": low, "high": high}

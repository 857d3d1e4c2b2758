"""The numbers of a figure, read off what is drawn, so that they are always those of the picture."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection, LineCollection, QuadMesh
from matplotlib.container import BarContainer
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

MOST_KB = 500  # of a file: beyond that one setting stands for all
MOST_CELLS = 4096  # of a matrix: larger ones are pictures
#: What a point has, in this order; only what any of them has is written.
COLUMNS = ("x", "y", "low", "high", "value")
#: A label that hides an artist and is none that Matplotlib gives, such as _child3 or _nolegend_.
OURS = re.compile(r"_(?!child\d|nolegend_|container\d|image\d)")
Columns = dict[str, np.ndarray]
States = list[tuple[Mapping[str, Any], list["Series"]]]


class Series(NamedTuple):
    """What one artist draws: arrays of one length by column, of `COLUMNS`."""

    panel: str
    name: str
    points: Columns


def numbers(figure: matplotlib.figure.Figure) -> list[Series]:
    """Return the series of a figure: curves, dots, intervals, bars, bands, cells of matrices.

    A series is called what its artist's label says, else what it is, and counted. Left out are
    artists with a label of ours that begins with "_", such as "_tick", lines that span the axes,
    what is drawn into axes that are off (the cells of a matrix stay), and matrices of more than
    `MOST_CELLS` cells.
    """
    shown = [a for a in figure.axes if a.get_visible() and a.get_label() != "<colorbar>"]
    found = [(axes, series) for axes in shown if (series := _series(axes))]
    return [
        Series(_panel(axes) or (f"panel {i}" if len(found) > 1 else ""), *one)
        for i, (axes, series) in enumerate(found, start=1)
        for one in series
    ]


def table(states: States, start: int) -> tuple[str, str]:
    """Return the series of each state of the sliders as CSV, and which state has to do for all.

    That is `start`, if the file of all had more than `MOST_KB`.
    """
    text = _written(states)
    values = states[start][0]
    if len(text.encode()) <= 1000 * MOST_KB or not values:
        return text, ""
    setting = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values.items())
    return _written([states[start]]), f"{setting} alone"


def _written(states: States) -> str:
    every = [one for _, series in states for one in series]
    if not every:
        return ""
    used = [column for column in COLUMNS if any(column in one.points for one in every)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*states[0][0], "panel", "series", *used])
    for values, series in states:
        for panel, name, points in series:
            columns = [points.get(column) for column in used]
            for i in range(len(next(iter(points.values())))):
                point = ("" if column is None else f"{column[i]:.6g}" for column in columns)
                writer.writerow([*values.values(), panel, name, *point])
    return file.getvalue()


def _panel(axes: Axes) -> str:
    """Return what axes are called: by their label, their title, or their axes."""
    titles = (axes.get_title(loc) for loc in ("center", "left", "right"))
    called = str(axes.get_label() or "") or next(filter(None, titles), "")
    by = " by ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel())))
    return " ".join((called or by).split())


def _series(axes: Axes) -> list[tuple[str, Columns]]:
    """Return the name of each series, and its points."""
    kept = []
    for kind, artist, points in _drawn(axes):
        finite = np.logical_and.reduce([np.isfinite(values) for values in points.values()])
        label = str(artist.get_label() or "")
        if finite.any() and not OURS.match(label):
            points = {column: values[finite] for column, values in points.items()}
            kept.append((kind, "" if label.startswith("_") else label, points))
    titles = [label or kind for kind, label, _ in kept]
    several = {title for title, count in Counter(titles).items() if count > 1}
    met: Counter[str] = Counter()
    found = []
    for title, (_, label, points) in zip(titles, kept, strict=True):
        met[title] += 1
        numbered = title in several or not label
        found.append((f"{title} {met[title]}" if numbered else title, points))
    return found


def _drawn(axes: Axes) -> Iterator[tuple[str, Any, Columns]]:
    """Yield what axes show: its kind, the artist, and its points by column."""
    shown = [one for one in (*axes.images, *axes.lines, *axes.collections) if one.get_visible()]
    for image in shown:
        if isinstance(image, (AxesImage, QuadMesh)) and _colored(image):
            yield "cells", image, _cells(image)
    if not axes.axison:
        return
    for bars in axes.containers:
        if isinstance(bars, BarContainer) and len(bars):
            yield "bars", bars, _bars(bars)
    for artist in shown:
        if not all(artist.get_transform().contains_branch_seperately(axes.transData)):
            continue  # a line that spans the axes
        if isinstance(artist, Line2D):
            x, y = (np.asarray(values, dtype=float) for values in artist.get_data(orig=False))
            yield ("line" if artist.get_linestyle() != "None" else "dots"), artist, {"x": x, "y": y}
        elif isinstance(artist, LineCollection):
            yield "intervals", artist, _intervals(artist)
        elif isinstance(artist, FillBetweenPolyCollection):
            yield "band", artist, _band(artist)


def _colored(image: AxesImage | QuadMesh) -> bool:
    """Whether these are numbers shown in color, and few enough."""
    values = image.get_array()
    return values is not None and values.ndim == 2 and values.size <= MOST_CELLS


def _cells(image: AxesImage | QuadMesh) -> Columns:
    """Return column and row of each cell, from 1, and what it shows."""
    values: np.ndarray = np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan)
    rows, columns = np.indices(values.shape) + 1.0
    return {"x": columns.ravel(), "y": rows.ravel(), "value": values.ravel()}


def _bars(bars: BarContainer) -> Columns:
    """Return the middle of each bar, and its two ends."""
    boxes = [(b.get_x(), b.get_y(), b.get_width(), b.get_height()) for b in bars.patches]
    x, y, width, height = np.array(boxes, dtype=float).T
    return {"x": x + width / 2, "low": y, "high": y + height}


def _intervals(lines: LineCollection) -> Columns:
    """Return where upright, or flat, lines stand, and their ends; of others both ends."""
    ends = np.array([line for line in lines.get_segments() if len(line) == 2]).reshape(-1, 2, 2)
    for at, axis in enumerate("xy"):
        first, last = ends[:, 0], ends[:, 1]
        if (first[:, at] == last[:, at]).all():
            return {axis: first[:, at], "low": first[:, 1 - at], "high": last[:, 1 - at]}
    return {"x": ends[..., 0].ravel(), "y": ends[..., 1].ravel()}


def _band(band: FillBetweenPolyCollection) -> Columns:
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
    x, low, _, high = np.concatenate(pieces).T if pieces else np.empty((4, 0))
    return {"x": x, "low": low, "high": high}

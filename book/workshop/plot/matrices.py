"""Weight matrices as heat maps, one panel a member."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from ensedu.common import checks
from ensedu.methods import METHODS
from workshop.plot import colored_cells, figure_checks, text_layout
from workshop.plot.panels import cut_to_lines
from workshop.plot.style import (
    GRID,
    MUTED,
    PALETTE,
    Figure,
    canvas,
    heat_colors,
    house_style,
    look,
)
from workshop.plot.text_layout import SMALL

MOST_MEMBERS = 16
EDGE = 0.1  # inches: the margin
LINE = 0.2  # inches: a line of numbers or words
GAP = 0.2  # inches: between two panels
LEAST = 0.45  # inches: the least width and height of a panel
TITLE = 12  # points
LINES = 3  # of a title at most
# Inches that panels in one row are high at most, and in two; then in more.
HIGH = {1: 2.0, 2: 1.2}
LOW = 0.9
#: Methods that store matrices as they are used.
STORED = tuple(key for key, method in METHODS.items() if not (method.modulated or method.spread))


def weight_matrices(
    weights: Float[np.ndarray, "M m n"],
    *,
    value_range: float | int,
    titles: Sequence[str] | None = None,
    annotate: bool = True,
    method: str | None = None,
    places: int | None = None,
) -> Figure:
    """Draw each member's matrix as a heat map: a row an input, a column an output.

    Parameters
    ----------
    weights
        (M, m, n), at most 16 members, as a layer's ``weight_matrices()`` gives them.
    value_range
        The scale runs from ``-value_range`` to ``value_range``, the same in all panels.
    titles
        One title a member; by default "member 1", "member 2", … (and none for one member).
    annotate
        Whether to write the entries into their cells, if all fit.
    method
        The method that stores these matrices, such as ``"deep_ensemble"``: a frame in its color
        says so. By default there is no frame, as around what is computed.
    places
        How many members have a place, at most 16: one without a member is an empty gray frame, so
        that a slider which adds members moves none. By default there are as many as members.

    Raises
    ------
    TypeError, ValueError
        For an array of another shape, more than 16 members, fewer places than members, or another
        bad option.
    """
    figure_checks.array("weights", weights, ("M", "m", "n"))
    M, m, n = weights.shape
    if M > MOST_MEMBERS:
        raise ValueError(f"weights has {M} members, accepted are 1 to {MOST_MEMBERS}")
    if places is None:
        places = M
    elif not M <= checks.positive_int("places", places) <= MOST_MEMBERS:
        raise ValueError(f"places must be {M} to {MOST_MEMBERS}, got {places!r}")
    names = _titles(titles, M, places)
    checks.boolean("annotate", annotate)
    value_range = figure_checks.color_range("value_range", value_range)
    own = None if method is None else PALETTE[checks.one_of("method", method, STORED)]

    wide = look().width
    # Numbers of one and of two digits take the same room, so that a slider moves nothing.
    left = (
        EDGE
        + LINE
        + max(text_layout.text_width(str(m), SMALL), text_layout.text_width("00", SMALL))
        + 0.12
    )
    across, slot = _slots_side_by_side(names if titles else [], places, wide - left - EDGE)
    rows = ceil(places / across)
    cell, written = _cell_size(weights, slot, min(slot, HIGH.get(rows, LOW)), annotate)
    width, height = n * cell[0], m * cell[1]
    lines = [cut_to_lines(name, slot, LINES, TITLE) for name in names] if titles else names
    above = max(text_layout.text_height(name, TITLE) for name in lines) + 0.1 if any(names) else 0.0
    # Panels that are narrower than their slots stand closer.
    step = (
        min(slot, max(width, *(text_layout.text_width(name, TITLE) for name in lines)) + GAP) + GAP
    )
    whole = (across - 1) * step + width
    start = max(left, (wide - whole) / 2)
    pitch = above + height + GAP
    bottom = EDGE + rows * pitch - GAP
    with house_style():
        figure, axes = canvas(wide, bottom + 2 * LINE + 0.45)
        for i in range(places):
            x = start + i % across * step
            y = EDGE + above + i // across * pitch
            if i >= M:
                colored_cells.draw_frame(axes, weights[0], (x, y), cell, edgecolor=GRID, lw=0.8)
                continue
            matrix = weights[i]
            axes.text(x + width / 2, y - 0.08, lines[i], ha="center", va="bottom", fontsize=TITLE)
            colored_cells.draw_heat(axes, matrix, (x, y), cell, value_range)
            if own:
                colored_cells.draw_frame(axes, matrix, (x, y), cell, edgecolor=own, lw=2.0)
            if written:
                colored_cells.write_entries(axes, matrix, (x, y), cell, value_range)
            if i % across == 0:
                for k, at in _numbered_places(m, height, 0.19):
                    _write_muted(axes, x - 0.08, y + at, str(k), ha="right")
            if i + across >= M:
                for k, at in _numbered_places(
                    n, width, text_layout.text_width(str(n), SMALL) + 0.06
                ):
                    _write_muted(axes, x + at, y + height + 0.14, str(k))
        middle = EDGE + above + (rows - 1) // 2 * pitch + height / 2
        _write_muted(axes, start - left + EDGE + LINE / 2, middle, "input", rotation=90)
        _write_muted(axes, start + whole / 2, bottom + LINE + 0.14, "output")
        ends = -value_range, value_range
        x = start + (whole - colored_cells.scale_width(*ends, "weight")) / 2
        colored_cells.draw_scale(
            axes, (x, bottom + 2 * LINE + 0.25), *ends, heat_colors(), "weight"
        )
    return figure


def _titles(titles: Sequence[str] | None, M: int, places: int) -> list[str]:
    if titles is None:
        # Many members are narrow: only the first has room beside it for what is counted.
        words = [f"member {i + 1}" if i == 0 or places <= 9 else f"{i + 1}" for i in range(M)]
        return words if places > 1 else [""]
    if isinstance(titles, str) or not isinstance(titles, Sequence):
        raise TypeError(f"titles must be a sequence of {M} strings, got {checks.given(titles)}")
    if len(titles) != M:
        raise ValueError(f"titles must be a sequence of {M} strings, got {len(titles)}")
    return [figure_checks.text(f"titles[{i}]", title) for i, title in enumerate(titles)]


def _slots_side_by_side(names: Sequence[str], M: int, room: float) -> tuple[int, float]:
    """Return how many of M panels stand side by side, and the inches that each may take."""
    if look().narrow:
        most = 2 if M <= 4 else 3 if M <= 9 else 4
    else:
        most = 4 if M <= 8 else 6
    for across in range(ceil(M / ceil(M / most)), 0, -1):
        slot = (room - GAP * (across - 1)) / across
        lines = [cut_to_lines(name, slot, LINES, TITLE) for name in names]
        if all(text_layout.text_width(line, TITLE) <= slot and "…" not in line for line in lines):
            break
    return across, slot


def _cell_size(
    weights: Float[np.ndarray, "M m n"], slot: float, high: float, annotate: bool
) -> tuple[colored_cells.Pair, bool]:
    """Return the size of a cell, and whether the entries are written."""
    _, m, n = weights.shape
    # A little wider than high: so more entries fit.
    cell = min(slot, 1.6 * high) / n, high / m
    if annotate and colored_cells.entries_fit(cell, weights):
        return cell, True
    side = min(slot / n, high / m)
    return (max(side, min(slot, LEAST) / n), max(side, LEAST / m)), False


def _numbered_places(size: int, length: float, room: float) -> list[tuple[int, float]]:
    """Return which rows or columns are numbered, from 1, and where along a side of this length.

    All are, or the first and the last, or the last alone, as there is room.
    """
    step = length / size
    shown = range(size) if step >= room else (0, size - 1) if length >= 2 * room else (size - 1,)
    # A long number stays beside its panel.
    half = min(room, length) / 2
    return [(k + 1, min(max((k + 0.5) * step, half), length - half)) for k in shown]


def _write_muted(axes: Axes, x: float, y: float, words: str, **place: Any) -> None:
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": MUTED, "fontsize": SMALL}
    axes.text(x, y, words, **style | place)

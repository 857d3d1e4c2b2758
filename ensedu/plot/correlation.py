"""Which entries of a random matrix move together: correlations over many draws."""

from collections.abc import Mapping
from math import ceil

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from ensedu.plot import colored_cells, figure_checks, text_layout
from ensedu.plot.panels import cut_to_lines
from ensedu.plot.style import (
    MUTED,
    Figure,
    canvas,
    color,
    heat_colors,
    house_style,
    label,
    look,
)
from ensedu.plot.text_layout import SMALL

MOST_PANELS = 4
MOST_CELLS = 16  # rows or columns
EDGE = 0.1  # inches: the margin
GAP = 0.3  # inches: between two panels
SIDE = 2.6  # inches: a panel at most
TITLE = 12  # points
WORDS = "entries, row by row"


def correlation(values: Mapping[str, Float[np.ndarray, "S m n"]]) -> Figure:
    """Draw the correlation of each two entries of a random matrix, one panel a distribution.

    Both sides of a panel list the entries row by row, and lines part the rows. So a block on the
    diagonal holds the entries of one row, and the diagonals of the other blocks those of a column.

    Parameters
    ----------
    values
        Names to draws (S, m, n) of a matrix, 1 to 4 names, all with the same m and n, up to 16. A
        method's name gives its color and label; any other name is its own label.

    Raises
    ------
    TypeError, ValueError
        For arrays of another shape, a single draw, an entry that is the same in all draws, or too
        many names.
    """
    drawn = figure_checks.mapping("values", values, "draws of a matrix")
    if len(drawn) > MOST_PANELS:
        raise ValueError(f"values has {len(drawn)} names, accepted are 1 to {MOST_PANELS}")
    first, *_ = drawn
    for name, draws in drawn.items():
        shape = ("S", "m", "n") if name == first else ("S", *drawn[first].shape[1:])
        like = "" if name == first else f"values[{first!r}]"
        _checked_draws(
            f"values[{name!r}]", figure_checks.array(f"values[{name!r}]", draws, shape, like=like)
        )
    m, n = drawn[first].shape[1:]

    narrow, wide = look().narrow, look().width
    across = min(len(drawn), 1 + (len(drawn) > 2) if narrow else MOST_PANELS)
    rows = ceil(len(drawn) / across)
    left = EDGE + text_layout.text_width(f"row {m}", SMALL) + 0.1
    slot = (wide - left - EDGE - (across - 1) * GAP) / across
    side = min(slot, SIDE)
    titles = [cut_to_lines(label(name), slot, 3, TITLE, "bold") for name in drawn]
    above = max(text_layout.text_height(title, TITLE) for title in titles) + 0.12
    whole = across * side + (across - 1) * GAP
    start = max(left, (wide - whole) / 2)
    pitch = above + side + 0.3
    end = EDGE + rows * pitch
    cell = side / (m * n), side / (m * n)
    with house_style():
        figure, axes = canvas(wide, end + 0.62)
        for i, (name, draws) in enumerate(drawn.items()):
            x, y = start + i % across * (side + GAP), EDGE + i // across * pitch + above
            axes.text(x + side / 2, y - 0.1, titles[i], color=color(name), weight="bold",
                      ha="center", va="bottom", fontsize=TITLE)  # fmt: skip
            # Of about 1, so that numbers of any size can be squared.
            entries = (draws - draws[0]) / np.ptp(draws, axis=0)
            matrix = np.atleast_2d(np.corrcoef(entries.reshape(len(draws), m * n).T))
            colored_cells.draw_heat(axes, matrix, (x, y), cell, 1.0)
            colored_cells.draw_computed_frame(axes, matrix, (x, y), cell)
            for k in range(1, m):
                at = k * side / m
                axes.plot([x, x + side], [y + at, y + at], color=MUTED, lw=0.8)
                axes.plot([x + at, x + at], [y, y + side], color=MUTED, lw=0.8)
            _name_rows(axes, m, (x, y), side, i % across == 0)
        axes.text(start + whole / 2, end + 0.04, WORDS, ha="center", va="center", color=MUTED,
                  fontsize=SMALL)  # fmt: skip
        x = start + (whole - colored_cells.scale_width(-1.0, 1.0, "correlation")) / 2
        colored_cells.draw_scale(axes, (x, end + 0.4), -1.0, 1.0, heat_colors(), "correlation")
    return figure


def _checked_draws(name: str, draws: np.ndarray) -> None:
    S, m, n = draws.shape
    if S < 2:
        raise ValueError(f"{name} must have at least 2 draws, got {S}")
    for letter, size in (("m", m), ("n", n)):
        if size > MOST_CELLS:
            raise ValueError(f"{name} has {letter} = {size}, accepted is up to {MOST_CELLS}")
    same = np.argwhere(np.ptp(draws, axis=0) == 0)
    if len(same):
        row, column = same[0]
        raise ValueError(
            f"{name} must hold entries that are random, got [{row}, {column}] the same in all draws"
        )


def _name_rows(axes: Axes, m: int, corner: colored_cells.Pair, side: float, beside: bool) -> None:
    """Name the rows of the matrix below a panel and, if there is room, to its left."""
    x, y = corner
    block = side / m
    words = [f"row {k + 1}" for k in range(m)]
    if text_layout.text_width(words[-1], SMALL) + 0.08 > block:
        words = words[:1] + [f"{k + 1}" for k in range(1, m)]
    # Of narrow blocks only the first and the last are named.
    few = m if block >= 0.24 else 1
    for k, word in enumerate(words):
        if k >= few and k < m - 1:
            continue
        at = (k + 0.5) * block
        axes.text(x + at, y + side + 0.14, word, ha="center", va="center", color=MUTED,
                  fontsize=SMALL)  # fmt: skip
        if beside:
            axes.text(x - 0.08, y + at, f"row {k + 1}", ha="right", va="center", color=MUTED,
                      fontsize=SMALL)  # fmt: skip

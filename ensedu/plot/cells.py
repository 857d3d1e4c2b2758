"""Arrays as squares of color on a canvas: frames, entries in words, scales."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from ensedu.plot.style import HEAT, INK, MUTED

Pair = tuple[float, float]
ENTRY = 11  # points: the letters of an entry
RAMP = 0.75  # inches: the length of a color scale


def squares(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair, **colors: Any
) -> None:
    """Color one cell an entry, from the upper left corner."""
    rows, columns = values.shape
    axes.pcolormesh(
        corner[0] + cell[0] * np.arange(columns + 1), corner[1] + cell[1] * np.arange(rows + 1),
        values, edgecolors="white", linewidth=0.5, **colors,
    )  # fmt: skip


def heat(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair, limit: float,
    **colors: Any,
) -> None:  # fmt: skip
    """Color the cells on a scale from ``-limit`` to ``limit``."""
    squares(axes, values, corner, cell, cmap=HEAT, vmin=-limit, vmax=limit, **colors)


def frame(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair, **style: Any
) -> None:
    """Draw a frame around the cells of an array."""
    rows, columns = values.shape
    axes.add_patch(Rectangle(corner, columns * cell[0], rows * cell[1], facecolor="none", **style))


def strips(axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair) -> None:
    """Part the rows, so that each is seen as a strip of its own."""
    rows, columns = values.shape
    axes.hlines(
        corner[1] + cell[1] * np.arange(1, rows), corner[0], corner[0] + columns * cell[0],
        color="white", lw=min(4.0, 12 * cell[1]),
    )  # fmt: skip


def write(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair, limit: float,
    size: int = ENTRY,
) -> None:  # fmt: skip
    """Write each entry into its cell, in white where the cell is dark."""
    for (row, column), value in np.ndenumerate(values):
        x, y = corner[0] + (column + 0.5) * cell[0], corner[1] + (row + 0.5) * cell[1]
        ink = "white" if abs(value) > 0.7 * limit else "black"
        axes.text(x, y, entry(value), ha="center", va="center", color=ink, fontsize=size)


def entry(value: float) -> str:
    """Return an entry with two decimals."""
    # U+2212 is as wide as a digit; a value that rounds to zero gets no sign.
    return f"{round(float(value), 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def fit(width: float, *arrays: np.ndarray) -> bool:
    """Whether all entries can be written into cells of this width in inches.

    There is room for a sign even where all are positive, so that a slider that turns one negative
    does not hide the others.
    """
    longest = 1 + len(entry(max(np.abs(values).max() for values in arrays)))
    return 0.06 + 0.64 * longest * ENTRY / 72 <= width


def tint(own: str) -> Colormap:
    """Return the colors from white to this one."""
    return LinearSegmentedColormap.from_list("tint", ["#ffffff", own])


def scale(axes: Axes, corner: Pair, low: float, high: float, cmap: Colormap, words: str) -> None:
    """Draw a color scale, its limits at its ends, and to its right what it is for."""
    x, y = corner
    line: dict[str, Any] = {"va": "center", "fontsize": 11, "color": INK}
    left = axes.text(x, y, number(low), **line)
    start = x + _width(left) + 0.08
    ramp = np.linspace(0.0, 1.0, 256)[None, :]
    axes.imshow(ramp, cmap=cmap, aspect="auto", extent=(start, start + RAMP, y + 0.07, y - 0.07))
    right = axes.text(start + RAMP + 0.08, y, number(high), **line)
    if words:
        axes.text(start + RAMP + _width(right) + 0.26, y, words, **(line | {"color": MUTED}))


def number(value: float) -> str:
    """Return an end of a scale in few letters: 12,346, 5.76, 0.0016."""
    words = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{3 if abs(value) >= 0.1 else 2}g}"
    return words.replace("-", "\N{MINUS SIGN}")


def _width(text: Text) -> float:
    return text.get_window_extent().width / text.figure.dpi

"""Arrays as squares of color on a canvas: frames, entries in words, scales."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap
from matplotlib.patches import Rectangle

from workshop.plot import style, text_layout
from workshop.plot.style import GRID, INK, MUTED, PAGE
from workshop.plot.text_layout import SMALL

Pair = tuple[float, float]
MOST_DRAWN = 16  # rows or columns of which each cell is a shape of its own
RAMP = 0.75  # inches: the length of a color scale
AIR = 0.08  # inches: between a color scale and the words beside it
LOW = 0.21  # inches: the least height of a cell with an entry
# Almost black and almost white: a dark page must not exchange them, since it changes the cells too.
INKS = "#010101", "#fefefe"
MIDDLE = 0.179  # the luminance with the same contrast to black and to white


def draw_squares(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair, **colors: Any
) -> None:
    """Color one cell an entry, from the upper left corner."""
    rows, columns = values.shape
    x, y = corner
    if max(rows, columns) > MOST_DRAWN:
        right, bottom = x + columns * cell[0], y + rows * cell[1]
        axes.imshow(
            values, aspect="auto", interpolation="nearest", extent=(x, right, bottom, y), **colors
        )
        return
    grid = np.meshgrid(x + cell[0] * np.arange(columns + 1), y + cell[1] * np.arange(rows + 1))
    limits = colors.pop("vmin", None), colors.pop("vmax", None)
    mesh = QuadMesh(
        np.stack(grid, axis=-1), array=values, edgecolors=PAGE, linewidth=min(0.5, 5 * min(cell)),
        antialiased=False, snap=True, **colors,
    )  # fmt: skip
    mesh.set_clim(*limits)
    # `pcolormesh` would look for new limits of the axes.
    axes.add_collection(mesh, autolim=False)


def draw_heat(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair, limit: float,
    **colors: Any,
) -> None:  # fmt: skip
    """Color the cells on a scale from ``-limit`` to ``limit``."""
    draw_squares(
        axes, values, corner, cell, cmap=style.heat_colors(), vmin=-limit, vmax=limit, **colors
    )


def draw_frame(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair, **look: Any
) -> None:
    """Draw a frame around the cells of an array."""
    rows, columns = values.shape
    axes.add_artist(Rectangle(corner, columns * cell[0], rows * cell[1], facecolor="none", **look))


def draw_computed_frame(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair
) -> None:
    """Draw the frame of an array that is never stored."""
    draw_frame(axes, values, corner, cell, edgecolor=MUTED, lw=0.8, ls=(0, (3, 2)))


def part_rows(axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair) -> None:
    """Part the rows, so that each is seen as a strip of its own."""
    rows, columns = values.shape
    axes.hlines(
        corner[1] + cell[1] * np.arange(1, rows), corner[0], corner[0] + columns * cell[0],
        color=PAGE, lw=min(4.0, 12 * cell[1]),
    )  # fmt: skip


def write_entries(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair, limit: float
) -> None:
    """Write the entries into cells that `draw_heat` colored."""
    write_entries_on(axes, values, corner, cell, cmap=style.heat_colors(), vmin=-limit, vmax=limit)


def write_entries_on(
    axes: Axes, values: Float[np.ndarray, "m n"], corner: Pair, cell: Pair, *,
    cmap: Colormap, vmin: float, vmax: float,
) -> None:  # fmt: skip
    """Write the entries into cells of `draw_squares`, each in the ink that is read there."""
    colors = cmap((values - vmin) / (vmax - vmin))
    for row, column in np.ndindex(values.shape):
        x, y = corner[0] + (column + 0.5) * cell[0], corner[1] + (row + 0.5) * cell[1]
        axes.text(
            x, y, entry_text(float(values[row, column])), ha="center", va="center", fontsize=SMALL,
            color=INKS[int(luminance(colors[row, column]) < MIDDLE)],
        )  # fmt: skip


def luminance(color: Float[np.ndarray, "4"]) -> float:
    """Return how bright a color is, from 0 to 1, as the contrast of a page is measured."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                        for c in map(float, color[:3]))  # fmt: skip
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def entry_text(value: float) -> str:
    """Return an entry with two decimals."""
    # U+2212 is as wide as a digit; a value that rounds to zero gets no sign.
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def entries_fit(cell: Pair, *arrays: np.ndarray) -> bool:
    """Whether all entries can be written into cells of this width and height in inches.

    There is room for a sign even where all are positive, so that a slider that turns one negative
    does not hide the others.
    """
    longest = entry_text(max(float(np.abs(values).max()) for values in arrays))
    return cell[1] >= LOW and cell[0] >= 0.06 + _width(f"\N{MINUS SIGN}{longest}")


def draw_scale(
    axes: Axes, corner: Pair, low: float, high: float, cmap: Colormap, words: str
) -> None:
    """Draw a color scale, its limits at its ends, and to its right what it is for."""
    x, y = corner
    line: dict[str, Any] = {"va": "center", "fontsize": SMALL, "color": INK}
    axes.text(x, y, scale_number(low), **line)
    start = x + _width(scale_number(low)) + AIR
    ramp = np.linspace(0.0, 1.0, 256)[None, :]
    axes.imshow(
        ramp, cmap=cmap, aspect="auto", extent=(start, start + RAMP, y + 0.07, y - 0.07),
        label="_scale",
    )  # fmt: skip
    # Where the scale is the page, it would have no end.
    axes.add_artist(
        Rectangle((start, y - 0.07), RAMP, 0.14, facecolor="none", edgecolor=GRID, lw=0.6)
    )
    axes.text(start + RAMP + AIR, y, scale_number(high), **line)
    if words:
        axes.text(x + _inches_before_words(low, high), y, words, **(line | {"color": MUTED}))


def scale_width(low: float, high: float, words: str) -> float:
    """Return how many inches `draw_scale` takes."""
    return (
        _inches_before_words(low, high) + _width(words)
        if words
        else _inches_before_words(low, high) - 2 * AIR
    )


def _inches_before_words(low: float, high: float) -> float:
    """Return the inches of a scale before its words."""
    return _width(scale_number(low)) + _width(scale_number(high)) + RAMP + 4 * AIR


def scale_number(value: float) -> str:
    """Return an end of a scale in few letters: 12,346, 5.76, 0.0016, 1.23e+07."""
    whole = 100 <= abs(value) < 1e7
    words = f"{value:,.0f}" if whole else f"{value:.{3 if abs(value) >= 0.1 else 2}g}"
    return words.replace("-", "\N{MINUS SIGN}")


def _width(words: str) -> float:
    return text_layout.text_width(words, SMALL)

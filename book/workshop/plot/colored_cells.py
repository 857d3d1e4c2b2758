"""Arrays as squares of color on a canvas: frames, and scales of colors below panels."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap
from matplotlib.patches import Rectangle

from workshop.plot import style
from workshop.plot.panels import inches
from workshop.plot.style import MUTED, PAGE
from workshop.plot.text_layout import SMALL

Pair = tuple[float, float]
MOST_DRAWN = 16  # rows or columns of which each cell is a shape of its own
AIR = 0.08  # inches: between a color scale and the words beside it
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


def luminance(color: Float[np.ndarray, "4"]) -> float:
    """Return how bright a color is, from 0 to 1, as the contrast of a page is measured."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                        for c in map(float, color[:3]))  # fmt: skip
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def scale_below(axes: Axes, cmap: str | Colormap, ends: tuple[str, str], room: float | int) -> None:
    """Draw a panel's colors, between words for their ends, in the middle of the room below it."""
    wide, high = axes.get_window_extent().size / axes.figure.dpi
    middle = -room / 2 / high
    left, right = ((inches(words) + AIR) / wide for words in ends)
    strip = axes.inset_axes((left, middle - 0.03, 1 - left - right, 0.06))
    strip.imshow(np.linspace(0, 1, 256)[None], cmap=cmap, aspect="auto", label="_scale")
    strip.set(xticks=[], yticks=[])
    strip.set_axis_off()
    for x, ha, words in zip((0, 1), ("left", "right"), ends, strict=True):
        axes.text(
            x, middle, words, ha=ha, va="center", transform=axes.transAxes, color=MUTED,
            fontsize=SMALL,
        )  # fmt: skip

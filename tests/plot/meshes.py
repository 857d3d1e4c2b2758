"""What heat maps show, read back from the drawn artists."""

import numpy as np
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex, to_rgb

from ensedu.plot import colored_cells, style


def meshes(axes):
    """All heat maps of a figure, as they were drawn."""
    return [c for c in axes.collections if isinstance(c, QuadMesh)]


def words(axes):
    """All that is written, in the order in which it was."""
    return [text.get_text() for text in axes.texts]


def entries(axes):
    """What is written into cells."""
    return [text.get_text() for text in axes.texts if text.get_color() in colored_cells.INKS]


def frames(axes):
    """The edges of all frames, and whether each is solid; not those of color scales."""
    return [
        (
            to_hex(patch.get_edgecolor()),
            patch.get_linestyle() in ("solid", "-") and patch.get_lw() > 0,
        )
        for patch in axes.patches
        if to_hex(patch.get_edgecolor()) != style.GRID
    ]


def corner(mesh):
    """The upper left corner of a heat map, in inches."""
    return tuple(mesh.get_coordinates()[0, 0])


def size(mesh):
    """How wide and high a heat map is, in inches."""
    grid = mesh.get_coordinates()
    return tuple(grid[-1, -1] - grid[0, 0])


def contrast(one, other):
    """The contrast of two colors, by the rule for pages."""
    low, high = sorted(_luminance(to_rgb(color)) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def least_contrast(axes):
    """The least contrast of an entry to the cell in which it stands."""
    found = []
    for text in axes.texts:
        if text.get_color() not in colored_cells.INKS:
            continue
        x, y = text.get_position()
        for mesh in meshes(axes):
            grid, values = mesh.get_coordinates(), mesh.get_array()
            row = np.searchsorted(grid[:, 0, 1], y) - 1
            column = np.searchsorted(grid[0, :, 0], x) - 1
            if 0 <= row < values.shape[0] and 0 <= column < values.shape[1]:
                found.append(contrast(text.get_color(), mesh.to_rgba(values[row, column])))
    return min(found)


def _luminance(rgb):
    rgb = np.array(rgb)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]

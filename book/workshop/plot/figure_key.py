"""How to read the figures: what gray, color, faint and hatched squares are, and each method."""

import itertools
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ensedu.methods import METHODS
from workshop.plot.style import (
    LABELS,
    LINES,
    MARKERS,
    MUTED,
    PAGE,
    PALETTE,
    SHARED,
    Figure,
    canvas,
    house_style,
    look,
)

EDGE = 0.1  # inches: the margin
CELL, ROWS, COLUMNS = 0.15, 2, 6  # inches, and how many squares an array has
HIGH, LOW = 0.58, 0.332  # inches: from one array to the next, from one method to the next
SAMPLE = CELL * COLUMNS  # inches: an array, or the line of a method
NAME = 0.18  # inches: behind it
FAINT = 0.25
# The method that stores all there is to see.
OWN = next(PALETTE[key] for key, row in METHODS.items() if row.modulated and row.has_stds)
#: What each look of a square is called, and what it means.
LOOKS = {
    "shared": "stored once, for all members",
    "own": "stored by one member",
    "computed": "never stored",
    "random": "standard deviations",
}


def figure_key() -> Figure:
    """Draw how to read the figures of this book: four looks of squares, and the methods.

    Gray is stored once for all members, a method's color by one member; what is computed is faint
    and has no frame, a standard deviation is hatched. Below, or on a wide page to the right, stand
    the methods in their order with color, marker, line and name.
    """
    narrow, wide = look().narrow, look().width
    height = HIGH * len(LOOKS)
    left, top = (EDGE, EDGE + height + 0.1) if narrow else (wide / 2 + 0.25, EDGE)
    bottom = max(EDGE + height, top + LOW * len(METHODS))
    with house_style():
        figure, axes = canvas(wide, bottom + EDGE / 2)
        for i, (word, meaning) in enumerate(LOOKS.items()):
            y = EDGE + HIGH * i
            _draw_array(axes, word, EDGE, y + 0.05)
            x = EDGE + SAMPLE + NAME
            axes.text(x, y + 0.18, word, weight="bold")
            axes.text(x, y + 0.38, meaning, fontsize=11, color=MUTED)
        if narrow:
            axes.plot([EDGE, wide - EDGE], [top - 0.06] * 2, color=MUTED, lw=0.6, alpha=0.6)
        for i, name in enumerate(METHODS):
            y = top + LOW * (i + 0.5)
            axes.plot([left, left + SAMPLE], [y, y], color=PALETTE[name], ls=LINES[name])
            axes.plot([left + SAMPLE / 2], [y], color=PALETTE[name], marker=MARKERS[name], ms=8)
            axes.text(left + SAMPLE + NAME, y, LABELS[name], color=PALETTE[name], weight="bold",
                      va="center_baseline")  # fmt: skip
    return figure


def _draw_array(axes: Axes, word: str, x: float, y: float) -> None:
    """Draw a small array of squares, as arrays of this kind look."""
    ink: dict[str, Any] = {"facecolor": SHARED if word == "shared" else OWN}
    if word in ("computed", "random"):
        ink["alpha"] = FAINT
    width, height = COLUMNS * CELL, ROWS * CELL
    for row, column in itertools.product(range(ROWS), range(COLUMNS)):
        corner = (x + column * CELL, y + row * CELL)
        axes.add_artist(Rectangle(corner, CELL, CELL, lw=0, gid=word, **ink))
    for column in range(1, COLUMNS):
        axes.plot([x + column * CELL] * 2, [y, y + height], color=PAGE, lw=1.2)
    for row in range(1, ROWS):
        axes.plot([x, x + width], [y + row * CELL] * 2, color=PAGE, lw=1.2)
    if word == "random":
        frame: dict[str, Any] = {"facecolor": "none", "edgecolor": OWN, "lw": 1.0, "hatch": "/////"}
        axes.add_artist(Rectangle((x, y), width, height, gid="hatched", **frame))

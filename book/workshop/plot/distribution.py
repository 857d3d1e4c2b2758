"""A distribution over weight matrices: its mean, its standard deviations, and draws from it."""

from math import ceil
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.patches import Rectangle

from ensedu.methods import METHODS
from workshop.plot import colored_cells, text_layout
from workshop.plot.style import (
    MUTED,
    PALETTE,
    SHARED,
    Figure,
    canvas,
    heat_colors,
    house_style,
    look,
    tint,
)
from workshop.plot.text_layout import SMALL

EDGE = 0.1  # inches: the margin
BAND = 0.08  # inches: the width of a hatched frame
TITLE = 0.34  # inches: a title with its frame
LINE = 0.22  # inches: a line of words
NOTE = 0.28  # inches: the words between a draw and its change
GAP = 0.2  # inches: between two frames
LIMIT = 2.0  # standard deviations at the ends of the scale of changes, always the same
COLORS = "red: away from 0, blue: toward 0 or past it"
# Whether the members are made by r and s decides what moves together.
WORDS = {
    True: "A row shares one draw of r, a column one of s: their entries move together.",
    False: "Each entry is drawn on its own: no row or column moves together.",
}
CAPTIONS = {key: WORDS[method.modulated] for key, method in METHODS.items() if method.spread}


def distribution(
    mean: Float[np.ndarray, "m n"],
    std: Float[np.ndarray, "m n"],
    draws: Float[np.ndarray, "S m n"],
    *,
    method: str,
    value_range: float | int,
    std_range: float | int,
) -> Figure:
    """Draw a layer's mean matrix, its standard deviations and matrices drawn from it.

    Under each draw stands how far its entries moved from the mean, in standard deviations: red
    is away from 0, blue is toward 0 or past it. There a row whose entries share a factor is one
    strip of one color, whatever the signs and sizes of its entries. What is random has a hatched
    frame. A mean that is stored has a solid frame, one that is computed a dashed one. Entries of
    matrices are written where they fit. Mean and draws have one color scale, centered at 0.

    Parameters
    ----------
    mean, std
        (m, n) each, m and n up to 16; no standard deviation is below 0.
    draws
        (S, m, n), 1 to 6 matrices of the layer.
    method
        A method with standard deviations: the color of the frames, and what is said below them.
    value_range, std_range
        The scale of mean and draws runs from ``-value_range`` to ``value_range``, that of the
        standard deviations from 0 to ``std_range``.
    """
    own, (m, n), S = PALETTE[method], mean.shape, len(draws)
    narrow, wide = look().narrow, look().width
    across = S if S <= (3 if narrow else 4) else ceil(S / 2)
    half, slot = _slot_inches(2), _slot_inches(max(across, 2 if narrow else 3))
    large, written = _cell_in_slot(half, 1.5, mean, std)
    small, written_draws = _cell_in_slot(slot, 1.3, draws)
    flat = small[0], small[1] / 2
    spread: dict[str, Any] = {"cmap": tint(own), "vmin": 0.0, "vmax": std_range}
    caption = text_layout.wrapped(CAPTIONS[method], wide - 2 * EDGE, SMALL)
    first = EDGE + TITLE
    scales = first + m * large[1] + BAND + 0.2
    above = scales + (2.2 if narrow else 1) * LINE + 0.06
    row = TITLE + m * small[1] + BAND + NOTE + m * flat[1] + 0.2
    end = above + ceil(S / across) * row
    # Below the last scale stands on a narrow page what is beside it on a wide one.
    said = end + 0.06 + (LINE if narrow else 0.0)
    lines = 1 + caption.count("\n")
    with house_style():
        figure, axes = canvas(wide, said + (0.8 + lines) * LINE + 0.12)
        pen = _DistributionPen(axes, own)
        centers = [EDGE + half / 2, wide - EDGE - half / 2]
        for x, words in zip(centers, ("mean", "standard deviations"), strict=True):
            axes.text(x, EDGE + 0.12, words, ha="center", va="center")
        left, right = (x - n * large[0] / 2 for x in centers)
        stored = not METHODS[method].modulated
        colored_cells.draw_heat(axes, mean, (left, first), large, value_range)
        if stored:
            colored_cells.draw_frame(axes, mean, (left, first), large, edgecolor=SHARED, lw=2.0)
        else:
            colored_cells.draw_computed_frame(axes, mean, (left, first), large)
        pen.band((right, first), (n * large[0], m * large[1]), stored)
        colored_cells.draw_squares(axes, std, (right, first), large, **spread)
        if written:
            colored_cells.write_entries(axes, mean, (left, first), large, value_range)
            colored_cells.write_entries_on(axes, std, (right, first), large, **spread)
        ends = -value_range, value_range
        if narrow:
            pen.scale(wide / 2, scales, *ends, heat_colors(), "mean, draws")
            below = wide / 2, scales + 1.2 * LINE
            pen.scale(*below, 0.0, std_range, spread["cmap"], "standard deviations")
        else:
            pen.scale(centers[0], scales, *ends, heat_colors(), "mean, draws")
            pen.scale(centers[1], scales, 0.0, std_range, spread["cmap"], "")
        # Draws stand in the middle of the page, also where a row has room for more.
        start = (wide - across * slot - (across - 1) * GAP) / 2
        for i, draw in enumerate(draws):
            middle = start + i % across * (slot + GAP) + slot / 2
            x, y = middle - n * small[0] / 2, above + i // across * row
            axes.text(middle, y + 0.12, f"draw {i + 1}", ha="center", va="center")
            y += TITLE
            pen.band((x, y), (n * small[0], m * small[1]), False)
            colored_cells.draw_heat(axes, draw, (x, y), small, value_range)
            if written_draws:
                colored_cells.write_entries(axes, draw, (x, y), small, value_range)
            y += m * small[1] + BAND + NOTE
            if i % across == 0:
                pen.words(wide / 2, y - 0.14, "change from the mean, in standard deviations")
            colored_cells.draw_heat(
                axes, _change_in_deviations(mean, std, draw), (x, y), flat, LIMIT
            )
            colored_cells.part_rows(axes, draw, (x, y), flat)
            colored_cells.draw_computed_frame(axes, draw, (x, y), flat)
        pen.scale(wide / 2, end + 0.06, -LIMIT, LIMIT, heat_colors(), "" if narrow else COLORS)
        if narrow:
            pen.words(wide / 2, said, COLORS)
        pen.words(wide / 2, said + (0.8 + lines / 2) * LINE, caption)
    return figure


def _slot_inches(count: int) -> float:
    """Return the inches of each of several slots side by side."""
    return (look().width - 2 * EDGE - (count - 1) * GAP) / count


def _cell_in_slot(slot: float, high: float, *arrays: np.ndarray) -> tuple[colored_cells.Pair, bool]:
    """Return the size of a cell in a slot, and whether the entries are written."""
    m, n = arrays[0].shape[-2:]
    room = slot - 2 * BAND
    cell = min(0.7, room / n), min(0.42, high / m)
    if colored_cells.entries_fit(cell, *arrays):
        return cell, True
    side = min(room / n, high / m)
    return (min(room / n, max(side, 0.3 / n)), max(side, 0.3 / m)), False


class _DistributionPen:
    def __init__(self, axes: Axes, own: str) -> None:
        self.axes, self.own = axes, own

    def band(self, corner: colored_cells.Pair, size: colored_cells.Pair, stored: bool) -> None:
        """Draw a hatched frame, which leaves the entries inside free to be read."""
        self.axes.add_artist(
            Rectangle(
                (corner[0] - BAND, corner[1] - BAND), size[0] + 2 * BAND, size[1] + 2 * BAND,
                facecolor="none", edgecolor=self.own, lw=0.9 if stored else 0.0, hatch="//////",
            )
        )  # fmt: skip

    def scale(
        self, middle: float, y: float, low: float, high: float, cmap: Colormap, words: str
    ) -> None:
        width = colored_cells.scale_width(low, high, words)
        x = max(EDGE, min(look().width - EDGE - width, middle - width / 2))
        colored_cells.draw_scale(self.axes, (x, y), low, high, cmap, words)

    def words(self, middle: float, y: float, words: str) -> None:
        self.axes.text(middle, y, words, ha="center", va="center", fontsize=SMALL, color=MUTED)


def _change_in_deviations(
    mean: Float[np.ndarray, "m n"], std: Float[np.ndarray, "m n"], draw: Float[np.ndarray, "m n"]
) -> Float[np.ndarray, "m n"]:
    """Return (draw - mean) / std, positive away from 0, and 0 where nothing is drawn."""
    away = np.where(mean < 0, -1.0, 1.0) * (draw - mean)
    return np.divide(away, std, out=np.zeros_like(away), where=std > 0)

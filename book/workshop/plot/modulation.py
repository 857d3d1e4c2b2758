"""How BatchEnsemble makes each member's matrix: the shared one times an outer product."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from ensedu.methods import METHODS
from workshop.plot import colored_cells, figure_checks
from workshop.plot.style import (
    MUTED,
    PALETTE,
    SHARED,
    Figure,
    canvas,
    heat_colors,
    house_style,
    look,
)
from workshop.plot.text_layout import SMALL

MOST_MEMBERS = 4
MOST_CELLS = 8  # rows or columns
EDGE = 0.1  # inches: the margin
AIR = 0.08  # inches: between a vector and the matrix beside it
SIGN = 0.36  # inches: the room for ∘ and for =
NAME = 0.95  # inches: the room for "member 1" in bold letters
# The members of a BatchEnsemble, which is the first to be made so.
OWN = next(PALETTE[key] for key, method in METHODS.items() if method.modulated)
CAPTION = "The rows of r sᵀ differ only by a factor."


class ModulationSizes(NamedTuple):
    """Inches: a cell, how thick r and s are, from member to member, and whether entries fit."""

    cell: colored_cells.Pair
    thick: colored_cells.Pair
    step: float
    written: bool


def modulation(
    weight: Float[np.ndarray, "m n"],
    r: Float[np.ndarray, "M m"],
    s: Float[np.ndarray, "M n"],
    *,
    value_range: float | int,
    factor_range: float | int,
) -> Figure:
    """Draw W ∘ r sᵀ for each member of a BatchEnsemble layer, one column a member.

    The shared W stands once, in a gray frame. Each member's r (a column) and s (a row) stand in
    frames of its color around r sᵀ, and below what the member computes with; what is computed has
    a dashed frame. Entries are written where they fit. W and W ∘ r sᵀ have one color scale, r, s
    and r sᵀ another; both are centered at 0 and the same for all members.

    Parameters
    ----------
    weight
        (m, n), the shared matrix, m and n up to 8.
    r, s
        (M, m) and (M, n), the vectors of up to 4 members.
    value_range, factor_range
        The scale of W and W ∘ r sᵀ runs from ``-value_range`` to ``value_range``, that of r, s and
        r sᵀ from ``-factor_range`` to ``factor_range``.

    Raises
    ------
    TypeError, ValueError
        For arrays whose shapes do not agree, a size too large, or a bad range.
    """
    m, n = figure_checks.array("weight", weight, ("m", "n")).shape
    M = len(figure_checks.array("r", r, ("M", m), like="weight"))
    figure_checks.array("s", s, (M, n), like="r and weight")
    for name, size, most in (("M", M, MOST_MEMBERS), ("m", m, MOST_CELLS), ("n", n, MOST_CELLS)):
        if size > most:
            where = "r" if name == "M" else "weight"
            raise ValueError(f"{where} has {name} = {size}, accepted is up to {most}")
    outer = r[:, :, None] * s[:, None, :]
    members = weight * outer
    values = figure_checks.color_range("value_range", value_range)
    factors = figure_checks.color_range("factor_range", factor_range)

    narrow, wide = look().narrow, look().width
    sizes = _sizes(M, m, n, weight, r, s, outer, members)
    cell, thick = sizes.cell, sizes.thick
    width, height = n * cell[0], m * cell[1]
    block = thick[0] + AIR + width
    shared = 0.0 if narrow else max(width, NAME) + SIGN
    start = (wide - shared - (M - 1) * sizes.step - max(block, NAME)) / 2
    first = start + shared + (max(block, NAME) - block) / 2
    if narrow:
        # W is above the middle of all, and what is made from it below.
        left, upper = (wide - width) / 2, EDGE + 0.3
        names = upper + height + 0.3
    else:
        left, names = start + max(NAME - width, 0.0) / 2, EDGE
    middle = names + 0.34 + thick[1] + AIR
    if not narrow:
        upper = middle
    lower = middle + height + 0.36
    end = lower + height + (0.26 if narrow else 0.0)
    with house_style():
        figure, axes = canvas(wide, end + (1.2 if narrow else 0.92))
        pen = _ModulationPen(axes, sizes)
        sign: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 17}
        axes.text(left + width / 2, upper - 0.16, "W, shared", ha="center", va="center")
        pen.matrix(weight, (left, upper), values, SHARED)
        for i in range(M):
            x = first + i * sizes.step
            right = x + thick[0] + AIR
            axes.text(x + block / 2, names + 0.14, f"member {i + 1}", color=OWN, weight="bold",
                      ha="center", va="center", fontsize=SMALL)  # fmt: skip
            pen.letter(x + thick[0] / 2, middle - AIR - thick[1] / 2, "s")
            pen.letter(x + thick[0] / 2, middle + height + 0.13, "r")
            pen.matrix(r[i][:, None], (x, middle), factors, OWN, (thick[0], cell[1]))
            pen.matrix(s[i][None, :], (right, middle - AIR - thick[1]), factors, OWN,
                       (cell[0], thick[1]))  # fmt: skip
            pen.matrix(outer[i], (right, middle), factors)
            colored_cells.part_rows(axes, outer[i], (right, middle), cell)
            pen.matrix(members[i], (right, lower), values)
            if narrow:
                axes.text(right + width / 2, lower - 0.18, "=", **sign)
        words: dict[str, Any] = {"va": "center", "color": MUTED, "fontsize": SMALL}
        if narrow:
            axes.text(wide / 2, names - 0.14, "∘", **sign)
            axes.text(wide / 2, end - 0.02, "W ∘ r sᵀ, computed", ha="center",
                      **words)  # fmt: skip
        else:
            x, y = start + shared - SIGN / 2, lower + height / 2
            axes.text(x, middle + height / 2, "∘", **sign)
            axes.text(x, y, "=", **sign)
            x -= SIGN / 2 + 0.02
            axes.text(x, y - 0.2, "W ∘ r sᵀ", ha="right", va="center")
            axes.text(x, y + 0.14, "computed", ha="right", **words)
        axes.text(wide / 2, end + 0.24, CAPTION, ha="center", **words)
        scales = ((values, "W, W ∘ r sᵀ"), (factors, "r, s, r sᵀ"))
        lengths = [colored_cells.scale_width(-limit, limit, words) for limit, words in scales]
        y = end + 0.62
        if narrow:
            x = (wide - max(lengths)) / 2
            places = [(x, y), (x, y + 0.3)]
        else:
            x = (wide - sum(lengths) - 0.5) / 2
            places = [(x, y), (x + lengths[0] + 0.5, y)]
        for place, (limit, names_) in zip(places, scales, strict=True):
            colored_cells.draw_scale(axes, place, -limit, limit, heat_colors(), names_)
    return figure


def _sizes(M: int, m: int, n: int, *arrays: np.ndarray) -> ModulationSizes:
    narrow = look().narrow
    gap, high, thin = (0.16, 1.2, 0.14) if narrow else (0.3, 1.5, 0.2)
    room = look().width - 2 * EDGE - M * AIR - (M - 1) * gap
    # With entries, r is as wide as a column of the matrix.
    cell = min(0.8, _cell_side(room, M * (n + 1), n)), min(0.5, high / m)
    written = colored_cells.entries_fit(cell, *arrays)
    if written:
        thick = cell[0], min(cell[1], 0.28)
    else:
        side = min(_cell_side(room - M * thin, M * n, n), high / m)
        cell, thick = (side, side), (thin, thin)
    step = max(thick[0] + AIR + n * cell[0], NAME) + gap
    return ModulationSizes(cell, thick, min(step, (look().width - EDGE) / M), written)


def _cell_side(room: float, columns: int, n: int) -> float:
    """Return how wide a cell can be if so many columns of them, and W, fill the width."""
    if look().narrow:
        return room / columns
    # On a wide page W stands beside the members, with a sign and words of its own width.
    return min((room - SIGN) / (columns + n), (room - SIGN - NAME) / columns)


class _ModulationPen:
    def __init__(self, axes: Axes, sizes: ModulationSizes) -> None:
        self.axes, self.sizes = axes, sizes

    def matrix(
        self, values: np.ndarray, corner: colored_cells.Pair, limit: float, edge: str = "",
        cell: colored_cells.Pair | None = None,
    ) -> None:  # fmt: skip
        """Draw an array with the frame of what is stored, or of what is computed."""
        place = self.axes, values, corner, cell or self.sizes.cell
        colored_cells.draw_heat(*place, limit)
        if edge:
            colored_cells.draw_frame(*place, edgecolor=edge, lw=2.0)
        else:
            colored_cells.draw_computed_frame(*place)
        if self.sizes.written:
            colored_cells.write_entries(*place, limit)

    def letter(self, x: float, y: float, words: str) -> None:
        self.axes.text(x, y, words, color=OWN, style="italic", weight="bold", ha="center",
                       va="center")  # fmt: skip

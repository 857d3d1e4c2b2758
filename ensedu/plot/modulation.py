"""How BatchEnsemble makes each member's matrix: the shared one times an outer product."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from ensedu.methods import METHODS
from ensedu.plot import cells, inputs
from ensedu.plot.style import HEAT, MUTED, PALETTE, SHARED, WIDTH, Figure, canvas, house_style

MOST_MEMBERS = 4
MOST_CELLS = 8  # rows or columns
EDGE = 0.12  # inches: the margin, and the air around r and s
SIGN = 0.34  # inches: the least room for ∘ and for =
TOP = 0.5  # inches: the column headings
# The members of a BatchEnsemble, which is the first to be made so.
OWN = next(PALETTE[key] for key, method in METHODS.items() if method.modulated)
CAPTION = "Each row of r sᵀ is s times one entry of r: the rows differ only by a factor."


def modulation(
    weight: Float[np.ndarray, "m n"],
    r: Float[np.ndarray, "M m"],
    s: Float[np.ndarray, "M n"],
    *,
    value_range: float | int | None = None,
) -> Figure:
    """Draw W ∘ r sᵀ for each member of a BatchEnsemble layer, one row a member.

    The shared W stands in a gray frame, the same in every row. Next to it stand the member's r (a
    column) and s (a row) around r sᵀ, and on the right what the member computes with. Entries are
    written where they fit. W and W ∘ r sᵀ have one color scale, r, s and r sᵀ another; both are
    centered at 0 and the same in all rows.

    Parameters
    ----------
    weight
        (m, n), the shared matrix, m and n up to 8.
    r, s
        (M, m) and (M, n), the vectors of up to 4 members.
    value_range
        The scale of W and W ∘ r sᵀ runs from ``-value_range`` to ``value_range``; by default the
        greatest absolute entry. Pass it to keep the scale while a slider moves.

    Raises
    ------
    TypeError, ValueError
        For arrays whose shapes do not agree, a size too large, or a bad range.
    """
    m, n = inputs.array("weight", weight, ("m", "n")).shape
    M = len(inputs.array("r", r, ("M", m), like="weight"))
    inputs.array("s", s, (M, n), like="r and weight")
    for name, size, most in (("M", M, MOST_MEMBERS), ("m", m, MOST_CELLS), ("n", n, MOST_CELLS)):
        if size > most:
            where = "r" if name == "M" else "weight"
            raise ValueError(f"{where} has {name} = {size}, accepted is up to {most}")
    outer = r[:, :, None] * s[:, None, :]
    members = weight * outer
    if value_range is None:
        value_range = max(float(np.abs(weight).max()), float(np.abs(members).max())) or 1.0
    else:
        value_range = inputs.value_range(value_range)
    factor_range = max(float(np.abs(values).max()) for values in (r, s, outer)) or 1.0

    # r is a column, and a gap, left of its square: 3 n + 1 columns and two signs fill the line.
    width = min(0.72, (WIDTH - 3 * EDGE - 2 * SIGN) / (3 * n + 1))
    cell = (width, min(width, 0.42, max(0.28, 2.2 / m)))
    height = 2 * EDGE + (m + 1) * cell[1]
    with house_style():
        figure, axes = canvas(WIDTH, TOP + M * (height + 2 * EDGE) + 0.92)
        pen = _Pen(axes, cell, cells.fit(width, weight, r, s, outer, members))
        sign = (WIDTH - 3 * EDGE - (3 * n + 1) * width) / 2
        left = EDGE
        middle = left + (n + 1) * width + sign + EDGE
        right = middle + n * width + sign
        half = n * width / 2
        for x, words in (
            (max(left + half, 0.55), "W, shared"),
            (middle + half, "r sᵀ, member's own"),
            (min(right + half, WIDTH - 0.5), "W ∘ r sᵀ"),
        ):
            axes.text(x, 0.27, words, ha="center", va="center")
        for i in range(M):
            top = TOP + i * (height + 2 * EDGE)
            axes.plot([EDGE, WIDTH - EDGE], [top, top], color=MUTED, lw=0.6, alpha=0.6)
            strip = top + 1.2 * EDGE
            y = strip + cell[1] + EDGE
            own = OWN
            axes.text(left, strip + cell[1] / 2, f"member {i + 1}", color=own, weight="bold",
                      va="center")  # fmt: skip
            pen.matrix(weight, (left, y), value_range, SHARED)
            pen.matrix(r[i][:, None], (middle - EDGE - width, y), factor_range, own)
            pen.matrix(s[i][None, :], (middle, strip), factor_range, own)
            pen.matrix(outer[i], (middle, y), factor_range)
            cells.strips(axes, outer[i], (middle, y), cell)
            pen.matrix(members[i], (right, y), value_range, own)
            letters: dict[str, Any] = {
                "color": own,
                "va": "center",
                "style": "italic",
                "weight": "bold",
            }
            axes.text(middle - EDGE - width / 2, y - 0.14, "r", ha="center", **letters)
            axes.text(middle + n * width + 0.08, strip + cell[1] / 2, "s", **letters)
            for x, words in (
                (left + n * width + sign / 2, "∘"), (right - sign / 2, "=")
            ):  # fmt: skip
                axes.text(x, y + m * cell[1] / 2, words, ha="center", va="center", fontsize=18)
        y = TOP + M * (height + 2 * EDGE)
        axes.text(EDGE, y + 0.2, CAPTION, va="center", fontsize=11, color=MUTED)
        cells.scale(axes, (EDGE, y + 0.62), -value_range, value_range, HEAT, "W, W ∘ r sᵀ")
        cells.scale(axes, (WIDTH / 2, y + 0.62), -factor_range, factor_range, HEAT, "r, s, r sᵀ")
    return figure


class _Pen:
    def __init__(self, axes: Axes, cell: cells.Pair, written: bool) -> None:
        self.axes, self.cell, self.written = axes, cell, written

    def matrix(
        self, values: np.ndarray, corner: cells.Pair, limit: float, edge: str | None = None
    ) -> None:
        cells.heat(self.axes, values, corner, self.cell, limit)
        if edge:
            cells.frame(self.axes, values, corner, self.cell, edgecolor=edge, lw=2.0)
        if self.written:
            cells.write(self.axes, values, corner, self.cell, limit)

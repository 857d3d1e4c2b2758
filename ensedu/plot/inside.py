"""What is inside an ensemble: every stored number as a square, one row a method."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from ensedu import checks
from ensedu.counting import Count
from ensedu.methods import METHODS, Method
from ensedu.plot import cells, inputs
from ensedu.plot.bars import role_legend, stack
from ensedu.plot.style import (
    INK,
    LABELS,
    MUTED,
    PALETTE,
    SHARED,
    Figure,
    canvas,
    house_style,
)

SAMPLES = {"samples": ("M", "m", "n")}


def _own_layers() -> dict[str, Method]:
    """Return the methods by key, without those whose layer an earlier one has."""
    layers: dict[str, Method] = {}
    for method in METHODS.values():
        layers.setdefault(method.layer, method)
    return {method.key: method for method in layers.values()}


def _shapes(method: Method) -> dict[str, tuple[str, ...]]:
    """Return the arrays that are drawn of a method: standard deviations are given as they are."""
    shapes = {a.name.replace("_rho", "_std"): tuple(a.shape.split()) for a in method.arrays}
    # Of a distribution without members, M draws stand where members would.
    return shapes if method.members or not method.stochastic else shapes | SAMPLES


def _caption(method: Method) -> str:
    spread = method.spread
    if method.modulated:
        own = "r and s each get a mean and a spread"
        return own if spread else "one W for all, two thin vectors for each member"
    if method.members:
        return "a matrix W of its own for each member"
    return "each weight gets a mean and a spread" if spread else "one matrix W"


#: The methods that can be drawn: their arrays with the letters of the axes.
SHAPES = {key: _shapes(method) for key, method in _own_layers().items()}
PAGE = 6.8  # inches: narrower than other figures, so that letters are larger on a phone
DRAWING = 4.7  # inches: where the matrices end and the counts begin


def inside(
    parts: Mapping[str, Mapping[str, Float[np.ndarray, "..."]]],
    counts: Mapping[str, Count],
    *,
    counts_title: str = "numbers to train",
) -> Figure:
    """Draw one small layer under several methods: each colored square is one stored number.

    What all members share stands in the first column in a gray frame; what a member owns stands in
    that member's column in the method's color: matrices, or r (a column) and s (a row) around the
    matrix that they make of the shared one. That matrix is faint, because it is computed and never
    stored; so are the draws of a mean-field layer. Biases are the row below. Hatched squares are
    standard deviations. On the right stands each method's count, which may be that of a larger
    network. Weights and biases have one color scale, r and s another; both are centered at 0.

    Parameters
    ----------
    parts
        Methods to their arrays, drawn from top to bottom, with the same m, n and M throughout:
        one method a layer, as `SHAPES` lists them. Arrays have the names and shapes that they have
        in a layer, with standard deviations, ``r_std``, in the place of ``r_rho``; a mean-field
        layer also has samples (M, m, n), the matrices of M forward passes.
    counts
        The same methods to their Counts.
    counts_title
        What stands above the counts.

    Raises
    ------
    TypeError, ValueError
        For an unknown method, an array missing or of another shape, methods without a Count.
    """
    rows, (M, m, n) = _check(parts)
    named = inputs.counts("counts", counts)
    if named.keys() != rows.keys():
        raise ValueError(f"counts must have the keys {list(rows)}, got {list(named)}")
    named = {method: named[method] for method in rows}
    inputs.text("counts_title", counts_title)

    cell = min(0.2, (DRAWING - 0.12) / (n + 0.9 + M * (n + 3.4)))
    heights = [0.42 + cell * _cells_high(METHODS[method], m) for method in rows]
    with house_style():
        figure, axes = canvas(PAGE, 0.5 + sum(heights) + 0.2 * len(rows) + 0.72)
        pen = Pen(axes, cell, rows)
        longest = max(count.total for count in named.values()) or 1
        pen.headers(M, n, counts_title)
        y = 0.5
        for (method, arrays), height in zip(rows.items(), heights, strict=True):
            axes.plot([0.12, PAGE - 0.12], [y, y], color=MUTED, lw=0.6, alpha=0.6)
            axes.text(0.12, y + 0.2, LABELS[method], color=PALETTE[method], weight="bold",
                      va="center", fontsize=13)  # fmt: skip
            axes.text(PAGE - 0.12, y + 0.2, _caption(METHODS[method]), color=MUTED, va="center",
                      ha="right", fontsize=11)  # fmt: skip
            pen.row(method, arrays, y + 0.42)
            middle = y + 0.42 + (height - 0.42) / 2
            left = DRAWING + 0.2
            axes.text(left, middle - 0.12, f"{named[method].total:,}", weight="bold", fontsize=14)
            stack(axes, named[method], method, (left, middle - 0.04), 0.24,
                  (PAGE - 0.12 - left) / longest)  # fmt: skip
            y += height + 0.2
        axes.text(0.12, y + 0.2, "Colored squares are stored; faint ones are computed from them.",
                  fontsize=11, va="center", color=MUTED)  # fmt: skip
        role_legend(figure, named)
    return figure


class Pen:
    """Draws rows of squares with one cell size; a kind of number has one color scale in all."""

    def __init__(
        self, axes: Axes, cell: float, rows: Mapping[str, Mapping[str, np.ndarray]]
    ) -> None:
        self.axes, self.cell, self.scales = axes, cell, _scales(rows)
        self.square = (cell, cell)

    def member(self, i: int, n: int) -> float:
        """Return where the matrix of member i starts; r has two columns to its left."""
        return 0.12 + self.cell * (n + 0.9 + i * (n + 3.4) + 2.4)

    def headers(self, M: int, n: int, counts_title: str) -> None:
        style: dict[str, Any] = {"va": "center", "ha": "center", "fontsize": 11, "color": INK}
        self.axes.text(0.12, 0.27, "shared", **(style | {"ha": "left"}))
        for i in range(M):
            words = f"member {i + 1}" if M <= 4 else f"{i + 1}"
            self.axes.text(self.member(i, n) + n * self.cell / 2, 0.27, words, **style)
        self.axes.text(DRAWING + 0.2, 0.27, counts_title, **(style | {"ha": "left"}))

    def row(self, method: str, arrays: Mapping[str, np.ndarray], top: float) -> None:
        """Draw the arrays of one method below `top`."""
        own, row = PALETTE[method], METHODS[method]
        if not row.members:
            self.network(arrays, top, own)
            return
        matrix_top = top + self.cell * _strip_rows(row)
        if row.modulated:
            self.matrix(arrays["weight"], 0.12, matrix_top, SHARED)
            self.axes.text(0.12, matrix_top - 0.1, "W", color=MUTED, va="center",
                           style="italic", weight="bold")  # fmt: skip
        for i, bias in enumerate(arrays["bias"]):
            x = self.member(i, len(bias))
            if row.modulated:
                self.fast_weights(arrays, i, x, matrix_top, own)
            else:
                self.matrix(arrays["weight"][i], x, matrix_top, own)
            self.bias(bias, x, matrix_top + self.cell * arrays["weight"].shape[-2], own)

    def network(self, arrays: Mapping[str, np.ndarray], top: float, own: str) -> None:
        """Draw one matrix; means above standard deviations, and to the right what is drawn."""
        c, weight = self.cell, _mean(arrays, "weight")
        m, n = weight.shape
        self.matrix(weight, 0.12, top, SHARED)
        self.bias(_mean(arrays, "bias"), 0.12, top + m * c, own)
        if "weight_std" not in arrays:
            return
        below = top + (m + 2.0) * c
        self.spread(arrays["weight_std"], 0.12, below, own)
        self.spread(arrays["bias_std"][None, :], 0.12, below + (m + 0.3) * c, own)
        middle = top + c * (2 * (m + 1.3) + 0.7 - m) / 2
        for i, sample in enumerate(arrays["samples"]):
            x = self.member(i, n)
            self.faint(sample, x, middle)
            words = f"draw {i + 1}" if len(arrays["samples"]) <= 4 else f"{i + 1}"
            self.axes.text(x + n * c / 2, middle - 0.12, words, ha="center", va="center",
                           fontsize=11, color=MUTED)  # fmt: skip

    def fast_weights(
        self, arrays: Mapping[str, np.ndarray], i: int, x: float, top: float, own: str
    ) -> None:
        """Draw r and s of member i around the matrix that they make."""
        c = self.cell
        r, s = _mean(arrays, "r")[i], _mean(arrays, "s")[i]
        self.faint(arrays["weight"] * np.outer(r, s), x, top)
        letters: dict[str, Any] = {
            "color": own,
            "va": "center",
            "style": "italic",
            "weight": "bold",
        }
        self.axes.text(x - 0.8 * c, top + (len(r) + 0.7) * c, "r", ha="center", **letters)
        self.axes.text(x + (len(s) + 0.3) * c, top - 0.85 * c, "s", **letters)
        self.matrix(r[:, None], x - 1.3 * c, top, own, "vectors")
        self.matrix(s[None, :], x, top - 1.3 * c, own, "vectors")
        if "r_std" in arrays:
            self.spread(arrays["r_std"][i][:, None], x - 2.4 * c, top, own, "vectors")
            self.spread(arrays["s_std"][i][None, :], x, top - 2.4 * c, own, "vectors")

    def bias(self, bias: np.ndarray, x: float, top: float, own: str) -> None:
        self.matrix(bias[None, :], x, top + 0.3 * self.cell, own, frame=0.9)

    def matrix(
        self, values: np.ndarray, x: float, y: float, edge: str, scale: str = "weights",
        frame: float = 2.0,
    ) -> None:  # fmt: skip
        cells.heat(self.axes, values, (x, y), self.square, self.scales[scale])
        cells.frame(self.axes, values, (x, y), self.square, edgecolor=edge, lw=frame)

    def faint(self, values: np.ndarray, x: float, y: float) -> None:
        cells.heat(self.axes, values, (x, y), self.square, self.scales["weights"], alpha=0.38)

    def spread(
        self, values: np.ndarray, x: float, y: float, own: str, scale: str = "weights"
    ) -> None:
        # A third of the scale is used, so that the hatching stays visible on the deepest tint.
        limit = 3 * self.scales[f"{scale} spread"]
        cells.squares(
            self.axes, values, (x, y), self.square, cmap=cells.tint(own), vmin=0.0, vmax=limit
        )
        cells.frame(self.axes, values, (x, y), self.square, edgecolor=own, lw=0.9, hatch="/////")


def _mean(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return the array of this name, or the mean of the distribution over it."""
    return arrays[name] if name in arrays else arrays[f"{name}_mean"]


def _strip_rows(row: Method) -> float:
    """How many cells high the vectors s are, with the space below them."""
    if not row.modulated:
        return 0.0
    return 2.4 if row.spread else 1.3


def _cells_high(row: Method, m: int) -> float:
    if row.spread and not row.members:
        return 2 * (m + 1.3) + 0.7
    return _strip_rows(row) + m + 1.3


def _scales(rows: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, float]:
    """The greatest absolute value of each kind of number, for one color scale a kind."""
    limits = dict.fromkeys(("weights", "vectors", "weights spread", "vectors spread"), 0.0)
    for arrays in rows.values():
        for name, values in arrays.items():
            kind = "vectors" if name[0] in "rs" and name != "samples" else "weights"
            kind += " spread" if name.endswith("_std") else ""
            limits[kind] = max(limits[kind], float(np.abs(values).max()))
    return {kind: limit or 1.0 for kind, limit in limits.items()}


def _check(
    parts: Mapping[str, Mapping[str, np.ndarray]],
) -> tuple[dict[str, dict[str, np.ndarray]], tuple[int, int, int]]:
    """Return the parts and (M, m, n), after checking that all arrays agree on them."""
    rows = inputs.mapping("parts", parts, "arrays by name")
    sizes: dict[str, int] = {}
    for method, given in rows.items():
        checks.one_of("parts: a method", method, tuple(SHAPES))
        arrays = inputs.mapping(f"parts[{method!r}]", given, "arrays")
        if arrays.keys() != SHAPES[method].keys():
            raise ValueError(
                f"parts[{method!r}] must have the keys {list(SHAPES[method])}, got {list(arrays)}"
            )
        for name, letters in SHAPES[method].items():
            where = f"parts[{method!r}][{name!r}]"
            value = inputs.array(where, arrays[name], tuple(sizes.get(s, s) for s in letters))
            sizes.update(zip(letters, value.shape, strict=True))
            if name.endswith("_std") and (value < 0).any():
                raise ValueError(f"{where} must hold standard deviations >= 0, got {value.min()}")
        rows[method] = arrays
    for letter, most in {"M": 8, "m": 8, "n": 8}.items():
        if sizes.setdefault(letter, 0) > most:
            raise ValueError(f"parts has {letter} = {sizes[letter]}, accepted is up to {most}")
    return rows, (sizes["M"], sizes["m"], sizes["n"])

"""What is inside an ensemble: every stored number as a square, one row a method."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ensedu.common import checks
from ensedu.counting import Count
from ensedu.methods import METHODS, ROLE_LABELS, Method
from workshop.plot import colored_cells, figure_checks, text_layout
from workshop.plot.bars import (
    EDGE,
    LINE,
    SPACE,
    draw_sample,
    draw_shares,
    exact_digits,
    flow_in_lines,
)
from workshop.plot.style import (
    GRID,
    INK,
    LABELS,
    MUTED,
    PAGE,
    PALETTE,
    SHARED,
    Figure,
    canvas,
    house_style,
    look,
    tint,
)
from workshop.plot.text_layout import SMALL

SAMPLES = {"samples": ("M", "m", "n")}


def _methods_by_layer() -> dict[str, Method]:
    """Return the methods by key, without those whose layer an earlier one has."""
    layers: dict[str, Method] = {}
    for method in METHODS.values():
        layers.setdefault(method.layer, method)
    return {method.key: method for method in layers.values()}


def _drawn_shapes(method: Method) -> dict[str, tuple[str, ...]]:
    """Return the arrays that are drawn of a method: standard deviations are given as they are."""
    shapes = {a.name.replace("_rho", "_std"): tuple(a.shape.split()) for a in method.arrays}
    # Of a distribution without members, M draws stand where members would.
    return shapes if method.members or not method.stochastic else shapes | SAMPLES


def _caption(method: Method) -> str:
    spread = method.spread
    if method.modulated:
        own = "r and s each have mean and standard deviation"
        return own if spread else "one W for all, two thin vectors for each member"
    if method.members:
        return "a matrix W of its own for each member"
    return "each weight has mean and standard deviation" if spread else "one matrix W"


#: The methods that can be drawn: their arrays with the letters of the axes.
SHAPES = {key: _drawn_shapes(method) for key, method in _methods_by_layer().items()}
MOST_CELL = 0.2  # inches: the side of the largest square
LETTERS = 0.12  # inches: the least side of a square beside which W, r and s have room
COUNTS = 1.95  # inches: the counts beside the matrices of a wide page
COUNT = 0.56  # inches: the height of one, with its bar
TOP, BETWEEN = 0.42, 0.2  # inches: for what the columns are, and between two rows
BAND, NUMBERED = 0.05, 0.2  # inches: the hatched margin of a draw, and its number above it
BAR = (0.24, 0.16)  # inches: the height of a count's bar, wide and narrow
COUNTED = "numbers to train"
NOTE = "Colored squares are stored; faint ones are computed from them."


def inside(
    parts: Mapping[str, Mapping[str, Float[np.ndarray, "..."]]],
    counts: Mapping[str, Count],
) -> Figure:
    """Draw one small layer under several methods: each colored square is one stored number.

    What all members share stands in the first column in a gray frame; what a member owns stands in
    that member's column in the method's color: matrices, or r (a column) and s (a row) around the
    matrix that they make of the shared one. That matrix is faint and has no frame, because it is
    computed and never stored; so are the draws of a mean-field layer, with a hatched margin. Biases
    are the row below. Hatched squares are standard deviations. To the right, or on a narrow page
    beside its name, stands each method's count, which may be that of a larger network. Weights and
    biases have one color scale, r and s another; both are centered at 0.

    Parameters
    ----------
    parts
        Methods to their arrays, drawn from top to bottom, with the same m, n and M throughout:
        one method a layer, as `SHAPES` lists them. Arrays have the names and shapes that they have
        in a layer, with standard deviations, ``r_std``, in the place of ``r_rho``; a mean-field
        layer also has samples (M, m, n), the matrices of M forward passes.
    counts
        The same methods to their Counts.

    Raises
    ------
    TypeError, ValueError
        For an unknown method, an array missing or of another shape, methods without a Count.
    """
    rows, (M, m, n) = _checked_arrays(parts)
    named = figure_checks.counts("counts", counts)
    if named.keys() != rows.keys():
        raise ValueError(f"counts must have the keys {list(rows)}, got {list(named)}")
    named = {method: named[method] for method in rows}

    narrow, wide = look().narrow, look().width
    room = wide - 2 * EDGE
    drawing = room if narrow else room - COUNTS - 0.2
    first = text_layout.text_width("shared", SMALL) + 0.1
    columns = max(1, M) * (n + 3.4)  # in cells: all that members own, or room for one
    cell = min(MOST_CELL, drawing / (n + 0.9 + columns), (drawing - first) / columns)
    captions = {
        method: text_layout.wrapped(
            _caption(METHODS[method]),
            room if narrow else room - 0.3 - text_layout.text_width(LABELS[method], 13, "bold"),
            SMALL,
        )
        for method in rows
    }
    longest = max(count.total for count in named.values()) or 1
    names = max(text_layout.text_width(LABELS[method], 13, "bold") for method in rows) + 0.2
    digits = text_layout.text_width(exact_digits(longest), 12, "bold") + 0.12
    with house_style():
        figure, axes = canvas(wide, 1.0)
        pen = InsidePen(axes, cell, rows, first)
        y = TOP
        if not narrow:
            axes.text(wide - EDGE - COUNTS, y - 0.1, COUNTED, va="bottom", fontsize=SMALL)
        pen.headers(M, n, y - 0.18)
        for method, arrays in rows.items():
            line, lines = y, LINE * (1 + captions[method].count("\n"))
            axes.plot([EDGE, wide - EDGE], [y, y], color=GRID, lw=0.8)
            axes.text(EDGE, y + 0.24, LABELS[method], color=PALETTE[method], weight="bold",
                      fontsize=13)  # fmt: skip
            at = (EDGE, y + 0.34, "left") if narrow else (wide - EDGE, y + 0.1, "right")
            axes.text(*at[:2], captions[method], color=MUTED, va="top", ha=at[2], fontsize=SMALL)
            y += 0.38 + lines if narrow else max(0.42, 0.15 + lines)
            pen.row(method, arrays, y)
            height = cell * _cells_high(METHODS[method], m)
            if "samples" in arrays:
                height = max(height, NUMBERED + 2 * BAND + m * cell)
            words = exact_digits(named[method].total)
            if narrow:
                left, length, top = EDGE + names + digits, room - names - digits, line + 0.1
                axes.text(left - digits, line + 0.24, words, weight="bold")
                y += height + BETWEEN
            else:
                height = max(height, COUNT)
                left, length, top = wide - EDGE - COUNTS, COUNTS, y + height / 2 - 0.04
                axes.text(left, top - 0.08, words, weight="bold", fontsize=13)
                y += height + BETWEEN
            size = (named[method].total * length / longest, BAR[narrow])
            draw_shares(axes, named[method], method, (left, top), size)
        axes.plot([EDGE, wide - EDGE], [y, y], color=GRID, lw=0.8)
        y = _write_inside_key(axes, named, y + 0.1, room)
        figure.set_figheight(y + 0.06)
        axes.set_ylim(y + 0.06, 0)
    return figure


def _write_inside_key(axes: Axes, counts: Mapping[str, Count], y: float, room: float) -> float:
    """Say what squares and bars are, from y on; return where that ends."""
    note = f"{NOTE} Bars: {COUNTED}." if look().narrow else NOTE
    note = text_layout.wrapped(note, room, SMALL)
    axes.text(EDGE, y, note, va="top", color=MUTED, fontsize=SMALL)
    y += LINE * (1 + note.count("\n")) + 0.08
    having = {
        role: [name for name, count in counts.items() if getattr(count, role)]
        for role in ROLE_LABELS
    }
    # Gray is the same for all.
    having["shared"] = having["shared"][:1]
    roles = [role for role, names in having.items() if names]
    side = 0.13
    widths = [
        side * len(having[role]) + SPACE + text_layout.text_width(ROLE_LABELS[role], SMALL)
        for role in roles
    ]
    bottom = y
    for role, (x, line) in zip(roles, flow_in_lines(widths, room), strict=True):
        x, top = EDGE + x, y + line * LINE
        for name in having[role]:
            draw_sample(axes, role, name, (x, top + 0.04), (side - 0.02, 0.13))
            x += side
        axes.text(x + SPACE, top + LINE / 2, ROLE_LABELS[role], va="center", fontsize=SMALL)
        bottom = top + LINE
    return bottom


class InsidePen:
    """Draws rows of squares with one cell size; a kind of number has one color scale in all.

    The first column is at least `first` inches wide.
    """

    def __init__(
        self,
        axes: Axes,
        cell: float,
        rows: Mapping[str, Mapping[str, np.ndarray]],
        first: float = 0.0,
    ) -> None:
        self.axes, self.cell, self.first, self.scales = axes, cell, first, _greatest_by_kind(rows)
        self.square = (cell, cell)

    def member(self, i: int, n: int) -> float:
        """Return where the matrix of member i starts; r has two columns to its left."""
        first = max(self.first, self.cell * (n + 0.9))
        return EDGE + first + self.cell * (i * (n + 3.4) + 2.4)

    def headers(self, M: int, n: int, y: float) -> None:
        style: dict[str, Any] = {"va": "center", "fontsize": SMALL, "color": INK}
        self.axes.text(EDGE, y, "shared", **style)
        for i, words in enumerate(self.numbered("member", M, n)):
            x = self.member(i, n) + n * self.cell / 2
            self.axes.text(x, y, words, ha="center", **style)

    def numbered(self, word: str, M: int, n: int) -> list[str]:
        """Return "member 1", …, or the numbers alone where these do not stand apart."""
        room = (n + 3.4) * self.cell
        apart = text_layout.text_width(f"{word} {M}", SMALL) + 0.1 <= room
        return [f"{word} {i}" if apart else f"{i}" for i in range(1, M + 1)]

    def row(self, method: str, arrays: Mapping[str, np.ndarray], top: float) -> None:
        """Draw the arrays of one method below `top`."""
        own, row = PALETTE[method], METHODS[method]
        if not row.members:
            self.network(arrays, top, own)
            return
        matrix_top = top + self.cell * _rows_of_strips(row)
        if row.modulated:
            self.matrix(arrays["weight"], EDGE, matrix_top, SHARED)
            self.letter(EDGE + 0.08, matrix_top - 0.1, "W", MUTED)
        for i, bias in enumerate(arrays["bias"]):
            x = self.member(i, len(bias))
            if row.modulated:
                self.fast_weights(arrays, i, x, matrix_top, own)
            else:
                self.matrix(arrays["weight"][i], x, matrix_top, own)
            self.bias(bias, x, matrix_top + self.cell * arrays["weight"].shape[-2], own)

    def network(self, arrays: Mapping[str, np.ndarray], top: float, own: str) -> None:
        """Draw one matrix; means above standard deviations, and to the right what is drawn."""
        c, weight = self.cell, _mean_or_value(arrays, "weight")
        m, n = weight.shape
        self.matrix(weight, EDGE, top, SHARED)
        self.bias(_mean_or_value(arrays, "bias"), EDGE, top + m * c, own)
        if "weight_std" not in arrays:
            return
        below = top + (m + 2.0) * c
        self.spread(arrays["weight_std"], EDGE, below, own)
        self.spread(arrays["bias_std"][None, :], EDGE, below + (m + 0.3) * c, own)
        middle = top + max(c * (2 * (m + 1.3) + 0.7 - m) / 2, NUMBERED + BAND)
        words = self.numbered("draw", len(arrays["samples"]), n)
        for i, draw in enumerate(arrays["samples"]):
            x = self.member(i, n)
            self.band(x, middle, n * c, m * c, own)
            self.faint(draw, x, middle)
            self.axes.text(
                x + n * c / 2, middle - BAND - NUMBERED / 2, words[i], ha="center", va="center",
                fontsize=SMALL, color=MUTED,
            )  # fmt: skip

    def fast_weights(
        self, arrays: Mapping[str, np.ndarray], i: int, x: float, top: float, own: str
    ) -> None:
        """Draw r and s of member i around the matrix that they make."""
        c = self.cell
        r, s = _mean_or_value(arrays, "r")[i], _mean_or_value(arrays, "s")[i]
        self.faint(arrays["weight"] * np.outer(r, s), x, top)
        self.letter(x - 0.8 * c, top + len(r) * c + 0.11, "r", own)
        self.letter(x + len(s) * c + 0.09, top - 0.8 * c, "s", own)
        self.matrix(r[:, None], x - 1.3 * c, top, own, "vectors")
        self.matrix(s[None, :], x, top - 1.3 * c, own, "vectors")
        if "r_std" in arrays:
            self.spread(arrays["r_std"][i][:, None], x - 2.4 * c, top, own, "vectors")
            self.spread(arrays["s_std"][i][None, :], x, top - 2.4 * c, own, "vectors")

    def letter(self, x: float, y: float, letter: str, ink: str) -> None:
        """Name an array, if squares are so large that the letter touches no neighbor."""
        if self.cell >= LETTERS:
            self.axes.text(x, y, letter, color=ink, ha="center", va="center", style="italic",
                           weight="bold", fontsize=SMALL)  # fmt: skip

    def bias(self, bias: np.ndarray, x: float, top: float, own: str) -> None:
        self.matrix(bias[None, :], x, top + 0.3 * self.cell, own, frame=0.9)

    def matrix(
        self, values: np.ndarray, x: float, y: float, edge: str, scale: str = "weights",
        frame: float = 2.0,
    ) -> None:  # fmt: skip
        colored_cells.draw_heat(self.axes, values, (x, y), self.square, self.scales[scale])
        frame = min(frame, 12 * self.cell)
        colored_cells.draw_frame(self.axes, values, (x, y), self.square, edgecolor=edge, lw=frame)

    def faint(self, values: np.ndarray, x: float, y: float) -> None:
        # On a dark page pale is dark: more of it, to be seen.
        alpha = 0.62 if look().dark else 0.38
        colored_cells.draw_heat(
            self.axes, values, (x, y), self.square, self.scales["weights"], alpha=alpha
        )

    def band(self, x: float, y: float, width: float, height: float, own: str) -> None:
        """Draw a hatched margin, and the page inside it."""
        hatched: dict[str, Any] = {"facecolor": "none", "edgecolor": own, "hatch": "//////"}
        for margin, style in ((BAND, hatched), (0.0, {"facecolor": PAGE})):
            size = (width + 2 * margin, height + 2 * margin)
            self.axes.add_artist(Rectangle((x - margin, y - margin), *size, lw=0, **style))

    def spread(
        self, values: np.ndarray, x: float, y: float, own: str, scale: str = "weights"
    ) -> None:
        # A third of the scale is used, so that the hatching stays visible on the deepest tint.
        limit = 3 * self.scales[f"{scale} spread"]
        colored_cells.draw_squares(
            self.axes, values, (x, y), self.square, cmap=tint(own), vmin=0.0, vmax=limit
        )
        colored_cells.draw_frame(
            self.axes, values, (x, y), self.square, edgecolor=own, lw=0.9, hatch="/////"
        )


def _mean_or_value(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return the array of this name, or the mean of the distribution over it."""
    return arrays[name] if name in arrays else arrays[f"{name}_mean"]


def _rows_of_strips(row: Method) -> float:
    """How many cells high the vectors s are, with the space below them."""
    if not row.modulated:
        return 0.0
    return 2.4 if row.spread else 1.3


def _cells_high(row: Method, m: int) -> float:
    if row.spread and not row.members:
        return 2 * (m + 1.3) + 0.7
    return _rows_of_strips(row) + m + 1.3


def _greatest_by_kind(rows: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, float]:
    """The greatest absolute value of each kind of number, for one color scale a kind."""
    limits = dict.fromkeys(("weights", "vectors", "weights spread", "vectors spread"), 0.0)
    for arrays in rows.values():
        for name, values in arrays.items():
            kind = "vectors" if name[0] in "rs" and name != "samples" else "weights"
            kind += " spread" if name.endswith("_std") else ""
            limits[kind] = max(limits[kind], float(np.abs(values).max()))
    return {kind: limit or 1.0 for kind, limit in limits.items()}


def _checked_arrays(
    parts: Mapping[str, Mapping[str, np.ndarray]],
) -> tuple[dict[str, dict[str, np.ndarray]], tuple[int, int, int]]:
    """Return the parts and (M, m, n), after checking that all arrays agree on them."""
    rows = figure_checks.mapping("parts", parts, "arrays by name")
    sizes: dict[str, int] = {}
    for method, given in rows.items():
        checks.one_of("parts: a method", method, tuple(SHAPES))
        arrays = figure_checks.mapping(f"parts[{method!r}]", given, "arrays")
        if arrays.keys() != SHAPES[method].keys():
            raise ValueError(
                f"parts[{method!r}] must have the keys {list(SHAPES[method])}, got {list(arrays)}"
            )
        for name, letters in SHAPES[method].items():
            where = f"parts[{method!r}][{name!r}]"
            value = figure_checks.array(
                where, arrays[name], tuple(sizes.get(s, s) for s in letters)
            )
            sizes.update(zip(letters, value.shape, strict=True))
            if name.endswith("_std") and (value < 0).any():
                raise ValueError(f"{where} must hold standard deviations >= 0, got {value.min()}")
        rows[method] = arrays
    for letter, most in {"M": 8, "m": 8, "n": 8}.items():
        if sizes.setdefault(letter, 0) > most:
            raise ValueError(f"parts has {letter} = {sizes[letter]}, accepted is up to {most}")
    return rows, (sizes["M"], sizes["m"], sizes["n"])

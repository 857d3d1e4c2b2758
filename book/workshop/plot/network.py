"""The network as nodes and edges, its matrices to scale, and the count of each layer below."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle, Rectangle

from ensedu import counting
from ensedu.common import checks
from workshop.plot import text_layout
from workshop.plot.style import (
    INK,
    MUTED,
    PAGE,
    PALETTE,
    Figure,
    canvas,
    house_style,
    look,
)

MOST_SIZES = 11
LETTERS = 11  # points
RADIUS = 0.06
FAN, STEP, HIGH = 5, 0.22, 1.3  # nodes of a wide layer, inches between two, and of all nodes
ROOM = 1.6  # inches: the most for what a layer stores
APART = 0.06  # inches: of that room, what is left free of two matrices of the widest layer
HAIR = 0.6 / 72  # inches: what is thinner would not be seen
CELL = 0.07  # inches: from here up each number is a square of its own
OWN = PALETTE["single"]


class Column(NamedTuple):
    """The heights of the nodes that are drawn, and of the dots for the rest."""

    nodes: Float[np.ndarray, " drawn"]
    dots: float | None


def network(sizes: Sequence[int], *, widest: int | None = None) -> Figure:
    """Draw a multilayer perceptron, what its layers store, and what they count.

    On top are nodes and edges, of wide layers only a few. Below stands what each layer stores, but
    for biases, in one scale for all: a matrix of m inputs and n outputs is a rectangle of height m
    and width n, so that its area tells how many weights it has.

    Parameters
    ----------
    sizes
        2 to 11 positive integers: inputs, hidden widths, outputs.
    widest
        The width whose matrices fill the room, by default that of the widest layer. Figures of the
        same `widest` have the same scale: a slider over widths gives its largest.

    Raises
    ------
    TypeError, ValueError
        For sizes that are not such integers, and a `widest` that one of them exceeds.
    """
    count = counting.mlp(sizes)
    sizes = checks.layer_sizes("sizes", sizes)
    if len(sizes) > MOST_SIZES:
        raise ValueError(f"sizes must have 2 to {MOST_SIZES} entries, got {len(sizes)}")
    most = max(sizes) if widest is None else checks.positive_int("widest", widest)
    if most < max(sizes):
        raise ValueError(f"widest must be at least {max(sizes)}, the largest of sizes, got {most}")
    reserved = sizes
    if widest is not None:
        ends = (sizes[0], sizes[-1]) if len(sizes) > 2 else (most, most)
        reserved = (ends[0], *[most] * (len(sizes) - 2), ends[1])
    with house_style():
        drawing = _Drawing(sizes, reserved)
        drawing.widths()
        drawing.net()
        drawing.stored(most)
        drawing.table(count, counting.mlp(reserved))
        return drawing.finish()


class _Drawing:
    """A network from top to bottom; `y` is where the next part begins.

    Each part is as high as a network of the sizes `reserved` needs, so that another width moves
    nothing.
    """

    def __init__(self, sizes: tuple[int, ...], reserved: tuple[int, ...]) -> None:
        self.sizes, self.reserved, self.narrow = sizes, reserved, look().narrow
        left, right = (0.36, 3.56) if self.narrow else (1.55, 6.05)
        # A single layer looks lost at full width.
        margin = 1.0 if len(sizes) == 2 and not self.narrow else 0.0
        self.x = np.linspace(left + margin, right - margin, len(sizes))
        self.gap = float(self.x[1] - self.x[0])
        self.figure, self.axes = canvas(look().width, 1.0)
        self.y = 0.2

    def finish(self) -> Figure:
        """Cut the canvas below the last part."""
        self.figure.set_figheight(self.y)
        self.axes.set_ylim(self.y, 0)
        return self.figure

    def widths(self) -> None:
        """Write how wide each layer is, and which of them are inputs, hidden, outputs."""
        words, reserved = ([f"{size:,}" for size in each] for each in (self.sizes, self.reserved))
        self._row(words, self.x, reserved)
        self.y += 0.22
        roles = ["inputs", *["hidden"] * (len(words) - 2), "outputs"]
        for center, size, role in zip(self.x, self.sizes, roles, strict=True):
            role = role.removesuffix("s") if size == 1 else role
            if role != "hidden" or self.gap >= 0.62:
                self._text(center, self.y, role, MUTED)
        self.y += 0.2

    def net(self) -> None:
        """Draw nodes, and the edges between their columns."""
        columns = [_place_nodes(size, self.y + HIGH / 2) for size in self.sizes]
        for ends, (left, right) in zip(pairwise(self.x), pairwise(columns), strict=True):
            lines = [[(ends[0], a), (ends[1], b)] for a in left.nodes for b in right.nodes]
            self.axes.add_collection(LineCollection(lines, zorder=1, colors=OWN, lw=0.7, alpha=0.7))
        for x, column in zip(self.x, columns, strict=True):
            for y in column.nodes:
                self.axes.add_artist(Circle((x, y), RADIUS, fc=OWN, ec=OWN, lw=1.0, zorder=3))
            if column.dots is not None:
                self._text(x, column.dots, "⋮", OWN, fontsize=13)
        self.y += HIGH + 0.16

    def stored(self, widest: int) -> None:
        """Draw what each layer stores, in one scale, in the middle between its nodes."""
        room = min(self.gap - 0.1, ROOM)
        # So that two matrices of the widest layer stand side by side.
        unit = (room - APART) / (2 * widest)
        height = max(max(m * unit, HAIR) for m in self.reserved[:-1])
        words = "weights, areas to scale"
        if self.narrow:
            self._text(0.1, self.y + 0.08, words, MUTED, ha="left")
            self.y += 0.3
        else:
            self._text(0.1, self.y + height / 2, words.replace(", ", ",\n"), MUTED, ha="left")
        for center, (m, n) in zip(self._centers(), pairwise(self.sizes), strict=True):
            self._matrix(center, self.y + height / 2, m, n, unit)
        self.y += height + 0.26

    def _matrix(self, center: float, middle: float, m: int, n: int, unit: float) -> None:
        """Draw a matrix around a point, its numbers as squares where they are large enough."""
        width, height = max(n * unit, HAIR), max(m * unit, HAIR)
        x, y = center - width / 2, middle - height / 2
        self.axes.add_artist(Rectangle((x, y), width, height, fc=OWN, lw=0, gid="matrix"))
        if width >= CELL * n:
            across, down = (x + width * np.arange(1, n) / n, y + height * np.arange(1, m) / m)
            lines = [[(a, y), (a, y + height)] for a in across]
            lines += [[(x, b), (x + width, b)] for b in down]
            self.axes.add_collection(LineCollection(lines, colors=PAGE, lw=0.8))

    def table(self, count: counting.Count, reserved: counting.Count) -> None:
        """Write the sum of each layer, weights and biases, and the total."""
        centers = self._centers()
        sign = "+" if self.narrow else "+ "
        terms = _terms(self.sizes, sign)
        longest = (term for row in _terms(self.reserved, sign).values() for term in row)
        if max(text_layout.text_width(term, LETTERS) for term in longest) > self.gap - 0.05:
            terms = {}  # the sums alone
        for name, row in terms.items():
            ink = OWN if name == "weights" else INK
            self._text(0.1, self.y, name, ink, ha="left")
            self.y += 0.2 if self.narrow else 0.0
            for center, term in zip(centers, row, strict=True):
                self._text(center, self.y, term, ink)
            self.y += 0.27
        if terms:
            self.axes.plot(self.x[[0, -1]], [self.y - 0.1] * 2, color=MUTED, lw=0.8)
            self.y += 0.09
        sums, most = (
            ["= " * bool(terms) + f"{layer.total:,}" for layer in each.layers]
            for each in (count, reserved)
        )
        totals = [f"total {each.total:,}" for each in (count, reserved)]
        top = self.y
        self._row(sums, centers, most)
        # With little room the total stands below the sums.
        first = centers[0] - text_layout.text_width(most[0], 12, "bold") / 2
        beside = 0.2 + text_layout.text_width(totals[1], 12, "bold") <= first and not self.narrow
        self.y += 0.0 if beside else 0.3
        self._text(
            0.1, top if beside else self.y, totals[0], OWN, ha="left", weight="bold", fontsize=12
        )
        self.y += 0.2

    def _centers(self) -> Float[np.ndarray, " layers"]:
        """Return the middles between the columns of nodes."""
        return (self.x[:-1] + self.x[1:]) / 2

    def _text(self, x: float | int, y: float | int, words: str, color: str, **style: Any) -> None:
        kind: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": LETTERS} | style
        self.axes.text(x, y, words, color=color, **kind)

    def _row(
        self, words: Sequence[str], centers: Float[np.ndarray, " texts"], longest: Sequence[str]
    ) -> None:
        """Write texts beside each other, in rows where they, or the longest, would touch."""
        edge = look().width - 0.06
        places = text_layout.rows_of_texts(words, centers, 0.06, edge, 12, "bold")
        for text, (x, row) in zip(words, places, strict=True):
            self._text(x, self.y + 0.22 * row, text, INK, fontsize=12, weight="bold")
        places += text_layout.rows_of_texts(longest, centers, 0.06, edge, 12, "bold")
        self.y += 0.22 * max(row for _, row in places)


def _terms(sizes: Sequence[int], sign: str) -> dict[str, list[str]]:
    """Return the rows of the sums: one term a layer."""
    return {
        "weights": [f"{m:,}·{n:,}" for m, n in pairwise(sizes)],
        "biases": [f"{sign}{n:,}" for n in sizes[1:]],
    }


def _place_nodes(width: int, middle: float) -> Column:
    """Place the nodes of one layer: all up to 5, or 5 of many."""
    if width <= FAN:
        step = min(0.36, STEP * FAN / width)
        return Column(middle + step * (np.arange(width) - (width - 1) / 2), None)
    places = middle + STEP * (np.arange(FAN + 1) - FAN / 2)
    return Column(np.delete(places, FAN - 1), places[FAN - 1])

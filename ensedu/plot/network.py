"""The network as nodes and edges, with the count of each layer below it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Circle, Rectangle

from ensedu import checks, counting, methods
from ensedu.methods import METHODS, ROLES
from ensedu.plot.style import (
    INK,
    MUTED,
    PALETTE,
    SHARED,
    SHORT_ROLES,
    WIDTH,
    Figure,
    canvas,
    house_style,
)

MOST_SIZES = 11
LEFT, RIGHT = 1.5, 6.75  # inches: the first and the last column of nodes
BESIDE = 0.85  # inches: room for "member 1" to the right of the outputs
RADIUS = 0.085
LINE = 0.29  # inches: a row of the sum


class Column(NamedTuple):
    """The heights of the nodes that are drawn, and of the dots for the rest."""

    nodes: Float[np.ndarray, " drawn"]
    dots: float | None


def network(
    sizes: Sequence[int], method: str = "single", ensemble_size: int | None = None
) -> Figure:
    """Draw a multilayer perceptron and what each of its layers counts.

    What all members share is gray; what a member owns has the method's color. A deep ensemble is
    one network a member, a last-layer ensemble one group of outputs a member. In BatchEnsemble and
    rank-1 layers a column of small squares is one member's vector r (behind the inputs) or s
    (before the outputs); for rank-1 each square stands in a frame, its standard deviation. Wide
    edges are weights with a standard deviation, crossed nodes are dropped. Of wide layers and
    large ensembles only a few nodes and members are drawn.

    Parameters
    ----------
    sizes
        2 to 11 positive integers: inputs, hidden widths, outputs.
    method
        A key of `ensedu.methods.METHODS`.
    ensemble_size
        Number of members M, for a method that has them.

    Raises
    ------
    TypeError, ValueError
        For sizes that are not such integers, an unknown method, members that it does not have, an
        ensemble size below 1.
    """
    count = counting.mlp(sizes, method, ensemble_size)
    sizes = checks.layer_sizes("sizes", sizes)
    if len(sizes) > MOST_SIZES:
        raise ValueError(f"sizes must have 2 to {MOST_SIZES} entries, got {len(sizes)}")
    M, _ = methods.passes(method, ensemble_size, None)
    # Between many columns there is room for the sums alone.
    terms = _terms(sizes, method, M) if len(sizes) <= 5 else []
    row = METHODS[method]
    members = [1]  # those that are drawn apart
    if row.members and not row.modulated:
        members = list(range(1, M + 1)) if M <= 4 else [1, 2, 3, M]
    heads, copies = (len(members) > 1 and bool(row.body) is body for body in (True, False))
    most, step, height = (3, 0.24, 1.12) if copies else (5, 0.31, 1.75)
    top = 0.82 if row.modulated else 0.62  # with room for the letters r and s
    # A group of outputs is as high as its nodes, a network the same whatever its widths.
    each = 0.2 * min(sizes[-1], 4) + 0.2 if heads else height
    middles = _middles(members, M, each)
    inner = max(height, middles[-1] + each / 2)
    middles += top + (inner - middles[-1] - each / 2) / 2

    margin = 1.0 if len(sizes) == 2 else 0.0  # a single layer looks lost at full width
    x = np.linspace(LEFT + margin, RIGHT - margin - (BESIDE if heads else 0.0), len(sizes))
    below = top + inner + 0.2
    with house_style():
        # Without a sum there is room for a second row of totals.
        figure, axes = canvas(WIDTH, below + LINE * len(terms) + (0.35 if terms else 0.6))
        _widths(axes, x, sizes)
        pen = Pen(axes, method, M)
        if row.body:
            body = [_column(size, most, step, top + inner / 2) for size in sizes[:-1]]
            last = (3, 0.2) if heads else (most, step)
            pen.net(x[:-1], body)
            pen.heads(x[-2:], body[-1], [_column(sizes[-1], *last, middle) for middle in middles])
        else:
            for middle in middles:
                pen.net(x, [_column(size, most, step, middle) for size in sizes])
        if heads or copies:
            pen.names(members, middles, x[-1] + 0.22 if heads else 0.1)
        _table(axes, x, below, terms, count, method)
    return figure


def _middles(members: Sequence[int], M: int, height: float) -> Float[np.ndarray, " members"]:
    """Place members below each other, with room for dots where some are left out."""
    middles = height * (np.arange(len(members)) + 0.5)
    middles[-1] += 0.2 if M > len(members) > 1 else 0.0
    return middles


def _terms(sizes: Sequence[int], method: str, M: int) -> list[tuple[str, str, list[str]]]:
    """Return the rows of the sum under the layers: (name, color, one term a layer)."""
    row = METHODS[method]
    kinds = methods.kinds(method, len(sizes) - 1)
    layers = [methods.terms(kind) for kind in kinds]
    names = SHORT_ROLES | {"shared": "shared weights" if row.members else "weights"}
    colors = dict(zip(ROLES, (SHARED, PALETTE[method], PALETTE[method], INK), strict=True))
    return [
        (
            names[role],
            colors[role],
            [
                _filled(layer.get(role, ""), m, n, M)
                for layer, (m, n) in zip(layers, pairwise(sizes), strict=True)
            ],
        )
        for role in ROLES
        if any(role in layer for layer in layers)
    ]


def _filled(term: str, m: int, n: int, M: int) -> str:
    """Return a term such as "M · (m + n)" with numbers for its letters; a factor of 1 goes."""
    term = term.replace(" · ", "·")
    if M == 1:
        term = term.removeprefix("M·")
    return term.translate({ord("M"): f"{M}", ord("m"): f"{m:,}", ord("n"): f"{n:,}"})


def _table(
    axes: Axes, x: Float[np.ndarray, " columns"], top: float,
    terms: list[tuple[str, str, list[str]]], count: counting.Count, method: str,
) -> None:  # fmt: skip
    centers = (x[:-1] + x[1:]) / 2
    begun = set()
    for row, (name, ink, entries) in enumerate(terms):
        y = top + LINE * row
        # Gray that is strong enough for an area is too pale for letters.
        ink = MUTED if ink == SHARED else ink
        axes.text(0.1, y, name, color=ink, va="center", fontsize=11)
        for center, entry in zip(centers, entries, strict=True):
            if entry:
                sign = "+ " if center in begun else ""
                begun.add(center)
                axes.text(center, y, sign + entry, color=ink, va="center", ha="center", fontsize=11)
    y = top + LINE * len(terms) + 0.09
    if terms:
        axes.plot([x[0], x[-1]], [y - 0.19, y - 0.19], color=MUTED, lw=0.8)
    for i, (center, layer) in enumerate(zip(centers, count.layers, strict=True)):
        sign = "= " if terms else ""
        # Many sums stand on two rows, in turn, so that neighbors never touch.
        low = y + (0.22 if len(centers) > 5 and i % 2 else 0.0)
        axes.text(center, low, f"{sign}{layer.total:,}", va="center", ha="center", weight="bold")
    color = PALETTE[method]
    axes.text(0.1, y, f"total {count.total:,}", va="center", color=color, weight="bold")


def _widths(axes: Axes, x: Float[np.ndarray, " columns"], sizes: Sequence[int]) -> None:
    roles = ["inputs", *["hidden"] * (len(sizes) - 2), "outputs"]
    for center, size, role in zip(x, sizes, roles, strict=True):
        if size == 1 and role != "hidden":
            role = role[:-1]
        axes.text(center, 0.2, f"{size:,}", ha="center", va="center", weight="bold")
        if len(sizes) <= 8 or role != "hidden":
            axes.text(center, 0.42, role, ha="center", va="center", color=MUTED, fontsize=11)


def _column(width: int, most: int, step: float, middle: float) -> Column:
    """Place the nodes of one layer: all of them, or `most` of many."""
    if width <= most:
        step = min(0.45, step * most / width)
        return Column(middle + step * (np.arange(width) - (width - 1) / 2), None)
    places = middle + step * (np.arange(most + 1) - most / 2)
    return Column(np.delete(places, most - 1), places[most - 1])


class Pen:
    """Draws nodes and edges as a method has them."""

    def __init__(self, axes: Axes, method: str, M: int) -> None:
        self.axes, self.row, self.M, self.own = axes, METHODS[method], M, PALETTE[method]
        one_for_all = self.row.modulated or self.row.body
        self.ink = SHARED if one_for_all else self.own
        self.spread = self.row.spread

    def net(self, x: Float[np.ndarray, " columns"], columns: Sequence[Column]) -> None:
        """Draw columns of nodes, and the edges between them."""
        for ends, (above, below) in zip(pairwise(x), pairwise(columns), strict=True):
            self.edges(ends, above, below, self.ink)
            if self.row.modulated:
                self.fast_weights(ends, above, below)
        for i, (center, column) in enumerate(zip(x, columns, strict=True)):
            hidden = 0 < i < len(x) - 1
            self.nodes(center, column, self.ink, dropped=hidden and self.row.drops_units)

    def heads(
        self, x: Sequence[float] | np.ndarray, above: Column, groups: Sequence[Column]
    ) -> None:
        """Draw each member's own outputs of the last layer."""
        for column in groups:
            self.edges(x, above, column, self.own)
            self.nodes(x[-1], column, self.own)

    def edges(
        self, x: Sequence[float] | np.ndarray, above: Column, below: Column, ink: str
    ) -> None:
        """Draw an edge a weight, wide where the weight has a standard deviation."""
        lines = [[(x[0], a), (x[1], b)] for a in above.nodes for b in below.nodes]
        if self.spread and not self.row.modulated:
            self._lines(lines, colors=self.own, lw=5.0, alpha=0.16)
        self._lines(lines, colors=ink, lw=0.9, alpha=0.75)

    def nodes(self, x: float, column: Column, ink: str, *, dropped: bool = False) -> None:
        """Draw the nodes of one layer; `dropped` crosses every second one."""
        for k, y in enumerate(column.nodes):
            out = dropped and k % 2 == 1
            self.axes.add_patch(
                Circle((x, y), RADIUS, fc="white" if out else ink, ec=ink, lw=1.2,
                       ls="--" if out else "-", zorder=3)
            )  # fmt: skip
            if out:
                self.axes.plot(x, y, marker="x", color=ink, ms=7, mew=1.4, zorder=4)
        if column.dots is not None:
            self.axes.text(x, column.dots, "⋮", ha="center", va="center", color=ink, fontsize=15)

    def fast_weights(self, x: Sequence[float], above: Column, below: Column) -> None:
        """Draw r behind the inputs of a layer, and s before its outputs."""
        left, right = x
        # With many layers the squares shrink, so that r and s never meet between two columns.
        size = min(0.1, 0.3 * (right - left) / (min(self.M, 4) + 1))
        for name, column, start, direction in (
            ("r", above, left + 0.16, 1), ("s", below, right - 0.16, -1)
        ):  # fmt: skip
            for y in column.nodes:
                self._squares(start, direction, y, size)
            if right - left > 0.8:
                self.axes.text(start + 0.05 * direction, column.nodes.min() - 0.2, name,
                               color=self.own, ha="center", va="center", style="italic",
                               weight="bold")  # fmt: skip

    def names(
        self, members: Sequence[int], middles: Float[np.ndarray, " members"], x: float
    ) -> None:
        """Name the members, with dots before the last one where some are left out."""
        for member, y in zip(members, middles, strict=True):
            self.axes.text(x, y, f"member {member}", color=self.own, va="center")
        if members[-1] > len(members):
            y = (middles[-2] + middles[-1]) / 2
            self.axes.text(x + 0.3, y, "⋮", color=MUTED, va="center", ha="center", fontsize=16)

    def _squares(self, start: float, direction: int, y: float, size: float) -> None:
        """Draw one square a member beside a node; beyond four members the fifth place says so."""
        places = [start + direction * 1.3 * size * k + (direction - 1) * size / 2 for k in range(5)]
        drawn = places[: min(self.M, 4)]
        squares = [Rectangle((place, y - size / 2), size, size) for place in drawn]
        self.axes.add_collection(PatchCollection(squares, facecolor=self.own, lw=0, zorder=3))
        if self.spread:
            frames = [
                Rectangle((place + 0.2 * size, y - 1.1 * size), 0.6 * size, 2.2 * size)
                for place in drawn
            ]
            self.axes.add_collection(
                PatchCollection(frames, facecolor=self.own, alpha=0.35, lw=0, zorder=2)
            )
        if self.M > 4:
            self.axes.text(places[4] + size / 2, y, "…", ha="center", va="center",
                           color=self.own, zorder=4)  # fmt: skip

    def _lines(self, lines: list[list[tuple[float, float]]], **style: object) -> None:
        self.axes.add_collection(LineCollection(lines, zorder=1, **style))

"""The network as nodes and edges, its matrices to scale, and the count of each layer below."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle

from ensedu import counting, methods
from ensedu.common import checks
from ensedu.methods import METHODS, ROLE_LABELS, ROLES
from ensedu.plot import stored_areas, text_layout
from ensedu.plot.style import (
    INK,
    MUTED,
    PAGE,
    PALETTE,
    SHARED,
    Figure,
    canvas,
    house_style,
    look,
)

MOST_SIZES = 11
LETTERS = 11  # points
RADIUS = 0.06
BESIDE = 0.24  # inches: from the last node past a name and to the edge, without the name
ROOM = 1.6  # inches: the most for what a layer stores


class Column(NamedTuple):
    """The heights of the nodes that are drawn, and of the dots for the rest."""

    nodes: Float[np.ndarray, " drawn"]
    dots: float | None


def network(
    sizes: Sequence[int],
    method: str = "single",
    ensemble_size: int | None = None,
    *,
    widest: int | None = None,
) -> Figure:
    """Draw a multilayer perceptron, what its layers store, and what they count.

    On top are nodes and edges: a deep ensemble is one network a member, a last-layer ensemble one
    group of outputs a member. Wide edges are weights with a standard deviation, crossed nodes are
    dropped. Of wide layers and large ensembles only a few nodes and members are drawn.

    Below stands what each layer stores, but for biases, in one scale for all: a matrix of m inputs
    and n outputs is a rectangle of height m and width n, so that its area tells how many weights it
    has. BatchEnsemble and rank-1 layers have r of each member to the left of their matrix and s
    above it, one strip a member. Standard deviations are hatched.

    What all members share is gray; what a member owns has the method's color.

    Parameters
    ----------
    sizes
        2 to 11 positive integers: inputs, hidden widths, outputs.
    method
        A key of `ensedu.methods.METHODS`.
    ensemble_size
        Number of members M, for a method that has them.
    widest
        The width whose matrices fill the room, by default that of the widest layer. Figures of the
        same `widest` have the same scale: a slider over widths gives its largest.

    Raises
    ------
    TypeError, ValueError
        For sizes that are not such integers, an unknown method, members that it does not have, an
        ensemble size below 1, and a `widest` that one of the sizes exceeds.
    """
    count = counting.mlp(sizes, method, ensemble_size)
    sizes = checks.layer_sizes("sizes", sizes)
    if len(sizes) > MOST_SIZES:
        raise ValueError(f"sizes must have 2 to {MOST_SIZES} entries, got {len(sizes)}")
    M, _ = methods.checked_sizes(method, ensemble_size, None)
    most = max(sizes) if widest is None else checks.positive_int("widest", widest)
    if most < max(sizes):
        raise ValueError(f"widest must be at least {max(sizes)}, the largest of sizes, got {most}")
    reserved = sizes
    if widest is not None:
        ends = (sizes[0], sizes[-1]) if len(sizes) > 2 else (most, most)
        reserved = (ends[0], *[most] * (len(sizes) - 2), ends[1])
    with house_style():
        drawing = _Drawing(sizes, reserved, method, M)
        drawing.widths()
        drawing.nets()
        drawing.stored(most)
        drawing.table(count, counting.mlp(reserved, method, ensemble_size))
        return drawing.finish()


class _Drawing:
    """A network from top to bottom; `y` is where the next part begins.

    Each part is as high as a network of the sizes `reserved` needs, so that another width moves
    nothing.
    """

    def __init__(
        self, sizes: tuple[int, ...], reserved: tuple[int, ...], method: str, M: int
    ) -> None:
        self.sizes, self.reserved, self.method, self.M = sizes, reserved, method, M
        self.row, self.own, self.narrow = METHODS[method], PALETTE[method], look().narrow
        self.ink = SHARED if self.row.modulated or self.row.body else self.own
        left, right = (0.36, 3.56) if self.narrow else (1.55, 6.05)
        # A single layer looks lost at full width.
        margin = 1.0 if len(sizes) == 2 and not self.narrow else 0.0
        if self.row.body:
            name = text_layout.text_width(self._beside(M), LETTERS)
            right = min(right, look().width - BESIDE - name)
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

    def nets(self) -> None:
        """Draw nodes and edges, of members that have their own one below the other."""
        members = [1]
        if self.row.members and not self.row.modulated:
            members = list(range(1, self.M + 1)) if self.M <= 4 else [1, 2, 3, self.M]
        several = len(members) > 1
        heads, copies = several and bool(self.row.body), several and not self.row.body
        most, step, height = (3, 0.155, 0.74) if copies else (5, 0.22, 1.3)
        named = 0.2 if several and self.narrow else 0.0  # room for a name above
        # A group of outputs is as high as its nodes, a network the same whatever its widths.
        each = 0.15 * min(self.sizes[-1], 4) + 0.2 if heads else height
        each += named if copies else 0.0
        middles = each * (np.arange(len(members)) + 0.5)
        middles[-1] += 0.26 if members[-1] > len(members) else 0.0
        inner = max(height, middles[-1] + each / 2)
        middles += self.y + (inner - middles[-1] - each / 2) / 2
        middles += named if heads else named / 2
        if self.row.body:
            center = self.y + inner / 2 + (named if heads else 0.0)
            body = [_place_nodes(size, most, step, center) for size in self.sizes[:-1]]
            self._net(self.x[:-1], body, self.ink)
            last = (3, 0.15) if heads else (most, step)
            for middle in middles:
                group = _place_nodes(self.sizes[-1], *last, middle)
                self._net(self.x[-2:], [body[-1], group], self.own, inputs=False)
        else:
            for middle in middles:
                columns = [_place_nodes(size, most, step, middle) for size in self.sizes]
                self._net(self.x, columns, self.ink)
        if several:
            self._members(members, middles, each, heads)
        self.y += inner + (named if heads else 0.0) + 0.16

    def stored(self, widest: int) -> None:
        """Draw what each layer stores, in one scale, in the middle between its nodes."""
        room = min(self.gap - 0.1, ROOM)
        unit = stored_areas.number_side(self.method, widest, room)
        kinds = methods.layer_methods(self.method, len(self.sizes) - 1)

        def placed(sizes: Sequence[int]) -> list[stored_areas.PlacedLayer]:
            return [
                stored_areas.place_layer(kind, m, n, self.M, unit, room, widest)
                for kind, (m, n) in zip(kinds, pairwise(sizes), strict=True)
            ]

        height = max(layer.height for layer in placed(self.reserved))
        words = "weights, areas to scale"
        if self.narrow:
            self._text(0.1, self.y + 0.08, words, MUTED, ha="left")
            self.y += 0.3
        else:
            self._text(0.1, self.y + height / 2, words.replace(", ", ",\n"), MUTED, ha="left")
        for center, layer in zip((self.x[:-1] + self.x[1:]) / 2, placed(self.sizes), strict=True):
            x, y = center - layer.width / 2, self.y + (height - layer.height) / 2
            stored_areas.draw_layer(self.axes, layer, x, y, self.method)
            for across, down, letter in layer.letters if self.gap >= 0.8 else []:
                self._text(x + across, y + down, letter, self.own, style="italic", weight="bold")
        self.y += height + 0.26

    def table(self, count: counting.Count, reserved: counting.Count) -> None:
        """Write the sum of each layer, one row a role, and the total."""
        centers = (self.x[:-1] + self.x[1:]) / 2
        sign = "+" if self.narrow else "+ "
        terms = self._terms(self.sizes)
        room = self.gap - 0.05
        longest = (f"{sign}{term}" for _, _, row in self._terms(self.reserved) for term in row)
        if max(text_layout.text_width(term, LETTERS) for term in longest) > room:
            terms = []  # the sums alone
        begun = set()
        for name, ink, entries in terms:
            name = name if self.narrow else name.replace(" ", "\n")
            lines = 0.1 * name.count("\n")
            self.y += lines
            self._text(0.1, self.y, name, ink, ha="left")
            self.y += 0.2 if self.narrow else 0.0
            for center, entry in zip(centers, entries, strict=True):
                if entry:
                    self._text(center, self.y, sign * (center in begun) + entry, ink)
                    begun.add(center)
            self.y += 0.27 + lines
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
            0.1, top if beside else self.y, totals[0], self.own, ha="left", weight="bold",
            fontsize=12,
        )  # fmt: skip
        self.y += 0.2

    def _terms(self, sizes: Sequence[int]) -> list[tuple[str, str, list[str]]]:
        """Return the rows of the sums: (name, color, one term a layer)."""
        kinds = methods.layer_methods(self.method, len(self.sizes) - 1)
        layers = [methods.role_sums(kind) for kind in kinds]
        # Without members there are none that would share.
        names = ROLE_LABELS | ({} if self.row.members else {"shared": "weights"})
        body = MUTED if self.row.members else self.own  # gray that is strong enough for letters
        colors = dict(zip(ROLES, (body, self.own, self.own, INK), strict=True))
        return [
            (
                names[role],
                colors[role],
                [
                    self._filled(layer.get(role, ""), m, n)
                    for layer, (m, n) in zip(layers, pairwise(sizes), strict=True)
                ],
            )
            for role in ROLES
            if any(role in layer for layer in layers)
        ]

    def _filled(self, term: str, m: int, n: int) -> str:
        """Return a term such as "M · (m + n)" with numbers for its letters; a factor of 1 goes."""
        term = term.replace(" · ", "·")
        if self.narrow:
            term = term.replace(" + ", "+")
        if self.M == 1:
            term = term.removeprefix("M·")
        return term.translate({ord("M"): f"{self.M}", ord("m"): f"{m:,}", ord("n"): f"{n:,}"})

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

    def _beside(self, member: int) -> str:
        """Name a member to the right of its outputs, where a narrow figure has room for digits."""
        return f"{member:,}" if self.narrow else f"member {member:,}"

    def _members(
        self, members: Sequence[int], middles: Float[np.ndarray, " members"], each: float | int,
        heads: bool,
    ) -> None:  # fmt: skip
        """Name the members, with dots before the last one where some are left out."""
        above = each / 2 if self.narrow and not heads else 0.0
        x = self.x[-1] + 0.16 if heads else 0.1
        for member, y in zip(members, middles, strict=True):
            name = self._beside(member) if heads else f"member {member:,}"
            self._text(x, y - above, name, self.own, ha="left")
        if heads and self.narrow:
            y = middles[0] - each / 2 - 0.06
            self._text(look().width - 0.06, y, "member", self.own, ha="right")
        if members[-1] > len(members):
            y = (middles[-2] + middles[-1]) / 2 - (0.1 if above else 0.0)
            self._text(x + (0.05 if heads and self.narrow else 0.3), y, "⋮", MUTED, fontsize=16)

    def _net(
        self, x: Float[np.ndarray, " columns"], columns: Sequence[Column], ink: str,
        inputs: bool = True,
    ) -> None:  # fmt: skip
        """Draw columns of nodes, and the edges between them; the first column may be there."""
        for ends, (left, right) in zip(pairwise(x), pairwise(columns), strict=True):
            lines = [[(ends[0], a), (ends[1], b)] for a in left.nodes for b in right.nodes]
            if self.row.spread and not self.row.modulated:
                self._lines(lines, colors=ink, lw=4.0, alpha=0.16)
            self._lines(lines, colors=ink, lw=0.7, alpha=0.7)
        for i, (center, column) in enumerate(zip(x, columns, strict=True)):
            if i or inputs:
                dropped = self.row.drops_units and 0 < i < len(x) - 1
                self._nodes(center, column, ink, dropped)

    def _nodes(self, x: float | int, column: Column, ink: str, dropped: bool) -> None:
        """Draw the nodes of one layer; `dropped` crosses every second one."""
        for k, y in enumerate(column.nodes):
            out = dropped and k % 2 == 1
            self.axes.add_artist(
                Circle((x, y), RADIUS, fc=PAGE if out else ink, ec=ink, lw=1.0,
                       ls="--" if out else "-", zorder=3)
            )  # fmt: skip
            if out:
                self.axes.plot(x, y, marker="x", color=ink, ms=6, mew=1.2, zorder=4)
        if column.dots is not None:
            self._text(x, column.dots, "⋮", ink, fontsize=13)

    def _lines(self, lines: list[list[tuple[float, float]]], **style: Any) -> None:
        self.axes.add_collection(LineCollection(lines, zorder=1, **style))


def _place_nodes(width: int, most: int, step: float | int, middle: float | int) -> Column:
    """Place the nodes of one layer: all up to 5, or `most` of many."""
    if width <= 5:
        step = min(0.36, step * most / max(1, width - 1) if width > most else step * 5 / width)
        return Column(middle + step * (np.arange(width) - (width - 1) / 2), None)
    places = middle + step * (np.arange(most + 1) - most / 2)
    return Column(np.delete(places, most - 1), places[most - 1])

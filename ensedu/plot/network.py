"""The network as nodes and edges, with the count of each layer below it."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Circle, Rectangle

from ensedu import _checks, counting
from ensedu.plot.style import INK, MUTED, PALETTE, SHARED, WIDTH, Figure, canvas, house_style

MOST_SIZES = 11
LEFT, RIGHT = 1.5, 6.75  # inches: the first and the last column of nodes
RADIUS = 0.085


def network(sizes: Sequence[int], method: str = "single", ensemble_size: int = 1) -> Figure:
    """Draw a multilayer perceptron and what each of its layers counts.

    What all members share is gray; what a member owns has the method's color. A deep ensemble is
    one network a member. In BatchEnsemble and rank-1 layers a column of small squares is one
    member's vector r (behind the inputs) or s (before the outputs); for rank-1 each square stands
    in a frame, its standard deviation. Wide edges are weights with a standard deviation, crossed
    nodes are dropped. Of wide layers and large ensembles only a few nodes and members are drawn.

    Parameters
    ----------
    sizes
        2 to 11 positive integers: inputs, hidden widths, outputs.
    method
        One of `ensedu.counting.METHODS`.
    ensemble_size
        Number of members M; it changes nothing for a method without members.

    Raises
    ------
    TypeError, ValueError
        For sizes that are not such integers, an unknown method, an ensemble size below 1.
    """
    count = counting.mlp(sizes, method, ensemble_size)
    sizes = _checks.layer_sizes("sizes", sizes)
    if len(sizes) > MOST_SIZES:
        raise ValueError(f"sizes must have 2 to {MOST_SIZES} entries, got {len(sizes)}")
    M = ensemble_size if method in ("deep_ensemble", "batch_ensemble", "rank1") else 1
    margin = 1.0 if len(sizes) == 2 else 0.0  # a single layer looks lost at full width
    x = np.linspace(LEFT + margin, RIGHT - margin, len(sizes))

    if method == "deep_ensemble" and M > 1:
        members = list(range(1, M + 1)) if M <= 4 else [1, 2, 3, M]
        most, step, copy_height = 3, 0.24, 1.12
    else:
        members, most, step, copy_height = [1], 5, 0.31, 1.75
    gap = 0.2 if M > 4 and len(members) > 1 else 0.0  # before the last one: room for the dots
    terms = _terms(sizes, method, M, len(sizes) <= 5)
    # Room for the letters r and s, and for the second row of sums.
    net_top = 0.82 if method in ("batch_ensemble", "rank1") else 0.62
    table_top = net_top + len(members) * copy_height + gap + 0.2
    with house_style():
        figure, axes = canvas(WIDTH, table_top + 0.29 * len(terms) + (0.35 if terms else 0.6))
        _widths(axes, x, sizes)
        for k, member in enumerate(members):
            last = gap if k == len(members) - 1 else 0.0
            middle = net_top + (k + 0.5) * copy_height + last
            _draw_net(axes, x, middle, sizes, method, M, most, step)
            if len(members) > 1:
                axes.text(0.1, middle, f"member {member}", color=PALETTE[method], va="center")
                if last:
                    axes.text(0.4, middle - copy_height / 2 - 0.1, "⋮", color=MUTED, va="center",
                              ha="center", fontsize=16)  # fmt: skip
        _table(axes, x, table_top, terms, count, method)
    return figure


def _terms(
    sizes: Sequence[int], method: str, M: int, in_full: bool
) -> list[tuple[str, str, list[str]]]:
    """Return the rows of the sum under the layers: (name, color, one term a layer)."""
    own = PALETTE[method]
    members = "" if M == 1 else f"{M}·"
    matrix = [f"{m:,}·{n:,}" for m, n in pairwise(sizes)]
    vectors = [f"{members}({m:,} + {n:,})" for m, n in pairwise(sizes)]
    bias = [f"{n:,}" for n in sizes[1:]]
    biases = [f"{members}{b}" for b in bias]
    rows = {
        "single": [("weights", SHARED, matrix), ("biases", INK, bias)],
        "mc_dropout": [("weights", SHARED, matrix), ("biases", INK, bias)],
        "deep_ensemble": [
            ("weights", own, [f"{members}{term}" for term in matrix]),
            ("biases", INK, biases),
        ],
        "batch_ensemble": [
            ("shared weights", SHARED, matrix),
            ("r and s", own, vectors),
            ("biases", INK, biases),
        ],
        "rank1": [
            ("shared weights", SHARED, matrix),
            ("means of r, s", own, vectors),
            ("std. dev. of r, s", own, vectors),
            ("biases", INK, biases),
        ],
        "mean_field": [
            ("weight means", SHARED, matrix),
            ("weight std. dev.", own, matrix),
            ("bias means", INK, bias),
            ("bias std. dev.", INK, bias),
        ],
    }[method]
    # Between many columns there is room for the sums alone.
    return rows if in_full else []


def _table(
    axes: Axes, x: Float[np.ndarray, " columns"], top: float,
    terms: list[tuple[str, str, list[str]]], count: counting.Count, method: str,
) -> None:  # fmt: skip
    centers = (x[:-1] + x[1:]) / 2
    for row, (name, ink, entries) in enumerate(terms):
        y = top + 0.29 * row
        # Gray that is strong enough for an area is too pale for letters.
        ink = MUTED if ink == SHARED else ink
        axes.text(0.1, y, name, color=ink, va="center", fontsize=11)
        for center, entry in zip(centers, entries, strict=True):
            sign = "" if row == 0 else "+ "
            axes.text(center, y, sign + entry, color=ink, va="center", ha="center", fontsize=11)
    y = top + 0.29 * len(terms) + 0.09
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


def _nodes(
    width: int, most: int, step: float, middle: float
) -> tuple[Float[np.ndarray, " drawn"], float | None]:
    """Return the heights of the nodes that are drawn, and of the dots for the rest."""
    if width <= most:
        step = min(0.45, step * most / width)
        return middle + step * (np.arange(width) - (width - 1) / 2), None
    places = middle + step * (np.arange(most + 1) - most / 2)
    return np.delete(places, most - 1), places[most - 1]


def _draw_net(
    axes: Axes, x: Float[np.ndarray, " columns"], middle: float, sizes: Sequence[int],
    method: str, M: int, most: int, step: float,
) -> None:  # fmt: skip
    own = PALETTE[method]
    ink = own if method in ("deep_ensemble", "single", "mean_field", "mc_dropout") else SHARED
    columns = [_nodes(size, most, step, middle) for size in sizes]
    for left, right, (above, _), (below, _) in zip(
        x[:-1], x[1:], columns[:-1], columns[1:], strict=True
    ):
        lines = [[(left, a), (right, b)] for a in above for b in below]
        if method == "mean_field":
            axes.add_collection(LineCollection(lines, colors=own, lw=5.0, alpha=0.16, zorder=1))
        axes.add_collection(LineCollection(lines, colors=ink, lw=0.9, alpha=0.75, zorder=1))
        if method in ("batch_ensemble", "rank1"):
            # With many layers the squares shrink, so that r and s never meet between two columns.
            size = min(0.1, 0.3 * (right - left) / (min(M, 4) + 1))
            _vectors(axes, left + 0.16, 1, above, size, method, M)
            _vectors(axes, right - 0.16, -1, below, size, method, M)
            if right - left > 0.8:
                for place, heights, name in ((left + 0.21, above, "r"), (right - 0.21, below, "s")):
                    axes.text(place, heights.min() - 0.2, name, color=own, ha="center",
                              va="center", style="italic", weight="bold")  # fmt: skip
    for i, (center, (heights, dots)) in enumerate(zip(x, columns, strict=True)):
        for k, y in enumerate(heights):
            dropped = method == "mc_dropout" and 0 < i < len(sizes) - 1 and k % 2 == 1
            axes.add_patch(
                Circle((center, y), RADIUS, fc="white" if dropped else ink, ec=ink, lw=1.2,
                       ls="--" if dropped else "-", zorder=3)
            )  # fmt: skip
            if dropped:
                axes.plot(center, y, marker="x", color=ink, ms=7, mew=1.4, zorder=4)
        if dots is not None:
            axes.text(center, dots, "⋮", ha="center", va="center", color=ink, fontsize=15)


def _vectors(
    axes: Axes, start: float, direction: int, heights: Float[np.ndarray, " drawn"], size: float,
    method: str, M: int,
) -> None:  # fmt: skip
    """Draw one square a member beside each node; beyond four members the fifth place says so."""
    for y in heights:
        places = [start + direction * 1.3 * size * k + (direction - 1) * size / 2 for k in range(5)]
        squares = [Rectangle((place, y - size / 2), size, size) for place in places[: min(M, 4)]]
        axes.add_collection(PatchCollection(squares, facecolor=PALETTE[method], lw=0, zorder=3))
        if method == "rank1":
            frames = [
                Rectangle((place + 0.2 * size, y - 1.1 * size), 0.6 * size, 2.2 * size)
                for place in places[: min(M, 4)]
            ]
            axes.add_collection(
                PatchCollection(frames, facecolor=PALETTE[method], alpha=0.35, lw=0, zorder=2)
            )
        if M > 4:
            axes.text(places[4] + size / 2, y, "…", ha="center", va="center",
                      color=PALETTE[method], zorder=4)  # fmt: skip

"""Curves with their bands: what members, draws, or whole methods believe of one function."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from numpy import ndarray as Array

from workshop.plot.panels import (
    BELOW,
    EDGE,
    LINE,
    RIGHT,
    TITLE,
    Ends,
    Number,
    cut_to_lines,
    ends_room,
    key_rows,
    name_ends,
    overhang,
    panels,
    set_axis,
    tick_room,
    ticks,
    ticks_along,
    widths,
    write_key,
)
from workshop.plot.style import INK, LINES, MUTED, Figure, color, house_style, label, look

#: Lines of members are fainter where more than so many lie over each other.
FEW = 8
#: Between the ticks of a y-axis there are at most so many steps.
MOST_STEPS = 5
TRUTH: dict[str, Any] = {"color": INK, "lw": 1.2, "ls": (0, (4, 3))}
#: Where a band does not hold it.
MISSED: dict[str, Any] = {"color": INK, "lw": 2.8, "solid_capstyle": "butt"}
EXAMPLES: dict[str, Any] = {"color": INK, "ls": "", "marker": "o", "ms": 3, "alpha": 0.6}
BAND = 0.25  # alpha
#: Inches: how high one panel is, and one of several, on a wide page and on a narrow one.
HIGH, LOW = (2.9, 1.9), (2.0, 1.6)


@dataclass(frozen=True, eq=False)
class Belief:
    """The curves of one method over N inputs."""

    #: A key of `ensedu.methods.METHODS`, for its color and marker.
    method: str
    #: (N,): the mean of the prediction, and its standard deviation, drawn as a band.
    mean: Float[Array, " N"]
    std: Float[Array, " N"]
    #: (M, N): the curves of members, or of some draws. One alone is not drawn.
    members: Float[Array, "M N"] | None = None

    @property
    def banded(self) -> bool:
        """Whether there is a band to see."""
        return bool(self.std.any())

    @property
    def several(self) -> bool:
        """Whether members are drawn: all but a lone one."""
        return self.members is not None and len(self.members) > 1


def functions(
    x: Float[Array, " N"],
    beliefs: Mapping[str, Belief],
    *,
    ylim: Ends,
    truth: Float[Array, " N"] | None = None,
    data: tuple[Float[Array, " D"], Float[Array, " D"]] | None = None,
    together: bool = False,
    thin: str = "",
) -> Figure:
    """Draw curves with bands of ± 2 standard deviations, a panel a `Belief`, on common axes.

    The true curve is bold where the band does not hold it.

    Parameters
    ----------
    x
        (N,), where the curves are drawn, increasing.
    beliefs
        Names to `Belief`. A method's key gives its label; "" has no title.
    ylim
        Ends of the y-axis.
    truth
        (N,), the curve that the data come from.
    data
        x and y of the examples, (D,) each.
    together
        Whether all beliefs stand in one panel, each of another method, named at its right end,
        without its members.
    thin
        What a thin line beside a mean is, for the key. Where there is none, what the line alone is.
    """
    scene = _Scene(x, truth, data)
    entries = _key_entries(beliefs, scene, "" if together else thin)
    with house_style():
        figure, found = (_one_panel if together else _panel_each)(beliefs, scene, ylim, entries)
        for axes in found:
            axes.set_xlabel("x")
    return figure


def _panel_each(
    rows: Mapping[str, Belief], scene: "_Scene", ends: Ends, entries: Mapping[str, dict[str, Any]]
) -> tuple[Figure, list[Axes]]:
    """Draw a panel a belief, its name above it."""
    height = (LOW if len(rows) > 1 else HIGH)[look().narrow]
    rises = _rises(ends, height)
    left, right = tick_room(rises), RIGHT
    wide = widths(len(rows), None, left, right, sharey=True)[1]
    out = overhang(scene.span, wide)
    left, right = max(left, out[0] + EDGE), max(right, sum(out) + 0.06)
    wide = widths(len(rows), None, left, right, sharey=True)[1]
    titles = [
        cut_to_lines(label(name), wide, size=TITLE, weight="bold") if name else "" for name in rows
    ]
    lines = max(1 + title.count("\n") if title else 0 for title in titles)
    top = LINE * key_rows(entries) + (0.06 if entries else 0)
    figure, found = panels(
        len(rows), height=height, sharex=True, sharey=True, left=left, right=right,
        above=0.1 + 0.22 * lines, below=BELOW, top=top,
    )  # fmt: skip
    for axes, title, belief in zip(found, titles, rows.values(), strict=True):
        own = color(belief.method)
        axes.set_title(title, loc="left", pad=4, fontsize=TITLE, weight="bold", color=own)
        scene.draw(axes, belief)
    scene.set_axes(found[0], wide, ends, rises)
    write_key(figure, entries)
    return figure, found


def _rises(ends: Ends, height: float) -> dict[float, str]:
    """Return the ticks of a y-axis that is so many inches high."""
    return ticks(ends, min(MOST_STEPS, int(height / 0.33)))


def _one_panel(
    rows: Mapping[str, Belief], scene: "_Scene", ends: Ends, entries: Mapping[str, dict[str, Any]]
) -> tuple[Figure, list[Axes]]:
    """Draw all beliefs into one panel, each named at its right end."""
    height = HIGH[look().narrow]
    rises = _rises(ends, height)
    names = [
        (label(name), float(scene.x[-1]), float(belief.mean[-1]), color(belief.method))
        for name, belief in rows.items()
    ]
    left = tick_room(rises)
    right = ends_room(map(label, rows))
    figure, found = panels(
        1, height=height, left=left, right=right, above=0.12, below=BELOW,
        top=LINE * key_rows(entries) + (0.06 if entries else 0),
    )  # fmt: skip
    (axes,) = found
    scene.draw(axes, *rows.values())
    scene.set_axes(axes, look().width - left - right, ends, rises, out=left - EDGE)
    write_key(figure, entries)
    name_ends(figure, axes, names)
    return figure, found


@dataclass(frozen=True, eq=False)
class _Scene:
    """What beliefs are about: where they are drawn, and what is drawn with each."""

    x: Array
    truth: Array | None = None
    data: tuple[Array, Array] | None = None

    def draw(self, axes: Axes, *beliefs: Belief) -> None:
        """Draw one belief, or several, which then have no members."""
        for belief in beliefs:
            _draw_belief(axes, self.x, belief, alone=len(beliefs) == 1)
        if self.truth is not None:
            axes.plot(self.x, self.truth, label="truth", **TRUTH)
            if len(beliefs) == 1 and beliefs[0].banded:
                held = np.abs(self.truth - beliefs[0].mean) <= 2 * beliefs[0].std
                missed = np.where(held, np.nan, self.truth)
                axes.plot(self.x, missed, label="truth, missed", **MISSED)
        if self.data is not None:
            axes.plot(*self.data, label="examples", **EXAMPLES)

    @property
    def span(self) -> tuple[float, float]:
        """The ends of the x-axis."""
        return float(self.x[0]), float(self.x[-1])

    def set_axes(
        self, axes: Axes, width: Number, ends: Ends, rises: Mapping[Number, str],
        out: Number = math.inf,
    ) -> None:  # fmt: skip
        """Set the ends and ticks of axes that are so many inches wide, as `ticks_along` does."""
        set_axis(axes.xaxis, self.span, ticks_along(self.span, width, out=out))
        set_axis(axes.yaxis, ends, rises)


def _draw_belief(axes: Axes, x: Array, belief: Belief, alone: bool) -> None:
    own, called = color(belief.method), label(belief.method)
    if belief.banded:
        low, high = belief.mean - 2 * belief.std, belief.mean + 2 * belief.std
        alpha = BAND if alone else 0.18
        axes.fill_between(x, low, high, color=own, alpha=alpha, lw=0, label=f"{called}, ± 2 std")
    if belief.members is not None and belief.several and alone:
        alpha = 0.45 if len(belief.members) > FEW else 0.8
        axes.plot(x, belief.members.T, color=own, lw=0.9, alpha=alpha, label=f"{called}, member")
    line = "-" if alone else LINES[belief.method]
    axes.plot(x, belief.mean, color=own, lw=2, ls=line, label=f"{called}, mean")


def _key_entries(rows: Mapping[str, Belief], scene: _Scene, thin: str) -> dict[str, dict[str, Any]]:
    """Return the words of a key to the looks of what is drawn; `thin` is what thin lines are."""
    every = rows.values()
    methods = {belief.method for belief in every}
    own = color(methods.pop()) if len(methods) == 1 else MUTED
    several = any(belief.several for belief in every)
    entries: dict[str, dict[str, Any]] = {}
    if thin:
        entries[thin] = {"color": own, "lw": 0.9 if several else 2}
    if any(belief.banded for belief in every):
        entries["mean ± 2σ"] = {"color": own, "lw": 2, "band": BAND}
    elif thin and several:
        entries["mean"] = {"color": own, "lw": 2}
    if scene.truth is not None:
        entries["true curve"] = TRUTH
    if scene.data is not None:
        entries["data"] = EXAMPLES
    return entries

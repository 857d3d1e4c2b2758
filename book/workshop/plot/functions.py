"""Curves with their bands: what members, draws, or whole methods believe of one function."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.methods import METHODS
from workshop.plot import figure_checks
from workshop.plot.panels import (
    BELOW,
    EDGE,
    LINE,
    RIGHT,
    TITLE,
    Ends,
    Number,
    axis_ends,
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
from workshop.plot.text_layout import SMALL

#: Lines of members are fainter where more than so many lie over each other.
FEW = 8
#: More bands than this in one panel cover each other.
MOST_TOGETHER = 4
#: Between the ticks of a y-axis there are at most so many steps.
MOST_STEPS = 5
TRUTH: dict[str, Any] = {"color": INK, "lw": 1.2, "ls": (0, (4, 3))}
#: Where a band does not hold it.
MISSED: dict[str, Any] = {"color": INK, "lw": 2.8, "solid_capstyle": "butt"}
EXAMPLES: dict[str, Any] = {"color": INK, "ls": "", "marker": "o", "ms": 3, "alpha": 0.6}
BAND, SHADE = 0.25, 0.09  # alpha
#: Inches: how high one panel is, and one of several, on a wide page and on a narrow one.
HIGH, LOW = (2.9, 1.9), (2.0, 1.6)
NAMED_HIGH = (2.9, 2.5)  # of one panel in which words stand


@dataclass(frozen=True, eq=False)
class Belief:
    """The curves of one method, or of one member, over N inputs; any but all may be left out.

    Attributes
    ----------
    method
        A key of `ensedu.methods.METHODS`, for its color and marker.
    mean
        (N,): the mean of the prediction. Without it members are drawn as curves of their own.
    std
        (N,): its standard deviation, drawn as a band.
    members
        (M, N): the curves of members, or of some draws. One, beside a mean, is not drawn.

    Raises
    ------
    TypeError, ValueError
        For an unknown method, other arrays, a standard deviation below 0 or without a mean, and
        neither a mean nor members.
    """

    method: str
    mean: Float[Array, " N"] | None = None
    std: Float[Array, " N"] | None = None
    members: Float[Array, "M N"] | None = None

    def __post_init__(self) -> None:
        checks.one_of("method", self.method, METHODS)
        if self.mean is None and self.members is None:
            raise ValueError("mean must be an array (N,) where members is None, got None")
        number: int | str = "N"
        if self.mean is not None:
            number = figure_checks.array("mean", self.mean, ("N",)).shape[0]
        if self.std is not None:
            if self.mean is None:
                raise ValueError("std must be None without a mean, got an array")
            if figure_checks.array("std", self.std, (number,), "mean").min() < 0:
                raise ValueError(f"std must be 0 or more, got {self.std.min():g}")
        if self.members is not None:
            like = "mean" if self.mean is not None else ""
            figure_checks.array("members", self.members, ("M", number), like)

    @property
    def curves(self) -> Float[Array, "M N"]:
        """The lines that must be seen whole: the mean, or else each member."""
        if self.mean is not None:
            return self.mean[None]
        assert self.members is not None
        return self.members

    @property
    def banded(self) -> bool:
        """Whether there is a band to see."""
        return self.std is not None and bool(self.std.any())

    def holds(self, curve: Float[Array, " N"]) -> Array:
        """Where the band holds a curve, (N,)."""
        assert self.mean is not None and self.std is not None
        return np.abs(curve - self.mean) <= 2 * self.std

    @property
    def several(self) -> bool:
        """Whether members are drawn: all but a lone one beside its mean."""
        return self.members is not None and (self.mean is None or len(self.members) > 1)


def functions(
    x: Float[Array, " N"],
    beliefs: Mapping[str, Belief],
    *,
    ylim: Ends,
    truth: Float[Array, " N"] | None = None,
    data: tuple[Float[Array, " D"], Float[Array, " D"]] | None = None,
    shaded: Ends | None = None,
    columns: int | tuple[int, int] | None = None,
    together: bool = False,
    thin: str = "",
    named: Mapping[str, Sequence[Number]] | None = None,
    xlabel: str = "x",
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
    shaded
        Ends of an interval of x, such as a gap in the data, from low to high.
    columns
        How many panels stand side by side, as in `panels`.
    together
        Whether all beliefs stand in one panel, each named at its right end: at most four, each of
        another method, without the members of those that have a mean.
    thin
        What a thin line beside a mean is, for the key. Where there is none, what the line alone is.
    named
        Words of the key to x and y, around which they stand in the first panel instead. Two more
        numbers are where a thin line from them ends.
    xlabel
        What x is.

    Raises
    ------
    TypeError, ValueError
        For other arrays, ends that do not rise, places outside the panel, and what cannot stand in
        one panel.
    """
    scene = _Scene(x, truth, data, None if shaded is None else axis_ends("shaded", shaded))
    rows = _checked_beliefs(beliefs, scene)
    checks.boolean("together", together)
    methods = {belief.method for belief in rows.values()}
    if together and (len(rows) > MOST_TOGETHER or len(methods) < len(rows)):
        raise ValueError(
            f"together must be False for more than {MOST_TOGETHER} beliefs, or two of one method, "
            f"got True for {len(rows)} of {len(methods)}"
        )
    figure_checks.text("thin", thin)
    figure_checks.text("xlabel", xlabel)
    ends = axis_ends("ylim", ylim)
    entries = _key_entries(rows, scene, "" if together else thin)
    direct = {
        name: (entries.pop(name), place)
        for name, place in _places({} if named is None else named, scene.span, ends).items()
        if name in entries
    }
    with house_style():
        if together:
            figure, found = _one_panel(rows, scene, ends, entries)
        else:
            height = LOW if len(rows) > 1 else NAMED_HIGH if direct else HIGH
            figure, found = _panel_each(rows, scene, ends, columns, entries, height[look().narrow])
        for name, (style, place) in direct.items():
            own = style["color"]
            led = {"arrowstyle": "-", "color": own, "lw": 0.8, "shrinkA": 1, "shrinkB": 1}
            found[0].annotate(
                name, place[-2:], place[:2], color=own, ha="center", va="center", fontsize=SMALL,
                weight="bold" if name.startswith("mean") else "normal",
                arrowprops=led if len(place) > 2 else None,
            )  # fmt: skip
        width = found[0].get_position().width * look().width
        for axes in found:
            axes.set_xlabel(cut_to_lines(xlabel, width + 0.12, 1, size=TITLE))
    return figure


def _places(named: Any, span: Ends, ends: Ends) -> dict[str, tuple[float, ...]]:
    """Return where words stand, and where the lines from some of them end, inside the panel."""
    if not isinstance(named, Mapping):
        raise TypeError(f"named must be a mapping of words to (x, y), got {checks.given(named)}")
    places = {}
    for word, place in named.items():
        figure_checks.text("a word of named", word)
        led = isinstance(place, (tuple, list)) and len(place) == 4
        found = figure_checks.series(f"named[{word!r}]", place, 4 if led else 2)
        x, y = found[::2], found[1::2]
        if min(x) < span[0] or max(x) > span[1] or min(y) < ends[0] or max(y) > ends[1]:
            raise ValueError(
                f"named[{word!r}] must be inside x, {span[0]:g} to {span[1]:g}, and ylim, "
                f"{ends[0]:g} to {ends[1]:g}, got {checks.given(place)}"
            )
        places[word] = tuple(map(float, found))
    return places


def _panel_each(
    rows: Mapping[str, Belief], scene: "_Scene", ends: Ends, columns: Any,
    entries: Mapping[str, dict[str, Any]], height: float,
) -> tuple[Figure, list[Axes]]:  # fmt: skip
    """Draw a panel a belief, its name above it."""
    rises = _rises(ends, height)
    left, right = tick_room(rises), RIGHT
    wide = widths(len(rows), columns, left, right, sharey=True)[1]
    out = overhang(scene.span, wide)
    left, right = max(left, out[0] + EDGE), max(right, sum(out) + 0.06)
    wide = widths(len(rows), columns, left, right, sharey=True)[1]
    titles = [
        cut_to_lines(label(name), wide, size=TITLE, weight="bold") if name else "" for name in rows
    ]
    lines = max(1 + title.count("\n") if title else 0 for title in titles)
    top = LINE * key_rows(entries) + (0.06 if entries else 0)
    figure, found = panels(
        len(rows), height=height, columns=columns, sharex=True, sharey=True, left=left,
        right=right, above=0.1 + 0.22 * lines, below=BELOW, top=top,
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
        (label(name), float(scene.x[-1]), float(belief.curves[:, -1].mean()), color(belief.method))
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
    shaded: Ends | None = None

    def __post_init__(self) -> None:
        x = figure_checks.array("x", self.x, ("N",))
        if len(x) < 2 or (np.diff(x) <= 0).any():
            raise ValueError(f"x must be two numbers or more that increase, got {checks.given(x)}")
        if self.truth is not None:
            figure_checks.array("truth", self.truth, x.shape, "x")
        if self.data is not None:
            if not isinstance(self.data, (tuple, list)) or len(self.data) != 2:
                raise TypeError(
                    f"data must be a pair of arrays (x, y), got {checks.given(self.data)}"
                )
            examples = figure_checks.array("data[0]", self.data[0], ("D",)).shape
            figure_checks.array("data[1]", self.data[1], examples, "data[0]")

    def draw(self, axes: Axes, *beliefs: Belief) -> None:
        """Draw one belief, or several, which then have no members around their means."""
        if self.shaded is not None:
            axes.axvspan(*self.shaded, color=MUTED, alpha=SHADE, lw=0)
        for belief in beliefs:
            _draw_belief(axes, self.x, belief, alone=len(beliefs) == 1)
        if self.truth is not None:
            axes.plot(self.x, self.truth, label="truth", **TRUTH)
            if len(beliefs) == 1 and beliefs[0].banded:
                missed = np.where(beliefs[0].holds(self.truth), np.nan, self.truth)
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
    if belief.mean is not None and belief.std is not None and belief.banded:
        low, high = belief.mean - 2 * belief.std, belief.mean + 2 * belief.std
        alpha = BAND if alone else 0.18
        axes.fill_between(x, low, high, color=own, alpha=alpha, lw=0, label=f"{called}, ± 2 std")
    if belief.members is not None and belief.several and (alone or belief.mean is None):
        faint = len(belief.members) > FEW
        width = 0.9 if belief.mean is not None or faint else 1.6
        axes.plot(x, belief.members.T, color=own, lw=width, alpha=0.45 if faint else 0.8,
                  label=f"{called}, member")  # fmt: skip
    if belief.mean is not None:
        line = "-" if alone else LINES[belief.method]
        axes.plot(x, belief.mean, color=own, lw=2, ls=line, label=f"{called}, mean")


def _checked_beliefs(beliefs: Any, scene: _Scene) -> dict[str, Belief]:
    """Return beliefs over the x of a scene by name."""
    rows = figure_checks.mapping("beliefs", beliefs, "Beliefs")
    for name, belief in rows.items():
        if not isinstance(belief, Belief):
            raise TypeError(f"beliefs[{name!r}] must be a Belief, got {checks.given(belief)}")
        part = "members" if belief.mean is None else "mean"
        shape = ("M", *scene.x.shape)[belief.mean is not None :]
        figure_checks.array(f"beliefs[{name!r}].{part}", getattr(belief, part), shape, "x")
    return rows


def _key_entries(rows: Mapping[str, Belief], scene: _Scene, thin: str) -> dict[str, dict[str, Any]]:
    """Return the words of a key to the looks of what is drawn; `thin` is what thin lines are."""
    every = rows.values()
    methods = {belief.method for belief in every}
    own = color(methods.pop()) if len(methods) == 1 else MUTED
    several = any(belief.several for belief in every)
    alone = all(belief.mean is None for belief in every)
    entries: dict[str, dict[str, Any]] = {}
    if thin:
        entries[thin] = {"color": own, "lw": 2 if not several else 1.6 if alone else 0.9}
    if any(belief.banded for belief in every):
        entries["mean ± 2σ"] = {"color": own, "lw": 2, "band": BAND}
    elif thin and several and not alone:
        entries["mean"] = {"color": own, "lw": 2}
    if scene.truth is not None:
        entries["true curve"] = TRUTH
    if scene.data is not None:
        entries["data"] = EXAMPLES
    if scene.shaded is not None:
        entries["no data"] = {"color": MUTED, "lw": 0, "band": SHADE}
    return entries

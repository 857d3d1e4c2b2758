"""Curves: totals that grow, and with their bands what members, draws or methods believe."""

from collections.abc import Mapping, Sequence
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
    cut_to_lines,
    ends_room,
    key_rows,
    label_ticks,
    name_curves,
    name_ends,
    panels,
    set_axis,
    tick_room,
    ticks,
    ticks_along,
    widths,
    write_key,
)
from workshop.plot.style import INK, LINES, MARKERS, MUTED, Figure, color, house_style, label, look
from workshop.plot.text_layout import number_in_words

Numbers = Sequence[int] | Sequence[float] | np.ndarray
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


def growth_curves(
    x: Numbers,
    totals: Mapping[str, Numbers],
    *,
    xlabel: str,
    ylabel: str,
    ylim: tuple[float | int, float | int],
    log_x: bool = False,
    log_y: bool = False,
    relative_to: str | None = None,
    level: tuple[str, float] | None = None,
) -> Figure:
    """Draw one curve a method over `x`, with its name at its right end, and ticks at some x.

    Parameters
    ----------
    x
        K increasing numbers, for example widths or numbers of layers.
    totals
        Names to K totals. A method's name gives its color, marker, line and label.
    xlabel, ylabel
        What the axes say.
    ylim
        The two ends of the y-axis, which hold all that is drawn.
    log_x, log_y
        Whether an axis is logarithmic; that of y has a tick at each power of two.
    relative_to
        One of the names: each curve is divided by that one.
    level
        A name and a number: what the curves are seen beside, as a thin line.
    """
    curves = {name: np.array(values, float) for name, values in totals.items()}
    if relative_to is not None:
        base = curves[relative_to]
        curves = {name: values / base for name, values in curves.items()}
    times = "×" if relative_to is not None else ""
    powers = (2**i for i in range(round(np.log2(ylim[1])) + 1)) if log_y else ticks(ylim, 9)
    rises = {y: number_in_words(y) + times for y in powers}
    with house_style():
        figure, (axes,) = panels(
            1, height=2.75 if look().narrow else 3.1, left=tick_room(rises),
            right=ends_room([*map(label, curves), *([level[0]] if level else [])]),
        )  # fmt: skip
        for name, values in curves.items():
            axes.plot(
                x, values, color=color(name), ls=LINES.get(name, "-"), label=label(name),
                marker=MARKERS.get(name, "."), clip_on=False,
            )  # fmt: skip
        if level:
            axes.plot(
                [x[0], x[-1]], [level[1]] * 2, color=MUTED, lw=1, label=level[0], zorder=1,
            )  # fmt: skip
        axes.grid(axis="y")
        axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
        axes.set(ylim=ylim, xlabel=xlabel)
        axes.set_yticks([*rises], [*rises.values()])
        axes.set_title(ylabel)
        axes.minorticks_off()
        label_ticks(axes, x)
        name_curves(figure, axes)
    return figure


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


def predictive_bands(
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
    groups = [[*beliefs.values()]] if together else [[one] for one in beliefs.values()]
    height = (LOW if len(groups) > 1 else HIGH)[look().narrow]
    rises = ticks(ylim, min(MOST_STEPS, int(height / 0.33)))
    left, right = tick_room(rises), ends_room(map(label, beliefs)) if together else RIGHT
    wide = widths(len(groups), None, left, right, sharey=True)[1]
    bold: dict[str, Any] = {"weight": "bold", "fontsize": TITLE}
    names = [""] if together else map(label, beliefs)
    titles = [name and cut_to_lines(name, wide, size=TITLE, weight="bold") for name in names]
    lines = max(title.count("\n") + bool(title) for title in titles)
    entries = _key_entries(beliefs, truth, data, "" if together else thin)
    with house_style():
        figure, found = panels(
            len(groups), height=height, sharex=True, sharey=True, left=left, right=right,
            above=0.1 + 0.22 * lines, below=BELOW, top=LINE * key_rows(entries) + 0.06,
        )  # fmt: skip
        for axes, title, group in zip(found, titles, groups, strict=True):
            axes.set_title(title, pad=4, color=color(group[0].method), **bold)
            for belief in group:
                _draw_belief(axes, x, belief, alone=not together)
            if truth is not None:
                axes.plot(x, truth, label="truth", **TRUTH)
            if truth is not None and not together and group[0].banded:
                held = np.abs(truth - group[0].mean) <= 2 * group[0].std
                axes.plot(x, np.where(held, np.nan, truth), label="truth, missed", **MISSED)
            if data is not None:
                axes.plot(*data, label="examples", **EXAMPLES)
            axes.set_xlabel("x")
        span = float(x[0]), float(x[-1])
        set_axis(found[0].xaxis, span, ticks_along(span, wide, out=min(left, right) - EDGE))
        set_axis(found[0].yaxis, ylim, rises)
        write_key(figure, entries)
        if together:
            last = ((label(name), one.mean[-1], one.method) for name, one in beliefs.items())
            name_ends(figure, found[0], [(name, x[-1], y, color(own)) for name, y, own in last])
    return figure


def fill_band(
    axes: Axes, x: Array, mean: Array, std: Array, own: str, alpha: float = BAND, **options: Any
) -> None:
    """Fill two standard deviations to both sides: faint, so that curves are seen, with an edge."""
    low, high = mean - 2 * std, mean + 2 * std
    axes.fill_between(x, low, high, fc=(own, alpha), ec=own, lw=0.8, **options)


def _draw_belief(axes: Axes, x: Array, belief: Belief, alone: bool) -> None:
    own, called = color(belief.method), label(belief.method)
    if belief.banded:
        alpha = BAND if alone else 0.18
        fill_band(axes, x, belief.mean, belief.std, own, alpha, label=f"{called}, ± 2 std")
    if belief.members is not None and belief.several and alone:
        alpha = 0.45 if len(belief.members) > FEW else 0.8
        axes.plot(x, belief.members.T, color=own, lw=0.9, alpha=alpha, label=f"{called}, member")
    line = "-" if alone else LINES[belief.method]
    axes.plot(x, belief.mean, color=own, lw=2, ls=line, label=f"{called}, mean")


def _key_entries(
    rows: Mapping[str, Belief], truth: Any, data: Any, thin: str
) -> dict[str, dict[str, Any]]:
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
    if truth is not None:
        entries["true curve"] = TRUTH
    if data is not None:
        entries["data"] = EXAMPLES
    return entries

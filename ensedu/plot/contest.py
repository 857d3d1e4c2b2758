"""What each contestant believes of one curve, and how its scores differ from those of one."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy import ndarray as Array

from ensedu import checks
from ensedu.methods import METHODS
from ensedu.plot import inputs
from ensedu.plot.style import INK, MARKERS, MUTED, WIDTH, Figure, color, house_style

Number = float | int
#: Inches: a row, and what is above and below them. The part of a row that its panel has.
ROW, TOP, BOTTOM, PANEL = 1.32, 0.3, 1.2, 0.76
#: Parts of the width: where panels begin, what is between columns, and where they end.
LEFT, SPACE, END = 0.085, 0.045, 0.955


@dataclass(frozen=True, eq=False)
class Belief:
    """The curves of one contestant over N inputs.

    Attributes
    ----------
    method
        A key of `ensedu.methods.METHODS`, for its color and marker.
    mean, std
        (N,): mean of the prediction, and its standard deviation, noise included.
    members
        (M, N): the curves of members, or of some draws; M is 1 for one network.

    Raises
    ------
    TypeError, ValueError
        For an unknown method, other arrays, and a standard deviation below 0.
    """

    method: str
    mean: Float[Array, " N"]
    std: Float[Array, " N"]
    members: Float[Array, "M N"]

    def __post_init__(self) -> None:
        checks.one_of("method", self.method, METHODS)
        number = inputs.array("mean", self.mean, ("N",)).shape[0]
        if inputs.array("std", self.std, (number,), "mean").min() < 0:
            raise ValueError(f"std must be 0 or more, got {self.std.min():g}")
        inputs.array("members", self.members, ("M", number), "mean")


def contest(
    x: Float[Array, " N"],
    beliefs: Mapping[str, Belief],
    differences: Mapping[str, Mapping[str, tuple[Number, Number, Number]]],
    *,
    truth: Float[Array, " N"],
    data: tuple[Float[Array, " D"], Float[Array, " D"]],
    reference: str,
    xlabel: str = "difference",
    levels: Mapping[str, Number] | None = None,
    shaded: tuple[Number, Number] | None = None,
) -> Figure:
    """Draw a row a contestant: its curve with band and members, and how its scores differ.

    Parameters
    ----------
    x
        (N,), where the curves are drawn, increasing.
    beliefs
        Names to `Belief`, drawn from top to bottom, any number of them.
    differences
        What a column shows, such as "NLL in the gap", to names to (low, mean, high) of a paired
        difference from `reference`. A column has one axis for all rows. At most three columns;
        without any the curves have the whole width.
    truth
        (N,), the curve that the data come from.
    data
        x and y of the examples, (D,) each.
    reference
        The name of the belief that stands at 0 in each column.
    xlabel
        What the columns show, such as "difference from one network, 95 % interval".
    levels
        Titles of columns to the score of the reference itself, which is written beside it.
    shaded
        Ends of an interval of x, such as a gap in the data, from low to high.

    Raises
    ------
    TypeError, ValueError
        For other arrays, names of differences that have no belief, and numbers that do not rise.
    """
    inputs.array("x", x, ("N",))
    if (np.diff(x) <= 0).any():
        raise ValueError(f"x must increase, got {checks.given(x)}")
    rows = inputs.mapping("beliefs", beliefs, "Beliefs")
    for name, belief in rows.items():
        if not isinstance(belief, Belief):
            raise TypeError(f"beliefs[{name!r}] must be a Belief, got {checks.given(belief)}")
        inputs.array(f"beliefs[{name!r}].mean", belief.mean, x.shape, "x")
    inputs.array("truth", truth, x.shape, "x")
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise TypeError(f"data must be a pair of arrays (x, y), got {checks.given(data)}")
    examples = inputs.array("data[0]", data[0], ("D",)).shape
    inputs.array("data[1]", data[1], examples, "data[0]")
    checks.one_of("reference", reference, rows)
    if shaded is not None and (np.diff(inputs.series("shaded", shaded, 2)) <= 0).any():
        raise ValueError(f"shaded must rise, got {checks.given(shaded)}")
    columns = {
        title: _intervals(title, column, rows)
        for title, column in inputs.optional_mapping("differences", differences, "columns").items()
    }
    if len(columns) > 3:
        raise ValueError(f"differences must have at most three columns, got {len(columns)}")
    inputs.text("xlabel", xlabel)
    own_levels = inputs.optional_mapping("levels", levels, "numbers")
    for title, level in own_levels.items():
        checks.real(f"levels[{title!r}]", level)
        if title not in columns:
            known = ", ".join(map(repr, columns)) or "none"
            raise ValueError(f"levels[{title!r}] must be of a column of differences, {known}")
    titles = {title: textwrap.fill(title, 15) for title in columns}
    with house_style():
        lines = max((title.count("\n") for title in titles.values()), default=0)
        top = TOP + 0.2 * lines
        height = top + ROW * len(rows) + BOTTOM
        figure = Figure(figsize=(WIDTH, height))
        right = (0.985, 0.7, 0.56, 0.36)[len(columns)]
        limits = _limits(truth, data[1], *(belief.mean for belief in rows.values()))
        for i, (name, belief) in enumerate(rows.items()):
            bottom = (BOTTOM + ROW * (len(rows) - 1 - i)) / height
            axes = figure.add_axes((LEFT, bottom, right - LEFT, PANEL * ROW / height))
            if shaded is not None:
                axes.axvspan(*shaded, color=MUTED, alpha=0.13, lw=0)
            _draw_belief(axes, x, belief, truth, data)
            axes.set(xlim=(x[0], x[-1]), ylim=limits)
            axes.tick_params(labelbottom=i == len(rows) - 1)
            axes.set_title(name, loc="left", pad=3, weight="bold", color=color(belief.method))
        axes.set_xlabel("x")
        _name_lines(figure, shaded is not None, height)
        width = (END - right) / max(1, len(columns))
        for k, (title, column) in enumerate(columns.items()):
            left = right + k * width + SPACE
            box = (left, BOTTOM / height, width - SPACE, ROW * len(rows) / height)
            level = own_levels.get(title)
            _draw_column(figure.add_axes(box), titles[title], column, rows, reference, level)
        if columns:
            words = textwrap.fill(xlabel, 16 * len(columns))
            middle = (right + SPACE + END) / 2
            figure.text(middle, 0.87 / height, words, ha="center", va="top", fontsize=11)
    return figure


def _draw_belief(
    axes: Axes, x: Array, belief: Belief, truth: Array, data: tuple[Array, Array]
) -> None:
    own = color(belief.method)
    axes.fill_between(
        x, belief.mean - 2 * belief.std, belief.mean + 2 * belief.std, color=own, alpha=0.25, lw=0
    )
    if len(belief.members) > 1:
        axes.plot(x, belief.members.T, color=own, lw=0.8, alpha=0.75)
    axes.plot(x, belief.mean, color=own, lw=2)
    axes.plot(x, truth, color=INK, lw=1.2, ls=(0, (4, 3)))
    axes.plot(*data, ls="", marker="o", ms=3, color=INK, alpha=0.6)
    axes.yaxis.set_major_locator(MaxNLocator(3))


def _draw_column(
    axes: Axes, title: str, column: dict[str, np.ndarray], rows: Mapping[str, Belief],
    reference: str, level: float | None,
) -> None:  # fmt: skip
    """Draw intervals, each at the middle of its row's panel."""
    axes.axvline(0, color=MUTED, lw=1.2)
    for i, (name, belief) in enumerate(rows.items()):
        y, own = i + 1 - PANEL / 2, color(belief.method)
        marker = {"marker": MARKERS[belief.method], "ms": 8, "color": own}
        if name == reference:
            axes.plot([0], [y], mfc="none", mew=1.6, **marker)
            if level is not None:
                axes.annotate(
                    _number(level), (0, y), (0, 9), textcoords="offset points", ha="center",
                    va="bottom", color=own, fontsize=11,
                )  # fmt: skip
        if name not in column:
            continue
        low, mean, high = column[name]
        axes.plot([low, high], [y, y], color=own, lw=2.4, solid_capstyle="round")
        axes.plot([mean], [y], **marker)
        axes.annotate(
            _number(mean, "+"), (mean, y), (0, 9), textcoords="offset points",
            ha="center", va="bottom", color=own, fontsize=11,
        )  # fmt: skip
    axes.set_ylim(len(rows), 0)
    axes.margins(x=0.25)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.xaxis.set_major_locator(MaxNLocator(2))
    axes.set_title(title, pad=6)


def _name_lines(figure: Figure, shaded: bool, height: float) -> None:
    """Say below all panels what is drawn in them."""
    names = {
        "curve without noise": Line2D([], [], color=INK, lw=1.2, ls=(0, (4, 3))),
        "data": Line2D([], [], ls="", marker="o", ms=3, color=INK),
        "mean": Line2D([], [], color=MUTED, lw=2),
        "± 2 std": Patch(color=MUTED, alpha=0.25, lw=0),
        "members or draws": Line2D([], [], color=MUTED, lw=0.8),
    }
    if shaded:
        names["no data"] = Patch(color=MUTED, alpha=0.13, lw=0)
    figure.legend(
        list(names.values()), list(names), loc="lower left", frameon=False, ncol=3,
        bbox_to_anchor=(0.02, 0.08 / height), borderaxespad=0, borderpad=0, fontsize=11,
        handlelength=1.4, columnspacing=1, handletextpad=0.5,
    )  # fmt: skip


def _number(value: float, sign: str = "") -> str:
    return f"{value:{sign}.2f}".replace("-", "−")


def _limits(*values: Array) -> tuple[float, float]:
    """Return what holds all values, with a margin; bands may leave it."""
    low, high = min(v.min() for v in values), max(v.max() for v in values)
    margin = 0.25 * (high - low) or 1.0
    return float(low - margin), float(high + margin)


def _intervals(title: str, column: object, rows: Mapping[str, object]) -> dict[str, np.ndarray]:
    named = inputs.optional_mapping(f"differences[{title!r}]", column, "(low, mean, high)")
    found = {}
    for name, value in named.items():
        where = f"differences[{title!r}][{name!r}]"
        if name not in rows:
            raise ValueError(f"{where} must be of one of beliefs, {', '.join(map(repr, rows))}")
        found[name] = inputs.series(where, value, 3)
        if (np.diff(found[name]) < 0).any():
            raise ValueError(f"{where} must rise, got {checks.given(value)}")
    return found

"""How often methods are right, against how sure they are, and how many examples say so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy import ndarray as Array

from ensedu.common import arrays, checks
from ensedu.methods import METHODS
from ensedu.plot import figure_checks
from ensedu.plot.panels import (
    BELOW,
    LINE,
    SAMPLE,
    TITLE,
    Ends,
    Number,
    axis_ends,
    cut_to_lines,
    methods_of,
    place,
    set_axis,
    tick_room,
    ticks,
    ticks_along,
    write,
)
from ensedu.plot.style import INK, MARKERS, MUTED, Figure, color, house_style, label, look
from ensedu.plot.text_layout import SMALL
from ensedu.uncertainty import Reliability, paired

Table = Reliability | Sequence[Reliability] | tuple[Array, Array]
#: Inches: the sides of the diagram, wide and narrow; a strip of bars, and the words above it.
SIDE, STRIP, WORDS = (3.15, 3.1), 0.55, 0.42
APART = 0.12
#: Line and marker of those that share a method, one after the other.
VARIANTS = (("-", True), ("--", False), (":", False))
SEEDS = "a Reliability, a list of them, or a pair (levels, observed) of arrays"


@dataclass(frozen=True, eq=False)
class _Line:
    """What is drawn of one name: points, their intervals, and shares of examples if known."""

    x: Array
    y: Array
    #: (2, points): of each, low and high; both y where there is one seed.
    intervals: Array
    error: str
    edges: Array | None = None
    shares: Array | None = None


def reliability(
    tables: Mapping[str, Table],
    *,
    colors: Mapping[str, str] | None = None,
    xlim: Ends = (0, 1),
    ylim: Ends = (0, 1),
    most: Number | None = None,
    xlabel: str = "confidence",
    ylabel: str = "accuracy",
) -> Figure:
    """Draw a reliability diagram: a line a method, and its examples a bin as bars.

    With a table a seed, a point is the mean over the seeds in which its bin is not empty, with its
    95% interval where they are two or more, and bars are means. The calibration error stands
    beside the name: ``Σ share · |accuracy − confidence|`` over bins, and its mean and interval over
    seeds.

    Parameters
    ----------
    tables
        Names to what `ensedu.uncertainty.reliability` gives, or a list of that, one a seed. Or to
        a pair (levels, observed), such as the levels of intervals and how many targets these
        cover: (K,), and (K,) or (seeds, K). Its error is the mean of ``|observed − level|``, and it
        has no bars.
    colors
        Some of the names to the method whose color and marker they get; a method's own name has
        them without. Up to three names may have one color.
    xlim, ylim
        Ends of both axes.
    most
        The share of examples that the whole height of a strip stands for, by default the greatest.
    xlabel, ylabel
        What the axes say.

    Raises
    ------
    TypeError, ValueError
        For other tables, seeds with different bins, an unknown method, more than three names of one
        color, and ends that do not rise.
    ImportError
        If several seeds are given, and SciPy is not installed.
    """
    named = figure_checks.mapping("tables", tables, SEEDS)
    methods = methods_of(colors, named, "tables")
    kinds = [method if method in METHODS else "no method" for method in methods.values()]
    for kind in kinds:
        if (number := kinds.count(kind)) > len(VARIANTS):
            raise ValueError(
                f"tables must have up to {len(VARIANTS)} names of one color, got {number} of {kind}"
            )
    across, up = axis_ends("xlim", xlim), axis_ends("ylim", ylim)
    figure_checks.text("xlabel", xlabel)
    figure_checks.text("ylabel", ylabel)
    lines = {name: _checked_line(f"tables[{name!r}]", value) for name, value in named.items()}
    shares = [line.shares.max() for line in lines.values() if line.shares is not None]
    greatest = max(shares, default=1.0)
    if most is not None:
        greatest = checks.real("most", most, low=0.0, high=figure_checks.MOST)
    with house_style():
        narrow = look().narrow
        side = SIDE[narrow]
        rises = ticks(up, 5)
        left = tick_room(rises) + 0.32
        start = left if narrow else left + side + 0.45
        width = look().width - start - 0.16
        blocks = WORDS * len(lines) + APART * (len(lines) - 1)
        blocks += STRIP * len(shares)
        # The lowest bars have the labels of their axis below them.
        lowest = [name for name, line in lines.items() if line.shares is not None][-1:]
        ended = lowest == list(lines)[-1:]
        blocks += BELOW if lowest and not ended else 0.0
        first = 0.12 + side + BELOW + 0.1 if narrow else 0.06
        if ended and not narrow:  # on the level of the diagram
            first = max(first, 0.12 + side - blocks)
        height = max(first + blocks + (BELOW if ended else 0.06), 0.12 + side + BELOW)
        figure = Figure(figsize=(look().width, height))
        long = width if narrow else side
        axes = place(figure, left, 0.12, long, side)
        _draw_diagonal(axes, across, up)
        set_axis(axes.xaxis, across, ticks_along(across, long, out=0.14))
        set_axis(axes.yaxis, up, rises)
        axes.set(
            xlabel=cut_to_lines(xlabel, long, 1, TITLE), ylabel=cut_to_lines(ylabel, side, 1, TITLE)
        )  # fmt: skip
        y = first
        for i, (name, line) in enumerate(lines.items()):
            look_of = _line_style(methods[name], kinds[:i].count(kinds[i]))
            axes.vlines(
                line.x, *line.intervals, color=look_of["color"], lw=1.4, alpha=0.45,
                label=f"{label(name)}, interval",
            )  # fmt: skip
            axes.plot(line.x, line.y, label=label(name), **look_of)
            _write_head(figure, label(name), line, look_of, start, y, width)
            y += WORDS
            if line.shares is not None:
                strip = place(figure, start, y, width, STRIP)
                set_axis(strip.xaxis, across, ticks_along(across, width, out=0.14))
                strip.set_label(label(name))
                _draw_shares(strip, line, look_of["color"], greatest)
                strip.tick_params(labelbottom=[name] == lowest)
                y += STRIP
                if [name] == lowest:
                    strip.set_xlabel(cut_to_lines(f"examples by {xlabel}", width, 1, TITLE))
                    y += BELOW
            y += APART
    return figure


def _line_style(method: str, number: int) -> dict[str, Any]:
    """Return the line of the so manieth name of a method."""
    line, full = VARIANTS[number]
    own = color(method)
    return {
        "color": own, "ls": line, "lw": 1.6, "marker": MARKERS.get(method, "."), "ms": 6,
        "mfc": own if full else "none",
    }  # fmt: skip


def _draw_diagonal(axes: Axes, across: Ends, up: Ends) -> None:
    """Draw the diagonal, and say what it means to lie beside it."""
    low, high = max(across[0], up[0]), min(across[1], up[1])
    if low < high:
        axes.plot([low, high], [low, high], color=MUTED, lw=1.2, ls=(0, (4, 3)), label="calibrated")
    corner: dict[str, Any] = {"transform": axes.transAxes, "color": MUTED, "fontsize": SMALL}
    axes.text(0.03, 0.975, "not sure enough", va="top", **corner)
    axes.text(0.97, 0.03, "too sure", ha="right", **corner)


def _write_head(
    figure: Figure,
    name: str,
    line: _Line,
    style: dict[str, Any],
    x: Number,
    y: Number,
    width: Number,
) -> None:
    """Write a name behind a sample of its line, and its error below."""
    place_y = figure.get_figheight() - y - LINE / 2
    sample = Line2D(
        [x, x + SAMPLE / 2, x + SAMPLE], [place_y] * 3, markevery=[1], **style,
        transform=figure.dpi_scale_trans,
    )  # fmt: skip
    figure.add_artist(sample)
    room = width - SAMPLE - 0.08
    words = cut_to_lines(name, room, 1, weight="bold")
    write(
        figure, x + SAMPLE + 0.08, y + LINE / 2, words, va="center_baseline", weight="bold",
        color=style["color"],
    )  # fmt: skip
    write(figure, x, y + 1.5 * LINE, line.error, va="center_baseline", color=INK)


def _draw_shares(axes: Axes, line: _Line, own: str, most: Number) -> None:
    """Draw the shares of examples, the greatest that is seen with its number."""
    assert line.edges is not None and line.shares is not None
    wide = np.diff(line.edges)
    middles = line.edges[:-1] + wide / 2
    style: dict[str, Any] = {"color": own, "alpha": 0.75, "lw": 0}
    axes.bar(middles, line.shares, 0.86 * wide, label="share of examples", **style)
    axes.set_ylim(0, most * STRIP / (STRIP - LINE))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    low, high = axes.get_xlim()
    seen = np.where((middles >= low) & (middles <= high), line.shares, 0.0)
    i = int(seen.argmax())
    if seen[i]:
        left = middles[i] < (low + high) / 2
        axes.annotate(
            f"{100 * seen[i]:.0f}\N{NO-BREAK SPACE}%", (middles[i], min(seen[i], most)), (0, 1),
            textcoords="offset points", fontsize=SMALL, color=MUTED,
            ha="left" if left else "right", va="bottom", annotation_clip=False,
        )  # fmt: skip


def _checked_line(name: str, value: Any) -> _Line:
    if isinstance(value, Reliability):
        return _line_of_tables(name, [value])
    if not isinstance(value, (tuple, list)) or not value:
        raise TypeError(f"{name} must be {SEEDS}, got {checks.given(value)}")
    if all(isinstance(one, Reliability) for one in value):
        return _line_of_tables(name, list(value))
    if len(value) != 2 or not all(isinstance(one, np.ndarray) for one in value):
        raise TypeError(f"{name} must be {SEEDS}, got {checks.given(value)}")
    levels = figure_checks.array(f"{name}[0]", value[0], ("K",))
    arrays.check_array(
        f"{name}[1]", value[1], "f", "floats", levels.shape, ("seeds", *levels.shape)
    )
    arrays.check_finite(f"{name}[1]", value[1])
    observed = np.atleast_2d(value[1])
    gaps = np.abs(observed - levels).mean(axis=1)
    order = np.argsort(levels)
    intervals = np.array([_interval_of_mean(column) for column in observed.T]).T
    return _Line(
        levels[order], observed.mean(axis=0)[order], intervals[:, order], _error_words(gaps)
    )  # fmt: skip


def _line_of_tables(name: str, tables: list[Reliability]) -> _Line:
    for table in tables:
        bins = figure_checks.array(f"{name}: confidence", table.confidence, ("bins",)).shape
        figure_checks.array(f"{name}: accuracy", table.accuracy, bins, "confidence")
        figure_checks.array(f"{name}: edges", table.edges, (bins[0] + 1,), "confidence")
        arrays.check_array(f"{name}: count", table.count, "iu", "integers", bins, like="confidence")
        if not table.count.any():
            raise ValueError(f"{name} must count at least one example, got none")
        if not np.array_equal(table.edges, tables[0].edges):
            raise ValueError(f"{name} must have the same bins in all seeds, got different edges")
    count, confidence, accuracy = (
        np.array([getattr(table, part) for table in tables])
        for part in ("count", "confidence", "accuracy")
    )
    shares = count / count.sum(axis=1, keepdims=True)
    errors = (shares * np.abs(accuracy - confidence)).sum(axis=1)
    full = count.any(axis=0)
    seeds = [column > 0 for column in count.T[full]]
    columns = [column[used] for column, used in zip(accuracy.T[full], seeds, strict=True)]
    return _Line(
        np.array([c[used].mean() for c, used in zip(confidence.T[full], seeds, strict=True)]),
        np.array([column.mean() for column in columns]),
        np.array([_interval_of_mean(column) for column in columns]).T,
        _error_words(errors),
        tables[0].edges,
        shares.mean(axis=0),
    )


def _interval_of_mean(values: Array) -> tuple[float, float]:
    """Return the interval of a mean over seeds; of one seed, its value twice."""
    if len(values) < 2:
        return float(values[0]), float(values[0])
    found = paired(values.astype(float))
    return found.low, found.high


def _error_words(errors: Array) -> str:
    words = f"calibration error {errors.mean():.3f}"
    if len(errors) < 2:
        return words
    low, high = _interval_of_mean(errors)
    return f"{words} ± {(high - low) / 2:.3f}"

"""What a score costs: an interval at each size, all on one axis."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.plot import figure_checks, label_layout, text_layout
from ensedu.plot.panels import (
    Ends,
    Number,
    axis_ends,
    ends_around_zero,
    methods_of,
    number,
    panels,
    ticks,
)
from ensedu.plot.style import MARKERS, MUTED, PAGE, Figure, color, house_style, label, look
from ensedu.plot.text_layout import SMALL

__all__ = ["tradeoff"]

HIGH = (4.1, 4.4)  # inches of the panel, wide and narrow
STEP = 8.0  # points between two points of one size
MARK, CLEAR = 7.0, 6.0  # points: a marker, and from its middle to where nothing of it is
#: Words of a point, its size, and its interval (low, mean, high).
Point = tuple[str, Number, tuple[Number, Number, Number]]


def tradeoff(
    points: Mapping[str, Sequence[Point]],
    *,
    xlabel: str,
    ylabel: str,
    resolved: Mapping[str, Collection[str]] | None = None,
    colors: Mapping[str, str] | None = None,
    level: str = "",
    ylim: Ends | None = None,
) -> Figure:
    """Draw a score's interval over a size, from small to large on a logarithmic axis.

    A line joins the points of a name. Marks are full where a point's difference from 0 is resolved,
    and hollow where it is not. Points of one size, or nearly, stand side by side.

    Parameters
    ----------
    points
        Names to their points, (words, size, (low, mean, high)); one without words has the name.
    xlabel, ylabel
        What size and score are, with units.
    resolved
        Names to the words of the points that are resolved. By default those whose interval leaves
        0 out.
    colors
        Names to methods whose color and marker they have; a method's name has its own.
    level
        Words at the line at 0.
    ylim
        Ends of the score; what goes on beyond them ends there. By default all is seen.

    Raises
    ------
    TypeError, ValueError
        For points of another form, sizes that are not above 0, intervals that are not in order, a
        name without points, a `resolved` name or words that are not drawn, and a color of no name.
    """
    named = figure_checks.mapping("points", points, "(words, size, (low, mean, high)) each")
    drawn = {name: _checked_points(f"points[{name!r}]", value) for name, value in named.items()}
    for what, text in (("xlabel", xlabel), ("ylabel", ylabel), ("level", level)):
        figure_checks.text(what, text)
    sure = _resolved_points(resolved, drawn)
    own = methods_of(colors, drawn, "points")
    every = [(at, one) for found in drawn.values() for _, at, one in found]
    with house_style():
        ends = (
            ends_around_zero([end for _, one in every for end in one])
            if ylim is None
            else axis_ends("ylim", ylim)
        )
        labels = ticks(ends, 8)
        left = 0.5 + max(text_layout.text_width(words, SMALL) for words in labels.values())
        figure, (axes,) = panels(1, height=HIGH[look().narrow], left=left, above=0.3)
        sizes = [at for at, _ in every]
        axes.set(xscale="log", xlim=(min(sizes) / 1.35, max(sizes) * 1.35), ylim=ends)
        label_layout.name_x(axes, text_layout.wrapped(xlabel, look().width - 2 * label_layout.EDGE))
        axes.set_yticks(list(labels), list(labels.values()))
        figure.text(0.01, 1 - 0.04 / figure.get_figheight(), ylabel, va="top", fontsize=SMALL + 1)
        marks = label_layout.log_ticks(*axes.get_xlim(), max(sizes) / min(sizes))
        axes.set_xticks(marks, [number(mark) for mark in marks])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.axhline(0, color=MUTED, lw=1.2, zorder=1)
        drawn = _move_apart(axes, drawn)
        curves = []
        for name, found in drawn.items():
            method = own.get(name, name)
            curves += _draw_points(axes, found, method, sure[name])
        _write_points(axes, drawn, own, curves, level)
    return figure


def _move_apart(axes: Axes, drawn: Mapping[str, Sequence[Point]]) -> dict[str, list[Point]]:
    """Move points of one size apart, by as many decades as `STEP` is on paper."""
    low, high = np.log10(axes.get_xlim())
    low_x, high_x = (end[0] for end in label_layout.panel_box(axes))
    step = STEP * (high - low) / (high_x - low_x)
    every = sorted((at, name, i) for name, own in drawn.items() for i, (_, at, _) in enumerate(own))
    groups: list[list[tuple[float, str, int]]] = []
    for one in every:
        near = bool(groups) and np.log10(one[0] / groups[-1][-1][0]) < step / 2
        if near:
            groups[-1].append(one)
        else:
            groups.append([one])
    moved = {
        (name, i): at * 10 ** (step * (k - (len(group) - 1) / 2))
        for group in groups
        for k, (at, name, i) in enumerate(group)
    }
    return {
        name: [(words, float(moved[name, i]), one) for i, (words, _, one) in enumerate(own)]
        for name, own in drawn.items()
    }


def _draw_points(
    axes: Axes, found: Sequence[Point], method: str, sure: Collection[str]
) -> list[Float[Array, "_ 2"]]:
    """Draw the points of a name; return all lines, in the units of the axes."""
    ink, marker = color(method), MARKERS.get(method, "o")
    sizes = np.array([at for _, at, _ in found])
    means = np.array([one[1] for *_, one in found])
    order = np.argsort(sizes)
    lines = [np.stack([sizes, means], axis=1)[order]] if len(found) > 1 else []
    for line in lines:
        axes.plot(*line.T, color=ink, lw=1.2, ls=":", zorder=2)
    for words, at, (low, mean, high) in found:
        face = ink if words in sure else PAGE
        axes.plot([at, at], [low, high], color=ink, lw=1.5, zorder=2, solid_capstyle="butt")
        axes.plot([at], [mean], marker, ms=MARK, color=ink, mfc=face, mew=1.4, zorder=3)
        lines.append(np.array([[at, low], [at, high]], float))
    return lines


def _write_points(
    axes: Axes,
    drawn: Mapping[str, Sequence[Point]],
    own: Mapping[str, str],
    curves: Sequence[Float[Array, "_ 2"]],
    level: str,
) -> None:
    """Write beside each point what it is, where that covers the least."""
    panel = label_layout.panel_box(axes)
    ends = np.array(axes.get_ylim())
    clipped = [np.stack([line[:, 0], line[:, 1].clip(*ends)], axis=1) for line in curves]
    zero = np.stack([axes.get_xlim(), (0.0, 0.0)], axis=1)
    lines = label_layout.segments_of_curves(
        [label_layout.in_points(axes, line) for line in (*clipped, zero)]
    )
    taken: list[tuple[Array, Array]] = []
    marks = {
        (name, words): label_layout.in_points(axes, (at, np.clip(one[1], *ends)))
        for name, found in drawn.items()
        for words, at, one in found
    }
    taken += [(at - CLEAR, at + CLEAR) for at in marks.values()]
    if level:
        size = 72 * np.array(
            [text_layout.text_width(level, SMALL), text_layout.text_height(level, SMALL)]
        )
        corner = label_layout.in_points(axes, (axes.get_xlim()[1], 0)) + np.array([-size[0] - 3, 3])
        axes.annotate(
            level, (1, 0), (-3, 3), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", va="bottom", color=MUTED, fontsize=SMALL,
        )  # fmt: skip
        taken.append((corner, corner + size))
    for name, found in drawn.items():
        for words, at, one in found:
            text = words or label(name)
            mark = marks[name, words]
            half = (
                36
                * np.array(
                    [text_layout.text_width(text, SMALL), text_layout.text_height(text, SMALL)]
                )
                + 1
            )
            offset = label_layout.free_offset(mark, half, panel, taken, lines, clear=CLEAR, far=70)
            axes.annotate(
                text, (at, float(np.clip(one[1], *ends))), tuple(offset),
                textcoords="offset points", ha="center", va="center", fontsize=SMALL,
                color=color(own.get(name, name)),
            )  # fmt: skip
            taken.append((mark + offset - half, mark + offset + half))


def _resolved_points(resolved: Any, drawn: Mapping[str, Sequence[Point]]) -> dict[str, set[str]]:
    """Return the words of each name's points that are drawn full."""
    if resolved is None:
        return {
            name: {words for words, _, (low, _, high) in found if low > 0 or high < 0}
            for name, found in drawn.items()
        }
    given = figure_checks.optional_mapping("resolved", resolved, "names to words of their points")
    for name, words in given.items():
        checks.one_of("resolved", name, drawn)
        if not isinstance(words, (list, tuple, set, frozenset)):
            raise TypeError(
                f"resolved[{name!r}] must be a list of words, got {checks.given(words)}"
            )
        for word in words:
            checks.one_of(f"resolved[{name!r}]", word, [each for each, *_ in drawn[name]])
    return {name: set(given.get(name, ())) for name in drawn}


def _checked_points(name: str, values: Any) -> list[Point]:
    accepted = "at least one (words, size, (low, mean, high))"
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be {accepted}, got {checks.given(values)}")
    if not values:
        raise ValueError(f"{name} must be {accepted}, got none")
    found: list[Point] = []
    for i, value in enumerate(values):
        if not isinstance(value, (tuple, list)) or len(value) != 3:
            raise TypeError(f"{name}[{i}] must be (words, size, (low, mean, high)), "
                            f"got {checks.given(value)}")  # fmt: skip
        words, size, one = value
        if not isinstance(one, (tuple, list)) or len(one) != 3:
            raise TypeError(f"{name}[{i}][2] must be (low, mean, high), got {checks.given(one)}")
        low, mean, high = (checks.real(f"{name}[{i}][2]", end) for end in one)
        if not low <= mean <= high:
            raise ValueError(f"{name}[{i}][2] must be low <= mean <= high, got {tuple(one)}")
        size = checks.real(
            f"{name}[{i}][1]", size, low=1 / figure_checks.MOST, high=figure_checks.MOST
        )
        found.append((figure_checks.text(f"{name}[{i}][0]", words), size, (low, mean, high)))
    if len({words for words, *_ in found}) < len(found):
        raise ValueError(f"{name} must have other words at each point, got some twice")
    return found

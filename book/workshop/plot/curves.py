"""How totals grow, one curve a method, named at its end."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from workshop.plot import label_layout, text_layout
from workshop.plot.panels import LEADER, middles_apart
from workshop.plot.style import LINES, MARKERS, Figure, color, house_style, label, look
from workshop.plot.text_layout import SMALL

Numbers = Sequence[int] | Sequence[float] | np.ndarray
EDGE = 0.08  # inches between the edge of the figure and what is written
LEAD = 0.27  # inches from a curve's end to its name


def growth_curves(
    x: Numbers,
    totals: Mapping[str, Numbers],
    *,
    xlabel: str,
    ylabel: str,
    ylim: tuple[float | int, float | int],
    log_x: bool = False,
    relative_to: str | None = None,
) -> Figure:
    """Draw one curve a method over `x`, with its name at its right end.

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
    log_x
        Whether the x-axis is logarithmic; then there is a tick at each x.
    relative_to
        One of the names: each curve is divided by that one.
    """
    xs = np.array(x, float)
    curves = {name: np.array(values, float) for name, values in totals.items()}
    if relative_to is not None:
        base = curves[relative_to]
        curves = {name: values / base for name, values in curves.items()}
    with house_style():
        axes = _growth_axes(list(curves))
        size = min(6.0, max(3.5, 45 * axes.bbox.width / axes.figure.dpi / len(xs)))
        for name, values in curves.items():
            axes.plot(
                xs, values, color=color(name), ls=LINES.get(name, "-"), ms=size,
                marker=MARKERS.get(name, "."), label=label(name), clip_on=False,
            )  # fmt: skip
        axes.grid(axis="y")
        axes.set(xscale="log" if log_x else "linear", ylim=ylim)
        ticks = _y_ticks(axes, "×" if relative_to is not None else "")
        _fit_labels(axes, ticks, xlabel, ylabel)
        _x_ticks(axes, xs)
        _write_names_at_ends(axes, {name: values[-1] for name, values in curves.items()}, xs[-1])
    return label_layout.figure_of(axes)


def _growth_axes(names: Sequence[str]) -> Axes:
    """Return axes that fill a figure up to the room for names, which all fit above each other."""
    ends = [_wrapped_end_name(name) for name in names]
    high = max(2.75 if look().narrow else 3.1, sum(map(_name_height, ends)))
    right = LEAD + max(text_layout.text_width(end, SMALL, "bold") for end in ends) + EDGE
    figure = Figure(figsize=(look().width, high))
    return figure.add_axes((0, 0, 1 - right / look().width, 1))


def _wrapped_end_name(name: str) -> str:
    return text_layout.wrapped(label(name), 1.34 if look().narrow else 2.2, SMALL, "bold")


def _name_height(end: str) -> float:
    return text_layout.text_height(end, SMALL) + 0.05


def _y_ticks(axes: Axes, times: str) -> float:
    """Set the ticks of y, and return how many inches wide their longest label is."""
    values = label_layout.ticks_within(axes.yaxis.get_majorticklocs(), *axes.get_ylim())
    words = [text_layout.number_in_words(y) + times for y in values]
    axes.set_yticks(values, words)
    return max(text_layout.text_width(text, SMALL) for text in words)


def _fit_labels(axes: Axes, ticks: float | int, xlabel: str, ylabel: str) -> None:
    """Leave room for ticks this wide on the left of axes, and for both labels."""
    figure = label_layout.figure_of(axes)
    wide, high = figure.get_size_inches()
    left, right = EDGE + ticks + 0.1, wide * axes.get_position().x1
    # The y-axis is named above its top end, where it can be read without turning the head.
    over = text_layout.wrapped(ylabel, wide - 2 * EDGE)
    under = text_layout.wrapped(xlabel, wide - 2 * EDGE)
    bottom = text_layout.text_height(under) + 0.34
    whole = text_layout.text_height(over) + 0.24 + high + bottom
    figure.set_size_inches(wide, whole)
    axes.set_position((left / wide, bottom / whole, (right - left) / wide, high / whole))
    figure.text(EDGE / wide, 1 - 0.05 / whole, over, va="top", linespacing=1.1)
    label_layout.name_x(axes, under)


def _x_ticks(axes: Axes, xs: np.ndarray) -> None:
    """Set the ticks of x: at each number drawn, or at round ones.

    Of ticks that stand too close some have no label.
    """
    low, high = axes.get_xlim()
    log = axes.get_xscale() == "log"
    tries: list[Any] = [xs] if log or np.diff(xs).min() >= 0.06 * (xs[-1] - xs[0]) else []
    if not log:
        whole = bool((xs == np.round(xs)).all())
        tries += [MaxNLocator(n, integer=whole).tick_values(low, high) for n in range(8, 0, -1)]
    tries = [label_layout.ticks_within(values, low, high) for values in tries]
    values = next(
        (each for each in tries if all(label_layout.which_have_labels(axes, each))), tries[-1]
    )
    shown = label_layout.which_have_labels(axes, values)
    words = [
        text_layout.number_in_words(x) if labeled else ""
        for x, labeled in zip(values, shown, strict=True)
    ]
    axes.set_xticks(values, words)
    axes.xaxis.set_minor_locator(NullLocator())


def _write_names_at_ends(axes: Axes, ends: Mapping[str, float], x: float | int) -> None:
    """Write each name at the end of its curve, moved up or down where two would touch."""
    box = axes.get_window_extent()
    heights = axes.transData.transform([(x, y) for y in ends.values()])[:, 1] - box.y0
    words = {name: _wrapped_end_name(name) for name in ends}
    high = box.height / axes.figure.dpi
    found = middles_apart(
        heights / axes.figure.dpi, [_name_height(end) for end in words.values()], (-0.1, high + 0.1)
    )
    across = 1 + LEAD * axes.figure.dpi / box.width
    for (name, end), at in zip(words.items(), found, strict=True):
        axes.annotate(
            end, xy=(x, ends[name]), xytext=(across, at / high), textcoords="axes fraction",
            color=color(name), weight="bold", va="center", annotation_clip=False,
            fontsize=SMALL, linespacing=1.1, gid=LEADER,
            arrowprops={"arrowstyle": "-", "color": color(name), "lw": 0.8, "shrinkA": 1,
                        "shrinkB": 6, "relpos": (0, 0.5)},
        )  # fmt: skip

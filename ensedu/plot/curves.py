"""How totals grow, one curve a method, named at its end."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ensedu import _checks
from ensedu.plot import _inputs
from ensedu.plot.style import LINES, MARKERS, WIDTH, Figure, color, house_style, label


def growth_curves(
    x: _inputs.Numbers,
    totals: Mapping[str, _inputs.Numbers],
    *,
    xlabel: str,
    ylabel: str,
    log: bool = False,
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
    log
        Whether the y-axis is logarithmic; totals must then be above 0.
    relative_to
        One of the names: each curve is divided by that one.

    Raises
    ------
    TypeError, ValueError
        For lengths that differ, values that do not increase or are not finite, a name unknown.
    """
    xs = _inputs.series("x", x)
    if (np.diff(xs) <= 0).any():
        raise ValueError(f"x must increase, got {list(x)}")
    named = _inputs.mapping("totals", totals, f"{len(xs)} totals each")
    curves = {
        name: _inputs.series(f"totals[{name!r}]", values, len(xs)) for name, values in named.items()
    }
    _inputs.text("xlabel", xlabel)
    _inputs.text("ylabel", ylabel)
    _checks.boolean("log", log)
    if relative_to is not None:
        base = curves[_checks.one_of("relative_to", relative_to, tuple(curves))]
        if (base <= 0).any():
            raise ValueError(f"totals[{relative_to!r}] must be above 0 to divide by it")
        curves = {name: values / base for name, values in curves.items()}
    if log and any((values <= 0).any() for values in curves.values()):
        raise ValueError("totals must be above 0 for log=True")

    with house_style():
        figure = Figure(figsize=(WIDTH, 4.2))
        # The y-axis is named above its top end, where it can be read without turning the head.
        axes = figure.add_axes((0.115, 0.15, 0.655, 0.74))
        for name, values in curves.items():
            axes.plot(
                xs, values, color=color(name), ls=LINES.get(name, "-"),
                marker=MARKERS.get(name, "."), label=label(name), clip_on=False,
            )  # fmt: skip
        axes.set_xlabel(xlabel)
        figure.text(0.012, 0.95, ylabel, va="center")
        axes.grid(axis="y")
        if log:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        if np.diff(xs).min() >= 0.06 * (xs[-1] - xs[0]):
            axes.set_xticks(xs)
        elif (xs == np.round(xs)).all():
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        times = "×" if relative_to is not None else ""
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _number(y) + times))
        axes.yaxis.set_minor_formatter("")
        _name_ends(figure, axes, {name: values[-1] for name, values in curves.items()}, xs[-1])
    return figure


def _name_ends(figure: Figure, axes: Axes, ends: Mapping[str, float], x: float) -> None:
    """Write each name at the end of its curve, moved up or down where two would touch."""
    texts = {
        name: axes.annotate(
            label(name), xy=(x, ends[name]), xytext=(1, 1), textcoords="axes fraction",
            color=color(name), weight="bold", va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color(name), "lw": 0.8, "shrinkA": 1,
                        "shrinkB": 6, "relpos": (0, 0.5)},
        )
        for name in ends
    }  # fmt: skip
    # Tick labels and names take what room they need, the curves the rest.
    dpi = figure.dpi
    figure.draw_without_rendering()
    width = max(Text.get_window_extent(text).width for text in texts.values())
    ticks = axes.yaxis.get_tightbbox()
    left = 0.022 + ticks.width / dpi / WIDTH
    right = 0.945 - width / dpi / WIDTH
    axes.set_position((left, 0.15, max(0.3, right - left), 0.74))
    figure.draw_without_rendering()
    names = sorted(ends, key=ends.__getitem__)
    y = np.array([axes.transData.transform((x, ends[name]))[1] for name in names])
    box = axes.get_window_extent()
    line = dpi * 0.235
    for i in range(1, len(y)):  # each at least one line above the one below it
        y[i] = max(y[i], y[i - 1] + line)
    y -= max(0.0, y[-1] - box.y1)  # none above the top
    for i in range(len(y) - 2, -1, -1):
        y[i] = min(y[i], y[i + 1] - line)
    for name, height in zip(names, (y - box.y0) / box.height, strict=True):
        texts[name].set_position((1.0 + 0.3 * dpi / box.width, height))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"

"""How totals grow, one curve a method, named at its end."""

from collections.abc import Mapping, Sequence

import numpy as np

from workshop.plot.panels import ends_room, label_ticks, name_curves, panels, tick_room, ticks
from workshop.plot.style import LINES, MARKERS, MUTED, Figure, color, house_style, label, look
from workshop.plot.text_layout import number_in_words

Numbers = Sequence[int] | Sequence[float] | np.ndarray


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

"""Measured ratios: a dot at the median, a line from quartile to quartile."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

from ensedu import checks
from ensedu.methods import METHODS
from ensedu.plot import inputs
from ensedu.plot.style import INK, MARKERS, MUTED, WIDTH, Figure, color, house_style, label


def ratios(
    values: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    reference: str,
    colors: Mapping[str, str] | None = None,
) -> Figure:
    """Draw one row a name: quartiles of measured ratios on a logarithmic axis, and a line at 1.

    Parameters
    ----------
    values
        Names to (first quartile, median, third quartile), drawn from top to bottom.
    xlabel
        What is divided by what.
    reference
        What stands at 1.
    colors
        Some of the names to the method whose color, marker and weight they get; a method's own
        name has them without.

    Raises
    ------
    TypeError, ValueError
        For quartiles that do not rise or are not above 0, for a name in `colors` that is not in
        `values`, and an unknown method.
    """
    named = inputs.mapping("values", values, "three quartiles each")
    rows = {name: _quartiles(name, value) for name, value in named.items()}
    inputs.text("xlabel", xlabel)
    inputs.text("reference", reference)
    methods = inputs.optional_mapping("colors", colors, "methods")
    if unknown := methods.keys() - rows.keys():
        raise ValueError(f"colors must name rows of values, got {sorted(unknown)}")
    for name, method in methods.items():
        checks.one_of(f"colors[{name!r}]", method, METHODS)
    every = np.concatenate(list(rows.values()))
    low, high = min(1.0, every.min()) / 1.12, max(1.0, every.max()) * 1.12
    with house_style():
        height = 0.34 * len(rows) + 1.0
        figure = Figure(figsize=(WIDTH, height))
        left = 0.4
        axes = figure.add_axes((left, 0.55 / height, 0.98 - left - 0.06, 1 - 0.9 / height))
        axes.set(xscale="log", xlim=(low, high), ylim=(len(rows) - 0.4, -0.6))
        axes.axvline(1, color=MUTED, lw=1.2)
        axes.annotate(
            reference, (1, 1), (0, 4), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center" if low < 0.9 else "left", color=MUTED,
            fontsize=11,
        )  # fmt: skip
        for y, (name, (first, median, third)) in enumerate(rows.items()):
            method = methods.get(name, name)
            own = color(method)
            axes.plot([first, third], [y, y], color=own, lw=2.4, solid_capstyle="round")
            axes.plot([median], [y], marker=MARKERS.get(method, "."), ms=8, color=own)
            axes.annotate(
                f"{median:.2f}" if median < 10 else f"{median:.3g}", (1, y), (6, 0),
                xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
                color=own, fontsize=11, annotation_clip=False,
            )  # fmt: skip
            axes.annotate(
                label(name), (0, y), (-8, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", ha="right",
                color=own if own != INK else INK, weight="bold" if method != name else "normal",
            )  # fmt: skip
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_xticks(_ticks(low, high))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
        axes.xaxis.set_minor_locator(NullLocator())
        figure.text(0.5 + left / 2, 0.06 / height, xlabel, ha="center", va="bottom")
    return figure


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers from low to high, as many as have room to be read."""
    span = high / low
    steps: tuple[float, ...] = (
        1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 9.5,
    )  # fmt: skip
    if span > 1.5:
        steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    if span > 3:
        steps = (1, 1.5, 2, 3, 5, 7)
    if span > 8:
        steps = (1, 2, 5) if span < 80 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [round(step * 10.0**power, 12) for power in powers for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


def _quartiles(name: str, value: Any) -> np.ndarray:
    three = inputs.series(f"values[{name!r}]", value, 3)
    if three[0] <= 0 or (np.diff(three) < 0).any():
        raise ValueError(
            f"values[{name!r}] must rise and be above 0, got {checks.given(list(value))}"
        )
    return three

"""One random weight: the density of its normal distribution, and draws from it."""

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from ensedu.common import checks
from workshop.plot import figure_checks, text_layout
from workshop.plot.panels import axis_ends, number, place, set_axis, ticks
from workshop.plot.style import GRID, INK, PALETTE, Figure, house_style, look
from workshop.plot.text_layout import SMALL

Side = Literal["left", "center", "right"]
EDGE = 0.14  # inches: left and right of the axis
NAME = 0.3  # inches: above the density, where the mean is named
STROKE = 0.22  # inches: the height of a draw
BELOW = 0.56  # inches: below the density, for the draws and how many they are
LETTERS = 12  # points
MOST_DRAWS = 1000
OWN = PALETTE["rank1"]


def weight_density(
    mean: float | int,
    std: float | int,
    draws: Float[np.ndarray, "S"],
    *,
    xlim: tuple[float | int, float | int],
    top: float | int,
) -> Figure:
    """Draw the density of one random weight, and below it each draw as a stroke.

    The mean is a line, and the range of one standard deviation to either side is hatched.

    Parameters
    ----------
    mean, std
        The two numbers of a normal distribution, the second above 0.
    draws
        (S,), 1 to 1,000 draws of the weight.
    xlim
        The weights at the ends of the axis.
    top
        The greatest density of the axis.

    Raises
    ------
    TypeError, ValueError
        For numbers that are not finite, a standard deviation of 0 or less, or a bad option.
    """
    mean = checks.real("mean", mean, low=-figure_checks.MOST, high=figure_checks.MOST)
    std = checks.real("std", std, low=1 / figure_checks.MOST, high=figure_checks.MOST)
    S = len(figure_checks.array("draws", draws, ("S",)))
    if S > MOST_DRAWS:
        raise ValueError(f"draws has S = {S}, accepted is up to {MOST_DRAWS:,}")
    low, high = axis_ends("xlim", xlim)
    peak = 1 / (std * np.sqrt(2 * np.pi))
    top = checks.real("top", top, low=1 / figure_checks.MOST, high=figure_checks.MOST)

    wide = look().width
    tall = 1.4 if look().narrow else 1.6
    unit = top / tall  # the density of an inch
    with house_style():
        figure = Figure(figsize=(wide, NAME + tall + BELOW + 0.52))
        axes = place(figure, EDGE, NAME, wide - 2 * EDGE, tall + BELOW)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("weight")
        axes.set(yticks=[], ylim=(-BELOW * unit, top))
        _set_ticks(axes, low, high)
        near = mean + std * np.linspace(-5, 5, 201)
        x = np.array([low, *near[(near > low) & (near < high)], high])
        y = peak * np.exp(-(((x - mean) / std) ** 2) / 2)
        axes.fill_between(x, y, color=OWN, alpha=0.15, lw=0, label="_area")
        middle = np.abs(x - mean) <= std
        axes.fill_between(x, y, where=middle, facecolor="none", edgecolor=OWN, lw=0, hatch="////",
                          alpha=0.5, label="_area")  # fmt: skip
        axes.plot(x, y, color=OWN, label="density")
        axes.axhline(0, color=GRID, lw=0.8)
        ends = -0.06 * unit, -(0.06 + STROKE) * unit
        axes.vlines(draws, *ends, color=OWN, lw=1.4, label="draws")
        words: dict[str, Any] = {"color": OWN, "weight": "bold", "fontsize": SMALL}
        many = f"{S:,} draw{'s' if S > 1 else ''}"
        axes.text(low, -(STROKE + 0.2) * unit, many, va="center", **words)
        if low <= mean <= high:
            axes.vlines(mean, 0, top, color=OWN, lw=1.4, ls=":", label="mean")
            _write_moments(axes, mean, std, min(0.607 * peak, 0.9 * top))
    return figure


def _set_ticks(axes: Axes, low: float, high: float) -> None:
    """Give the axis of weights as many ticks as have room, none of which leaves the figure."""
    for most in range(7, 0, -1):
        labels = ticks((low, high), most)
        boxes = [_label_ends(words, (x - low) / (high - low)) for x, words in labels.items()]
        if all(one[1] + 0.12 <= other[0] for one, other in pairwise(boxes)):
            break
    set_axis(axes.xaxis, (low, high), labels)
    for tick, (_, _, side) in zip(axes.xaxis.get_ticklabels(), boxes, strict=True):
        tick.set_horizontalalignment(side)


def _label_ends(words: str, part: float) -> tuple[float, float, Side]:
    """Return where a tick at this part of the axis begins and ends, in inches, and how it lies."""
    inches = look().width - 2 * EDGE
    at, width = part * inches, text_layout.text_width(words, SMALL)
    if at - width / 2 < -EDGE:
        return at, at + width, "left"
    if at + width / 2 > inches + EDGE:
        return at - width, at, "right"
    return at - width / 2, at + width / 2, "center"


def _write_moments(axes: Axes, mean: float, std: float, y: float) -> None:
    """Write mean and standard deviation where they are seen."""
    low, high = axes.get_xlim()
    inch = (high - low) / (look().width - 2 * EDGE)
    top = axes.get_ylim()[1]
    words = f"μ = {number(mean)}"
    half = text_layout.text_width(words, LETTERS) / 2 * inch
    x = max(low + half, min(high - half, mean))
    axes.text(x, top, words, ha="center", va="bottom", fontsize=LETTERS, color=INK)
    words = f"σ = {number(std)}"
    room = std + (0.08 + text_layout.text_width(words, LETTERS)) * inch
    style: dict[str, Any] = {"va": "center", "fontsize": LETTERS, "color": INK}
    side = 1 if mean + room <= high else -1
    if mean - room < low and side < 0:
        # The arrow is as long as the axis: its name stands above the curve.
        y_up = min(y / 0.607 + 0.06 * top, 0.8 * top)
        x = min(mean + 0.08 * inch, high - text_layout.text_width(words, LETTERS) * inch)
        axes.text(x, y_up, words, **style | {"va": "bottom"})
        side = 1
    else:
        axes.text(
            mean + side * (std + 0.08 * inch), y, words, ha="left" if side > 0 else "right", **style
        )
    axes.plot([mean, mean + side * std], [y, y], color=INK, lw=1.2, label="std")
    arrow = ">" if side > 0 else "<"
    axes.plot([mean + side * std], [y], arrow, color=INK, ms=5, label="_arrow")

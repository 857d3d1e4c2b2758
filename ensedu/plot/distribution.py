"""A distribution over weight matrices: its mean, its standard deviation, and draws from it."""

from math import ceil

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ensedu import checks
from ensedu.methods import METHODS
from ensedu.plot import cells, inputs
from ensedu.plot.style import HEAT, MUTED, PALETTE, WIDTH, Figure, canvas, house_style

MOST_SAMPLES = 6
MOST_CELLS = 16  # rows or columns
EDGE = 0.12  # inches: the margin
BAND = 0.09  # inches: the width of the hatched frame
APART = 0.3  # inches: between mean and standard deviation
GAP = 0.25  # inches: between two samples
LIMIT = 2.0  # standard deviations at the ends of the scale of changes, always the same
# Whether the members are made by r and s decides what moves together.
WORDS = {
    True: "A row shares one draw of r, a column one of s: their entries move together.",
    False: "Each entry is drawn on its own: no row or column moves together.",
}
CAPTIONS = {key: WORDS[method.modulated] for key, method in METHODS.items() if method.spread}
FIRST, *_ = CAPTIONS


def distribution(
    mean: Float[np.ndarray, "m n"],
    std: Float[np.ndarray, "m n"],
    samples: Float[np.ndarray, "S m n"],
    *,
    method: str = FIRST,
    value_range: float | int | None = None,
) -> Figure:
    """Draw a layer's mean matrix, its standard deviations and matrices drawn from it.

    Under each sample stands how far its entries moved from the mean, in standard deviations: red
    is away from 0, blue is towards 0 or past it. There a row whose entries share a factor is one
    strip of one color, whatever the signs and sizes of its entries. Entries of matrices are
    written where they fit. Mean and samples have one color scale, centered at 0.

    Parameters
    ----------
    mean, std
        (m, n) each, m and n up to 16; no standard deviation is below 0.
    samples
        (S, m, n), 1 to 6 matrices of the layer.
    method
        A method with standard deviations: the color of the frames, and what is said below them.
        The rank-1 BNN by default.
    value_range
        The scale of mean and samples runs from ``-value_range`` to ``value_range``; by default
        the greatest absolute entry. Pass it to keep the scale while a slider moves.

    Raises
    ------
    TypeError, ValueError
        For arrays whose shapes do not agree, a size too large, or a bad option.
    """
    m, n = inputs.array("mean", mean, ("m", "n")).shape
    inputs.array("std", std, (m, n), like="mean")
    S = len(inputs.array("samples", samples, ("S", m, n), like="mean"))
    for where, letter, size, most in (
        ("mean", "m", m, MOST_CELLS), ("mean", "n", n, MOST_CELLS),
        ("samples", "S", S, MOST_SAMPLES),
    ):  # fmt: skip
        if size > most:
            raise ValueError(f"{where} has {letter} = {size}, accepted is up to {most}")
    if (std < 0).any():
        raise ValueError(f"std must hold standard deviations >= 0, got {std.min()}")
    own = PALETTE[checks.one_of("method", method, tuple(CAPTIONS))]
    if value_range is None:
        value_range = max(float(np.abs(mean).max()), float(np.abs(samples).max())) or 1.0
    else:
        value_range = inputs.value_range(value_range)

    half = (WIDTH - 2 * EDGE - 2 * BAND - APART) / 2
    width = min(0.72, half / n)
    cell = (width, min(width, 0.42, 3.2 / m))
    beside = S if S <= 4 else 3
    slot = (WIDTH - 2 * EDGE - GAP * (max(beside, 3) - 1)) / max(beside, 3)
    width = min(0.6, slot / n)
    small = (width, min(width, 0.9 * cell[1]))
    flat = (width, 0.6 * small[1])
    rows = ceil(S / beside)
    above = 0.5 + 2 * BAND + m * cell[1] + 0.55
    height = 0.5 + m * small[1] + 0.4 + m * flat[1] + 0.16
    with house_style():
        figure, axes = canvas(WIDTH, above + rows * height + 0.92)
        top, right = 0.5 + BAND, EDGE + half + APART
        spread = float(std.max()) or 1.0
        below = top + m * cell[1] + BAND + 0.22
        for x, words in ((EDGE, "mean"), (right, "standard deviation")):
            axes.text(x, 0.27, words, va="center")
        cells.heat(axes, mean, (EDGE, top), cell, value_range)
        cells.frame(axes, mean, (EDGE, top), cell, edgecolor=own, lw=2.0)
        cells.scale(axes, (EDGE, below), -value_range, value_range, HEAT, "mean, samples")
        tint = cells.tint(own)
        _band(axes, (right + BAND, top), (n * cell[0], m * cell[1]), own)
        cells.squares(axes, std, (right + BAND, top), cell, cmap=tint, vmin=0.0, vmax=spread)
        cells.scale(axes, (right, below), 0.0, spread, tint, "")
        if cells.fit(cell[0], mean, std):
            cells.write(axes, mean, (EDGE, top), cell, value_range)
            cells.write(axes, std, (right + BAND, top), cell, np.inf)
        for i, sample in enumerate(samples):
            x = EDGE + (i % beside) * (slot + GAP)
            y = above + (i // beside) * height
            if i % beside == 0:
                axes.plot([EDGE, WIDTH - EDGE], [y, y], color=MUTED, lw=0.6, alpha=0.6)
            axes.text(x, y + 0.27, f"sample {i + 1}", va="center")
            y += 0.5
            cells.heat(axes, sample, (x, y), small, value_range)
            cells.frame(axes, sample, (x, y), small, edgecolor=own, lw=0.9)
            if cells.fit(small[0], samples):
                cells.write(axes, sample, (x, y), small, value_range)
            y += m * small[1] + 0.4
            if i % beside == 0:
                axes.text(EDGE, y - 0.2, "change from the mean, in standard deviations",
                          va="center", fontsize=11, color=MUTED)  # fmt: skip
            cells.heat(axes, _change(mean, std, sample), (x, y), flat, LIMIT)
            cells.strips(axes, sample, (x, y), flat)
        y = above + rows * height
        cells.scale(axes, (EDGE, y + 0.16), -LIMIT, LIMIT, HEAT,
                     "change: red away from 0, blue towards 0")  # fmt: skip
        axes.text(EDGE, y + 0.6, CAPTIONS[method], va="center", fontsize=11, color=MUTED)
    return figure


def _band(axes: Axes, corner: cells.Pair, size: cells.Pair, own: str) -> None:
    """Draw a hatched frame, which leaves the entries inside free to be read."""
    axes.add_patch(
        Rectangle(
            (corner[0] - BAND, corner[1] - BAND), size[0] + 2 * BAND, size[1] + 2 * BAND,
            facecolor="none", edgecolor=own, lw=0.9, hatch="/////",
        )
    )  # fmt: skip


def _change(
    mean: Float[np.ndarray, "m n"], std: Float[np.ndarray, "m n"], sample: Float[np.ndarray, "m n"]
) -> Float[np.ndarray, "m n"]:
    """Return (sample - mean) / std, positive away from 0, and 0 where nothing is drawn."""
    away = np.where(mean < 0, -1.0, 1.0) * (sample - mean)
    return np.divide(away, std, out=np.zeros_like(away), where=std > 0)

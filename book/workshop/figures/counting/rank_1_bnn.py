"""What *What is inside a rank-1 BNN?* draws and says: random matrices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.patches import Rectangle
from numpy import ndarray as Array

from ensedu.methods import METHODS
from workshop.plot.colored_cells import scale_below
from workshop.plot.panels import panels
from workshop.plot.style import (
    MUTED,
    PAGE,
    SHARED,
    Figure,
    color,
    heat_colors,
    house_style,
    tint,
)

#: Inches: how wide a hatched frame is, and the room of a scale.
BAND, SCALE = 0.08, 0.42
#: The frame of what is never stored.
COMPUTED = {"ec": MUTED, "lw": 0.8, "ls": "--"}

# Captions.
CAPTION = (
    "The gray matrix is stored once. A member stores a mean (solid) and a standard deviation "
    "(hatched) for each entry of r and s, and a bias. Its dashed matrix is one sample: draw anew, "
    "and all of it moves."
)
ALT = (
    "A gray window of six by six weights, stored once. For each member two columns at the left and "
    "two rows above, the outer ones hatched, and six biases below; between them, in dashed frames, "
    "the weights of one sample."
)
DISTRIBUTION = (
    "Whole rows and columns move together. Three draws of a random matrix, and below each how "
    "far its weights moved: red away from 0, blue toward it or past it."
)


@dataclass(eq=False)
class Distribution:
    """A random matrix, and samples of it."""

    #: (m, n) each, the same for both.
    mean: Float[Array, "m n"]
    std: Float[Array, "m n"]
    #: (S, m, n) of ``"rank1"`` and of ``"mean_field"``.
    draws: Mapping[str, Float[Array, "S m n"]]

    def __post_init__(self) -> None:
        self.choices = {
            "method": [name.replace("1", "-1").replace("_", "-") for name in self.draws]
        }

    def draw(self, method: str) -> Figure:
        """Draw mean and σ, and draws above how far each of their weights moved."""
        name = dict(zip(self.choices["method"], self.draws, strict=True))[method]
        draws, own = self.draws[name], color(name)
        away = np.where(self.mean < 0, -1.0, 1.0) * (draws - self.mean)
        moved = np.divide(away, self.std, out=np.zeros_like(away), where=self.std > 0)
        stored, heat = not METHODS[name].modulated, heat_colors()
        frame = {"ec": SHARED, "lw": 2.0} if stored else COMPUTED
        hatched = {"ec": own, "lw": 0.9 * stored, "hatch": "//////"}
        with house_style():
            figure, found = panels(
                2 + 2 * len(draws), height=1.1, columns=(1 + len(draws),) * 2, left=0.13,
                right=0.13, above=0.42, below=0.3,
            )  # fmt: skip
            above, below = found[: 1 + len(draws)], found[1 + len(draws) :]
            show(above[0], self.mean, "mean", heat, (-1, 1), frame)
            show(below[0], self.std, "σ", tint(own), (0, 1), hatched)
            for i, (drawn, change) in enumerate(zip(draws, moved, strict=True), start=1):
                show(above[i], drawn, f"draw {i}", heat, (-1, 1), hatched)
                show(below[i], change, "moved", heat, (-2, 2), COMPUTED)
            # One scale for all that have the same.
            for axes, cmap, ends in (
                (above[0], heat, ("−1", "1")), (below[0], tint(own), ("0", "1")),
                (below[1], heat, ("−2σ", "2σ")),
            ):  # fmt: skip
                scale_below(axes, cmap, ends, SCALE)
        return figure

    def say(self, method: str) -> str:
        return {
            "rank-1": "Rank-1: the weights of a row share one random number, and so do those of a "
            "column. They move together.",
            "mean-field": "Mean-field, with the same means and standard deviations: each weight "
            "moves for itself.",
        }[method]


def show(
    axes: Axes, values: Float[Array, "m n"], title: str, cmap: Colormap, ends: tuple[float, float],
    frame: Mapping[str, Any],
) -> None:  # fmt: skip
    """Draw a matrix in a frame, which is wide where it is hatched."""
    m, n = values.shape
    axes.pcolormesh(values, cmap=cmap, vmin=ends[0], vmax=ends[1], ec=PAGE, lw=0.5)
    axes.set(xlim=(0, n), ylim=(m, 0), xticks=[], yticks=[])
    axes.set_title(title, pad=10)
    axes.set_frame_on(False)
    band = BAND / (axes.get_window_extent().size / axes.figure.dpi) * ("hatch" in frame)
    style = {"transform": axes.transAxes, "fc": "none", "clip_on": False} | frame
    axes.add_patch(Rectangle(-band, *(1 + 2 * band), zorder=3 * ("hatch" not in frame), **style))

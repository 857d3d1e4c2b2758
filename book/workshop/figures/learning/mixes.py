"""Six mixtures of concrete, the intervals that one network gives them, and those of a method."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from workshop.experiments.contest import reading
from workshop.experiments.contest.mixes import Mix
from workshop.plot.panels import LINE, RIGHT, inches, panels
from workshop.plot.style import INK, MUTED, PAGE, Figure, color, house_style, look

MIXES = (
    "Every method misses the mix of much cement and water, as one network does. 90% intervals for "
    "six mixes on which no network was trained. Dots: the strengths that were measured. The lower "
    "three mixes are unlike all those of training."
)

#: Of a row: how far below its middle each interval lies, and its name if it stands above.
LANES, SHIFT, ABOVE = (-0.2, 0.2), 0.16, -0.32
#: Inches of a row, where names stand beside it, and where they stand above.
ROW, TALL = 0.52, 0.68
TITLE = "strength, MPa"


class Mixes:
    """Intervals of one network, and of one method.

    Parameters
    ----------
    mixes
        As `workshop.experiments.contest.mixes.chosen` returns them.
    intervals
        Contestants, the gray reference first, to (low, high) of each mix, (2, 6).
    """

    def __init__(self, mixes: Sequence[Mix], intervals: Mapping[str, Float[Array, "2 K"]]) -> None:
        self.mixes, self.intervals = mixes, intervals
        self.reference, *others = intervals
        self.keys = {reading.label(key): key for key in others}
        self.choices = {"method": [*self.keys]}

    def draw(self, method: str) -> Figure:
        """Draw a row a mix, both intervals and what was measured."""
        shown = {reading.label(self.reference): self.reference, method: self.keys[method]}
        rows, narrow = np.arange(len(self.mixes)), look().narrow
        strengths = np.array([mix.strength for mix in self.mixes])
        left = RIGHT if narrow else RIGHT + max(inches(mix.name) for mix in self.mixes) + LINE
        height = len(rows) * (TALL if narrow else ROW)
        down = SHIFT if narrow else 0.0
        with house_style():
            figure, (axes,) = panels(1, height=height, left=left)
            for (name, key), lane in zip(shown.items(), LANES, strict=True):
                ends, y = self.intervals[key], rows + lane + down
                axes.hlines(y, *ends, color=color(key), lw=4, label=name)
                axes.annotate(
                    name, (ends[1, 0], y[0]), (7, 0), textcoords="offset points",
                    color=color(key), va="center",
                )  # fmt: skip
            axes.plot(
                strengths, rows + down, "o", color=INK, ms=6.5, mec=PAGE, mew=1.2, label="measured",
                zorder=3,
            )  # fmt: skip
            axes.axhline(2.5, color=MUTED, lw=0.8, ls=(0, (2, 3)))
            axes.set(xlabel=TITLE, xlim=(0, 1.04 * max(e.max() for e in self.intervals.values())))
            axes.set(ylim=(len(rows) - 0.5, -0.5), yticks=[])
            axes.spines["left"].set_visible(False)
            axes.grid(axis="x")
            axes.set_axisbelow(True)
            for row, mix in zip(rows, self.mixes, strict=True):
                at = (0, row + ABOVE) if narrow else (-0.02, row)
                axes.annotate(
                    mix.name, at, xycoords=axes.get_yaxis_transform(),
                    ha="left" if narrow else "right", va="center",
                )  # fmt: skip
        return figure

    def say(self, method: str) -> str:
        """Say which strengths lie outside of the method's intervals."""
        missed = [
            mix.name
            for mix, low, high in zip(self.mixes, *self.intervals[self.keys[method]], strict=True)
            if not low <= mix.strength <= high
        ]
        if not missed:
            return f"All six strengths lie in the intervals of {method}."
        return f"Not in the interval of {method}: {', '.join(missed)}."

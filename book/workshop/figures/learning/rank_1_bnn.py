"""What *Training a rank-1 BNN* draws and says: where distributions go, and what they are for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workshop.plot.panels import RIGHT, beside, ends_room, inches, name_ends, panels, set_axis
from workshop.plot.style import Figure, color, house_style

# Captions.
LIVE = (
    "Started near 1, most distributions of r and s go to the prior: what is left is noise that you "
    "chose. Each dot is one entry of r or s, its mean and its standard deviation σ; the ring is "
    "the prior. The curve is what the network learns meanwhile."
)
SWAPPED = (
    "The prior in the place of what r and s learned does no harm. Squares: the same rank-1 BNNs, "
    "with other r and s. Gray: one network. NLL of test images, lower is better; means over 10 "
    "splits."
)
TRAP = (
    "Under the narrow normal prior the means that start at −1 cross 0, and meanwhile the NLL of "
    "the training images rises; under a Cauchy prior most of them stay. Both from random signs; "
    "means over 10 splits, 2 initializations on each."
)

GREEN, GRAY = color("rank1"), color("single")
#: Inches that panels are high, and of one row.
HIGH, ROW = (2.7, 2.1), 0.48
#: The line of each prior in `Trap`.
STYLES = ("-", "--")


@dataclass(eq=False)
class Swapped:
    """A dot a row, each a score, beside one network's."""

    #: What stands in the place of r and s, to NLLs.
    values: Mapping[str, float | int]
    #: That of one network.
    single: float | int

    def draw(self) -> Figure:
        """Draw the rank-1 BNN's rows, and a line for one network."""
        left = RIGHT + 0.12 + max(map(inches, self.values))
        with house_style():
            figure, (axes,) = panels(1, height=ROW * (len(self.values) + 0.7), left=left)
            axes.axvline(self.single, color=GRAY, lw=2)
            place: dict[str, str] = {"ha": "right", "va": "center", "weight": "bold"}
            beside(axes, "one network", (self.single, -0.85), (-6, 0), GRAY, **place)
            for y, x in enumerate(self.values.values()):
                axes.plot(x, y, "s", color=GREEN, ms=9)
                beside(axes, f"{x:.3f}", (x, y), (10, 0), GREEN, va="center")
            axes.set(ylim=(len(self.values) - 0.5, -1.2), xlabel="NLL")
            axes.set_yticks(range(len(self.values)), self.values)
            axes.tick_params(axis="y", length=0)
            set_axis(axes.xaxis, (0.06, 0.125), {x: f"{x:g}" for x in (0.06, 0.08, 0.1, 0.12)})
        return figure

    def say(self) -> str:
        learned, *_, prior = self.values.values()
        return f"r and s as learned: NLL {learned:.3f}; from the prior: {prior:.3f}."


@dataclass(frozen=True)
class Path:
    """What becomes of networks under one prior, after each epoch."""

    #: The part of the means that lie below 0.
    negative: Sequence[float | int]
    #: That of weight samples on the images of training.
    nll: Sequence[float | int]


@dataclass(eq=False)
class Trap:
    """Means below 0, and the NLL, by prior."""

    epochs: Sequence[int]
    paths: Mapping[str, Path]

    def draw(self) -> Figure:
        room = ends_room(self.paths)
        with house_style():
            figure, (left, right) = panels(2, height=HIGH, right=room)
            for (name, path), style in zip(self.paths.items(), STYLES, strict=True):
                own = {"color": GREEN, "lw": 2.4, "ls": style, "label": name}
                left.plot(self.epochs, 100 * np.array(path.negative), **own)
                right.plot(self.epochs, path.nll, **own)
            left.set(title="means below 0, %", ylim=(0, 55))
            right.set(title="NLL, training", yscale="log")
            right.minorticks_off()
            set_axis(right.yaxis, (0.02, 3), {y: f"{y:g}" for y in (0.03, 0.1, 0.3, 1)})
            for axes, part in ((left, "negative"), (right, "nll")):
                axes.set(xscale="log", xlabel="epochs")
                axes.minorticks_off()
                set_axis(axes.xaxis, (0.95, 42), {x: f"{x}" for x in (1, 3, 8, 20, 40)})
                name_ends(figure, axes, [
                    (name, 40, (100 if axes is left else 1) * getattr(path, part)[-1], GREEN)
                    for name, path in self.paths.items()
                ])  # fmt: skip
        return figure

    def say(self) -> str:
        first, second = (f"{name} {100 * path.negative[-1]:.0f}%" for name, path in
                         self.paths.items())  # fmt: skip
        return f"Means below 0 at the end: {first}, {second}."

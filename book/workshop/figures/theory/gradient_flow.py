"""What *What moves when you train* draws and says: outputs, kernels and units of small networks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from numpy import ndarray as Array

from workshop.plot.moving import Computed, moves
from workshop.plot.panels import LINE, key_room, panels, write_key
from workshop.plot.style import INK, MUTED, Figure, color, heat_colors, house_style
from workshop.plot.text_layout import SMALL

# Captions.
FIRST = (
    "A wide network trains as its start foresees, a narrow one does not. Six points pull outputs "
    "up (red) or down (blue). The other curve: by how much a pull at 30° moves each output."
)
DRAGGED = (
    "A pull at one point drags the other along, until its own pull brings it back. A line of two "
    "weights, trained by steps of 0.1, and its outputs at both points as foreseen without training."
)
UNITS = (
    "In the narrow network hidden units turn and grow; in the wide one they end about where they "
    "began. A ring is a unit at the start, its dot the same unit at time 64; sixteen are shown."
)

GRAY = color("single")
REAL: dict[str, Any] = {"color": GRAY, "lw": 5, "alpha": 0.45}
STILL: dict[str, Any] = {"color": INK, "lw": 1.7, "ls": (0, (4, 2))}
TARGET: dict[str, Any] = {"color": MUTED, "lw": 1.2, "ls": ":"}
POINT: dict[str, Any] = {"color": INK, "marker": "o", "ms": 6, "ls": ""}
DOT: dict[str, Any] = {"marker": "o", "ls": "", "ms": 6}
START = DOT | {"color": GRAY, "mfc": "none", "zorder": 3}
KEY = {"the network": REAL, "if its kernel stood still": STILL, "data": POINT}
SHOWN = 16  # units of each network


def rising(sign: float | int) -> Any:
    """Return the color of what pulls up, 1, or down, -1: that of heat maps."""
    return heat_colors()(0.5 + 0.42 * sign)


def on_the_circle(axes: Axes) -> None:
    """Give axes an x-axis of angles."""
    axes.set(xlim=(-180, 180), xticks=[-180, -90, 0, 90, 180])
    axes.set_xlabel("input, degrees")


@dataclass(eq=False)
class Dragged:
    """Outputs of a line at two points while it trains, and as they were foreseen."""

    #: Times of a training, (T,), and outputs then, at the left point and at the right one.
    time: Float[Array, " T"]
    trained: Float[Array, "T 2"]
    foreseen: Float[Array, "T 2"]
    targets: Float[Array, " 2"]

    def draw(self) -> Figure:
        """Draw both outputs over time, and where they shall go."""
        key = {"trained": REAL, "foreseen": STILL, "target": TARGET}
        with house_style():
            figure, [axes] = panels(1, height=2.2, top=LINE + 0.1, right=0.6)
            for k, (place, target) in enumerate(zip(("left", "right"), self.targets, strict=True)):
                axes.axhline(target, **TARGET)
                for name, outputs in (("trained", self.trained), ("foreseen", self.foreseen)):
                    axes.plot(self.time, outputs[:, k], label=f"{place}, {name}", **key[name])
                axes.annotate(place, (1, target), (6, 0), xycoords=axes.get_yaxis_transform(),
                              textcoords="offset points", va="center", fontsize=SMALL)  # fmt: skip
            axes.set(xlim=(0, self.time[-1]), ylim=(-0.1, 2.2), xlabel="time", title="output")
            write_key(figure, key)
        return figure

    def say(self) -> str:
        top = np.argmax(self.trained[:, 0])
        return (
            f"The left output is right at the start, {self.trained[top, 0]:.2f} at time "
            f"{self.time[top]:.1f}, and {self.trained[-1, 0]:.2f} at time {self.time[-1]:.0f}."
        )


@dataclass(eq=False)
class PulledOutputs(Computed):
    """Outputs with what pulls at them, and how far one pull reaches; a page trains the network."""

    formula = "flow"
    words = (
        "At time {time:g} the network is {away:.2f} from the data (root mean square), and the "
        "dashes up to {miss:.2f} off.",
    )

    #: Degrees of the data, (B,), their targets, and the one whose pulls are shown.
    angles: Float[Array, " B"]
    targets: Float[Array, " B"]
    at: int
    #: Degrees where functions are drawn, (G,), that of this one among them.
    grid: Float[Array, " G"]
    #: Of training.
    times: Sequence[float | int]
    #: Widths to what stands at each time: outputs (G,), those at the data, what the kernel of the
    #: start foresees, and how far the pull reaches.
    found: Mapping[int, Sequence[tuple[Array, Array, Array, Array]]]
    #: Widths to the weights of both layers before training, (2, h) and (h, 1).
    starts: Mapping[int, tuple[Array, Array]]
    #: The learning rate.
    lr: float

    def __post_init__(self) -> None:
        self.choices = {"time": [*self.times], "width": [*self.found]}
        self.data = {
            "angles": self.angles, "targets": self.targets, "at": self.at, "grid": self.grid,
            "lr": self.lr, "times": self.times, "zero": np.zeros_like(self.grid),
            "starts": {width: [*W, w[:, 0]] for width, (W, w) in self.starts.items()},
        }  # fmt: skip

    def numbers(self, time: float | int, width: int) -> dict[str, Any]:
        """Return what stands at a time."""
        outputs, at_data, still, row = self.found[width][self.choices["time"].index(time)]
        zero, goals = np.zeros_like(row), self.targets
        return {
            "grid": self.grid, "outputs": outputs, "still": still, "row": row, "zero": zero,
            "first": self.found[width][0][3], "up": np.maximum(row, 0), "down": np.minimum(row, 0),
            "angles": self.angles, "targets": goals, "under": np.minimum(at_data, goals),
            "over": np.maximum(at_data, goals), "miss": np.abs(outputs - still).max(),
            "away": np.sqrt(np.mean((at_data - goals) ** 2)),
        }  # fmt: skip

    def draw(self, time: float | int, width: int) -> Figure:
        found = self.numbers(time, width)
        with house_style():
            figure, (left, right) = panels(2, height=2.9, left=0.55, top=key_room())
            for name, sign in (("under", 1), ("over", -1)):
                strokes: dict[str, Any] = {"color": rising(sign), "lw": 2}
                gid = moves("angles", name, "targets")
                left.vlines(self.angles, found[name], self.targets, gid=gid, **strokes)
            left.plot(self.grid, found["outputs"], gid=moves("grid", "outputs"), **REAL)
            left.plot(self.grid, found["still"], gid=moves("grid", "still"), **STILL)
            left.plot(self.angles, self.targets, **POINT)
            left.set(ylim=(-2.4, 2.4), yticks=[-2, -1, 0, 1, 2], title="output")
            for name, sign in (("up", 1), ("down", -1)):
                fill: dict[str, Any] = {"color": rising(sign), "alpha": 0.25, "lw": 0}
                right.fill_between(
                    self.grid, found["zero"], found[name], gid=moves("grid", "zero", name), **fill
                )
            right.plot(self.grid, found["row"], gid=moves("grid", "row"), **REAL)
            right.plot(self.grid, found["first"], gid=moves("grid", "first"), **STILL)
            right.plot(self.angles[self.at], 0, clip_on=False, zorder=5, **POINT)
            right.set(ylim=(-0.55, 1.85), yticks=[-0.5, 0, 0.5, 1, 1.5])
            right.set_title(f"how far a pull at {self.angles[self.at]:g}° reaches")
            for axes in (left, right):
                axes.axhline(0, color=MUTED, lw=0.6)
                on_the_circle(axes)
            write_key(figure, KEY)
        return figure


@dataclass(eq=False)
class Units:
    """The way of each unit of the hidden layer, and where it ends."""

    #: Widths to where units look, in degrees, and what they add there, (T, h) each.
    found: Mapping[int, tuple[Array, Array]]

    def __post_init__(self) -> None:
        self.choices = {"width": [*self.found]}

    def draw(self, width: int) -> Figure:
        angles, adds = (values[:, :SHOWN] for values in self.found[width])
        end = {sign: DOT | {"color": rising(sign), "zorder": 4} for sign in (1, -1)}
        way = {"color": GRAY, "lw": 2}
        with house_style():
            figure, (axes,) = panels(1, height=2.3, left=0.55, top=key_room())
            axes.axhline(0, color=MUTED, lw=0.6)
            for turn in (-360, 0, 360):  # a circle has no end
                axes.plot(angles + turn, adds, **way)
                axes.plot(angles[0] + turn, adds[0], **START)
                for sign in (1, -1):
                    own = adds[-1] * sign > 0
                    axes.plot(angles[-1, own] + turn, adds[-1, own], **end[sign])
            axes.set(ylim=(-8, 8), yticks=[-5, 0, 5])
            axes.set_title("what a unit adds, times √width")
            on_the_circle(axes)
            axes.set_xlabel("where it looks, degrees")
            ends = {"time 64, adds": end[1], "subtracts": end[-1]}
            write_key(figure, {"start": START, "its way": way} | ends)
        return figure

    def say(self, width: int) -> str:
        angles = self.found[width][0][:, :SHOWN]
        turned = np.sqrt(np.mean((angles[-1] - angles[0]) ** 2))
        return (
            f"Width {width:,}: until time 64 these units turn by {turned:.0f}° (root mean square)."
        )

"""What *What moves when you train* draws and says: outputs, kernels and units of small networks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from numpy import ndarray as Array

from ensedu import plot
from ensedu.plot.panels import panels, write_key
from ensedu.plot.style import INK, MUTED, Figure, color, heat_colors, house_style

__all__ = [
    "BEFORE", "FIRST", "ROW", "UNITS", "WIDE", "Before", "First", "Row", "Units", "Wide",
]  # fmt: skip

# Captions.
FIRST = (
    "Six points pull outputs up (red) or down (blue). The kernel says by how much a pull at 30° "
    "moves each output."
)
ROW = (
    "Two weights in a row. The larger they are at the start, the less they move for the same way, "
    "and the less the kernel does."
)
BEFORE = (
    "The wider, the closer outputs are to normal. Those at near inputs are alike. In the band: 95% "
    "of the limit's."
)
WIDE = (
    "Outputs at the six training points; and how far kernels have moved at time 32, from ten "
    "starts at each width."
)
UNITS = (
    "Sixteen hidden units on their way. In the narrow network units turn and grow; in the wide one "
    "they end about where they began."
)

GRAY = color("single")
REAL: dict[str, Any] = {"color": GRAY, "lw": 5, "alpha": 0.45}
STILL: dict[str, Any] = {"color": INK, "lw": 1.7, "ls": (0, (4, 2))}
POINT: dict[str, Any] = {"color": INK, "marker": "o", "ms": 6, "ls": ""}
DOT: dict[str, Any] = {"marker": "o", "ls": "", "ms": 6}
START = DOT | {"color": GRAY, "mfc": "none", "zorder": 3}
KEY = {"the network": REAL, "if its kernel stood still": STILL, "data": POINT}
#: Of the limit's outputs at one input: two standard deviations.
BAND = 2 * np.sqrt(0.5)
SHOWN = 16  # units of each network


def rising(sign: float) -> Any:
    """Return the color of what pulls up, 1, or down, -1: that of heat maps."""
    return heat_colors()(0.5 + 0.42 * sign)


def on_the_circle(axes: Axes) -> None:
    """Give axes an x-axis of angles."""
    axes.set(xlim=(-180, 180), xticks=[-180, -90, 0, 90, 180])
    axes.set_xlabel("input, degrees")


def key_room() -> float:
    """Return the inches of a key above: of one line, or of two on a phone."""
    return 0.5 if plot.look().narrow else 0.3


class First:
    """Outputs with what pulls at them, and how far one pull reaches.

    Parameters
    ----------
    angles, targets, at
        Degrees of the data, (B,), their targets, and the one whose pulls are shown.
    grid
        Degrees where functions are drawn, (G,), that of this one among them.
    times
        Of training.
    found
        Widths to what stands at each time: outputs (G,), those at the data, what the kernel of the
        start foresees, and how far the pull reaches.
    """

    def __init__(
        self, angles: Float[Array, " B"], targets: Float[Array, " B"], at: int,
        grid: Float[Array, " G"], times: Sequence[int],
        found: Mapping[int, Sequence[tuple[Array, Array, Array, Array]]],
    ) -> None:  # fmt: skip
        self.angles, self.targets, self.at, self.grid = angles, targets, at, grid
        self.found = found
        self.choices = {"time": [*times], "width": [*found]}

    def of(self, time: int, width: int) -> tuple[Array, Array, Array, Array]:
        """Return what stands at a time."""
        return self.found[width][self.choices["time"].index(time)]

    def draw(self, time: int, width: int) -> Figure:
        """Draw both."""
        outputs, at_data, still, row = self.of(time, width)
        with house_style():
            figure, (left, right) = panels(2, height=2.9, left=0.55, top=key_room())
            for x, now, goal in zip(self.angles, at_data, self.targets, strict=True):
                left.plot([x, x], [now, goal], color=rising(np.sign(goal - now)))
            left.plot(self.grid, outputs, **REAL)
            left.plot(self.grid, still, **STILL)
            left.plot(self.angles, self.targets, **POINT)
            left.set(ylim=(-2.4, 2.4), yticks=[-2, -1, 0, 1, 2], title="output")
            for sign in (1, -1):
                side = np.where(sign * row > 0, row, 0)
                right.fill_between(self.grid, side, color=rising(sign), alpha=0.25, lw=0)
            right.plot(self.grid, row, **REAL)
            right.plot(self.grid, self.found[width][0][3], **STILL)
            right.plot(self.angles[self.at], 0, clip_on=False, zorder=5, **POINT)
            right.set(ylim=(-0.55, 1.85), yticks=[-0.5, 0, 0.5, 1, 1.5])
            right.set_title(f"how far a pull at {self.angles[self.at]:g}° reaches")
            for axes in (left, right):
                axes.axhline(0, color=MUTED, lw=0.6)
                on_the_circle(axes)
            write_key(figure, KEY)
        return figure

    def say(self, time: int, width: int) -> str:
        """Say how far it is, and how far the prediction is off."""
        outputs, at_data, still, _ = self.of(time, width)
        away = np.sqrt(np.mean((at_data - self.targets) ** 2))
        return (
            f"At time {time} the network is {away:.2f} from the data (root mean square), and the "
            f"dashes up to {np.abs(outputs - still).max():.2f} off."
        )


class Row:
    """Two weights in a row: the distance from the target, and Θ, over time times Θ at the start.

    Parameters
    ----------
    span
        Times, (T,).
    found
        Weights at the start to both, (T,) each; Θ is over its start.
    """

    def __init__(
        self, span: Float[Array, " T"],
        found: Mapping[int, tuple[Float[Array, " T"], Float[Array, " T"]]],
    ) -> None:  # fmt: skip
        self.span, self.found = span, found
        self.choices = {"weights_at_start": [*found]}

    def draw(self, weights_at_start: int) -> Figure:
        """Draw both."""
        left_over, grown = self.found[weights_at_start]
        with house_style():
            figure, (left, right) = panels(2, height=1.9, left=0.55, top=0.3)
            left.plot(self.span, left_over, **REAL)
            left.plot(self.span, np.exp(-self.span), **STILL)
            left.set(ylim=(0, 1), title="distance from the target")
            right.plot(self.span, grown, **REAL)
            right.plot(self.span, np.ones(len(self.span)), **STILL)
            right.set(ylim=(0, 2.1), yticks=[0, 1, 2], title="Θ over its start")
            for axes in (left, right):
                axes.set(xlim=(0, self.span[-1]), xlabel="time · Θ at the start")
            write_key(figure, {"two weights": REAL, "if Θ stood still": STILL})
        return figure

    def say(self, weights_at_start: int) -> str:
        """Say where Θ goes."""
        start = 2 * weights_at_start**2
        return (
            f"From weights of {weights_at_start}, Θ goes from {start} to {start + 2}, while the "
            "output rises to its target."
        )


class Before:
    """Random networks: five functions, outputs of many at one input, and their covariance.

    Parameters
    ----------
    found
        Widths to outputs (draws, inputs on the whole circle).
    grid, covariance
        Degrees, and the limit's covariance with 0° there, (G,).
    """

    def __init__(
        self, found: Mapping[int, Float[Array, "_ _"]], grid: Float[Array, " G"],
        covariance: Float[Array, " G"],
    ) -> None:  # fmt: skip
        self.found, self.grid, self.covariance = found, grid, covariance
        self.choices = {"width": [*found]}

    def draw(self, width: int) -> Figure:
        """Draw a panel each."""
        found = self.found[width]
        grid = np.linspace(-180, 180, found.shape[1])
        middle = found[:, len(grid) // 2]
        with house_style():
            figure, (left, center, right) = panels(3, height=2.2, left=0.5, top=key_room())
            left.axhspan(-BAND, BAND, color=MUTED, alpha=0.15, lw=0)
            left.plot(grid, found[:5].T, color=GRAY, lw=1.6)
            left.set(ylim=(-2.6, 2.6), yticks=[-2, 0, 2], title="five networks")
            z, bins = np.linspace(-2.6, 2.6, 105), np.linspace(-2.6, 2.6, 40)
            center.hist(middle, bins=bins, density=True, color=GRAY, alpha=0.45)
            center.plot(z, np.exp(-(z**2)) / np.sqrt(np.pi), **STILL)
            center.set(xlim=(-2.6, 2.6), ylim=(0, 1.6), yticks=[])
            center.set(xlabel="output at 0°", title="how often")
            center.spines["left"].set_visible(False)
            right.plot(grid, middle @ found / len(found), **REAL)
            right.plot(self.grid, self.covariance, **STILL)
            right.set(ylim=(0, 0.65), yticks=[0, 0.5])
            right.set_title("covariance with 0°")
            for axes in (left, right):
                on_the_circle(axes)
                axes.set_xticks([-180, 0, 180])
            write_key(figure, {f"{len(found):,} random networks": REAL, "the limit": STILL})
        return figure

    def say(self, width: int) -> str:
        """Say what is seen."""
        number = len(self.found[width])
        return f"Five random networks of width {width}, and the outputs of {number:,}."


class Wide:
    """Outputs at the data over time, and how far kernels move by width.

    Parameters
    ----------
    found
        Widths to times (T,), outputs (T, B), and what the kernel of the start foresees.
    targets
        (B,).
    moved
        Widths to how far kernels move, one a start.
    """

    def __init__(
        self, found: Mapping[int, tuple[Array, Array, Array]], targets: Float[Array, " B"],
        moved: Mapping[int, Sequence[float]],
    ) -> None:  # fmt: skip
        self.found, self.targets, self.moved = found, targets, moved
        self.choices = {"width": [*found]}

    def draw(self, width: int) -> Figure:
        """Draw both."""
        times, real, still = self.found[width]
        with house_style():
            figure, (left, right) = panels(2, height=2.5, left=0.78, top=key_room(), right=0.2)
            for now, guess, goal in zip(real.T, still.T, self.targets, strict=True):
                left.plot(times[1:], now[1:], **REAL)
                left.plot(times[1:], guess[1:], **STILL)
                left.plot(64, goal, clip_on=False, **POINT)
            left.set(xscale="log", xlim=(0.1, 64), xlabel="time", title="outputs")
            left.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
            left.set(ylim=(-1.8, 1.8), yticks=[-1, 0, 1])
            for h, found in self.moved.items():
                own = {"color": GRAY, "mfc": GRAY if h == width else "none"}
                right.plot([h] * len(found), found, **POINT | own)
            least = min(self.moved)
            first = np.exp(np.mean(np.log(self.moved[least])))
            ends = np.array([11, 370])
            right.plot(ends, first * np.sqrt(least / ends), color=MUTED, lw=1, ls=":")
            right.text(370, 0.25, "1 / √width", color=MUTED, ha="right")
            right.set(xscale="log", yscale="log", xlim=(11, 370), ylim=(0.02, 1.5))
            right.set_xticks([*self.moved], [*self.moved])
            right.set_yticks([0.02, 0.1, 0.5, 1], ["2%", "10%", "50%", "100%"])
            right.set(xlabel="width", title="the kernel moves by")
            for axes in (left, right):
                axes.minorticks_off()
            write_key(figure, KEY)
        return figure

    def say(self, width: int) -> str:
        """Say how far the prediction is off, and the kernel moved."""
        _, real, still = self.found[width]
        found = self.moved[width]
        return (
            f"Outputs are up to {np.abs(real - still).max():.2f} off the prediction. From ten "
            f"starts the kernel moves by {min(found):.0%} to {max(found):.0%}."
        )


class Units:
    """The way of each unit of the hidden layer, and where it ends.

    Parameters
    ----------
    found
        Widths to where units look, in degrees, and what they add there, (T, h) each, and to how far
        weights moved.
    """

    def __init__(self, found: Mapping[int, tuple[Array, Array, float]]) -> None:
        self.found = found
        self.choices = {"width": [*found]}

    def draw(self, width: int) -> Figure:
        """Draw the first units."""
        angles, adds = (values[:, :SHOWN] for values in self.found[width][:2])
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
        """Say how far weights move."""
        return (
            f"Width {width:,}: until time 64 weights move by {self.found[width][2]:.2f}, root mean "
            "square."
        )

"""What *Rank-1 perturbations* draws and says: when rank-1 moves the gradient as normal noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.patches import Ellipse
from numpy import ndarray as Array

from workshop import plot
from workshop.plot.panels import ends_room, key_room, name_curves, number_ticks, panels, write_key
from workshop.plot.style import Figure, color, house_style

# Captions.
CLOUDS = (
    "Small rank-1 noise, 12 random numbers, moves the gradient of a 7 × 5 matrix like its normal "
    "twin, 35 numbers with the same covariance. Independent entries move it elsewhere, too. Size: "
    "a weight's standard deviation, as a part of it. A dot: one weight sample; ellipses: two "
    "standard deviations."
)
APART = (
    "As noise shrinks, rank-1 comes near its normal twin, and independent entries do not. Distance "
    "of the gradient's covariance from the twin's, relative to it; rank-1 and twin from the same "
    "random numbers. Means of seven networks, 95% bands."
)

#: What is drawn, one over the other: whose color and marker, and how its ellipse is drawn.
LAWS = {
    "independent entries": ("mean_field", "-"),
    "normal twin": ("single", "-"),
    "rank-1": ("rank1", (0, (3, 2))),
}


def lengths(points: Float[Array, "S 2"]) -> tuple[Float[Array, " 2"], Float[Array, "2 2"]]:
    """Return the longest and the shortest standard deviation, and where they point, in columns."""
    values, vectors = np.linalg.eigh(np.cov(points, rowvar=False))
    return np.sqrt(values[::-1]), vectors[:, ::-1]


@dataclass(eq=False)
class Clouds:
    """Gradients under rank-1 noise, under its normal twin, and under independent entries."""

    #: Sizes to laws, those of `LAWS`, to gradients (S, 2): where rank-1 moves them most, and
    #: where it hardly does.
    found: Mapping[float | int, Mapping[str, Float[Array, "S 2"]]]

    def __post_init__(self) -> None:
        self.choices = {"size": [*self.found]}

    def draw(self, size: float | int) -> Figure:
        """Draw three clouds with ellipses of two standard deviations."""
        narrow = plot.look().narrow
        with house_style():
            figure, (axes,) = panels(
                1, height=2.4, left=0.6 if narrow else 1.3, right=0.1 if narrow else 1.3,
                top=key_room(), above=0.1,
            )  # fmt: skip
            entries = {}
            for name, (method, line) in LAWS.items():
                points, own = self.found[size][name], color(method)
                axes.plot(*points.T, plot.MARKERS[method], color=own, alpha=0.4, ms=3, mew=0)
                (long, short), turned = lengths(points)
                angle = np.degrees(np.arctan2(turned[1, 0], turned[0, 0]))
                axes.add_patch(Ellipse(
                    points.mean(axis=0), 4 * long, 4 * short, angle=angle,
                    fill=False, ec=own, lw=2.6, ls=line, zorder=4,
                ))  # fmt: skip
                entries[name] = {"color": own, "lw": 2.6, "ls": line}
            axes.set(xlim=(-3.9, 3.9), ylim=(-2, 2), yticks=range(-2, 3))
            axes.set(xlabel="gradient, where rank-1 moves it most")
            axes.set(ylabel="where rank-1 hardly does")
            write_key(figure, dict(reversed(entries.items())))
        return figure

    def say(self, size: float | int) -> str:
        ours, free = (
            self.found[size][name][:, 1].std(ddof=1) for name in ("rank-1", "independent entries")
        )
        return (
            f"Size {size:g}: up and down, independent entries reach {free / ours:.2g} times as far "
            "as rank-1."
        )


@dataclass(eq=False)
class DistancesFromTwin:
    """Distances from the normal twin, by size."""

    #: Sizes, which rise; 0.1 is one.
    sizes: Sequence[float | int]
    #: Where the network is to what is compared, of `LAWS`, to low, mean and high, (3, sizes).
    found: Mapping[str, Mapping[str, Float[Array, "3 S"]]]

    def __post_init__(self) -> None:
        self.choices = {"network": [*self.found]}

    def draw(self, network: str) -> Figure:
        own = self.found[network]
        with house_style():
            figure, (axes,) = panels(1, height=3.2, above=0.3, right=ends_room(own), left=0.65)
            for name, (low, mean, high) in own.items():
                method, _ = LAWS[name]
                look = {"color": color(method), "marker": plot.MARKERS[method]}
                axes.plot(self.sizes, mean, lw=2, label=name, clip_on=False, **look)
                axes.fill_between(self.sizes, low, high, color=color(method), alpha=0.15, lw=0)
            axes.set(xscale="log", yscale="log", xlim=(0.009, 1.04), ylim=(1e-4, 3))
            places = [0.01, 0.1, 1] if plot.look().narrow else self.sizes
            number_ticks(axes, places)
            axes.set_yticks([0.001, 0.01, 0.1, 1], ["0.1%", "1%", "10%", "100%"])
            axes.grid(axis="y")
            axes.set_xlabel("size of the perturbation")
            axes.set_title("distance from the normal twin")
            name_curves(figure, axes)
        return figure

    def say(self, network: str) -> str:
        place = [*self.sizes].index(0.1)
        ours, free = (
            f"{self.found[network][name][1][place]:.0%}"
            for name in ("rank-1", "independent entries")
        )
        return (
            f"{network.capitalize()}, at size 0.1: rank-1 is {ours} off, independent entries "
            f"{free}."
        )

"""What *Rank-1 perturbations* draws and says: when rank-1 noise moves the gradient as full does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.patches import Ellipse
from numpy import ndarray as Array

from workshop import plot
from workshop.plot.panels import ends_room, name_curves, number_ticks, panels, write_key
from workshop.plot.style import Figure, color, house_style

# Captions.
CLOUDS = (
    "Noise in rows and columns leaves the score, minus the gradient, nearly still in some "
    "directions; independent entries move it there, too. A dot: the score of a trained matrix with "
    "noise; gray: full noise with the covariance of rank-1. Ellipses: two standard deviations."
)
APART = (
    "Rank-1 is near the full perturbation at small sizes, independent entries are not. Distance of "
    "the score's covariance from full; dashes: from the same law drawn again; dotted: both from "
    "the same random numbers. Means of seven networks, 95% bands."
)

OURS, FREE, GRAY = color("rank1"), color("mean_field"), color("single")
DASHES = (0, (3, 2))
METHODS = {"full": "single", "rank-1": "rank1", "independent entries": "mean_field"}
CURVES: dict[str, dict[str, Any]] = {
    "full, again": {"color": GRAY, "ls": "--"},
    "rank-1": {"color": OURS, "marker": plot.MARKERS["rank1"]},
    "rank-1, same numbers": {"color": OURS, "ls": ":"},
    "independent entries": {"color": FREE, "marker": plot.MARKERS["mean_field"]},
}


def lengths(points: Float[Array, "S 2"]) -> tuple[Float[Array, " 2"], Float[Array, "2 2"]]:
    """Return the longest and the shortest standard deviation, and where they point, in columns."""
    values, vectors = np.linalg.eigh(np.cov(points, rowvar=False))
    return np.sqrt(values[::-1]), vectors[:, ::-1]


@dataclass(eq=False)
class Clouds:
    """Scores under a full perturbation, and under another."""

    #: Sizes to laws, of which ``"full"`` is one, to scores (S, 2): where it moves them most, and
    #: where it hardly does.
    found: Mapping[float | int, Mapping[str, Float[Array, "S 2"]]]

    def __post_init__(self) -> None:
        laws = [name for name in next(iter(self.found.values())) if name != "full"]
        self.choices = {"size": [*self.found], "against": laws}

    def draw(self, size: float | int, against: str) -> Figure:
        """Draw both clouds with ellipses of two standard deviations."""
        narrow = plot.look().narrow
        with house_style():
            figure, (axes,) = panels(
                1, height=2.4 if narrow else 3.1, left=0.6 if narrow else 1.3,
                right=0.1 if narrow else 1.3, top=0.25, above=0.1,
            )  # fmt: skip
            looks = {"full": "-", against: DASHES}
            entries = {}
            for name, line in looks.items():
                points, own = self.found[size][name], color(METHODS[name])
                marker = plot.MARKERS[METHODS[name]]
                axes.plot(*points.T, marker, color=own, alpha=0.5, ms=3.2, mew=0)
                (long, short), turned = lengths(points)
                angle = np.degrees(np.arctan2(turned[1, 0], turned[0, 0]))
                axes.add_patch(Ellipse(
                    points.mean(axis=0), 4 * long, 4 * short, angle=angle,
                    fill=False, ec=own, lw=2.6, ls=line, zorder=4,
                ))  # fmt: skip
                entries[name] = {"color": own, "lw": 2.6, "ls": line}
            axes.set(xlim=(-3.9, 3.9), ylim=(-2.6, 2.6), yticks=range(-2, 3))
            axes.set(xlabel="score, where full moves it most", ylabel="where it hardly does")
            write_key(figure, entries)
        return figure

    def say(self, size: float | int, against: str) -> str:
        ours, full = (self.found[size][name][:, 1].std(ddof=1) for name in (against, "full"))
        return (
            f"Size {size:g}: up and down, {against} move{'s' * (against == 'rank-1')} the score by "
            f"{ours:.2f}, full noise by {full:.2f}."
        )


@dataclass(eq=False)
class Apart:
    """Distances from a full perturbation, by size."""

    #: Sizes, which rise; 0.1 is one.
    sizes: Sequence[float | int]
    #: Where the network is to what is compared, of `CURVES`, to low, mean and high, (3, sizes).
    found: Mapping[str, Mapping[str, Float[Array, "3 S"]]]

    def __post_init__(self) -> None:
        self.choices = {"network": [*self.found]}

    def draw(self, network: str) -> Figure:
        """Draw a curve and a band for each."""
        with house_style():
            figure, (axes,) = panels(1, height=3.8, above=0.3, right=ends_room(CURVES), left=0.65)
            for name, (low, mean, high) in self.found[network].items():
                look = CURVES[name]
                axes.plot(self.sizes, mean, **{"lw": 2, "label": name} | look)
                axes.fill_between(self.sizes, low, high, color=look["color"], alpha=0.15, lw=0)
            axes.set(xscale="log", yscale="log", xlim=(0.009, 1.04), ylim=(1e-4, 3))
            places = [0.01, 0.1, 1] if plot.look().narrow else self.sizes
            number_ticks(axes, places)
            axes.set_yticks([0.001, 0.01, 0.1, 1], ["0.1%", "1%", "10%", "100%"])
            axes.grid(axis="y")
            axes.set_xlabel("size of the perturbation")
            axes.set_title("distance from full", loc="left")
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

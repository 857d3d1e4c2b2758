"""What *Rank-1 perturbations* draws and says: when rank-1 noise moves the gradient as full does."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.patches import Ellipse
from numpy import ndarray as Array

from ensedu import plot
from ensedu.plot.panels import ends_room, name_curves, panels, write_key
from ensedu.plot.style import Figure, color, heat_colors, house_style

# Captions.
CLOUDS = (
    "Small rank-1 noise moves the gradient like the full noise that it matches; independent "
    "entries do not. A dot: the score, minus the gradient, of a trained matrix with noise, in the "
    "full one's standard deviations. Ellipses: two of these."
)
DRAWS = (
    "Rank-1 noise comes in rows and columns, and so does the full noise that it matches. One draw "
    "of Z, (7, 5), of four laws: red entries grow, blue ones shrink. The two in the middle are "
    "made from the same random numbers."
)
APART = (
    "Rank-1 is near the full perturbation at small sizes, independent entries are not. Distance of "
    "the score's covariance from full; dashes: from the same law drawn again; dotted: both from "
    "the same random numbers. Means of seven networks, 95% bands."
)
BROKEN = (
    "Another covariance or another mean of the noise changes the score's covariance; leaving the "
    "minimum changes its mean. A dot is a network. Left: distance from full; gray: full drawn "
    "again. Right: how far the mean score is from 0."
)

OURS, FREE, GRAY = color("rank1"), color("mean_field"), color("single")
DASHES = (0, (3, 2))
METHODS = {"full": "single", "rank-1": "rank1", "independent entries": "mean_field"}
CURVES: dict[str, dict[str, Any]] = {
    "full, again": {"color": GRAY, "ls": "--"},
    "first order": {"color": GRAY, "marker": "o"},
    "rank-1": {"color": OURS, "marker": plot.MARKERS["rank1"]},
    "rank-1, same numbers": {"color": OURS, "ls": ":"},
    "independent entries": {"color": FREE, "marker": plot.MARKERS["mean_field"]},
}
#: What a row of `Broken` is drawn like; others as rank-1.
OTHERS = {"independent entries": ("mean_field", FREE), "additive noise": ("single", GRAY)}


def lengths(points: Float[Array, "S 2"]) -> tuple[Float[Array, " 2"], Float[Array, "2 2"]]:
    """Return the longest and the shortest standard deviation, and where they point, in columns."""
    values, vectors = np.linalg.eigh(np.cov(points, rowvar=False))
    return np.sqrt(values[::-1]), vectors[:, ::-1]


class Clouds:
    """Scores under a full perturbation, and under another.

    Parameters
    ----------
    found
        Sizes to laws, of which ``"full"`` is one, to scores (S, 2).
    """

    def __init__(self, found: Mapping[float | int, Mapping[str, Float[Array, "S 2"]]]) -> None:
        self.found = found
        laws = [name for name in next(iter(found.values())) if name != "full"]
        self.choices = {"size": [*found], "against": laws}

    def draw(self, size: float | int, against: str) -> Figure:
        """Draw both clouds with ellipses of two standard deviations."""
        narrow = plot.look().narrow
        with house_style():
            figure, (axes,) = panels(
                1, height=3.4 if narrow else 4.0, left=0.6 if narrow else 1.5,
                right=0.1 if narrow else 1.5, top=0.25, above=0.1,
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
            axes.set(xlim=(-3.9, 3.9), ylim=(-3.9, 3.9), ylabel="second most")
            axes.set_xlabel("score, where it varies most")
            write_key(figure, entries)
        return figure

    def say(self, size: float | int, against: str) -> str:
        """Say how long and wide the other ellipse is."""
        (long, short), (full_long, full_short) = (
            lengths(self.found[size][name])[0] for name in (against, "full")
        )
        return (
            f"{against.capitalize()}, size {size:g}: its ellipse is {long / full_long:.2f} times "
            f"as long and {short / full_short:.2f} times as wide as the full one."
        )


class Draws:
    """One draw of each law.

    Parameters
    ----------
    found
        Sizes to titles to Z in sizes, (m, n); two are ``"rank-1"`` and ``"full, matched"``.
    """

    def __init__(self, found: Mapping[float | int, Mapping[str, Float[Array, "m n"]]]) -> None:
        self.found = found
        self.choices = {"size": [*found]}

    def draw(self, size: float | int) -> Figure:
        """Draw heat maps."""
        colors = {"full, matched": GRAY, "independent": FREE}
        narrow, found = plot.look().narrow, self.found[size]
        with house_style():
            figure, places = panels(
                len(found), height=2.35 if narrow else 2.1, columns=(4, 2),
                left=0.12, right=0.12, above=0.34, below=0.1,
            )  # fmt: skip
            for axes, (title, Z) in zip(places, found.items(), strict=True):
                axes.imshow(Z, cmap=heat_colors(), vmin=-3, vmax=3, aspect="equal")
                axes.set_title(title, color=colors.get(title, OURS), weight="bold")
                axes.axis("off")
        return figure

    def say(self, size: float | int) -> str:
        """Say how far rank-1 and full are from each other."""
        gap = self.found[size]["rank-1"] - self.found[size]["full, matched"]
        return (
            f"Size {size:g}: rank-1 and the full draw that matches it differ by "
            f"{np.sqrt((gap**2).mean()):.2f} sizes in an entry."
        )


class Apart:
    """Distances from a full perturbation, by size.

    Parameters
    ----------
    sizes
        Sizes, which rise; 0.1 is one.
    found
        Where the network is to what is compared, of `CURVES`, to low, mean and high, (3, sizes).
    """

    def __init__(
        self, sizes: Sequence[float | int], found: Mapping[str, Mapping[str, Float[Array, "3 S"]]]
    ) -> None:
        self.sizes, self.found = sizes, found
        self.choices = {"network": [*found]}

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
            axes.set_xticks(places, [f"{size:g}" for size in places])
            axes.set_yticks([0.001, 0.01, 0.1, 1], ["0.1%", "1%", "10%", "100%"])
            axes.minorticks_off()
            axes.grid(axis="y")
            axes.set_xlabel("size of the perturbation")
            axes.set_title("distance from full", loc="left")
            name_curves(figure, axes)
        return figure

    def say(self, network: str) -> str:
        """Say two distances at one size."""
        place = [*self.sizes].index(0.1)
        ours, free = (
            f"{self.found[network][name][1][place]:.0%}"
            for name in ("rank-1", "independent entries")
        )
        return (
            f"{network.capitalize()}, at size 0.1: rank-1 is {ours} off, independent entries "
            f"{free}."
        )


class Broken:
    """Covariance and mean of the score, where an assumption is dropped.

    Parameters
    ----------
    found
        Sizes to what is dropped to distances of covariances and lengths of means, (2, networks);
        two are ``"rank-1"``, where none is, and ``"not at a minimum"``.
    again
        Sizes to distances of the full law drawn again, (networks,).
    """

    def __init__(
        self, found: Mapping[float | int, Mapping[str, Float[Array, "2 N"]]],
        again: Mapping[float | int, Float[Array, " N"]],
    ) -> None:  # fmt: skip
        self.found, self.again = found, again
        self.choices = {"size": [*found]}

    def draw(self, size: float | int) -> Figure:
        """Draw a dot a network, in a row for each."""
        found = self.found[size]
        with house_style():
            figure, (left, right) = panels(2, height=2.8, left=1.7, below=0.45, sharey=True)
            again = self.again[size]
            left.axvspan(again.min(), again.max(), color=GRAY, alpha=0.25, lw=0)
            for y, (name, both) in enumerate(found.items()):
                method, own = OTHERS.get(name, ("rank1", OURS))
                for axes, values in zip((left, right), both, strict=True):
                    axes.plot(
                        values, np.full(len(values), y), plot.MARKERS[method], color=own, alpha=0.6
                    )  # fmt: skip
            for axes in (left, right):
                axes.set_yticks(range(len(found)), [*found])
                axes.set(xscale="log", ylim=(len(found) - 0.5, -0.5))
                axes.tick_params(axis="y", length=0)
                axes.grid(axis="x")
            left.set(xlim=(0.02, 5), title="covariance, from full")
            left.set_xticks([0.03, 0.1, 1], ["3%", "10%", "100%"])
            right.set(xlim=(0.005, 60), title="mean, in deviations")
            right.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
            for axes in (left, right):
                axes.minorticks_off()
        return figure

    def say(self, size: float | int) -> str:
        """Say what leaving the minimum does to the mean."""
        at, off = (self.found[size][name][1].mean() for name in ("rank-1", "not at a minimum"))
        return (
            f"Size {size:g}: the mean score is {off:.2g} standard deviations long off a minimum, "
            f"and {at:.2g} at one."
        )

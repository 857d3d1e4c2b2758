"""What *Deep ensembles* draws and says: members and their average, and how much it leaves."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.data import gap
from workshop import plot
from workshop.experiments.averaging import ByStart
from workshop.plot.style import Figure

# Captions.
AVERAGE = (
    "Sixty noisy points of a curve (dashed), and a gap without points (shaded). Thin: networks "
    "1-50-50-1, the first of eight that were trained; thick: their average. The errors are means "
    "over all ways to choose so many of the eight."
)
MATRICES = (
    "One layer of a deep ensemble, as it starts: one matrix per member, each drawn for itself."
)


# Where words stand beside the curve, and at which x the lines from them end.
NAMED = {
    "members": (0.9, -1.15, 0.35), "mean": (3.0, 0.85, 2.2), "true curve": (0.1, 1.5, 0.75),
    "data": (-2.9, 0.95, -3.0),
}  # fmt: skip
#: As the trainer says it: what starts are, to whose curves.
STARTS = {"different": "different", "all the same": "same"}
#: Half of a point, in units of y.
POINT = 0.07


def _named(
    trained: ByStart, own: Float[Array, "M N"], members: str
) -> dict[str, tuple[float, ...]]:
    """Return where words stand, each with the place on what it names."""
    heights = {
        "members": (trained.x, own.min(axis=0)),
        "mean": (trained.x, own.mean(axis=0)),
        "true curve": (trained.x, trained.truth),
        "data": (trained.points[0], trained.points[1] + POINT),
    }
    named: dict[str, tuple[float, ...]] = {"no data": (0.25, -1.75)}
    for word, (x, y, to) in NAMED.items():
        xs, ys = heights[word]
        nearest = np.abs(xs - to).argmin()
        called = members if word == "members" else word
        named[called] = x, y, float(xs[nearest]), float(ys[nearest])
    return named


class Average:
    """Members and their average, from different starts or all from the same.

    Parameters
    ----------
    trained
        The members.
    left
        By the size of an ensemble, the mean squared error of the average, over all choices of its
        members; of one member first.
    """

    def __init__(self, trained: ByStart, left: Mapping[int, float | int]) -> None:
        self.trained, self.left = trained, left
        self.choices = {"ensemble_size": [*left], "starts": [*STARTS]}

    def draw(self, ensemble_size: int, starts: str) -> Figure:
        """Draw some members and their average."""
        own = self.trained.curves[STARTS[starts]][:ensemble_size]
        belief = plot.Belief("deep_ensemble", own.mean(axis=0), members=own)
        # Lines that nobody sees apart are named as the one that is seen.
        same = f"{ensemble_size} members,\none curve"
        thin = same if STARTS[starts] == "same" else "members"
        if ensemble_size == 1:
            thin = "one member"
        return plot.functions(
            self.trained.x, {"": belief}, truth=self.trained.truth, data=self.trained.points,
            shaded=gap.gaps[0], ylim=(-2, 2), thin=thin, named=_named(self.trained, own, thin),
        )  # fmt: skip

    def say(self, ensemble_size: int, starts: str) -> str:
        """Say the ambiguity decomposition in numbers."""
        one, left = self.left[1], self.left[ensemble_size]
        if ensemble_size == 1:
            return f"One member. Its mean squared error in the gap is {one:.3f}."
        if STARTS[starts] == "same":
            return "With one start and one order of examples, all members stay one curve."
        return (
            f"In the gap, the average of {ensemble_size} members has a squared error of "
            f"{left:.3f}, one member {one:.3f}."
        )


class Matrices:
    """The members' matrices of a square layer, as they start.

    Parameters
    ----------
    weights
        By the number of members and the width, (M, h, h).
    """

    def __init__(self, weights: Mapping[tuple[int, int], Float[Array, "M h h"]]) -> None:
        self.weights = weights
        sizes, widths = (list(dict.fromkeys(each)) for each in zip(*weights, strict=True))
        self.choices = {"ensemble_size": sizes, "width": widths}

    def draw(self, ensemble_size: int, width: int) -> Figure:
        """Draw one matrix a member."""
        return plot.weight_matrices(
            self.weights[ensemble_size, width],
            value_range=0.7,
            method="deep_ensemble",
            places=max(self.choices["ensemble_size"]),
        )

    def say(self, ensemble_size: int, width: int) -> str:
        """Say how many numbers the matrices hold."""
        if ensemble_size == 1:
            return f"One member is one network: one matrix of {width**2:,} weights."
        return (
            f"{ensemble_size} members store {ensemble_size * width**2:,} weights, and share none "
            "of them."
        )

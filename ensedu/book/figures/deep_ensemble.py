"""What *Deep ensembles* draws and says: members and their average, and how much it leaves."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import plot
from ensedu.book.experiments.averaging import ByStart
from ensedu.data import gap
from ensedu.plot.style import Figure

# Captions.
AVERAGE = (
    "Sixty noisy points of a curve (dashed), and a gap without points (shaded). Thin: networks "
    "1-50-50-1, the first of eight that were trained; thick: their average. The errors are means "
    "over all ways to choose so many of the eight."
)
MATRICES = (
    "One layer of a deep ensemble, as it starts: one matrix per member, each drawn for itself."
)
CORRELATION = (
    "The formula, with κ measured on the running example: 16 members, 20 data sets, 5 starts on "
    "each; errors from the true curve."
)
CONTEST = (
    "In the gap the larger network gains by a better curve, the ensemble mostly by a wider band. "
    "The true curve is bold where a band misses it. Differences are from one network, over 20 data "
    "sets with 5 starts on each. Error: root mean squared distance to the true curve."
)
LIVE = (
    "A deep ensemble trains on this page. From different starts its members agree at the points "
    "and part in the gap; from one start they are one curve, at every step."
)
WEIGHTS = (
    "The same four members, averaged in two ways. Where there are data, averaged weights are "
    "about as wrong as always answering 0."
)


# Where words stand in a panel on the curve, and at which x the lines from them end.
NAMED = {
    "members": (0.9, -1.15, 0.35), "mean": (3.0, 0.85, 2.2), "true curve": (0.1, 1.5, 0.75),
    "data": (-2.9, 0.95, -3.0),
}  # fmt: skip
#: As the trainer says it: what starts are, to whose curves.
STARTS = {"different": "different", "all the same": "same"}
#: Half of a point, in units of y.
POINT = 0.07


def on_the_curve(trained: ByStart, beliefs: Mapping[str, plot.Belief], thin: str = "") -> Figure:
    """Draw beliefs beside the points, the true curve and the gap, which the first panel names."""
    return plot.functions(
        trained.x, beliefs, truth=trained.truth, data=trained.points, shaded=gap.gaps[0],
        ylim=(-2, 2), thin=thin or None, named=_named(trained, next(iter(beliefs.values())), thin),
    )  # fmt: skip


def _named(trained: ByStart, belief: plot.Belief, thin: str) -> dict[str, tuple[float, ...]]:
    """Return where words stand, each with the place on what it names."""
    assert belief.mean is not None
    members = belief.mean[None] if belief.members is None else belief.members
    heights = {
        "members": (trained.x, members.min(axis=0)),
        "mean": (trained.x, belief.mean),
        "true curve": (trained.x, trained.truth),
        "data": (trained.points[0], trained.points[1] + POINT),
    }
    named: dict[str, tuple[float, ...]] = {"no data": (0.25, -1.75)}
    for word, (x, y, to) in NAMED.items():
        xs, ys = heights[word]
        nearest = np.abs(xs - to).argmin()
        called = thin if word == "members" else word
        if called:
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
        return on_the_curve(self.trained, {"": belief}, thin=thin)

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


class Correlation:
    """What an average leaves of one member's squared error.

    Parameters
    ----------
    sizes
        Numbers of members.
    left
        By the place, for each number of members: at the data, and in the gap.
    independent
        The same, if errors were independent.
    """

    def __init__(
        self, sizes: Sequence[int], left: Mapping[str, Sequence[float | int]],
        independent: Sequence[float | int],
    ) -> None:  # fmt: skip
        self.sizes, self.left, self.independent = sizes, left, independent

    def draw(self) -> Figure:
        """Draw a curve a place, and that of independent errors."""
        none = "if errors were independent"
        return plot.growth_curves(
            self.sizes, {**self.left, none: self.independent}, xlabel="members", log_x=True,
            ylabel="squared error of the average, over one member's", ylim=(0, 1),
            colors={**dict.fromkeys(self.left, "deep_ensemble"), none: "single"},
        )  # fmt: skip

    def say(self) -> str:
        """Say what is left at four members."""
        four = self.sizes.index(4)
        data, inside = (own[four] for own in self.left.values())
        return (
            f"Three falling curves over {self.sizes[0]} to {self.sizes[-1]} members. With "
            "independent errors little would be left. In truth "
            f"{data:.1%} is left at four members where there are data and {inside:.1%} in the "
            "gap; beyond eight both hardly fall."
        )


class Weights:
    """The same members, their predictions averaged, and their weights.

    Parameters
    ----------
    trained
        The networks that the members are from.
    predictions, weights
        (N,), the curves of both averages.
    """

    def __init__(
        self, trained: ByStart, predictions: Float[Array, " N"], weights: Float[Array, " N"]
    ) -> None:
        self.trained, self.predictions, self.weights = trained, predictions, weights

    def draw(self) -> Figure:
        """Draw a panel each."""
        return on_the_curve(self.trained, {
            "predictions averaged": plot.Belief("deep_ensemble", self.predictions),
            "weights averaged": plot.Belief("single", self.weights),
        })  # fmt: skip

    def say(self) -> str:
        """Say which of them misses the points."""
        return (
            "Two panels. With predictions averaged, the curve follows the points. With weights "
            "averaged, it misses them almost everywhere."
        )

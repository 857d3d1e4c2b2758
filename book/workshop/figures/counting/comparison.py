"""What *Which ensemble holds how much?* draws, says and cites: counts, and published ones."""

import math
from collections.abc import Iterable, Mapping, Sequence

from workshop import plot
from workshop.plot.style import Figure

# Captions.
CAPTION = (
    "Sharing pays in wide networks, and for many members. Each point is an ensemble of networks "
    "1-h-…-h-1, its width to the right and its members upward. Press one: the dot moves there, and "
    "the words say what its ensembles store."
)
ALT = (
    "A map over width and number of members. At the left, in narrow networks, is the blue region "
    "where a deep ensemble stores the least; from there on the region of BatchEnsemble, darker "
    "toward wide networks and many members. The green line of the rank-1 BNN stands a little "
    "further to the right."
)
DEPTH = (
    "With one hidden layer the deep ensemble is the smallest of the three, and with two or more, "
    "at these widths, the largest. Networks 1-h-…-h-1; the single network is 1."
)

METHODS = ("single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field")
#: Those with members, and one network.
SHARING = METHODS[:4]

#: Parameters in millions, as the repository of Nado et al. (2021) prints them.
PUBLISHED: dict[str, dict[str, str | None]] = {
    network: dict(zip(METHODS, counts, strict=True))
    for network, counts in {
        "ResNet-50": ("25.6M", "102.4M", "25.8M", "26.0M", None),
        "WRN-28-10": ("36.5M", "146M", "36.6M", "36.6M", "73M"),
    }.items()
}


class Depths:
    """What networks of one to nine hidden layers hold under each method, over one network's.

    Parameters
    ----------
    depths
        Numbers of hidden layers.
    counts
        By width, to those of each method.
    members
        M.
    """

    def __init__(
        self, depths: Sequence[int], counts: Mapping[int, Mapping[str, Sequence[int]]],
        members: int,
    ) -> None:  # fmt: skip
        self.depths, self.counts, self.members = depths, counts, members
        self.choices = {"width": [*counts]}

    def draw(self, width: int) -> Figure:
        """Draw a curve a method."""
        return plot.growth_curves(
            self.depths, self.counts[width], xlabel="hidden layers",
            ylabel=f"parameters of {self.members} members, over one network's",
            relative_to="single", ylim=ends(self.counts.values()),
        )  # fmt: skip

    def say(self, width: int) -> str:
        """Say what copies cost, and what sharing does, where the curves end."""
        own = self.counts[width]
        copies, shared = (
            own[method][-1] / own["single"][-1] for method in ("deep_ensemble", "batch_ensemble")
        )
        return (
            f"With nine hidden layers of {width:,}, a deep ensemble stores {copies:.2f} times one "
            f"network’s parameters, a BatchEnsemble {shared:.2f} times."
        )


def ends(counts: Iterable[Mapping[str, Sequence[int]]]) -> tuple[int, int]:
    """Return the ends of an axis that holds all multiples of one network."""
    ratios = [
        number / one
        for own in counts
        for numbers in own.values()
        for number, one in zip(numbers, own["single"], strict=True)
    ]
    return 0, math.ceil(max(ratios))

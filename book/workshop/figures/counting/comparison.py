"""What *Which ensemble holds how much?* draws, says and cites: counts, and published ones."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from workshop import plot
from workshop.plot.style import Figure

# Captions.
CAPTION = (
    "With two or more hidden layers and members, sharing pays once the layers are wide enough. To "
    "the right is the width h of networks 1-h-…-h-1, upward the number of members. Press a place, "
    "and read what is stored there."
)
ALT = (
    "A map over width and number of members. At the left, in narrow networks, is the blue region "
    "where a deep ensemble stores the least; from there on the region of BatchEnsemble, darker "
    "toward wide networks and many members. The green line of the rank-1 BNN stands a little "
    "further to the right."
)
DEPTH = (
    "With one hidden layer the deep ensemble is the smallest of the three, and with two or more, "
    "at these widths, the largest. The networks are 1-h-…-h-1, with hidden layers of width h."
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


@dataclass(eq=False)
class Depths:
    """What networks of one to nine hidden layers hold under each method, over one network's."""

    #: Numbers of hidden layers.
    depths: Sequence[int]
    #: By width, to those of each method.
    counts: Mapping[int, Mapping[str, Sequence[int]]]
    #: M.
    members: int

    def __post_init__(self) -> None:
        self.choices = {"width": [*self.counts]}

    def draw(self, width: int) -> Figure:
        return plot.growth_curves(
            self.depths, self.counts[width], xlabel="hidden layers",
            ylabel=f"parameters of {self.members} members, over one network's",
            relative_to="single", ylim=(0.9, end(self.counts.values())), log_y=True,
        )  # fmt: skip

    def say(self, width: int) -> str:
        own = self.counts[width]
        copies, shared = (
            own[method][-1] / own["single"][-1] for method in ("deep_ensemble", "batch_ensemble")
        )
        return (
            f"With nine hidden layers of {width:,}, a deep ensemble stores {copies:.2f} times one "
            f"network’s parameters, a BatchEnsemble {shared:.2f} times."
        )


def end(counts: Iterable[Mapping[str, Sequence[int]]]) -> int:
    """Return the upper end of an axis, a power of two, that holds all multiples of one network."""
    ratios = [
        number / one
        for own in counts
        for numbers in own.values()
        for number, one in zip(numbers, own["single"], strict=True)
    ]
    return 2 ** math.ceil(math.log2(max(ratios)))

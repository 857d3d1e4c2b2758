"""What *Which ensemble holds how much?* draws, says and cites: counts, and published numbers."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ensedu import counting
from ensedu.counting import Count
from ensedu.counting.text_table import Table
from ensedu.methods import size_option
from workshop import plot
from workshop.page.method_table import method_table
from workshop.plot.style import Figure

# Captions.
COUNTS = (
    "A bar is as long as all that a method stores, in multiples of one network; its pieces are "
    "what the numbers are for. A mean-field BNN has no members."
)
KERNELS = (
    "What a convolution holds under each method. Larger kernels make sharing pay, even for a "
    "single input channel."
)
DEPTH = (
    "Networks 1-h-…-h-1. With one hidden layer the deep ensemble is the smallest of the three; "
    "with two or more, at these widths, it is the largest."
)
#: Why an axis changes.
RESCALED = "The axis ends at the longest bar, which is up to 121 times the shortest."

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
#: What it prints of a WRN-28-10 on CIFAR-100: method; its row's color; passes; millions; NLL,
#: accuracy, calibration error; the same of corrupted images.
CIFAR = """
deterministic;single;1;36.5;.875;79.8;.0857;2.70;51.37;.239
BatchEnsemble;batch_ensemble;4;36.6;.690;81.9;.0265;2.56;53.1;.149
Hyper-BatchEnsemble;;4;73.2;.678;81.9;.020;;;
MIMO;;1;36.5;.690;82.0;.022;2.28;53.7;.129
rank-1 BNN, Gaussian;rank1;4;36.6;.692;81.3;.018;2.24;53.8;.117
rank-1 BNN, Cauchy;rank1;16;36.6;.689;82.4;.012;2.04;57.8;.142
SNGP;;1;36.5;.805;80.2;.020;2.02;54.6;.092
SNGP, AugMix;;1;36.5;.755;80.6;.024;1.44;65.9;.054
SNGP, MC dropout;;10;36.5;.750;79.6;.017;2.06;53.8;.087
SNGP, BatchEnsemble;;4;;.755;81.4;.032;2.03;55.2;.112
SNGP × 4;;4;146;.665;81.9;.011;1.95;56.8;.091
MC dropout;mc_dropout;1;36.5;.830;79.6;.0501;2.90;42.63;.202
MC dropout, 30 passes;mc_dropout;30;36.5;.785;80.7;.0487;2.73;46.2;.207
MC dropout, improved;mc_dropout;30;36.5;.637;82.1;.028;1.93;57.2;.098
deep ensemble;deep_ensemble;4;146;.666;82.7;.021;2.27;54.1;.138
hyper-deep ensemble;;4;146;.654;83.0;.022;2.26;53.2;.128
variational inference;mean_field;1;73;.944;77.8;.097;3.18;48.2;.271
heteroscedastic;;1;37;.833;80.2;.059;2.40;52.1;.177
heteroscedastic × 4;;4;148;.671;82.7;.026;2.07;55.2;.105
"""
TITLES = (
    "passes", "millions", "NLL", "accuracy", "error", "c-NLL", "c-accuracy", "c-error",
)  # fmt: skip
#: Those that the table shows, what they are called there, and their digits.
SHOWN: dict[str, tuple[str | tuple[str, str], str | int]] = {
    "passes": ("passes", "{:g}"),
    "millions": ("millions", "{:g}"),
    "NLL": (("test images", "NLL"), 3),
    "accuracy": (("test images", "accuracy"), 1),
    "c-NLL": (("corrupted", "NLL"), 2),
    "c-accuracy": (("corrupted", "accuracy"), 1),
}


class Totals:
    """What a network of one input and one output holds under each method."""

    def __init__(self) -> None:
        self.choices = {
            "width": [5, 50, 1000], "hidden_layers": [1, 2, 3, 9],
            "ensemble_size": [1, 2, 4, 16, 64],
        }  # fmt: skip
        self.start = {"width": 50, "hidden_layers": 2, "ensemble_size": 4}

    def of(self, width: int, hidden_layers: int, ensemble_size: int) -> dict[str, Count]:
        """Count it."""
        sizes = [1, *[width] * hidden_layers, 1]
        return {
            method: counting.mlp(sizes, method, **size_option(method, ensemble_size))
            for method in METHODS
        }

    def draw(self, width: int, hidden_layers: int, ensemble_size: int) -> Figure:
        """Draw a bar a method."""
        return plot.parameter_bars(self.of(width, hidden_layers, ensemble_size))

    def say(self, width: int, hidden_layers: int, ensemble_size: int) -> str:
        """Say how much copies cost, and how much sharing does."""
        found = self.of(width, hidden_layers, ensemble_size)
        copies, shared = (
            found[method].total / found["single"].total
            for method in ("deep_ensemble", "batch_ensemble")
        )
        return (
            f"A deep ensemble of {ensemble_size} holds {copies:.2f} times as many numbers as one "
            f"network, a BatchEnsemble {shared:.2f} times."
        )


class Kernels:
    """What a convolution holds under each method, over one network's.

    Parameters
    ----------
    outs
        Numbers of output channels.
    counts
        By input channels and by the side of kernels, to those of each method.
    members
        M.
    """

    def __init__(
        self, outs: Sequence[int], counts: Mapping[tuple[int, int], Mapping[str, Sequence[int]]],
        members: int,
    ) -> None:  # fmt: skip
        self.outs, self.counts, self.members = outs, counts, members
        channels, sides = zip(*counts, strict=True)
        self.choices = {
            "in_channels": [*dict.fromkeys(channels)], "kernel_side": [*dict.fromkeys(sides)],
        }  # fmt: skip

    def draw(self, in_channels: int, kernel_side: int) -> Figure:
        """Draw a curve a method."""
        return plot.growth_curves(
            self.outs, self.counts[in_channels, kernel_side], xlabel="output channels",
            ylabel=over_one(self.members), log_x=True, relative_to="single",
            ylim=ends(self.counts.values()),
        )  # fmt: skip

    def say(self, in_channels: int, kernel_side: int) -> str:
        """Say from which number of output channels on sharing saves, by the proposition."""
        every, found = np.arange(1, 1001), []
        saved = 1 - 1 / self.members
        for method, times in (("batch_ensemble", 1), ("rank1", 2)):
            left = times * (1 / in_channels + 1 / every) / kernel_side**2
            words = "never"
            if (saving := every[left < saved]).size:
                words = f"from {saving[0]} output channels on"
            if left[0] < saved:
                words = "always"
            found.append(f"{plot.LABELS[method]} {words}")
        return f"Smaller than the deep ensemble: {', '.join(found)}."


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
            ylabel=over_one(self.members), relative_to="single", ylim=ends(self.counts.values()),
        )  # fmt: skip

    def say(self, width: int) -> str:
        """Say what copies cost, and what sharing does, where the curves end."""
        own = self.counts[width]
        copies, shared = (
            own[method][-1] / own["single"][-1] for method in ("deep_ensemble", "batch_ensemble")
        )
        return (
            f"With nine hidden layers of {width:,}, a deep ensemble holds {copies:.2f} times one "
            f"network's numbers, a BatchEnsemble {shared:.2f} times."
        )


def over_one(members: int) -> str:
    """Return what an axis of multiples is called."""
    return f"numbers of {members} members, over one network's"


def ends(counts: Iterable[Mapping[str, Sequence[int]]]) -> tuple[int, int]:
    """Return the ends of an axis that holds all multiples of one network."""
    ratios = [
        number / one
        for own in counts
        for numbers in own.values()
        for number, one in zip(numbers, own["single"], strict=True)
    ]
    return 0, math.ceil(max(ratios))


def cifar() -> dict[str, dict[str, float | None]]:
    """Return the rows of `CIFAR`: by method, a number or none by title."""
    rows = {}
    for line in CIFAR.strip().splitlines():
        name, _, *numbers = line.split(";")
        values = [float(number) if number else None for number in numbers]
        rows[name] = dict(zip(TITLES, values, strict=True))
    return rows


def best(title: str) -> str:
    """Return the method whose score is best."""
    known = {name: value for name, row in cifar().items() if (value := row[title]) is not None}
    return (max if "accuracy" in title else min)(known, key=lambda name: known[name])


def cifar_table() -> Table:
    """Return the table of these rows, the best of each column of scores in bold."""
    colors = dict(line.split(";")[:2] for line in CIFAR.strip().splitlines())
    return method_table(
        {name: {SHOWN[t][0]: row[t] for t in SHOWN} for name, row in cifar().items()},
        columns=dict(SHOWN.values()),
        colors={name: method for name, method in colors.items() if method},
        decisive=[(best(title), SHOWN[title][0]) for title in [*SHOWN][2:]],
    )

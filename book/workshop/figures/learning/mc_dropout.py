"""What *MC dropout* draws and says: how far passes are apart, and what it costs to average them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.ticker import MultipleLocator
from numpy import ndarray as Array

from ensedu.data import gap
from workshop.figures.learning.bayes_by_backprop import draw_doubt
from workshop.plot.panels import (
    beside,
    key_room,
    name_beside_or_above,
    names_room,
    number_ticks,
    panels,
    write_key,
)
from workshop.plot.style import AREA, PAGE, Figure, color, house_style

# Captions.
LIVE = (
    "The band of MC dropout follows the rate that you choose, also where there are points. Four "
    "networks beside it agree there. Bands: ± 2 standard deviations."
)
LIVE_ALT = (
    "Two panels with 60 points on a wave, none in a gap in the middle: MC dropout and a deep "
    "ensemble of four, before training."
)
SPREAD = (
    "A higher rate moves passes apart; more points do not bring them together. Standard deviation "
    "of passes, or members, where there are points, over 10 data sets. At each rate: 60 points."
)
PASSES = (
    "In four of eight cases 64 passes with masks beat one pass with masks off, in four they do "
    "not. Both are the same networks, trained with masks. Further left is better; means over 10 "
    "splits."
)
DOUBT = (
    "In the gap, where it should doubt most, dropout in one hidden layer doubts least. Standard "
    "deviation of passes, or members, along x; the gap is gray. One data set, rate 0.05."
)

OURS, GRAY = color("mc_dropout"), color("single")
HIGH = 2.5, 2.2


@dataclass(eq=False)
class Spread:
    """How far passes are apart where there are data."""

    #: Rates to standard deviations.
    by_rate: Mapping[float, float]
    #: What a line is called to its method, and to standard deviations by the number of points.
    by_number: Mapping[str, tuple[str, Mapping[int, float]]]

    def draw(self) -> Figure:
        """Draw a panel over rates, and one over numbers of points, with one axis."""
        with house_style():
            figure, (left, right) = panels(2, height=HIGH, sharey=True)
            left.plot([*self.by_rate], [*self.by_rate.values()], "o-", color=OURS)
            left.set(xlabel="rate")
            left.set_title("standard deviation of passes")
            for words, (method, own) in self.by_number.items():
                right.plot([*own], [*own.values()], "o-", color=color(method))
                second = [*own.items()][1]
                beside(right, words, second, (0, 9), color(method), ha="center", weight="bold")
            right.set(xlabel="points")
            right.set_title("the same, with more points")
            for axes, values in ((left, [*self.by_rate]), (right, [*own])):
                axes.set(xscale="log", ylim=(0, 0.19), yticks=[0, 0.05, 0.1, 0.15])
                number_ticks(axes, values)
        return figure

    def say(self) -> str:
        low, *_, high = self.by_rate.values()
        few, *_, many = next(iter(self.by_number.values()))[1].values()
        return (
            f"From lowest to highest rate: {high / low:.1f} times as far apart; from fewest to "
            f"most points: {many / few:.1f} times."
        )


@dataclass(eq=False)
class Passes:
    """The NLL of an average of passes, and of one pass with masks off."""

    #: How many passes are averaged, and the rates.
    passes: int
    rates: Sequence[float]
    #: Numbers of digits to train on, as they are called, to NLLs, (rates,).
    on: Mapping[str, Float[Array, " R"]]
    #: To those of the same networks with masks off.
    off: Mapping[str, Float[Array, " R"]]
    #: To that of a network trained without masks.
    plain: Mapping[str, float]

    def draw(self) -> Figure:
        """Draw a panel a number of digits, with a row a rate, from masks off to masks on."""
        rows = [*reversed(range(len(self.rates)))]
        looks: dict[str, Any] = {"ls": "none", "ms": 8, "color": OURS, "mew": 1.5}
        key = {
            f"masks on, {self.passes} passes": looks | {"marker": "o"},
            "masks off": looks | {"marker": "o", "mfc": PAGE},
            "trained without": {"color": GRAY, "lw": 1.5},
        }
        with house_style():
            figure, found = panels(2, height=1.5, sharex=True, top=key_room())
            for axes, (digits, on), off in zip(
                found, self.on.items(), self.off.values(), strict=True
            ):
                axes.axvline(self.plain[digits], color=GRAY, lw=1.5)
                axes.hlines(rows, on, off, color=OURS, lw=2, alpha=0.6)
                for name, values in zip(key, (on, off), strict=False):
                    axes.plot(values, rows, label=name, **key[name])
                axes.set(ylim=(-0.6, len(rows) - 0.4), xlabel="NLL, nats a digit")
                axes.margins(x=0.08)
                axes.xaxis.set_major_locator(MultipleLocator(0.05))
                axes.set_yticks(rows, [f"{rate:g}" for rate in self.rates])
                axes.set_title(f"{digits} digits")
                axes.grid(axis="x")
            found[0].set_ylabel("rate")
            write_key(figure, key)
        return figure

    def say(self) -> str:
        lower = np.array([*self.on.values()]) < np.array([*self.off.values()])
        return (
            f"In {lower.sum()} of {lower.size} cases {self.passes} passes with masks have the "
            "lower NLL."
        )


@dataclass(eq=False)
class Doubt:
    """Standard deviations along x, (B,)."""

    #: Where they are drawn, and where the data lie.
    x: Float[Array, " B"]
    inputs: Float[Array, " N"]
    #: What a line is called to its method, and to its heights.
    curves: Mapping[str, tuple[str, Float[Array, " B"]]]

    def draw(self) -> Figure:
        styles = "-", "--", "-"
        lines = [
            (y, {"color": color(method), "lw": 2, "ls": style, "label": name})
            for style, (name, (method, y)) in zip(styles, self.curves.items(), strict=True)
        ]
        with house_style():
            figure, (axes,) = panels(1, height=HIGH, **names_room([*self.curves]))
            draw_doubt(axes, self.x, lines, self.inputs)
            axes.axvspan(*gap.gaps[0], **AREA)
            axes.set(xlim=(self.x[0], self.x[-1]), ylim=(0, 0.36))
            name_beside_or_above(figure, axes)
        return figure

    def ratio(self, name: str) -> float:
        """Return the mean in the gap over that where the data lie."""
        low, high = gap.gaps[0]
        inside = (low < self.x) & (self.x < high)
        y = self.curves[name][1]
        return float(y[inside].mean() / y[~inside].mean())

    def say(self) -> str:
        words = ", ".join(f"{name} {self.ratio(name):.1f}" for name in self.curves)
        return f"In the gap over at the data: {words}."

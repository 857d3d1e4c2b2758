"""What *MC dropout* draws and says: how far passes are apart, and what it costs to average them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.data import gap
from workshop.figures.learning.bayes_by_backprop import draw_doubt
from workshop.plot.panels import beside, name_beside_or_above, names_room, number_ticks, panels
from workshop.plot.style import MUTED, Figure, color, house_style

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
    "of passes, or members, where there are points, over 10 data sets. By the rate: 60 points."
)
PASSES = (
    "In four of eight cases 64 passes with masks beat one pass with masks off, in four they do "
    "not. Both are the same networks, trained with masks; gray: trained without. Lower is better; "
    "means over 10 splits."
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
            left.set(xlabel="rate", title="by the rate")
            for words, (method, own) in self.by_number.items():
                right.plot([*own], [*own.values()], "o-", color=color(method))
                beside(
                    right,
                    words,
                    ([*own][1], [*own.values()][1]),
                    (0, 9),
                    color(method),
                    ha="center",
                    weight="bold",
                )
            right.set(xlabel="points", title="by the number of points")
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
    """The NLL of an average, by the number of passes."""

    #: The numbers S of passes, and the rates.
    passes: Sequence[int]
    rates: Sequence[float]
    #: Numbers of digits to train on, as they are called, to NLLs, (rates, S).
    averaged: Mapping[str, Float[Array, "R S"]]
    #: To those of the same networks with masks off, (rates,).
    off: Mapping[str, Float[Array, " R"]]
    #: To that of a network trained without masks.
    plain: Mapping[str, float]

    def __post_init__(self) -> None:
        self.choices = {"rate": [*self.rates], "digits": [*self.averaged]}

    def of(self, rate: float, digits: str) -> dict[str, tuple[Float[Array, " S"], str]]:
        """Return what each line is called, its heights, and its color."""
        row, flat = self.choices["rate"].index(rate), np.ones(len(self.passes))
        return {
            "plain network": (self.plain[digits] * flat, GRAY),
            "masks off": (self.off[digits][row] * flat, OURS),
            "masks on": (self.averaged[digits][row], OURS),
        }

    def draw(self, rate: float, digits: str) -> Figure:
        """Draw a dot a number of passes, and two lines that make none."""
        found = self.of(rate, digits)
        with house_style():
            figure, (axes,) = panels(1, height=HIGH, **names_room([*found]))
            for (name, (values, own)), style in zip(found.items(), ("-", "--", "o-"), strict=True):
                axes.plot(self.passes, values, style, color=own, label=name)
            axes.set(xscale="log", yscale="log", ylim=(0.07, 0.4), xlabel="passes")
            axes.set_title("NLL, nats a digit", loc="left")
            number_ticks(axes, self.passes, [0.1, 0.2, 0.4])
            name_beside_or_above(figure, axes)
        return figure

    def say(self, rate: float, digits: str) -> str:
        _, (off, _), (on, _) = self.of(rate, digits).values()
        return (
            f"{self.passes[-1]} passes with masks: NLL {on[-1]:.3f}; one pass with masks off: "
            f"{off[-1]:.3f}."
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
        """Draw them in one panel."""
        styles = "-", "--", "-"
        lines = [
            (y, {"color": color(method), "lw": 2, "ls": style, "label": name})
            for style, (name, (method, y)) in zip(styles, self.curves.items(), strict=True)
        ]
        with house_style():
            figure, (axes,) = panels(1, height=HIGH, **names_room([*self.curves]))
            draw_doubt(axes, self.x, lines, self.inputs)
            axes.axvspan(*gap.gaps[0], color=MUTED, alpha=0.09, lw=0)
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

"""What *More from one network* draws and says: confidence, and the networks that a run passes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.data import gap
from workshop.figures.learning.bayes_by_backprop import ellipse
from workshop.plot.panels import beside, ends_room, mark_cut, name_curves, number_ticks, panels
from workshop.plot.style import AREA, INK, Figure, color, house_style

# Captions.
PATHS = (
    "Five networks that one run passed, and five runs. At the points those of one run differ at "
    "least as much; in the shaded gap they differ far less. Once its rate has fallen to zero, they "
    "are practically one network."
)
TEMPERATURE = (
    "One number lowers the confidence until it fits, and changes no answer. Both are means "
    "over 1,397 new images; dashed: how many of them the network gets right."
)
RUNS = (
    "Averaging along a run helps while the run moves. Once its rate falls to zero, the last five "
    "epochs bring nothing more, but five networks still do. Lower is better, and no axis begins "
    "at 0; concrete, means over 20 splits, 3 seeds and 5 runs."
)
WALKS = (
    "The weights circle around the best line, and their mean comes close to it. How far they "
    "circle is set by the learning rate. Ellipses: two standard deviations, of SWAG and of the "
    "posterior."
)

BLUE, GRAY = color("deep_ensemble"), color("single")
#: What stands at the end of a line, in two lines where there is room for no more.
ENDS = {
    "last network": "last\nnetwork", "last five epochs": "last five\nepochs", "SWAG": "SWAG",
    "five networks": "five\nnetworks",
}  # fmt: skip
#: What marks and ellipses of two weights are.
WALK_KEY = {
    "× best line, and its posterior": INK, "+ mean of the run, and SWAG": GRAY,
    "● weights of the run": GRAY,
}  # fmt: skip


@dataclass(eq=False)
class Paths:
    """Functions of one run, and those of five runs, by what the learning rate does."""

    #: (B,): where they are drawn.
    x: Float[Array, " B"]
    #: (N, 2): the data.
    points: Float[Array, "N 2"]
    #: By learning rate, those of one run and those of five, (2, 5, B).
    curves: Mapping[str, Float[Array, "2 K B"]]

    def __post_init__(self) -> None:
        self.choices = {"learning_rate": [*self.curves]}

    def draw(self, learning_rate: str) -> Figure:
        """Draw one run on one side, and five on the other."""
        with house_style():
            figure, found = panels(2, height=2.5, sharey=True)
            titles = "five networks of one run", "the ends of five runs"
            for axes, title, own, name in zip(
                found, titles, self.curves[learning_rate], ("single", "deep_ensemble"), strict=True
            ):
                axes.axvspan(*gap.gaps[0], **AREA)
                axes.plot(*self.points.T, "o", color=INK, ms=2.5, alpha=0.5)
                axes.plot(self.x, own.T, color=color(name), lw=1.4, alpha=0.9)
                axes.set_title(title)
                axes.set(xlabel="x", ylim=(-1.9, 1.9), xticks=[-4, -2, 0, 2, 4], yticks=[-1, 0, 1])
        return figure

    def say(self, learning_rate: str) -> str:
        (low, high), *_ = gap.gaps
        inside = (self.x > low) & (self.x < high)
        one, five = self.curves[learning_rate].std(axis=1)[:, inside].mean(axis=1)
        return (
            f"In the gap, networks of one run lie {one:.2f} apart, those of five runs {five:.2f}."
        )


@dataclass(eq=False)
class Temperature:
    """What a temperature does to a network's loss and confidence."""

    #: By temperature: the NLL, and the mean probability of the likeliest class.
    loss: Mapping[float, float]
    confidence: Mapping[float, float]
    #: The share of answers that are right, at any temperature.
    right: float

    def __post_init__(self) -> None:
        self.choices = {"temperature": [*self.loss]}

    def draw(self, temperature: float) -> Figure:
        with house_style():
            figure, [left, other] = panels(2, height=2.4)
            for axes, title, own in (
                (left, "NLL, nats an image", self.loss), (other, "confidence", self.confidence),
            ):  # fmt: skip
                axes.plot([*own], [*own.values()], color=GRAY, lw=2)
                axes.plot(temperature, own[temperature], "o", color=GRAY, ms=9)
                axes.set_title(title)
                axes.set(xscale="log", xlabel="temperature")
                number_ticks(axes, [0.5, 1, 2, 4])
            left.set_ylim(0, 1.1 * max(self.loss.values()))
            other.axhline(self.right, color=INK, lw=1.4, ls=(0, (4, 3)))
            other.set_ylim(0.6, 1.02)
            mark_cut(other)
            below = {"va": "top", "xycoords": other.get_yaxis_transform()}
            beside(other, "share that is right", (0.02, self.right), (0, -4), INK, **below)
        return figure

    def say(self, temperature: float) -> str:
        return (
            f"At temperature {temperature:g} the network is {self.confidence[temperature]:.0%} "
            f"sure on average, and {self.right:.0%} of its answers are right."
        )


@dataclass(eq=False)
class Runs:
    """What is made of a run, by what its learning rate does, the last in the order of the names."""

    #: By the title of a panel, by who it is, and by learning rate.
    scores: Mapping[str, Mapping[str, Mapping[str, float]]]

    def draw(self) -> Figure:
        """Draw a line for each who takes part, over the learning rates."""
        looks = {"last network": (GRAY, "-"), "five networks": (BLUE, "-"), "SWAG": (INK, ":")}
        with house_style():
            room = ends_room(ENDS.values())
            figure, found = panels(2, height=2.8, right=room, below=0.7)
            for axes, (title, rows) in zip(found, self.scores.items(), strict=True):
                for name, own in rows.items():
                    ink, line = looks.get(name, (INK, "--"))
                    look = {"color": ink, "ls": line, "marker": "o", "ms": 5, "lw": 1.8}
                    axes.plot([*own], [*own.values()], label=ENDS.get(name, name), **look)
                axes.set_title(f"{title}, {'MPa' if title == 'RMSE' else 'nats'}")
                axes.set_xlim(-0.3, len(own) - 0.85)
                axes.set_xticks(range(len(own)), [name.replace(" to", "\nto") for name in own])
                mark_cut(axes)
                name_curves(figure, axes)
        return figure

    def say(self) -> str:
        title, rows = next(iter(self.scores.items()))
        last, epochs, *_ = rows
        moving, *_, cooled = (rows[last][rate] - own for rate, own in rows[epochs].items())
        return (
            f"{title}: {epochs} gain {abs(moving):.2f} at a constant rate, and {abs(cooled):.2f} "
            "once it has fallen to zero."
        )


@dataclass(eq=False)
class Walks:
    """Where weights walk, by their learning rate, around the best ones."""

    #: By learning rate, weights (K, 2).
    walks: Mapping[str, Float[Array, "K 2"]]
    #: The mean (2,) and the covariance (2, 2) of the posterior.
    best: Float[Array, " 2"]
    covariance: Float[Array, "2 2"]

    def __post_init__(self) -> None:
        self.choices = {"learning_rate": [*self.walks]}

    def draw(self, learning_rate: str) -> Figure:
        """Draw the walk, its mean, and both ellipses."""
        walk = self.walks[learning_rate]
        with house_style():
            figure, [axes] = panels(1, height=3.2)
            axes.plot(*walk.T, "o", color=GRAY, ms=3, alpha=0.5, mew=0)
            for mean, covariance, own, line in (
                (self.best, self.covariance, INK, "--"),
                (walk.mean(0), swag_covariance(walk), GRAY, "-"),
            ):
                axes.plot(*(mean[:, None] + ellipse(covariance)), color=own, ls=line, lw=2)
            axes.plot(*walk.mean(0), "+", color=GRAY, ms=14, mew=2)
            axes.plot(*self.best, "x", color=INK, ms=9, mew=2)
            for (words, own), y in zip(WALK_KEY.items(), (0.98, 0.89, 0.8), strict=True):
                axes.text(0.99, y, words, transform=axes.transAxes, color=own, ha="right", va="top")
            axes.set(xlim=self.best[0] + [-0.5, 0.5], ylim=self.best[1] + [-0.4, 0.5])
            axes.set(xlabel="intercept", ylabel="slope")
        return figure

    def say(self, learning_rate: str) -> str:
        own, wanted = (
            np.sqrt(one[0, 0])
            for one in (swag_covariance(self.walks[learning_rate]), self.covariance)
        )
        return f"The run moves its intercept by {own:.2f}; the data leave {wanted:.2f} open."


def swag_covariance(seen: Float[Array, "K W"]) -> Float[Array, "W W"]:
    """Return that of SWAG's Gaussian: half of each variance is diagonal."""
    return (np.cov(seen.T) + np.diag(seen.var(axis=0))) / 2

"""What *Bayes by Backprop* draws and says: where normals for weights doubt too much, or too little.

Whatever is exact, a posterior in closed form or that of NUTS, has the color of ink; whatever treats
weights as independent that of a mean-field network.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from numpy import ndarray as Array

from ensedu.uncertainty import MeanDifference
from workshop import plot
from workshop.plot.forest import WAYS
from workshop.plot.moving import Computed, moves, steps
from workshop.plot.panels import LINE, number_ticks, write_key
from workshop.plot.style import INK, MUTED, Figure, color

# Captions.
BANDS = (
    "Gray: the posterior, drawn by a sampler called NUTS. Pink: Bayes by Backprop while it trains. "
    "It ends too wide at the points, and too narrow in the gap; some seeds miss a point at an end. "
    "Bands: ± 2 standard deviations; a network with 20 hidden units."
)
BANDS_ALT = (
    "A curve through 60 points with a gap in the middle. The band of NUTS is narrow at the points "
    "and wide in the gap; that of Bayes by Backprop is wider at the points and narrower in the gap."
)
TUG = (
    "The misfit wants a small σ, the KL wants the prior's, and F is least in between. The slope of "
    "the line, with its intercept known; lowered so that each part ends at 0."
)
ELLIPSES = (
    "An upright ellipse cannot follow a leaning one. It is too short along it, so each weight is "
    "too sure, and it sticks out across it, so the line is too unsure at the data. Ellipses: two "
    "standard deviations. Curves: the standard deviation of the line's height."
)
SETTINGS = (
    "Training longer, or with more weight samples, helps at the data; a small KL weight helps "
    "there and harms in the gap. A row is one change of the base: KL weight 1, initial σ 0.1, 1 "
    "weight sample a step, 3,000 steps. Marks: each score minus the base's; hollow: luck may be it."
)

OURS = color("mean_field")
EXACT: dict[str, Any] = {"color": INK, "lw": 2}
APART: dict[str, Any] = {"color": OURS, "lw": 2, "ls": "--"}
MISFIT: dict[str, Any] = {"color": MUTED, "lw": 2, "ls": ":"}
TURN = np.linspace(0, 2 * np.pi, 101)


@dataclass(frozen=True, eq=False)
class Line:
    """Two posteriors of the weights of a line, intercept and slope."""

    #: (N,): where the data lie.
    inputs: Float[Array, " N"]
    #: (2, 2): the inverse of the exact posterior's covariance.
    precision: Float[Array, "2 2"]
    #: Two of (B,): the standard deviations of f(x), exact and of independent weights.
    doubt: tuple[Float[Array, " B"], Float[Array, " B"]]

    @property
    def covariance(self) -> Float[Array, "2 2"]:
        """That of the exact posterior."""
        return np.linalg.inv(self.precision)

    @property
    def sigma(self) -> Float[Array, " 2"]:
        """The standard deviations of the best independent weights."""
        return np.diag(self.precision) ** -0.5


@dataclass(eq=False)
class Tug:
    """What the standard deviation of a line's slope costs, and where F is least."""

    #: (N,): where the data lie.
    inputs: Float[Array, " N"]
    #: The standard deviation of the noise.
    noise: float
    choices: ClassVar = {"points": [0, 1, 2, 5, 10, 20]}

    def parts(self, points: int, sigma: Any) -> tuple[Any, Any]:
        """Return the KL from N(0, 1) and the misfit, without what σ does not change."""
        pull = np.sum(self.inputs[:points] ** 2) / self.noise**2
        return (sigma**2 - 1) / 2 - np.log(sigma), pull * sigma**2 / 2

    def least(self, points: int) -> float:
        """Return the σ at which their sum is least."""
        return float(1 / np.sqrt(1 + np.sum(self.inputs[:points] ** 2) / self.noise**2))

    def draw(self, points: int) -> Figure:
        """Draw both parts and their sum over σ, and its least place."""
        sigma, best = np.geomspace(0.02, 2, 200), self.least(points)
        kl, misfit = self.parts(points, sigma)
        with plot.house_style():
            figure, [axes] = plot.panels(1, height=2.4, top=LINE + 0.1)
            parts = {
                "KL": (kl, APART),
                "misfit": (misfit, MISFIT),
                "F, their sum": (kl + misfit, EXACT),
            }
            for name, (y, style) in parts.items():
                axes.plot(sigma, y, label=name, **style)
            axes.plot([best], [sum(self.parts(points, best))], "o", ms=9, color=INK, label="least")
            axes.set(xscale="log", xlim=(0.02, 2), ylim=(0, 6), xlabel="σ of the slope")
            axes.set_title("nats")
            number_ticks(axes, x=[0.02, 0.05, 0.1, 0.2, 0.5, 1, 2])
            write_key(figure, {name: style for name, (_, style) in parts.items()})
        return figure

    def say(self, points: int) -> str:
        seen = "1 point" if points == 1 else f"{points or 'no'} points"
        return f"With {seen}, F is least where σ is {self.least(points):.2f}."


def ellipse(covariance: Float[Array, "2 2"]) -> Float[Array, "2 K"]:
    """Return the outline of two standard deviations around 0."""
    return 2 * np.linalg.cholesky(covariance) @ np.stack([np.cos(TURN), np.sin(TURN)])


@dataclass(eq=False)
class Lines(Computed):
    """The exact posterior and that of independent weights; a page computes both."""

    formula = "line"
    words = (
        "With inputs around {inputs_around:g} each weight has {part:.2f} of its true standard "
        "deviation.",
    )
    choices: ClassVar = {"inputs_around": steps(-1, 4, 0.05)}

    #: (B,): where f is drawn.
    x: Float[Array, " B"]
    #: Both posteriors, by where the inputs of the line lie.
    line: Callable[[float | int], Line]
    #: The standard deviation of the noise.
    noise: float

    def __post_init__(self) -> None:
        self.data = {"inputs": self.line(0).inputs, "x": self.x, "noise": self.noise, "turn": TURN}

    def numbers(self, inputs_around: float | int) -> dict[str, Any]:
        """Return both ellipses, and the doubt in f(x)."""
        line = self.line(inputs_around)
        variances = np.diag(line.covariance), np.diag(line.precision)
        ellipses = ellipse(line.covariance), ellipse(np.diag(line.sigma**2))
        (a, b), (c, d) = ellipses
        return {
            "exact_intercept": a, "exact_slope": b, "apart_intercept": c, "apart_slope": d,
            "x": self.x, "exact": line.doubt[0], "apart": line.doubt[1], "inputs": line.inputs,
            "foot": np.zeros_like(line.inputs), "part": np.prod(variances, axis=0)[0] ** -0.5,
        }  # fmt: skip

    def draw(self, inputs_around: float | int) -> Figure:
        """Draw both posteriors of two weights, and the doubt in f(x)."""
        found = self.numbers(inputs_around)
        with plot.house_style():
            figure, [left, right] = plot.panels(2, height=(2.2, 1.9), top=LINE + 0.1)
            curves, key = [], {"exact posterior": EXACT, "mean-field": APART}
            for name, (words, style) in zip(("exact", "apart"), key.items(), strict=True):
                names, own = (f"{name}_intercept", f"{name}_slope"), style | {"label": words}
                left.plot(*(found[one] for one in names), gid=moves(*names), **own)
                curves.append((found[name], own | {"gid": moves("x", name)}))
            write_key(figure, key)
            left.set(xlim=(-1.5, 1.5), ylim=(-0.5, 0.5))
            left.set_title("two weights")
            left.set(xlabel="intercept − exact mean", ylabel="slope − exact mean")
            draw_doubt(right, self.x, curves, found["inputs"], gid=moves("inputs", "foot"))
            right.set(xlim=(-2, 5), ylim=(0, 1))
        return figure


def draw_doubt(axes: Axes, x: Array, curves: Any, inputs: Array, **ticks: str) -> None:
    """Draw standard deviations of f over x, pairs of (B,) and a style, and where the data lie."""
    for y, style in curves:
        axes.plot(x, y, **style)
    foot: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False} | ticks
    axes.plot(inputs, np.zeros_like(inputs), "|", color=INK, ms=9, label="data", **foot)
    axes.set(xlabel="x (ticks: data)")
    axes.set_title("standard deviation of f(x)")


@dataclass(eq=False)
class Settings:
    """What each change of the base setting does to scores, the NLL at the data first."""

    #: Scores to changes, to the paired difference from the base.
    effects: Mapping[str, Mapping[str, MeanDifference]]
    #: Those that are clear: a score, and a change.
    sure: Collection[tuple[str, str]]
    #: The base setting's scores.
    base: Mapping[str, float]

    def draw(self) -> Figure:
        return plot.effect_intervals(
            {
                title: {name: (e.low, e.mean, e.high) for name, e in own.items()}
                for title, own in self.effects.items()
            },
            resolved={t: [name for title, name in self.sure if title == t] for t in self.effects},
            levels={title: f"base: {value:.2f}" for title, value in self.base.items()},
            colors=dict.fromkeys(next(iter(self.effects.values())), "mean_field"),
            xlabel=" · ".join(WAYS),
        )

    def say(self) -> str:
        title, nll = next(iter(self.effects.items()))
        sure = [name for score, name in self.sure if score == title]
        best, *_, worst = sorted(sure, key=lambda name: nll[name].mean)
        return (
            f"Most is gained by {best}, most lost by {worst}: {nll[worst].mean:.2f} nats a point."
        )

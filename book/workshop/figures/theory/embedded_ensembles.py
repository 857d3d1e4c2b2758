"""What *Embedded ensembles* draws and says: how far a member's step reaches another member."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.theory import ntk
from workshop.plot.panels import ends_room, key_room, name_curves, number_ticks, panels, write_key
from workshop.plot.style import INK, MUTED, Figure, color, house_style

# Captions.
PULL = (
    "Only member 1 is trained. Does member 2 move as well, and for which mean of u? Both "
    "share all weights, in two hidden layers of width 256; each multiplies the last one by its own "
    "u. Thin: before training."
)
CHI = (
    "As layers widen, χ becomes a fixed number, and of these only signs bring it to 0. A dot is a "
    "random network of two hidden layers with this u in both; dotted: infinite width. One input."
)
SPEEDS = (
    "First to the target together, then slowly to each other: if χ > 0, the average of two "
    "members is faster than their difference. A curve is a training of width 256; dotted: "
    "infinite width; star: the target of both."
)

OURS = color("batch_ensemble")
DOTS: dict[str, Any] = {"color": INK, "ls": (0, (1, 2)), "lw": 1.6}
LOOKS: dict[str, dict[str, Any]] = {
    "member 1, trained": {"color": OURS, "lw": 2.6},
    "member 2, not trained": {"color": OURS, "lw": 2.2, "ls": (0, (4, 2))},
}
MARKERS = "o", "s", "^"


@dataclass(eq=False)
class TwoMembers:
    """Two members while the first is trained."""

    #: Where they are drawn, (B,).
    x: Float[Array, " B"]
    #: After how many steps, from 0 on.
    steps: Sequence[int]
    #: Means of u to outputs, (steps, 2, B).
    found: Mapping[float | int, Float[Array, "S 2 B"]]
    #: x and y of what member 1 is trained on.
    points: tuple[Float[Array, " N"], Float[Array, " N"]]

    def __post_init__(self) -> None:
        self.choices = {"steps": [*self.steps], "mean_of_u": [*self.found]}

    def draw(self, steps: int, mean_of_u: float | int) -> Figure:
        """Draw both members now, thick, and before training, thin."""
        found = self.found[mean_of_u]
        with house_style():
            figure, (axes,) = panels(1, height=2.7, left=0.5, top=key_room())
            now = found[self.choices["steps"].index(steps)]
            for first, own, look in zip(found[0], now, LOOKS.values(), strict=True):
                axes.plot(self.x, first, **look | {"lw": 0.9, "alpha": 0.6})
                axes.plot(self.x, own, **look)
            axes.plot(*self.points, "o", color=INK, ms=6, zorder=4)
            axes.set(xlim=(self.x[0], self.x[-1]), ylim=(-3.7, 3.7), xlabel="x")
            axes.set_title("output")
            write_key(figure, LOOKS)
        return figure

    def moved(self, steps: int, mean_of_u: float | int) -> Float[Array, " 2"]:
        """Return how far each member is from where it was, root mean square over x."""
        found = self.found[mean_of_u]
        way = found[self.choices["steps"].index(steps)] - found[0]
        return np.sqrt((way**2).mean(axis=-1))

    def say(self, steps: int, mean_of_u: float | int) -> str:
        if steps == 0:
            return "Two members before training, thick and thin alike."
        one, two = self.moved(steps, mean_of_u)
        return (
            f"After {steps} step{'s' * (steps > 1)} the trained member has moved by {one:.2f}, and "
            f"the other by {two:.2f} (root mean square)."
        )


@dataclass(eq=False)
class Chi:
    """The kernel between two members over that within one, of random networks."""

    #: Of the hidden layers.
    widths: Sequence[int]
    #: How u is drawn to (widths, draws).
    found: Mapping[str, Float[Array, "W D"]]
    #: To what it is at infinite width.
    limits: Mapping[str, float | int]

    def draw(self) -> Figure:
        """Draw a dot a network, and a line a limit."""
        names = [f"{name}: {value:.2f}" for name, value in self.limits.items()]
        colors = [color("mc_dropout" if "dropout" in name else "batch_ensemble") for name in names]
        low, high = self.widths[0] / 1.7, self.widths[-1] * 1.7
        with house_style():
            figure, (axes,) = panels(1, height=3.0, left=0.55, right=ends_room(names))
            for place, (values, own) in enumerate(zip(self.found.values(), colors, strict=True)):
                beside = np.exp(0.17 * (place - 1)) * np.array(self.widths, dtype=float)
                axes.plot(
                    beside[:, None], values, MARKERS[place], color=own, ms=4, mew=0, alpha=0.6
                )  # fmt: skip
            for name, value, own in zip(names, self.limits.values(), colors, strict=True):
                axes.plot([low, high], [value] * 2, **DOTS | {"color": own, "label": name})
            axes.set(xscale="log", xlim=(low, high), ylim=(-0.65, 1.1), xlabel="width")
            axes.set(yticks=[-0.5, 0, 0.5, 1])
            number_ticks(axes, self.widths)
            axes.set_title("χ, from one member to another")
            name_curves(figure, axes)
        return figure

    def say(self) -> str:
        signs = np.sqrt((next(iter(self.found.values())) ** 2).mean(axis=1))
        return (
            f"With random signs χ is {signs[0]:.2f} off 0 at width {self.widths[0]} (root mean "
            f"square), {signs[-1]:.2f} at {self.widths[-1]}."
        )


@dataclass(eq=False)
class Speeds:
    """Two members that are trained on one number, one output against the other."""

    #: Means of u, and what is trained on, to outputs (steps, 2): real ones, and at infinite width.
    found: Mapping[tuple[float | int, str], tuple[Float[Array, "T 2"], Float[Array, "T 2"]]]
    #: What is trained on to γ.
    gammas: Mapping[str, float | int]
    #: The number.
    target: float | int

    def __post_init__(self) -> None:
        means = [*dict.fromkeys(mean for mean, _ in self.found)]
        self.choices = {"mean_of_u": means, "trained_on": [*self.gammas]}

    def draw(self, mean_of_u: float | int, trained_on: str) -> Figure:
        """Draw the outputs over steps, and one against the other."""
        real, foreseen = self.found[mean_of_u, trained_on]
        ends, ticks = (-1.0, 1.5), [-1, 0, 1]
        with house_style():
            figure, (left, right) = panels(2, height=2.6, left=0.6, top=key_room())
            left.axhline(self.target, color=MUTED, lw=1)
            for own, limit, look in zip(real.T, foreseen.T, LOOKS.values(), strict=True):
                left.plot(own, **look)
                left.plot(limit, **DOTS)
            left.set(xlim=(0, len(real) - 1), ylim=ends, yticks=ticks, xlabel="steps")
            left.set_title("outputs of both")
            right.plot(ends, ends, color=MUTED, lw=1)
            right.text(-0.45, -0.8, "members equal", rotation=40, color=MUTED, fontsize=11)
            right.plot(*real.T, color=OURS, lw=2.4)
            right.plot(*foreseen.T, **DOTS)
            right.plot(*real[0], "o", color=OURS, ms=8)
            right.plot(self.target, self.target, "*", color=INK, ms=13)
            right.set(xlim=ends, ylim=ends, xticks=ticks, yticks=ticks)
            right.set(xlabel="output of member 1")
            right.set_title("output of member 2")
            own = zip(("member 1", "member 2"), LOOKS.values(), strict=True)
            write_key(figure, dict(own) | {"infinite width": DOTS})
        return figure

    def say(self, mean_of_u: float | int, trained_on: str) -> str:
        both, apart = ntk.modes(2, mean_of_u**2, self.gammas[trained_on])
        return (
            f"Mean of u {mean_of_u:g}: the average has {both:.2f} times the rate of one member "
            f"alone, the difference {apart:.2f} times."
        )

"""What *What does a prediction not know?* draws and says: noise, and what members say they miss.

What is not known, and what members say of it, has the red of doubt; noise is gray.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from numpy import ndarray as Array

from ensedu.data import gap
from workshop import plot
from workshop.experiments.exact import CENTERS, GRID, Exact
from workshop.plot.curves import BAND, fill_band
from workshop.plot.moving import Computed, moves
from workshop.plot.panels import (
    LINE,
    RIGHT,
    beside,
    decimal,
    ends_room,
    name_beside_or_above,
    name_curves,
    names_room,
    number_ticks,
    panels,
    write,
)
from workshop.plot.style import AREA, DOUBT, INK, MUTED, Figure, color, house_style, look

# Captions.
CURVE = (
    "More points make the red band narrow, and leave the dotted one as wide as it is. Above: the "
    "mean ± 2 standard deviations (σ), red for what is not known of the curve, dotted for the "
    "noise. Below: both σ, on a log scale. Shaded: the gap, where there are no points."
)
DRAWS = (
    "Four curves that may all be true say only roughly how much is not known; 64 say it well. "
    "Solid: exact. Thin and dashed: curves drawn from the posterior of 64 points, noise 0.2, and "
    "their standard deviation, on a log scale."
)
DIGIT = (
    "Members may agree on what is no digit. What one network says to a drawing, and members: "
    "percent for each digit, and the entropy of their mean in its two parts."
)
TRAINED = (
    "Their error is larger than their spread, and in the gap they agree more with more "
    "points and steps, without a clear change of the error. Five networks, root mean squares, "
    "the noise left out, over 20 data sets with 95% intervals; log scales."
)
METHODS = (
    "In the gap methods differ most, in their curves and in how far they doubt them. Mean ± 2 "
    "standard deviations, with the noise, of a method, filled, and of one network, outlined, on "
    "one data set. Above: nats a point, means over 20 data sets."
)

#: Of the grid: among the points, in the gap.
AMONG, INSIDE = (int(np.abs(GRID - x).argmin()) for x in (-2.5, 0.25))
#: Inches from the end of one column of scores to that of the next.
COLUMN = 0.9
PLACES = {"regions": "among the points", "gap": "in the gap"}


def scene(names: tuple[str, ...], titles: tuple[str, str]) -> tuple[Figure, Axes, Axes]:
    """Return a figure with two panels along x: for curves, and for standard deviations."""
    figure, (curves, parts) = panels(
        2, height=(1.75, 1.6), columns=1, sharex=True, left=0.6, **names_room(names)
    )
    for axes, title in zip((curves, parts), titles, strict=True):
        axes.axvspan(*gap.gaps[0], **AREA)
        axes.set_title(title)
        axes.set(xlim=(GRID[0], GRID[-1]), xticks=[-4, -2, 0, 2, 4], xlabel="x")
    curves.set(ylim=(-3.1, 3.1), yticks=[-2, 0, 2])
    parts.set(yscale="log", ylim=(0.005, 2))
    number_ticks(parts, y=[0.01, 0.1, 1])
    return figure, curves, parts


@dataclass(eq=False)
class Curve(Computed):
    """What is not known of a curve, beside the noise; a page computes it."""

    formula, drag = "posterior", ("x", "y")
    words = (
        "The noise has σ {noise:g}; what is not known has {among:.2f} among the points, "
        "{inside:.2f} in the gap.",
        "At x = −2.5 the line is off by {off:.2f}, and calls {among:.2f} not known.",
    )

    #: The posterior, by the number of points, the noise and the model.
    exact: Callable[[int, float, str], Exact]
    #: x of all points, the curve there, and how far off each is, in units of the noise: (3, N).
    points: Float[Array, "3 N"]
    #: Of points, noise and model.
    choices: Mapping[str, Sequence[Any]]

    def __post_init__(self) -> None:
        x, curve, luck = self.points
        self.data = {
            "x": x, "curve": curve, "luck": luck, "grid": GRID, "truth": gap.truth(GRID),
            "among": AMONG, "inside": INSIDE, "centers": CENTERS,
        }  # fmt: skip

    def numbers(self, points: int, noise: float, model: str) -> dict[str, Any]:
        """Return the curve with both bands, and the standard deviation of both parts."""
        found = self.exact(points, noise, model)
        mean, unknown = found.mean, found.unknown
        return {
            "grid": GRID, "truth": gap.truth(GRID), "x": found.x, "y": found.y,
            "mean": mean, "unknown": unknown,
            "low": mean - 2 * unknown, "high": mean + 2 * unknown, "below": mean - 2 * noise,
            "above": mean + 2 * noise, "level": np.full_like(GRID, noise),
            "among": unknown[AMONG], "inside": unknown[INSIDE],
            "off": abs(gap.truth(GRID) - mean)[AMONG], "said": int(model != "bumps"),
        }  # fmt: skip

    def draw(self, points: int, noise: float, model: str) -> Figure:
        """Draw the curve with both bands, and the standard deviation of both."""
        found = self.numbers(points, noise, model)
        with house_style():
            figure, curves, parts = scene(
                ("true curve", "not known", "noise"), ("mean ± 2σ", "σ of each part")
            )
            red, gray = {"color": DOUBT}, {"color": MUTED, "ls": (0, (1, 1))}
            # Of two bands that lie over each other one is filled.
            curves.fill_between(
                GRID, found["low"], found["high"], color=DOUBT, alpha=0.45, lw=0,
                gid=moves("grid", "low", "high"),
            )  # fmt: skip
            for width, edge, ends in ((1, red, ("low", "high")), (1.4, gray, ("below", "above"))):
                for end in ends:
                    curves.plot(GRID, found[end], lw=width, gid=moves("grid", end), **edge)
            curves.plot(GRID, found["mean"], color=DOUBT, gid=moves("grid", "mean"))
            line: dict[str, Any] = {"color": INK, "lw": 1.2, "ls": (0, (4, 3))}
            gid = moves("grid", "truth")
            curves.plot(GRID, found["truth"], label="true curve", gid=gid, **line)
            dots = {"color": INK, "ms": 4, "alpha": 0.6, "clip_on": False}
            curves.plot(found["x"], found["y"], "o", gid=moves("x", "y"), **dots)
            gid = moves("grid", "unknown")
            parts.plot(GRID, found["unknown"], label="not known", gid=gid, **red)
            parts.plot(GRID, found["level"], label="noise", gid=moves("grid", "level"), **gray)
            name_beside_or_above(figure, curves, parts)
        return figure


@dataclass(eq=False)
class Members:
    """Curves that may all be true, and their standard deviation beside the exact one."""

    #: The posterior.
    exact: Exact
    #: By how many members, and by which sample: their curves, (M, B).
    drawn: Mapping[tuple[int, int], Float[Array, "M B"]]

    def __post_init__(self) -> None:
        members, samples = (list(dict.fromkeys(key)) for key in zip(*self.drawn, strict=True))
        self.choices = {"members": members, "sample": samples}

    def draw(self, members: int, sample: int) -> Figure:
        """Draw the curves in the exact band, and both standard deviations."""
        mean, unknown, own = self.exact.mean, self.exact.unknown, self.drawn[members, sample]
        with house_style():
            figure, curves, parts = scene(("of members", "exact"), ("mean ± 2σ", "σ of the curve"))
            curves.plot(GRID, own.T, color=DOUBT, lw=0.9, alpha=min(0.9, max(5 / members, 0.2)))
            fill_band(curves, GRID, mean, unknown, DOUBT)
            curves.plot(self.exact.x, self.exact.y, "o", color=INK, ms=3, alpha=0.6)
            said = own.std(axis=0, ddof=1)
            parts.plot(GRID, unknown, color=INK, label="exact")
            parts.plot(GRID, said, color=DOUBT, ls="--", label="of members")
            name_beside_or_above(figure, parts)
        return figure

    def say(self, members: int, sample: int) -> str:
        said = self.drawn[members, sample][:, INSIDE].std(ddof=1)
        exactly = self.exact.unknown[INSIDE]
        return f"In the gap {members} members say σ {said:.2f}; exact is {exactly:.2f}."


@dataclass(eq=False)
class ErrorAndSpread:
    """Error and spread of trained members, over the number of points."""

    #: (N,), of points to train on.
    numbers: tuple[int, ...]
    #: By σ, by the place and by what it is, "error" or "spread": (3, N), low, mean and high.
    found: Mapping[float, Mapping[str, Mapping[str, Float[Array, "3 N"]]]]

    def __post_init__(self) -> None:
        self.choices = {"noise": [*self.found]}

    def draw(self, noise: float) -> Figure:
        names = {"error": (INK, "D"), "spread": (DOUBT, "s")}
        with house_style():
            figure, both = panels(2, height=(2.3, 1.8), sharey=True, right=ends_room(names))
            for axes, (place, title) in zip(both, PLACES.items(), strict=True):
                for part, (own, marker) in names.items():
                    low, mean, high = self.found[noise][place][part]
                    axes.vlines(self.numbers, low, high, color=own, lw=1.5, alpha=0.6)
                    axes.plot(self.numbers, mean, color=own, marker=marker, ms=6, label=part)
                axes.set_title(title)
                axes.set(xscale="log", yscale="log", xlim=(26, 520), ylim=(0.02, 0.9))
                axes.set(xlabel="points to train on")
                number_ticks(axes, self.numbers, [0.03, 0.1, 0.3])
                if place == "gap" or look().narrow:
                    name_curves(figure, axes)
        return figure

    def say(self, noise: float) -> str:
        among, inside = (
            own["error"][1, -1] / own["spread"][1, -1] for own in self.found[noise].values()
        )
        return (
            f"With {self.numbers[-1]} points the error is {among:.1f} times the spread among "
            f"them, {inside:.1f} times in the gap."
        )


@dataclass(eq=False)
class BeliefsOfMethods:
    """What a method believes of one curve, beside one network, and what it pays for it."""

    #: (B,): where they are drawn.
    x: Float[Array, " B"]
    #: By what methods are called, the gray reference first.
    beliefs: Mapping[str, plot.Belief]
    #: Theirs, where the data are and in the gap.
    nll: Mapping[str, tuple[float, float]]
    #: x and y of the data, (N, 1) each.
    points: tuple[Float[Array, "N 1"], Float[Array, "N 1"]]

    def __post_init__(self) -> None:
        self.reference, *others = self.beliefs
        self.choices = {"method": others}

    def draw(self, method: str) -> Figure:
        """Draw both curves with their bands, and above them both scores."""
        x, truth, left = self.x, gap.truth(self.x), 0.5
        with house_style():
            figure, (axes,) = panels(1, height=2.4, left=left, above=0.15, top=3 * LINE)
            axes.axvspan(*gap.gaps[0], **AREA)
            columns = [figure.get_figwidth() - RIGHT - room for room in (COLUMN, 0)]
            for at, words in zip(columns, ("NLL at the data", "in the gap"), strict=True):
                write(figure, at, LINE, words, ha="right")
            for row, name in enumerate((self.reference, method), start=2):
                own = self.beliefs[name]
                larger = name != self.reference and own.method == "single"
                ink = INK if larger else color(own.method)
                alpha = BAND if name == method else 0.0
                fill_band(axes, x, own.mean, own.std, ink, alpha, label=name)
                axes.plot(x, own.mean, color=ink, lw=2, label=name)
                write(figure, left, row * LINE, name, color=ink, weight="bold")
                for at, value in zip(columns, self.nll[name], strict=True):
                    write(figure, at, row * LINE, decimal(value, 2), color=ink, ha="right")
            axes.plot(x, truth, color=INK, lw=1.2, ls=(0, (4, 3)), label="true curve")
            beside(axes, "true curve", (x[-1], truth[-1]), (0, 4), INK, ha="right")
            axes.plot(*self.points, "o", color=INK, ms=3, alpha=0.6, label="data")
            axes.set(xlim=(x[0], x[-1]), ylim=(-1.9, 1.9), xticks=[-4, -2, 0, 2, 4])
            axes.set(xlabel="x", yticks=[-1, 0, 1])
        return figure

    def say(self, method: str) -> str:
        # Of what is shown, so that a reader who subtracts finds the same.
        own, other = (np.round(self.nll[name], 2) for name in (method, self.reference))
        data, inside = own - other
        more, less = ("more" if one > 0 else "less" for one in (data, inside))
        pays = f"{method[0].upper()}{method[1:]} pays"
        at_data, gap_pays = f"{self.reference} at the data", f"{abs(inside):.2f}"
        if not round(data, 2):
            return f"{pays} as much as {at_data}, and {gap_pays} nats {less} in the gap."
        return (
            f"{pays} {abs(data):.2f} nats {more} than {at_data}, and {gap_pays} {less} in the gap."
        )

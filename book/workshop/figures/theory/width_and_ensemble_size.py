"""What *Width or members* draws and says: how many members a width carries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from workshop import plot
from workshop.plot.panels import ends_room, name_curves, number_ticks, panels
from workshop.plot.style import LABELS, MARKERS, Figure, color, house_style

# Captions.
CARRIED = (
    "A narrow shared matrix carries few members, a wide one more; separate networks gain with each "
    "doubling. A line is a width (of convolutions: channels), named at its end; large: its least "
    "NLL. Lower is better; means over splits, not tested."
)
PULL = (
    "What the others add to a member's pull grows with their number and falls with the width. "
    "Dots: root mean square over ten networks before training; dotted: 0.4 √((M − 1)/h) for M "
    "members of width h."
)
GAP = (
    "Narrow members give way on the images that they learn from, too. BatchEnsemble minus deep "
    "ensemble of the same width: 95% intervals over ten splits of digits; full marker: clear "
    "among 80. In points right is better, in NLL left."
)
RANGES = "The axes change with the images: each kind has its own range."
#: What a reader chooses, to the task.
IMAGES = {"digits": "digits", "MNIST-5000": "mnist5000", "convolutions": "convolution"}
BATCH, DEEP = "batch_ensemble", "deep_ensemble"
DOTTED = (0, (1, 2))

#: Task, method and width to a score by the number of members.
Scores = Mapping[tuple[str, str, int], Mapping[int, float | int]]


def of_task(found: Scores, task: str, method: str) -> dict[int, dict[int, float | int]]:
    """Return widths to scores by the number of members."""
    return {key[2]: dict(own) for key, own in found.items() if key[:2] == (task, method)}


def ends_around(values: Sequence[float | int]) -> tuple[float | int, float | int]:
    """Return ends of an axis with room around all values."""
    room = 0.06 * (max(values) - min(values))
    return min(values) - room, max(values) + room


@dataclass(eq=False)
class Carried:
    """The NLL over the number of members, a line a width."""

    nll: Scores

    def __post_init__(self) -> None:
        self.choices = {"images": [*IMAGES]}

    def best(self, images: str, method: str) -> dict[int, int]:
        """Return widths to the number of members with the least NLL."""
        lines = of_task(self.nll, IMAGES[images], method)
        return {width: min(own, key=lambda members: own[members]) for width, own in lines.items()}

    def draw(self, images: str) -> Figure:
        """Draw a panel a method."""
        task = IMAGES[images]
        every = [value for key, own in self.nll.items() if key[0] == task for value in own.values()]
        with house_style():
            figure, both = panels(2, height=(2.7, 2.1), left=0.55, right=ends_room(["256"]))
            for axes, method in zip(both, (BATCH, DEEP), strict=True):
                own, lines = color(method), of_task(self.nll, task, method)
                for i, (width, line) in enumerate(lines.items()):
                    lw = 1.0 + 2.0 * i / (len(lines) - 1)
                    axes.plot([*line], [*line.values()], "o-", color=own, lw=lw, ms=3, label=width)
                    best = self.best(images, method)[width]
                    axes.plot(best, line[best], MARKERS[method], color=own, ms=9)
                axes.set(xscale="log", xlim=(0.9, 9.5), ylim=ends_around(every), xlabel="members")
                number_ticks(axes, [*line])
                axes.set_title(f"{LABELS[method]}, NLL")
                name_curves(figure, axes)
        return figure

    def say(self, images: str) -> str:
        best = [*self.best(images, BATCH).values()]
        return (
            f"The narrowest BatchEnsemble has its least NLL with {best[0]} members, the widest "
            f"with {best[-1]}."
        )


@dataclass(eq=False)
class PullOfOthers:
    """What others add to a member's pull, over widths."""

    #: Of the hidden layers.
    widths: Sequence[int]
    #: Numbers of members to root mean squares, (widths,).
    found: Mapping[int, Float[Array, " W"]]
    #: Of the dotted lines, ``factor √((M − 1)/h)``.
    factor: float

    def draw(self) -> Figure:
        """Draw dots and a line for each number of members."""
        names = [f"{members} members" for members in self.found]
        own, x = color(BATCH), np.array(self.widths, dtype=float)
        with house_style():
            figure, (axes,) = panels(1, height=2.7, left=0.6, right=ends_room(names))
            for name, (members, values) in zip(names, self.found.items(), strict=True):
                line = self.factor * np.sqrt((members - 1) / x)
                axes.plot(x, line, color=own, ls=DOTTED, lw=1.6, label=name)
                axes.plot(x, values, MARKERS[BATCH], color=own, ms=3 + members / 2)
            axes.set(xscale="log", yscale="log", xlim=(x[0] / 1.2, x[-1] * 1.2), ylim=(0.015, 0.5))
            axes.set(xlabel="width")
            number_ticks(axes, x, [0.03, 0.1, 0.3])
            axes.set_title("what the others add, own pull = 1")
            name_curves(figure, axes)
        return figure

    def say(self) -> str:
        members, values = [*self.found.items()][-1]
        return (
            f"With {members} members the others add {values[0]:.2f} of a member's own pull in the "
            f"narrowest layers, {values[-1]:.2f} in the widest."
        )


@dataclass(eq=False)
class GapToDeepEnsemble:
    """A BatchEnsemble minus a deep ensemble of its width and number of members."""

    #: Numbers of members to titles, to rows, to (low, mean, high).
    found: Mapping[int, Mapping[str, Mapping[str, Sequence[float | int]]]]
    #: Numbers of members to titles, to the rows that are clear.
    clear: Mapping[int, Mapping[str, Sequence[str]]]

    def __post_init__(self) -> None:
        self.choices = {"members": [*self.found]}

    def draw(self, members: int) -> Figure:
        """Draw a panel a score, and a row a width."""
        titles = [*self.found[members]]
        ends: dict[str, tuple[float | int, float | int]] = {}
        for title in titles:
            every = [
                end for own in self.found.values() for row in own[title].values() for end in row
            ]
            ends[title] = ends_around([*every, 0.0])
        rows = self.found[members][titles[0]]
        return plot.effect_intervals(
            self.found[members], resolved=self.clear[members], xlim=ends,
            colors=dict.fromkeys(rows, BATCH),
        )  # fmt: skip

    def say(self, members: int) -> str:
        rows = next(iter(self.found[members].values()))
        (name, narrow), *_, (_, wide) = rows.items()
        return (
            f"At {name} members are {-narrow[1]:.1f} points worse on their training images, in the "
            f"widest layers {abs(wide[1]):.1f}."
        )

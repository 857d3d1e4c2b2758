"""What *Which one is best?* draws and says: who is better than one network, and by how much."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from workshop import plot
from workshop.plot.panels import LINE, RIGHT, TITLE, inches, panels, set_axis, ticks, ticks_along
from workshop.plot.style import INK, MUTED, Figure, color, house_style, label
from workshop.plot.text_layout import SMALL

# Captions.
FOREST = (
    "Two ensembles are better than one network on the typical data set, and three with a "
    "temperature for all. The line is the middle of the dots, as far as 18 can tell it: where it "
    "leaves out 0 the word is better or worse. A number beside an arrowhead counts what lies there."
)
LUCK = (
    "On concrete the deep ensemble gains half of what luck does to a comparison. A dot is one "
    "comparison: a training of each, on the same split; left of 0 the deep ensemble has the lower "
    "NLL. One unit is how far luck moves such a dot, for any two methods."
)
DOT = (
    "The middle is not your data: marks and lines are still those of all data sets, each dot is "
    "the one that you chose."
)
#: What 1 is, in words that need no statistics.
UNIT = "difference in NLL; 1 = how far luck moves one comparison of two trainings on one split"
#: Names that are too long for a row of a phone.
BRIEF = {
    "one network, with a temperature": "temperature alone",
    "one network, up to four times as long": "longer training",
    "one larger network": "larger network",
}
#: Why there is a row less.
ROWS = "A temperature alone is a rival only where nobody else has one."
#: Inches of a row of dots, and how far dots are strewn in it.
ROW, STREWN = 0.42, 0.28
#: Units that a figure of one data set shows to both sides.
FAR = 3.0
#: The most names that one sentence holds.
NAMED = 3
Effects = Mapping[str, plot.PooledEffect]


def brief(name: str) -> str:
    """Return a name that a phone has room for."""
    return BRIEF.get(name, name)


def best_first(effects: Effects) -> list[str]:
    """Return names by their middle, the least first."""
    return sorted(effects, key=lambda name: effects[name].interval[1])


@dataclass(eq=False)
class Forest:
    """The typical difference of each contestant, without a temperature and with one each."""

    #: By the words of the switch, ``"without"`` and ``"with"``.
    effects: Mapping[str, Effects]

    def __post_init__(self) -> None:
        self.choices = {"temperature": [*self.effects]}
        every = [one for rows in self.effects.values() for one in rows.values()]
        middles = [one.interval[1] for one in every]
        self.words = sorted({one.word for one in every})
        # One axis for all choices, in halves; what leaves it is an arrowhead. At its end the words
        # of that side have room beside what stands at 0.
        low, high = math.floor(2 * min(middles)) / 2, math.ceil(2 * max(middles)) / 2
        self.ends = low - 1.5, max(high + 0.5, 1.0)

    def draw(self, temperature: str) -> Figure:
        rows = {brief(name): one for name, one in self.effects[temperature].items()}
        figure = plot.forest(
            rows, xlabel=UNIT, xlim=self.ends, words=self.words,
            places=max(map(len, self.effects.values())),
        )  # fmt: skip
        # The same ticks in all choices, however wide their words are.
        set_axis(figure.axes[0].xaxis, self.ends, ticks(self.ends, 8, whole=True))
        return figure

    def say(self, temperature: str) -> str:
        rows = self.effects[temperature]
        better = [brief(n) for n in best_first(rows) if rows[n].word.startswith("better")]
        all_alike = (
            "With a temperature for all" if temperature == "with" else "Without a temperature"
        )
        if not better:
            return f"{all_alike}, nobody is better than one network for sure."
        if len(better) > NAMED:
            count = f"{len(better)} of {len(rows)}"
            return f"{all_alike}, {count} are better than one network; {better[0]} leads."
        return f"{all_alike}, better than one network: {', '.join(better)}."


@dataclass(eq=False)
class Luck:
    """Comparisons of a method with one network on one data set, and how long a unit is there."""

    #: Who is compared.
    method: str
    #: (splits, comparisons), of a training of each on the same split.
    differences: Float[Array, "splits n"]
    #: How far luck moves a comparison of any two methods.
    unit: float
    #: What the data set is called.
    data: str

    def __post_init__(self) -> None:
        self.gain = -float(self.differences.mean())

    def draw(self) -> Figure:
        """Draw a row of dots a split, and below them the gain and a unit as bars."""
        splits, n = self.differences.shape
        own = color(self.method)
        rows = [f"split {i + 1}" for i in range(splits)]
        rows += [f"gain: {self.gain:.2f}", f"1 unit: {self.unit:.2f}"]
        strewn = np.random.default_rng(0).uniform(-STREWN, STREWN, n)
        with house_style():
            left = 2 * RIGHT + max(inches(name, TITLE, "bold") for name in rows)
            figure, (axes,) = panels(1, height=len(rows) * ROW, left=left, above=LINE + 0.1)
            for y, each in enumerate(self.differences):
                axes.plot(each, y + strewn, "o", ms=4.5, alpha=0.85, mew=0, color=own)
            for y, far, of in ((splits, self.gain, own), (splits + 1, self.unit, MUTED)):
                axes.plot([-far, 0], [y, y], lw=9, solid_capstyle="butt", color=of)
            ways = f"\N{LEFTWARDS ARROW} {label(self.method)} lower", "higher \N{RIGHTWARDS ARROW}"
            for x, ha, words in zip((0, 1), ("left", "right"), ways, strict=True):
                axes.text(
                    x, 1.01, words, transform=axes.transAxes, ha=ha, va="bottom", fontsize=SMALL
                )
            axes.axvline(0, color=color("single"), lw=1.4)
            axes.axhline(splits - 0.5, color=MUTED, lw=0.8)  # what follows sums them up
            axes.set(xlabel=f"difference in NLL on {self.data}, nats")
            axes.set_ylim(len(rows) - 0.5, -0.5)
            ends = axes.get_xlim()
            set_axis(axes.xaxis, ends, ticks_along(ends, 72 * axes.get_position().width))
            axes.set_yticks(range(len(rows)), rows, size=TITLE, color=INK)
            for words in axes.get_yticklabels()[splits:]:
                words.set_weight("bold")
            axes.tick_params(axis="y", length=0)
        return figure

    def say(self) -> str:
        won = 100 * (self.differences < 0).mean()
        return f"On {self.data} the {label(self.method)} wins {won:.0f}% of all comparisons."


@dataclass(eq=False)
class Dots:
    """The middles of all data sets, with the dots of one."""

    #: By contestant.
    effects: Effects
    #: By data set, and by contestant, the difference from one network, however large.
    values: Mapping[str, Mapping[str, float]]

    def draw(self, data: str) -> Figure:
        """Draw a row a contestant, with its dot of this data set."""
        own = self.values[data]
        rows = {
            brief(name): replace(one, sources=[own[name]]) for name, one in self.effects.items()
        }
        return plot.forest(rows, xlabel=UNIT, xlim=(-FAR, FAR))

    def say(self, data: str) -> str:
        own = self.values[data]
        lowest = min(own, key=own.__getitem__)
        return f"On {data} {brief(lowest)} has the lowest NLL of the {len(own)} methods shown."

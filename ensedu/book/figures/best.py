"""What *Which one is best?* draws and says: who is better than one network, and by how much."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import plot
from ensedu.book.experiments.contest import reading
from ensedu.book.page.method_table import method_table
from ensedu.common.text_table import Table
from ensedu.contest.sensitivity import Sensitivity
from ensedu.contest.statistics import CLIP
from ensedu.methods import METHODS
from ensedu.plot.panels import RIGHT, TITLE, inches, panels, set_axis, ticks, ticks_along
from ensedu.plot.style import INK, MUTED, Figure, color, house_style, label
from ensedu.uncertainty import Interval

# Captions.
FOREST = (
    "On average most rivals are unclear (hollow) beside one network, with or without a "
    "temperature. The thick line is about the average, the thin one about one more data set, such "
    "as yours. A number beside an arrowhead says how many data sets lie there."
)
LUCK = (
    "On concrete a deep ensemble gains little more than half of what luck does. A dot is the NLL "
    "of one training, lower is better, and a dashed line the mean of twenty. One unit is how far "
    "luck with split and seed typically moves one score."
)
DOT = (
    "An average is not your data: marks and lines are still those of all sources, each dot is the "
    "data set that you chose."
)
SCORES = (
    "{}: means over splits and seeds, and how the NLL differs from one network's on this data set "
    "alone, with its 95% interval."
)

#: What 1 is, in words that need no statistics.
UNIT = "difference in NLL; 1 = how far luck with split and seed typically moves one score"
#: What some data sets are called when they are pooled alone.
ALONE = {"mlps": "without LeNet-5", "new": "data sets new to this book"}
#: Names that are too long for a row of a phone.
BRIEF = {
    "one network, with a temperature": "temperature alone",
    "one network, up to four times as long": "longer training",
    "one larger network": "larger network",
}
#: By whom they stand, as a button and a figure say it, and a sentence.
BESIDE = {
    "one network, with a temperature": ("one network + temperature", "one with a temperature"),
}
#: What the first row of `Luck` is called, and inches of its rows.
REFERENCE, ROW = "one network", 0.42
#: The most names that one sentence holds.
NAMED = 3
#: The columns of scores, with their digits, by score.
COLUMNS = {
    "nll": ("NLL, nats", 3),
    "error": ("error, %", 1),
    "rmse": ("RMSE", 2),
}
DIFFERENCE = "NLL minus one network's"

Effects = Mapping[str, plot.PooledEffect]


def brief(name: str) -> str:
    """Return a name that a phone has room for."""
    return BRIEF.get(name, name)


def row_name(contestant: str) -> str:
    """Return how a table calls a contestant: a method by its key, which has its color."""
    method = contestant in METHODS and contestant != "single"
    return contestant if method else brief(reading.label(contestant))


def of_reference(name: str) -> tuple[str, str]:
    """Return how a figure and a sentence call the one beside whom all others stand."""
    return BESIDE.get(name, (name, name))


def best_first(effects: Effects) -> list[str]:
    """Return names by their mean, the least first."""
    return sorted(effects, key=lambda name: effects[name].interval[1])


class Forest:
    """The average of each contestant, compared with one or another.

    Parameters
    ----------
    effects
        By the name of the one they are compared with.
    """

    def __init__(self, effects: Mapping[str, Effects]) -> None:
        called = {other: of_reference(other) for other in effects}
        self.effects = {called[other][0]: rows for other, rows in effects.items()}
        self.said = dict(called.values())
        self.choices = {"beside": list(self.said)}
        every = [one for rows in effects.values() for one in rows.values()]
        means = [one.interval[1] for one in every]
        self.words = sorted({one.word for one in every if one.word})
        # One axis for all choices, in halves; what leaves it is an arrowhead.
        self.ends = math.floor(2 * min(means)) / 2 - 1, math.ceil(2 * max(means)) / 2 + 0.5

    def draw(self, beside: str) -> Figure:
        """Draw a row a contestant."""
        rows = {brief(name): one for name, one in self.effects[beside].items()}
        figure = plot.forest(rows, xlabel=UNIT, reference=beside, xlim=self.ends, words=self.words)
        # The same ticks in all choices, however wide their words are.
        set_axis(figure.axes[0].xaxis, self.ends, ticks(self.ends, 8, whole=True))
        return figure

    def say(self, beside: str) -> str:
        """Say who is better."""
        rows = self.effects[beside]
        better = [name for name in best_first(rows) if rows[name].word.startswith("better")]
        who = self.said[beside]
        if not better:
            return f"On average, nobody is better than {who} for sure."
        if len(better) > NAMED:
            count = f"{len(better)} of {len(rows)}"
            return f"On average, {count} are better than {who}; {brief(better[0])} leads."
        return f"On average, better than {who}: {', '.join(map(brief, better))}."


class Luck:
    """The scores of one network and of a rival on one data set, and how long a unit is there.

    Parameters
    ----------
    scores
        Of two methods, that of one network first, the scores of their trainings.
    unit
        How far luck moves one score.
    data
        What the data set is called.
    """

    def __init__(
        self, scores: Mapping[str, Float[Array, "splits seeds"]], unit: float, data: str
    ) -> None:
        self.scores, self.unit, self.data = scores, unit, data
        self.means = {method: float(own.mean()) for method, own in scores.items()}
        one, rival = self.means.values()
        self.gain = one - rival

    def draw(self) -> Figure:
        """Draw a dot a training, and below them the gain and a unit as bars."""
        reference, rival = self.scores
        colors = [color(reference), color(rival), color(rival), MUTED]
        rows = [
            REFERENCE, label(rival), f"gain: {self.gain:.2f}", f"1 unit: {self.unit:.2f}",
        ]  # fmt: skip
        with house_style():
            left = 2 * RIGHT + max(inches(name, TITLE, "bold") for name in rows)
            figure, (axes,) = panels(1, height=4 * ROW, left=left, above=0.1)
            start = self.means[reference]
            for y, (method, own) in enumerate(self.scores.items()):
                mean, (low, high) = self.means[method], (y - 0.3, 3.4)
                axes.plot(own.ravel(), np.full(own.size, y), "o", ms=7, alpha=0.4, mew=0,
                          color=color(method))  # fmt: skip
                axes.vlines(mean, low, high, color=color(method), lw=1.2, ls="--")
            for y, far in ((2, self.gain), (3, self.unit)):
                axes.plot([start - far, start], [y, y], lw=9, solid_capstyle="butt",
                          color=colors[y])  # fmt: skip
            axes.set(xlabel=f"NLL on {self.data}, nats", ylim=(3.5, -0.5))
            ends = axes.get_xlim()
            set_axis(axes.xaxis, ends, ticks_along(ends, 72 * axes.get_position().width))
            axes.set_yticks(range(4), rows, weight="bold", size=TITLE)
            for words, own in zip(axes.get_yticklabels(), colors, strict=True):
                words.set_color(own if own != MUTED else INK)
            axes.tick_params(axis="y", length=0)
        return figure

    def say(self) -> str:
        """Say what the rival gains, in units."""
        name = label([*self.scores][1])
        return f"On {self.data} the {name} gains {self.gain / self.unit:.1f} units."


class Dots:
    """The averages of all data sets, with the dots of one.

    Parameters
    ----------
    effects
        By contestant.
    values
        By data set, and by contestant, the difference from one network, however large.
    """

    def __init__(self, effects: Effects, values: Mapping[str, Mapping[str, float]]) -> None:
        self.effects, self.values = effects, values

    def draw(self, data: str) -> Figure:
        """Draw a row a contestant, with its dot of this data set."""
        own = self.values[data]
        rows = {
            brief(name): replace(one, sources=[own[name]]) for name, one in self.effects.items()
        }
        return plot.forest(rows, xlabel=UNIT, xlim=(-CLIP, CLIP))

    def say(self, data: str) -> str:
        """Say who has the lowest score here, of those who are shown."""
        own = self.values[data]
        lowest = min(own, key=own.__getitem__)
        return f"Of these {len(own)}, {brief(lowest)} has the lowest NLL on {data}."


def table(means: Mapping[str, Mapping[str, tuple[float, Interval | None]]], data: str) -> Table:
    """Return a row a contestant: its mean scores, and how its NLL differs from one network's.

    `means` are by contestant and score, one network among them; `data` is what they are of.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, own in means.items():
        far = own["nll"][1]
        row = rows[row_name(name)] = {}
        for score, (title, _) in COLUMNS.items():
            if score in own:
                row[title] = own[score][0]
            if score == "nll":
                row[DIFFERENCE] = far and (far.low, far.mean, far.high)
    shown = [*next(iter(rows.values()))]
    digits = {title: number for title, number in COLUMNS.values() if title in shown}
    return method_table(
        rows, columns=digits | {DIFFERENCE: COLUMNS["nll"][1]},
        colors={row_name("single"): "single"}, caption=SCORES.format(data[0].upper() + data[1:]),
    )  # fmt: skip


def ways(
    pooled: Mapping[str, Interval], found: Mapping[str, Sensitivity]
) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return the rows of a table: in which way it was pooled, to each contestant's interval.

    Of the intervals without one source, that whose mean is the greatest is shown.
    """
    rows: dict[str, dict[str, tuple[float, float, float]]] = {}
    for name, one in found.items():
        last = max(one.without, key=lambda source: one.without[source].mean)
        each = {
            "as above": pooled[name],
            **{way: one.alone[kind] for kind, way in ALONE.items()},
            "without its best data set": one.without[last],
            "random effects": one.random_effects,
        }
        for way, interval in each.items():
            rows.setdefault(way, {})[name] = interval.low, interval.mean, interval.high
    return rows

"""What *Training deep ensembles* draws and says: one more member, one larger network, a table."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from workshop.plot.panels import beside, ends_room, mark_cut, name_ends, panels
from workshop.plot.style import INK, Figure, color, house_style

# Captions.
LIVE = (
    "Where there are points, four networks agree, and their outer band is as narrow as that of "
    "one. In the gap they come apart, so both their bands grow. The inner band is how far they "
    "differ, the outer one adds the noise that they predict. Both are ± 2 standard deviations."
)
LIVE_ALT = (
    "Two panels with 60 points on a wave, none in a gap in the middle: a deep ensemble of four and "
    "one network, before training."
)
MEMBERS = (
    "The second member brings more than any other, and each further one less. Dots: averages over "
    "all ways to choose so many members from ten, 20 splits, 3 seeds on each. Line: what the first "
    "two dots say of all."
)
CONTEST = (
    "Left is better. Four networks are better than one, with a temperature for all and without. "
    "Hollow marks are unclear. Each dot is one source of data, a line is where the middle of "
    "all sources may lie. In the gray band, two methods are practically equal."
)
OWN = (
    "Rows that no network has seen, the lowest prediction first. If the intervals are right, on "
    "average 19 of 20 hold the true value."
)

#: Why axes change.
UNITS = "The axes change with the data, whose units they have, and do not begin at 0."
#: Of what is predicted; an NLL is in nats.
UNIT = {"concrete": "MPa", "Boston": "thousand dollars"}
#: Inches that a panel is high, and that of the intervals.
HIGH, INTERVALS = (3.2, 2.2), 3.6
#: Of all that an axis holds, what it is longer at both ends, for words.
AIR = 0.25


@dataclass(frozen=True, eq=False)
class BySize:
    """A score of ensembles of 1 to M members."""

    #: (M,), what was measured.
    mean: Float[Array, " M"]
    #: (M,), what the first two say of all.
    law: Float[Array, " M"]


@dataclass(eq=False)
class Members:
    """What one more member adds."""

    #: By data set, and by the title of a panel.
    scores: Mapping[str, Mapping[str, BySize]]

    def __post_init__(self) -> None:
        self.choices = {"data": [*self.scores]}

    def draw(self, data: str) -> Figure:
        blue, gray = color("deep_ensemble"), color("single")
        with house_style():
            figure, found = panels(len(self.scores[data]), height=HIGH)
            for axes, (title, own) in zip(found, self.scores[data].items(), strict=True):
                sizes = np.arange(1, len(own.mean) + 1)
                every = np.concatenate([own.mean, own.law])
                axes.plot(sizes, own.law, color=blue, lw=1.4)
                axes.plot(sizes, own.mean, "o", color=blue, ms=6)
                axes.plot(1, own.mean[0], "o", color=gray, ms=8)
                axes.set_title(f"{title}, {UNIT[data] if title == 'RMSE' else 'nats'}")
                axes.set(xlabel="members", xticks=[1, 2, 5, sizes[-1]])
                air = AIR * np.ptp(every)
                axes.set_ylim(every.min() - air, every.max() + air)
                mark_cut(axes)
                beside(axes, "one network", (1, own.mean[0]), (9, 0), gray, va="center")
        return figure

    def say(self, data: str) -> str:
        title, own = next(iter(self.scores[data].items()))
        one, five, last = own.mean[[0, 4, -1]]
        return (
            f"On {data}, five members have {title} {five:.2f} instead of {one:.2f}, ten {last:.2f}."
        )


@dataclass(eq=False)
class NewRows:
    """New rows of a table, with their intervals."""

    #: What is predicted, and its unit.
    title: str
    #: (B,), the predictions and the ends of their intervals.
    low: Float[Array, " B"]
    mean: Float[Array, " B"]
    high: Float[Array, " B"]
    #: (B,), what was measured.
    true: Float[Array, " B"]

    def __post_init__(self) -> None:
        order = np.argsort(self.mean)
        self.low, self.mean, self.high, self.true = (
            v[order] for v in (self.low, self.mean, self.high, self.true)
        )

    def draw(self) -> Figure:
        blue, rows = color("deep_ensemble"), np.arange(1, len(self.mean) + 1)
        ends = {"95% interval": self.high, "prediction": self.mean, "true value": self.true}
        with house_style():
            figure, (axes,) = panels(1, height=INTERVALS, right=ends_room(ends))
            axes.vlines(rows, self.low, self.high, color=blue, lw=2)
            axes.plot(rows, self.mean, "_", color=blue, ms=6, mew=2)
            axes.plot(rows, self.true, "o", color=INK, ms=4)
            axes.set_title(self.title)
            axes.set(xlabel="new row, by its prediction", xticks=[1, len(rows)])
            name_ends(figure, axes, [
                (name, len(rows), float(values[-1]), INK if values is self.true else blue)
                for name, values in ends.items()
            ])  # fmt: skip
        return figure

    def say(self) -> str:
        inside = int(((self.low <= self.true) & (self.true <= self.high)).sum())
        return f"{inside} of {len(self.true)} intervals hold the true value."

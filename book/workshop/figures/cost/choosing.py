"""Which one should you use: methods that a budget pays for, and what its figures draw and say."""

from collections.abc import Mapping
from itertools import product
from typing import Any, ClassVar

import numpy as np
from matplotlib.axes import Axes

from ensedu.uncertainty.meta_analysis import DELTA, Pooled
from workshop import plot
from workshop.experiments.contest import reading
from workshop.figures.learning.shootout import brief
from workshop.plot.forest import BAND, NAME_OF_ZERO, WAYS
from workshop.plot.moving import Computed, moves, steps
from workshop.plot.panels import (
    EDGE,
    LEADER,
    LINE,
    START,
    inches,
    keep_in_sight,
    place,
    set_axis,
    set_row_axis,
    write,
)
from workshop.plot.style import INK, MARKERS, MUTED, PAGE, PALETTE, SHARED, Figure, look
from workshop.plot.text_layout import number_in_words

BUDGET = (
    "What you can pay decides what you can choose from. A price that is too high (strong dot) "
    "strikes a method out. Lines: the typical difference in NLL from one network, in units, and "
    "its interval. A unit is how far luck moves one comparison. Filled marks are better, and the "
    "gray band is practically equal. Only the row called temperature alone has a temperature. "
    "Prices are multiples of one network's parameters, and of its time to train if it is as small "
    "as ours."
)
#: Ends of the axis of gains.
GAINS = -2.6, 3.0
#: Prices, by what `reading.prices` calls them, and the ends and ticks of their axes.
PRICES = {
    "memory": ("num_stored", (0.66, 33), (1, 4, 22)),
    "training": ("train_seconds", (0.75, 8), (1, 2, 6)),
    "passes": ("passes", (0.66, 49), (1, 4, 32)),
}
#: How what stands at 0 is written.
REFERRED: Any = {"ha": "center", "va": "center", "weight": "bold", "color": PALETTE["single"]}
#: Inches: of a row, from its marks up to its name, and above all rows; wide and narrow.
ROW, NAME, ABOVE = (0.275, 0.43), (0, 0.21), (0.14, 0.38)
#: Inches: between panels, and of one of prices; on a narrow page between columns of prices, and
#: from a price to the dot of one that is too high.
APART, PRICE, COLUMN, DOT = 0.24, 0.72, 0.15, 0.08
#: Inches above the first ticks, beside what is written there.
HEAD = 0.14
#: Points: how high the room is that a name has on the lines of a narrow page.
ROOM = 12
#: Rows between who remains and who is struck out.
PART = 0.5
#: How much of an axis is covered, beyond what is paid, and of who is struck out.
BEYOND, VEIL = 0.15, 0.6


class Budget(Computed):
    """Whom a budget pays for, and who of them is better than one network.

    Parameters
    ----------
    beside
        By contestant, how it differs from one network.
    prices
        By contestant and price, in multiples of one network's; None is no price.
    """

    formula = "budget"
    edges: ClassVar = {price: (f"{price}_beyond", "bottom", "top") for price in PRICES}
    start: ClassVar = {"memory": 2, "training": 4, "passes": 4}
    choices: ClassVar = {
        "memory": [*steps(1, 5, 0.1), *range(6, 23)],
        "training": steps(1, 6.5, 0.1),
        "passes": [*range(1, 33)],
    }

    def __init__(
        self, beside: Mapping[str, Pooled], prices: Mapping[str, Mapping[str, float | None]]
    ) -> None:
        self.beside = dict(sorted(beside.items(), key=lambda one: one[1].middle))
        names = {name: brief(reading.label(name)) for name in self.beside}
        better = [name for name, one in self.beside.items() if one.word == "better"]
        self.longest = max(inches(name, weight="bold") for name in names.values())
        self.data = {
            "better": [*map([*names].index, better)],
            "part": PART,
            "lengths": [
                round(inches(name, weight="bold") / self.longest, 3) for name in names.values()
            ],
            "gains": [
                [round(float(value), 3) for value in (one.low, one.middle, one.high)]
                for one in self.beside.values()
            ],
            "ends": {price: ends for price, (_, ends, _) in PRICES.items()} | {"gain": GAINS},
        } | {
            price: [round(prices[name][key] or 0, 3) for name in names]
            for price, (key, *_) in PRICES.items()
        }
        self.names, self.words = names, []
        for paid in product((False, True), repeat=len(better)):
            found = [names[name] for name, one in zip(better, paid, strict=True) if one]
            said = ", ".join(found) or "none for sure"
            self.words.append(f"{{fit}} of {len(names)} remain; better than one:\n{said}.")

    def numbers(self, **budget: Any) -> dict[str, Any]:
        """Return which prices are too high, how many contestants are left, and who is not.

        Who is left stands above who is not; row i from above is at -i.
        """
        data, ends, count = self.data, self.data["ends"], len(self.names)
        high = {price: np.array(data[price]) > limit for price, limit in budget.items()}
        out = np.any([*high.values()], axis=0)
        fit = int((~out).sum())
        rows = 1 - np.where(out, fit + out.cumsum() + PART, (~out).cumsum())
        found = {"fit": fit, "said": 0, "across": [0, 1], "beside": [0] * count}
        for k in data["better"]:
            found["said"] = 2 * found["said"] + int(not out[k])
        for k, (row, (low, middle, up)) in enumerate(zip(rows, data["gains"], strict=True)):
            found |= {
                f"row_{k}": [row] * 3,
                f"name_{k}": [row] * 2,
                f"struck_{k}": [row if out[k] else np.nan] * 2,
                f"length_{k}": [0, data["lengths"][k]],
                f"gain_{k}": [low, middle, up],
                f"middle_{k}": [middle] * 3,
            }
        found |= {
            end: [value] * 3 for end, value in zip(("left", "right"), ends["gain"], strict=True)
        }
        bottom, cut = 0.5 - count - PART, 0.5 - fit - PART / 2
        found |= {"bottom": [bottom] * 2, "cut": [cut] * 2, "top": [1] * 2}
        for price, limit in budget.items():
            least, own = ends[price][0], np.array(data[price])
            found |= {
                f"{price}_beyond": [limit, ends[price][1]],
                price: np.maximum(own, least),
                f"{price}_row": np.where(own >= least, rows, np.nan),
                f"{price}_low": np.where((own > 0) & (own < least), rows, np.nan),
                f"{price}_high": np.where(high[price], rows, np.nan),
            }
        return found

    def draw(self, **budget: Any) -> Figure:
        """Draw a row a contestant, who is left first: its gain and its prices."""
        narrow, found = look().narrow, self.numbers(**budget)
        row, rise, above = (both[narrow] for both in (ROW, NAME, ABOVE))
        (bottom, _), head = found["bottom"], LINE * (2 + narrow) + HEAD
        top = above / row
        tall = row * (top - bottom)
        with plot.house_style():
            if narrow:
                left = EDGE + 0.1
                columns = [inches(price) + COLUMN for price in PRICES]
                width = look().width - left - EDGE - sum(columns)
            else:
                left = EDGE + self.longest + 0.2
                width = look().width - left - len(PRICES) * (APART + PRICE) - 2 * EDGE
            figure = Figure(figsize=(look().width, head + tall + 0.32))
            gains = place(figure, left, head, width, tall)
            set_row_axis(gains, GAINS, width, 0.2)
            gains.axvspan(-DELTA, DELTA, zorder=0, **BAND)
            gains.tick_params(labeltop=True)
            gains.set_ylim(bottom, top)
            for k, (name, one) in enumerate(self.beside.items()):
                _draw_gain(gains, k, found, name, one)
            # On a narrow page names stand above their rows, where no line runs through them, and
            # prices are numbers beside them.
            begin = left if narrow else EDGE
            if narrow:
                names = place(figure, begin, head - rise, self.longest, tall)
                names.set(xlim=(0, 1), ylim=(bottom, top), zorder=1)
                names.axis("off")
                for k in range(len(self.names)):
                    names.plot(
                        found[f"length_{k}"], found[f"name_{k}"], color=PAGE, lw=ROOM,
                        label="_room", clip_on=False, gid=moves(f"length_{k}", f"name_{k}"),
                    )  # fmt: skip
            _write_column(
                figure, (begin, head - rise, tall), found, (bottom, top), [*self.names.values()],
                [PALETTE.get(name, MUTED) for name in self.names],
            )  # fmt: skip
            ways = head - LINE * 1.5 - HEAD + 0.05
            for i, price in enumerate(PRICES):
                if narrow:
                    at = left + width + sum(columns[:i]) + COLUMN
                    words = [*map(_price, self.data[price])]
                    write(figure, at, ways, price, va="center")
                    _write_column(
                        figure, (at, head, tall), found, (bottom, top), words, [MUTED] * len(words)
                    )
                    _draw_too_high(figure, (at - DOT, head, tall), found, (bottom, top), price)
                else:
                    corner = left + width + APART + i * (APART + PRICE), head
                    _draw_prices(figure, (*corner, tall), found, (bottom, top), price)
            # What is struck out is seen through the page's color.
            veil = place(figure, EDGE, head, left + width - EDGE, tall)
            veil.set(xlim=(0, 1), ylim=(bottom, top), zorder=2)
            veil.axis("off")
            veil.fill_between(
                found["across"], found["bottom"], found["cut"], color=PAGE, lw=0, alpha=VEIL,
                label="_veil", gid=moves("across", "bottom", "cut"),
            )  # fmt: skip
            struck = place(figure, begin, head - rise, self.longest, tall)
            struck.set(xlim=(0, 1), ylim=(bottom, top), zorder=3)
            struck.axis("off")
            for k in range(len(self.names)):
                struck.plot(
                    found[f"length_{k}"], found[f"struck_{k}"], color=MUTED, lw=0.9,
                    label="_struck", solid_capstyle="butt", gid=moves(f"length_{k}", f"struck_{k}"),
                )  # fmt: skip
            for x, ha, way in zip((left, left + width), ("left", "right"), WAYS, strict=True):
                write(figure, x, ways, way, ha=ha, va="center")
            zero = left - width * GAINS[0] / (GAINS[1] - GAINS[0])
            write(figure, zero, ways - LINE * narrow, NAME_OF_ZERO, **REFERRED)
            keep_in_sight(figure, 0, head)
        return figure


def _price(value: float) -> str:
    return number_in_words(round(value, 1 if value > 1 else 2)) if value else "\N{EN DASH}"


def _draw_gain(axes: Axes, k: int, found: dict[str, Any], name: str, one: Pooled) -> None:
    """Draw the interval and the middle of a row; beyond the axis it is an arrowhead at its end."""
    own, y, called = PALETTE.get(name, SHARED), f"row_{k}", reading.label(name)
    axes.plot(
        found[f"gain_{k}"], found[y], color=own, lw=3, solid_capstyle="butt",
        label=f"{called}, interval", gid=moves(f"gain_{k}", y),
    )  # fmt: skip
    # A hollow marker is one of the page's color on another.
    hollow = [] if one.word == "better" else [(PAGE, 5.6, 1.1)]
    for color, size, edge in ((own, 8, 1.3), *hollow):
        axes.plot(
            found[f"middle_{k}"], found[y], ls="", marker=MARKERS.get(name, "o"), ms=size, mew=edge,
            color=color, label=f"{called}, middle", gid=moves(f"middle_{k}", y),
        )  # fmt: skip
    low, high = GAINS
    for end, marker, out in (("left", "<", one.low < low), ("right", ">", one.high > high)):
        if out:
            axes.plot(
                found[end], found[y], ls="", marker=marker, ms=7, color=own, mew=0, clip_on=False,
                label="_out", gid=moves(end, y),
            )  # fmt: skip


def _write_column(
    figure: Figure, corner: tuple[float, float, float], found: dict[str, Any],
    ends: tuple[float, float], words: list[str], colors: list[str],
) -> None:  # fmt: skip
    """Write words at the rows, from inches to the right and down, over so many; they move along."""
    x, y, tall = corner
    low, high = ends
    # A name stands behind the right end of the axes of what it names.
    axes = place(figure, x - START - 0.01, y, 0.01, tall)
    axes.set(xlim=(0, 1), ylim=ends)
    axes.axis("off")
    for k, (text, own) in enumerate(zip(words, colors, strict=True)):
        row = f"row_{k}"
        axes.plot(
            found["middle_0"], found[row], ls="", color=own, label=text, gid=moves("middle_0", row)
        )
        at = y + tall * (high - found[row][0]) / (high - low)
        write(figure, x, at, text, va="center", color=own, weight="bold", gid=LEADER)


def _draw_too_high(
    figure: Figure, corner: tuple[float, float, float], found: dict[str, Any],
    ends: tuple[float, float], price: str,
) -> None:  # fmt: skip
    """Draw a dot where a price is too high, inches to the right and down, over so many."""
    x, y, tall = corner
    axes = place(figure, x, y, 0.01, tall)
    axes.set(xlim=(-1, 1), ylim=ends, zorder=3)
    axes.axis("off")
    axes.plot(
        found["beside"], found[f"{price}_high"], ls="", marker="o", ms=5.5, color=INK,
        clip_on=False, label="_high", gid=moves("beside", f"{price}_high"),
    )  # fmt: skip


def _draw_prices(
    figure: Figure, place_of: tuple[float, float, float], found: dict[str, Any],
    ends: tuple[float, float], price: str,
) -> None:  # fmt: skip
    """Draw a panel of a price: a dot a row, strong if it is too high, and what is not paid."""
    x, y, tall = place_of
    _, across, ticks = PRICES[price]
    paid = place(figure, x, y, PRICE, tall)
    paid.set(xscale="log", ylim=ends)
    set_axis(paid.xaxis, across, {tick: str(tick) for tick in ticks})
    paid.tick_params(labeltop=True)
    paid.minorticks_off()
    paid.set_yticks([])
    paid.grid(axis="x")
    paid.spines["left"].set_visible(False)
    paid.set_axisbelow(True)
    write(figure, x + PRICE / 2, y - LINE * 1.5 - HEAD + 0.05, price, ha="center", va="center")
    beyond = place(figure, x, y, PRICE, tall)
    beyond.set(xscale="log", xlim=across, ylim=ends, zorder=3)
    beyond.axis("off")
    beyond.fill_between(
        found[f"{price}_beyond"], found["bottom"], found["top"], color=MUTED, lw=0, alpha=BEYOND,
        label="_beyond", gid=moves(f"{price}_beyond", "bottom", "top"),
    )  # fmt: skip
    for which, marker, own in (("row", "o", SHARED), ("low", "<", SHARED), ("high", "o", INK)):
        beyond.plot(
            found[price], found[f"{price}_{which}"], ls="", marker=marker, ms=5.5, color=own,
            clip_on=False, label=f"_{which}", gid=moves(price, f"{price}_{which}"),
        )  # fmt: skip

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
from workshop.plot.forest import BAND, NAME_OF_ZERO, OFF_LINES, WAYS, keep_off_zero
from workshop.plot.moving import Computed, moves, steps
from workshop.plot.panels import (
    EDGE,
    LINE,
    TITLE,
    inches,
    keep_in_sight,
    place,
    set_axis,
    set_row_axis,
    write,
)
from workshop.plot.style import INK, MARKERS, MUTED, PAGE, PALETTE, SHARED, Figure, look
from workshop.plot.text_layout import SMALL

BUDGET = (
    "What you can pay decides what you can choose from. Who is struck out has a price that is too "
    "high, the strong dot. Left: the typical difference in NLL from one network, in the contest's "
    "units, and its interval. Prices are multiples of one network's; memory is its parameters."
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
#: Inches: of a row, of a name above one, between panels, and of one of prices; wide and narrow.
ROW, NAME, APART, PRICE = (0.275, 0.24), (0, 0.19), (0.24, 0.16), (0.72, 0.52)
#: Inches from the axis to the first row, more than half of the next one.
ABOVE = (0, 0.14)
#: How much of an axis is covered, beyond what is paid.
BEYOND = 0.15
#: Units that an interval keeps off 0, if it leaves it out.
OFF = 0.1
#: How strong the name and the marks of who is struck out are, and points that cover a name.
FADED, VEIL = 0.4, 72 * LINE


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
        self.data = {
            "better": [*map([*names].index, better)],
            "rows": [*reversed(range(len(names)))],
            "gains": [*map(_gain, self.beside.values())],
            "ends": {price: ends for price, (_, ends, _) in PRICES.items()},
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
        """Return which prices are too high, how many contestants are left, and who is not."""
        rows, better, ends = (self.data[key] for key in ("rows", "better", "ends"))
        high = {price: np.array(self.data[price]) > limit for price, limit in budget.items()}
        out = np.any([*high.values()], axis=0)
        found = {"fit": int((~out).sum()), "said": 0, "across": [0, 1]}
        for k in better:
            found["said"] = 2 * found["said"] + int(not out[k])
        for k, row in enumerate(rows):
            found[f"row_{k}"] = [row if out[k] else np.nan] * 2
            found[f"fit_{k}"] = [np.nan if out[k] else row] * 3
            found[f"gain_{k}"] = gain = self.data["gains"][k]
            found[f"middle_{k}"] = gain[1:2] * 3
        found |= {"bottom": [-0.5] * 2, "top": [len(rows)] * 2}
        for price, limit in budget.items():
            found |= {
                f"{price}_beyond": [limit, ends[price][1]],
                price: self.data[price],
                f"{price}_high": np.where(high[price], rows, np.nan),
            }
        return found

    def draw(self, **budget: Any) -> Figure:
        """Draw a row a contestant, the best first: its gain and its prices, and who is too dear."""
        narrow, found = look().narrow, self.numbers(**budget)
        row, above, apart, price, air = (both[narrow] for both in (ROW, NAME, APART, PRICE, ABOVE))
        count, step, head = len(self.names), row + above, LINE * (1 + narrow) + 0.08
        with plot.house_style():
            longest = max(inches(name, TITLE, "bold") for name in self.names.values())
            left = EDGE + (0.1 if narrow else longest + 0.2)
            width = look().width - left - len(PRICES) * (apart + price) - 2 * EDGE
            # Below its ends an axis has its ticks, as it has below all rows.
            under = head + LINE
            tall = air + count * step
            figure = Figure(figsize=(look().width, under + tall + 0.32))
            gains = place(figure, left, under, width, tall)
            set_row_axis(gains, GAINS, width, 0.2)
            gains.axvspan(-DELTA, DELTA, zorder=0, **BAND)
            gains.tick_params(labeltop=True)
            gains.set_ylim(-0.5, count - 0.5 + air / step)
            size = SMALL if narrow else TITLE
            for k, (y, (name, words)) in enumerate(
                zip(self.data["rows"], self.names.items(), strict=True)
            ):
                _draw_gain(gains, y, name, self.beside[name])
                _draw_fit(gains, k, found, name, self.beside[name].word)
                wide, own = inches(words, size, "bold"), PALETTE.get(name, MUTED)
                x = left if narrow else left - 0.14 - wide
                middle = under + air + (k + 0.5) * step - narrow * 0.06
                at = middle - narrow * (step / 2 - 0.1)
                style: dict[str, Any] = {"weight": "bold", "fontsize": size, "color": own}
                if narrow:
                    style["path_effects"] = OFF_LINES
                write(figure, x, at, words, va="center", **style)
                named = place(figure, x, at - step / 2, wide, step)
                named.set(xlim=(0, 1), ylim=(y - 0.5, y + 0.5), zorder=4)
                named.axis("off")
                # A name is as faint as its marks: seen through the page's color.
                veil = {"color": PAGE, "lw": VEIL, "alpha": 1 - FADED, "label": "_veil"}
                for style in (veil, {"color": MUTED, "lw": 0.9, "label": "_struck"}):
                    named.plot(
                        found["across"], found[f"row_{k}"], gid=moves("across", f"row_{k}"),
                        solid_capstyle="butt", **style,
                    )  # fmt: skip
            for x, ha, way in zip((left, left + width), ("left", "right"), WAYS, strict=True):
                write(figure, x, head - LINE * (0.5 + narrow) - 0.05, way, ha=ha, va="center")
            zero = left - width * GAINS[0] / (GAINS[1] - GAINS[0])
            write(figure, zero, head - LINE / 2 - 0.05, NAME_OF_ZERO, **REFERRED)
            keep_in_sight(figure, 0, under)
            for i, (name, (_, ends, ticks)) in enumerate(PRICES.items()):
                corner = left + width + apart + i * (apart + price), under
                paid = place(figure, *corner, price, tall)
                paid.set(xscale="log", ylim=gains.get_ylim())
                set_axis(paid.xaxis, ends, {tick: str(tick) for tick in ticks})
                paid.tick_params(labeltop=True)
                paid.minorticks_off()
                paid.set_yticks([])
                paid.grid(axis="x")
                paid.spines["left"].set_visible(False)
                paid.set_axisbelow(True)
                for x, y, who in zip(
                    found[name], self.data["rows"], self.names.values(), strict=True
                ):
                    low = {"marker": "<", "mec": PAGE, "clip_on": False} if x < ends[0] else {}
                    at = max(x, ends[0]) if x else np.nan
                    paid.plot(
                        [at],
                        [y],
                        label=f"{who}, {name}",
                        **{"marker": "o", "ms": 5.5, "color": SHARED} | low,
                    )
                x = corner[0] + price / 2
                write(figure, x, head - LINE / 2 - 0.05, name, ha="center", va="center")
                beyond = place(figure, *corner, price, tall)
                beyond.set(xscale="log", xlim=ends, ylim=gains.get_ylim(), zorder=3)
                beyond.axis("off")
                beyond.fill_between(
                    found[f"{name}_beyond"], found["bottom"], found["top"], color=MUTED, lw=0,
                    alpha=BEYOND, label="_beyond", gid=moves(f"{name}_beyond", "bottom", "top"),
                )  # fmt: skip
                beyond.plot(
                    found[name], found[f"{name}_high"], "o", ms=5.5, color=INK, label="_high",
                    gid=moves(name, f"{name}_high"),
                )  # fmt: skip
        return figure


def _gain(one: Pooled) -> list[float]:
    """Return the ends of an interval as it is drawn, and its middle between them."""
    low = max(one.low, OFF) if one.low > 0 else one.low
    high = min(one.high, -OFF) if one.high < 0 else one.high
    return [round(float(value), 3) for value in (low, one.middle, high)]


def _draw_gain(axes: Axes, y: float, name: str, one: Pooled) -> None:
    """Draw a row as it is struck out, faint; what leaves the axis is an arrowhead."""
    own, called = PALETTE.get(name, SHARED), reading.label(name)
    axes.plot(
        [one.low, one.high], [y, y], color=own, lw=3, solid_capstyle="butt", alpha=FADED,
        label=f"{called}, interval",
    )  # fmt: skip
    marker: dict[str, Any] = {"marker": MARKERS.get(name, "o"), "ms": 8, "mew": 1.3}
    axes.plot([one.middle], [y], color=PAGE, label="_clear", **marker)
    axes.plot(
        [one.middle], [y], color=own, alpha=FADED, mfc=own if one.word == "better" else "none",
        label=f"{called}, middle", **marker,
    )  # fmt: skip
    keep_off_zero(axes, (one.low, one.high), y, GAINS)
    low, high = GAINS
    for end, marked, out in ((low, "<", one.low < low), (high, ">", one.high > high)):
        if out:
            axes.plot(
                [end], [y], marked, ms=7, color=own, mew=0, clip_on=False,
                label="_out",
            )  # fmt: skip


def _draw_fit(axes: Axes, k: int, found: dict[str, Any], name: str, word: str) -> None:
    """Draw the interval and the middle of a row that is paid for."""
    own, y = PALETTE.get(name, SHARED), f"fit_{k}"
    axes.plot(
        found[f"gain_{k}"], found[y], color=own, lw=3, solid_capstyle="butt", label="_fit",
        gid=moves(f"gain_{k}", y),
    )  # fmt: skip
    # A hollow marker is one of the page's color on another.
    hollow = [] if word == "better" else [(PAGE, 5.6, 1.1)]
    for color, size, edge in ((own, 8, 1.3), *hollow):
        axes.plot(
            found[f"middle_{k}"], found[y], ls="", marker=MARKERS.get(name, "o"), ms=size, mew=edge,
            color=color, label="_fit", gid=moves(f"middle_{k}", y),
        )  # fmt: skip

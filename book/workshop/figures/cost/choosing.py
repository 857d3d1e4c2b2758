"""Which one should you use: its table of gains and prices, and what its figure draws and says."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.contest.statistics import Pooled
from ensedu.counting.text_table import TextTable
from workshop import plot
from workshop.figures.learning.shootout import row_name
from workshop.page.method_table import method_table
from workshop.plot.text_layout import SMALL

CAPTION = (
    "What each method gains, and what you pay. NLL: the contest's word beside one network, with "
    "the interval of the typical difference, in units; less is better. Parameters and times are "
    "multiples of one network's."
)
#: Em of the table where its rows are lines, in fonts that run wide.
WIDE = 45.0
CAPTION_ENDS = (
    "Conformal intervals keep their promise on average, but neither under noise on the inputs nor "
    "for each fifth of the mixtures: least squares on concrete, 60 splits. Noise is in standard "
    "deviations of each input."
)
#: Columns of prices, with their digits, by what `reading.prices` calls them.
PRICES = {
    "kept": ("parameters", 2),
    "train_seconds": ("training", 2),
    "predict_seconds": ("prediction", 1),
    "passes": ("passes", 0),
}
#: What a line at 90% means.
PROMISED = "promised: 90%"


class Prices(TextTable):
    """A table whose rows are blocks of few lines on a phone: two prices stand in one."""

    def table_width(self) -> float:
        """Return `WIDE`."""
        return WIDE

    def html(self) -> str:
        """Return it for the book's page."""
        return f'<div class="ensedu-prices">{super().html()}</div>'


def table(beside: Mapping[str, Pooled], prices: Mapping[str, Mapping[str, float | None]]) -> Prices:
    """Return a row a contestant: the contest's word, and what it costs; who is better is bold.

    Parameters
    ----------
    beside
        By contestant, how it differs from one of them, who has no entry.
    prices
        By contestant and price, in the order of the rows.
    """
    names = {name: row_name(name) for name in prices}
    rows: dict[str, dict[str, Any]] = {
        names[name]: {"NLL": _said(beside.get(name))}
        | {title: prices[name][price] for price, (title, _) in PRICES.items()}
        for name in prices
    }
    better = [(names[name], "NLL") for name, one in beside.items() if one.word == "better"]
    whole = method_table(
        rows, columns=dict(PRICES.values()), decisive=better,
        colors={names["single"]: "single"}, caption=CAPTION,
    )  # fmt: skip
    return Prices(**vars(whole))


def _said(one: Pooled | None) -> tuple[str, str] | None:
    if one is None:
        return None
    low, high = (f"{end:z.2f}" for end in (one.low, one.high))
    return one.word or "", f"[{low}, {high}]".replace("-", "\N{MINUS SIGN}")


def draw_ends(
    noise: Sequence[float], by_noise: Float[Array, " noises"], by_fifth: Float[Array, " 5"]
) -> plot.Figure:
    """Draw the part of rows in their interval: under noise, and from weak to strong concrete."""
    own = plot.PALETTE["single"]
    with plot.house_style():
        figure, panels = plot.panels(2, height=3.0, left=0.6)
        panels[0].plot(noise, 100 * by_noise, "o-", color=own)
        panels[0].set(title="rows inside, %", xlabel="noise on inputs")
        panels[1].plot(range(1, 6), 100 * by_fifth, "o", color=own, ms=7)
        panels[1].set(title="inside, by fifths, %", xlabel="predicted strength")
        panels[1].set(xlim=(0.5, 5.5))
        panels[1].set_xticks([1, 3, 5], ["weakest", "middle", "strongest"])
        # Where neither the curve nor the points are.
        for axes, x, side, under in zip(
            panels, (0.98, 0.02), ("right", "left"), ("bottom", "top"), strict=True
        ):
            axes.set_ylim(60, 100)
            axes.axhline(90, color=own, lw=1, ls=":")
            axes.annotate(
                PROMISED,
                (x, 90),
                (0, 2 if under == "bottom" else -2),
                xycoords=axes.get_yaxis_transform(),
                textcoords="offset points",
                color=own,
                ha=side,
                va=under,
                fontsize=SMALL,
            )
    return figure


def say_ends(by_noise: Float[Array, " noises"], by_fifth: Float[Array, " 5"]) -> str:
    """Say how many rows are inside where there are least."""
    return (
        f"90% intervals hold {100 * by_noise[-1]:.0f}% of the rows under the strongest noise, and "
        f"{100 * by_fifth[-1]:.0f}% of the strongest fifth."
    )

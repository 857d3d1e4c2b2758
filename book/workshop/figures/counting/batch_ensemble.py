"""What *What is inside a BatchEnsemble?* says of its X-ray, and from which width on it saves."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ensedu import counting
from workshop.plot.moving import Computed, moves, moving_curves
from workshop.plot.style import MUTED, Figure, house_style
from workshop.plot.text_layout import SMALL

CAPTION = (
    "Every member has a matrix of its own, but stores only the column r, the row s and a bias; the "
    "dashed numbers are computed. Press one to see of what."
)
ALT = (
    "A gray window of weights, stored once. For each member a column of numbers at the left, a row "
    "above and biases below, in the color of BatchEnsemble; between them, in dashed frames, the "
    "weights of the gray window times the numbers of row and column."
)
SAVES = (
    "The wider a square layer, the more a BatchEnsemble saves: what it stores falls toward a part "
    "1/M of a deep ensemble (thin line). Very narrow layers store more (gray)."
)
METHODS = ("deep_ensemble", "batch_ensemble")
TOP = 140  # percent: the end of the axis


class Saves(Computed):
    """What a square layer of a BatchEnsemble stores, in percent of a deep ensemble's.

    Parameters
    ----------
    widths
        Of the layer, 50 among them.
    """

    formula = "saves"
    words = (
        "It is smaller from width {least} on; at width 50 it stores {at:.1f}% of a deep ensemble.",
    )
    start: ClassVar = {"members": 4}
    choices: ClassVar = {"members": [*range(2, 33)]}

    def __init__(self, widths: Sequence[int]) -> None:
        self.data = {"widths": widths, "at": widths.index(50)}

    def numbers(self, members: int) -> dict[str, Any]:
        """Return percents, one a width, by the counts of both layers."""
        widths, at = self.data["widths"], self.data["at"]
        deep, shared = (
            [counting.layer(n, n, method, members).total for n in widths] for method in METHODS
        )
        part = [100 * one / other for one, other in zip(shared, deep, strict=True)]
        least = counting.break_even_width([None, None], METHODS[1], members)
        return {
            "widths": widths, "alone": [100] * len(widths), "part": part, "at": part[at],
            "least": least, "ends": [widths[0], widths[-1]], "limit": [100 / members] * 2,
        }  # fmt: skip

    def draw(self, members: int) -> Figure:
        """Draw both methods over the width, and what the widest layers come down to."""
        found = self.numbers(members)
        figure = moving_curves(
            found,
            "widths",
            dict(zip(METHODS, ("alone", "part"), strict=True)),
            xlabel="width of the layer",
            ylabel="parameters, % of the deep ensemble's",
            log_x=True,
            ylim=(0, TOP),
            level=("1/M", found["limit"][0]),
        )
        axes = figure.axes[0]
        axes.lines[0].set_marker("None")
        axes.lines[-1].set_gid(moves("ends", "limit"))
        with house_style():
            axes.text(
                found["ends"][1], 130, "stores more", ha="right", va="center", fontsize=SMALL,
                color=MUTED,
            )  # fmt: skip
        axes.axhspan(100, TOP, fc=MUTED, alpha=0.15, lw=0, zorder=0)
        return figure

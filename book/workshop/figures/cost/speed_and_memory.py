"""What *Speed and memory* draws and says: times, and bytes that are kept."""

from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from workshop import plot
from workshop.plot.panels import label_ticks
from workshop.plot.style import MUTED, Figure, color, house_style
from workshop.plot.text_layout import SMALL

# Captions.
TIMES = (
    "A wide layer is fastest when its members share and get few examples, a narrow one when they "
    "are stacked in one array, as this deep ensemble is. Measured: a forward pass of a layer, four "
    "members, one thread."
)
MEMORY = (
    "With three members or more, a BatchEnsemble keeps less than a deep ensemble, but less of it "
    "is saved while it scales inputs and outputs. From the dotted line on it folds. Counted with "
    "Adam, without what is needed for a moment only."
)
METHODS = ("deep_ensemble", "batch_ensemble")
#: A layer in which memory is what one waits for.
WIDE = 1024
FOLDS = "folds \N{RIGHTWARDS ARROW}"
OFF: Any = {"textcoords": "offset points", "fontsize": SMALL}


class Times:
    """How many times as fast as four networks in turn a layer is.

    Parameters
    ----------
    rows
        What was measured, one a width "m" and batch size "B": of each method the quartiles of its
        ratio.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.passes = {(row["m"], row["B"]): row["forward"] for row in rows}
        self.choices = {"width": sorted({width for width, _ in self.passes})}
        # What the box asks for, a wide layer, is not shown before a reader has guessed.
        self.start = {"width": self.choices["width"][0]}
        self.batches = sorted({batch for _, batch in self.passes})

    def of(self, width: int, method: str) -> list[float | int]:
        """Return the medians of a method, one a batch size."""
        return [1 / self.passes[width, batch][method]["ratio"][1] for batch in self.batches]

    def draw(self, width: int) -> Figure:
        """Draw a curve an ensemble over the batch size, and a line for four networks in turn."""
        figure = plot.growth_curves(
            self.batches,
            {method: self.of(width, method) for method in METHODS},
            xlabel="examples at once",
            ylabel="times as fast as four networks in turn",
            log_x=True,
            ylim=(0, 2.5),
        )
        (axes,) = figure.axes
        axes.axhline(1, color=color("single"), lw=1.4, zorder=0)
        with house_style():
            axes.annotate(
                "four networks in turn", (self.batches[0], 1), (0, -12), color=color("single"),
                **OFF,
            )  # fmt: skip
        return figure

    def say(self, width: int) -> str:
        """Say how many times as fast each ensemble is with one example."""
        deep, shared = (self.of(width, method)[0] for method in METHODS)
        return (
            f"With one example a BatchEnsemble is {shared:.1f} times as fast as four networks in "
            f"turn, a deep ensemble {deep:.1f} times."
        )


class Memory:
    """The bytes that training keeps of an inner layer.

    Parameters
    ----------
    steps
        Numbers of examples.
    kept
        The bytes of a method, a width, a number of examples and an ensemble size.
    """

    def __init__(self, steps: Sequence[int], kept: Callable[[str, int, int, int], int]) -> None:
        self.steps, self.kept = steps, kept

    def draw(self, width: int, ensemble_size: int) -> Figure:
        """Draw both ensembles over the number of examples, as parts of the deep ensemble's."""
        figure = plot.growth_curves(
            self.steps,
            {
                method: [self.kept(method, width, B, ensemble_size) for B in self.steps]
                for method in METHODS
            },
            xlabel="examples for each member",
            ylabel="bytes that training keeps, deep ensemble = 1",
            log_x=True,
            relative_to="deep_ensemble",
            ylim=(0, 1.2),
        )
        (axes,) = figure.axes
        with house_style():
            whole, part = axes.lines
            whole.set_marker("None")
            # Between the last example that is scaled and the first that is folded there is none.
            part.set_data(*np.insert(part.get_xydata(), bisect(self.steps, width), np.nan, 0).T)
            axes.axvline(width, color=MUTED, lw=1, ls=":", zorder=0)
            axes.annotate(FOLDS, (width, 1.09), (-4, 0), color=MUTED, ha="right", **OFF)
            label_ticks(axes, [1, 16, 256, self.steps[-1]])
        return figure

    def say(self, width: int, ensemble_size: int) -> str:
        """Say which part a BatchEnsemble keeps with one example, and with as many as inputs."""
        one, many = (
            self.kept("batch_ensemble", width, batch, ensemble_size)
            / self.kept("deep_ensemble", width, batch, ensemble_size)
            for batch in (1, width)
        )
        return (
            f"A BatchEnsemble keeps {100 * one:.0f}% of a deep ensemble's bytes with one example, "
            f"{100 * many:.0f}% with {width:,}."
        )

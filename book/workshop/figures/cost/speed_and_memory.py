"""What *Speed and memory* draws and says: times, bytes that are kept, and many devices."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from workshop import plot
from workshop.plot.moving import Computed, moving_curves, steps
from workshop.plot.style import MUTED, Figure

# Captions.
TIMES = (
    "A narrow layer is fastest when its members are stacked, a wide one when they share and get "
    "few examples. Measured: a forward pass of a layer, four members, one thread."
)
MEMORY = (
    "A BatchEnsemble keeps less than a deep ensemble, but less of it is saved while it scales. The "
    "line falls where the rule begins to fold. Counted with Adam, without what is needed for a "
    "moment only."
)
PROJECTED = (
    "The more devices, the longer a step waits for their messages. Projected, not measured: "
    "networks 64-256-256-10, four members and 128 examples a device, one thread each. A rank-1 BNN "
    "sends what a BatchEnsemble sends."
)
METHODS = ("deep_ensemble", "batch_ensemble")


class Times:
    """Measured times of a layer, over those of four networks in turn.

    Parameters
    ----------
    rows
        What was measured, one a width "m" and batch size "B": of each method the quartiles of its
        ratio.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.passes = {(row["m"], row["B"]): row["forward"] for row in rows}
        self.choices = {"width": sorted({width for width, _ in self.passes})}
        self.batches = sorted({batch for _, batch in self.passes})

    def of(self, width: int, method: str) -> list[float | int]:
        """Return the medians of a method, one a batch size."""
        return [self.passes[width, batch][method]["ratio"][1] for batch in self.batches]

    def draw(self, width: int) -> Figure:
        """Draw a curve a method over the batch size, and a line for four networks in turn."""
        figure = plot.growth_curves(
            self.batches,
            {method: self.of(width, method) for method in ("single", *METHODS)},
            xlabel="examples in a batch",
            ylabel="time, four networks in turn = 1",
            log_x=True,
            ylim=(0, 1.25),
        )
        (axes,) = figure.axes
        axes.axhline(1, color=MUTED, lw=1, zorder=0)
        axes.annotate(
            "four networks in turn", (self.batches[0], 1), (0, 9), textcoords="offset points",
            color=MUTED, fontsize=11,
        )  # fmt: skip
        return figure

    def say(self, width: int) -> str:
        """Say what part of the time each ensemble takes with one example."""
        deep, shared = (self.of(width, method)[0] for method in METHODS)
        return (
            f"With one example a deep ensemble takes {deep:.2f} times as long as four networks in "
            f"turn, a BatchEnsemble {shared:.2f} times."
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
        return plot.growth_curves(
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


class Projected(Computed):
    """What is left of each device's speed, which a page computes.

    Parameters
    ----------
    left
        The part of a BatchEnsemble, by devices, bytes a second, seconds a message, and the way.
    data
        ``computing``, the seconds of a step, and ``gradient``, the bytes that all sum.
    """

    formula = "devices"
    words = ("Of its speed each device keeps {at:.0f}% among 1,024, with a BatchEnsemble.",)
    devices = (1, 2, 4, 16, 64, 256, 1024, 4096)
    start: ClassVar = {"gigabytes_per_second": 1, "microseconds_a_message": 10}
    choices: ClassVar = {
        "gigabytes_per_second": [*steps(0.1, 1, 0.05), *steps(1.25, 10, 0.25)],
        "microseconds_a_message": steps(0, 100, 1),
        "all_reduce": ["in a ring", "by halves"],
    }

    def __init__(
        self, left: Callable[[int, float | int, float | int, str], float | int],
        data: Mapping[str, float | int],
    ) -> None:  # fmt: skip
        self.left, self.data = left, {"devices": self.devices, **data}

    def numbers(
        self, gigabytes_per_second: float | int, microseconds_a_message: float | int,
        all_reduce: str,
    ) -> dict[str, Any]:  # fmt: skip
        """Return percents, one a number of devices."""
        network = 1e9 * gigabytes_per_second, 1e-6 * microseconds_a_message, all_reduce
        left = [100 * self.left(R, *network) for R in self.devices]
        alone = [100] * len(self.devices)
        return {"devices": self.devices, "left": left, "alone": alone, "at": left[-2]}

    def draw(self, **network: Any) -> Figure:
        """Draw both methods over the number of devices."""
        return moving_curves(
            self.numbers(**network),
            "devices",
            {"deep_ensemble": "alone", "batch_ensemble": "left"},
            xlabel="devices, four members each",
            ylabel="speed of each device, % of one alone",
            log_x=True,
            ylim=(0, 105),
        )

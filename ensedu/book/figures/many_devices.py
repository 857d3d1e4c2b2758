"""What *Many devices* draws and says: steps on two processes, what is sent, and a projection."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from matplotlib.patches import Rectangle

from ensedu import plot
from ensedu.methods import METHODS
from ensedu.plot.style import INK, MUTED, PAGE, SHARED, Axes, Figure, house_style
from ensedu.torch.train.distributed import members_of

# Captions.
STEPS = (
    "A second process helps least where a weight is shared. Training steps of networks "
    "64-width-width-10, quartiles. Weak: four members a process, at best 1×. Strong: one ensemble "
    "of eight is divided, at best 0.5×."
)
SENT = (
    "Only the gradient of the shared weight (gray) goes from device to device. What is framed "
    "belongs to one member, and stays."
)
PROJECTED = (
    "With many devices a ring waits for its messages. Projected, not measured: 64-256-256-10, 128 "
    "examples, one thread a device. A rank-1 BNN sends what a BatchEnsemble sends."
)
LABELS = {method: METHODS[method].label for method in ("deep_ensemble", "batch_ensemble", "rank1")}


class Steps:
    """Times of a step on two processes.

    Parameters
    ----------
    rows
        What was measured, one a kind of scaling, width, method and number of processes.
    """

    choices: ClassVar = {"width": [64, 256, 1024], "scaling": ["weak", "strong"]}

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        keys = ("scaling", "width", "method", "processes")
        self.steps = {tuple(row[key] for key in keys): row["step_ms"] for row in rows}

    def ratio(self, scaling: str, width: int, method: str) -> list[float | int]:
        """Return the quartiles of a step on two processes over the median on one."""
        one = self.steps[scaling, width, method, 1]["median"]
        two = self.steps[scaling, width, method, 2]
        low, high = two["quartiles"]
        return [low / one, two["median"] / one, high / one]

    def draw(self, width: int, scaling: str) -> Figure:
        """Draw a row a method."""
        return plot.ratios(
            {name: self.ratio(scaling, width, method) for method, name in LABELS.items()},
            xlabel="time of a step on two processes over one",
            reference="one process",
            colors={name: method for method, name in LABELS.items()},
            xlim=(0.45, 3.6),
        )

    def say(self, width: int, scaling: str) -> str:
        """Say how long a step takes with a shared weight and without."""
        deep, shared = (self.ratio(scaling, width, method)[1] for method in list(LABELS)[:2])
        return (
            f"A deep ensemble's step takes {deep:.2f} times as long on two processes, a "
            f"BatchEnsemble's {shared:.2f} times."
        )


class Sent:
    """Who keeps what, and what goes between devices.

    Parameters
    ----------
    ensemble_size
        The number M of members.
    """

    choices: ClassVar = {"devices": [1, 2, 4], "method": ["deep ensemble", "BatchEnsemble"]}

    def __init__(self, ensemble_size: int) -> None:
        self.ensemble_size = ensemble_size

    def draw(self, devices: int, method: str) -> Figure:
        """Draw a frame a device, and arrows for the ring."""
        shares = method == "BatchEnsemble"
        with house_style():
            figure, [axes] = plot.panels(1, height=4.4, left=0.1, right=0.1, above=0.05, below=0.05)
            M = self.ensemble_size
            axes.set(xlim=(-0.1, M + 0.1), ylim=(-0.75, 2.5))
            axes.axis("off")
            for d in range(devices):
                self._device(axes, d, members_of(d, devices, M), shares)
            words = "nothing is sent"
            if devices > 1 and shares:
                self._ring(axes, devices)
                words = f"{2 * (devices - 1)} messages from each device"
            axes.text(M / 2, -0.65, words, ha="center", fontsize=11, color=INK)
        return figure

    @staticmethod
    def _device(axes: Axes, d: int, members: range, shares: bool) -> None:
        left, wide = members.start + 0.04, len(members) - 0.08
        axes.add_patch(Rectangle((left, 0), wide, 2.2, fc="none", ec=MUTED, lw=1))
        axes.text(left, 2.28, f"device {d + 1}", fontsize=11, color=MUTED)
        if shares:
            _block(axes, (left + 0.06, 0.1, wide - 0.12, 0.65), SHARED, "∂L/∂W", filled=True)
        own = plot.PALETTE["batch_ensemble" if shares else "deep_ensemble"]
        bottom = 0.9 if shares else 0.1
        for i in members:
            words = f"{'r, s' if shares else 'all'} of\nmember\n{i + 1}"
            _block(axes, (i + 0.1, bottom, 0.8, 2.1 - bottom), own, words)

    def _ring(self, axes: Axes, devices: int) -> None:
        arrow = {"arrowstyle": "-|>", "color": SHARED, "lw": 2}
        for d in range(devices - 1):
            edge = members_of(d, devices, self.ensemble_size).stop
            axes.annotate("", (edge + 0.14, 0.43), (edge - 0.14, 0.43), arrowprops=arrow)
        back = arrow | {"connectionstyle": "bar,fraction=-0.07"}
        axes.annotate("", (0.5, 0), (self.ensemble_size - 0.5, 0), arrowprops=back)

    @staticmethod
    def say(devices: int, method: str) -> str:
        """Say what a device sends in a step."""
        if method == "deep ensemble" or devices == 1:
            return "Nothing is sent."
        more = "as many" if devices == 2 else "1.5 times as many"
        return (
            f"In a step each device sends {2 * (devices - 1)} messages, {more} bytes as the "
            "shared gradient has."
        )


def _block(
    axes: Axes, box: Sequence[float | int], color: str, words: str,
    filled: bool = False,
) -> None:  # fmt: skip
    left, bottom, wide, high = box
    face = color if filled else "none"
    axes.add_patch(Rectangle((left, bottom), wide, high, lw=1.5, fc=face, ec=color))
    axes.text(
        left + wide / 2, bottom + high / 2, words, color=PAGE if filled else color,
        ha="center", va="center", fontsize=11,
    )  # fmt: skip


class Projected:
    """What is left of each device's speed.

    Parameters
    ----------
    left
        The part of a BatchEnsemble, by devices, bytes a second, seconds a message, and the way.
    """

    devices = (1, 2, 4, 16, 64, 256, 1024, 4096)
    start: ClassVar = {"gigabytes_per_second": 1, "microseconds_a_message": 10}
    choices: ClassVar = {
        "gigabytes_per_second": [0.1, 1, 10],
        "microseconds_a_message": [0, 1, 10, 100],
        "all_reduce": ["in a ring", "by halves"],
    }

    def __init__(self, left: Callable[[int, float | int, float | int, str], float | int]) -> None:
        self.left = left

    def of(
        self,
        gigabytes_per_second: float | int,
        microseconds_a_message: float | int,
        all_reduce: str,
    ) -> list[float | int]:
        """Return percents, one a number of devices."""
        network = 1e9 * gigabytes_per_second, 1e-6 * microseconds_a_message, all_reduce
        return [100 * self.left(R, *network) for R in self.devices]

    def draw(self, **network: Any) -> Figure:
        """Draw both methods over the number of devices."""
        return plot.growth_curves(
            self.devices,
            {
                "deep_ensemble": [100] * len(self.devices),
                "batch_ensemble": self.of(**network),
            },
            xlabel="devices, four members each",
            ylabel="speed of each device, % of one alone",
            log_x=True,
            ylim=(0, 105),
        )

    def say(self, **network: Any) -> str:
        """Say what is left at the end."""
        return (
            f"Of its speed each device keeps {self.of(**network)[-2]:.0f}% among 1,024, with a "
            "BatchEnsemble."
        )

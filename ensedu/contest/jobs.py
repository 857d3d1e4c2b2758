"""What is asked of a contestant: one training on one split, and looks at it meanwhile."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.contest.forecasts import Forecast
from ensedu.contest.tasks import Given, Task

__all__ = ["LOOKS", "Contestant", "Job", "Setting", "Trained", "Watch"]

#: How often a training is looked at for its best epoch.
LOOKS = 20

Setting = dict[str, float]


class Trained(Protocol):
    """What was trained: its forecast for inputs, the same at each call."""

    #: How many numbers a forecast needs.
    kept: int

    def __call__(self, x: Float[Array, "B *features"]) -> Forecast: ...


Watch = Callable[[int, Any], None]


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A method at one size, how it is trained, and the six settings that it may choose from.

    Parameters
    ----------
    label
        What readers call it.
    train
        Called as ``train(job, watch)``; trains to ``job.until``, and calls ``watch(epoch,
        trained)`` at looks. What it hands over may change once that returns.
    tries
        The settings.
    method
        The key of the method of this book that it is; it colors and counts it.
    scale
        Its width over that of the task; None: with as many parameters as four networks.
    epochs
        How many epochs a task gives it, by default the task's own.
    finish
        What is made of the network that was trained to the best epoch, where there is more to do:
        ``finish(job, trained)``. The epoch is judged before, the setting after it.
    draws
        Whether two trainings differ; else one is scored.
    """

    label: str
    train: Callable[["Job", Watch | None], Any]
    tries: tuple[Setting, ...]
    method: str = "single"
    scale: float | None = 1.0
    epochs: Callable[[Task], int] = operator.attrgetter("epochs")
    finish: Callable[["Job", Any], Trained] | None = None
    draws: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """One training: of whom, on which split, with which setting and seed, for how many epochs."""

    task: Task
    given: Given
    contestant: Contestant
    setting: Setting
    seed: int
    until: int
    looks: int = field(default=LOOKS)

    @property
    def method(self) -> str:
        """The key of its method."""
        return self.contestant.method

    @property
    def scale(self) -> float | None:
        """Its width over that of the task."""
        return self.contestant.scale

    @property
    def epochs(self) -> int:
        """The epochs over which its rate falls to 0, also where it stops before."""
        return self.contestant.epochs(self.task)

    def is_look(self, epoch: int) -> bool:
        """Say whether it is looked at after an epoch: `looks` times, the last at the end."""
        every = max(1, self.epochs // self.looks)
        return (self.epochs - epoch) % every == 0

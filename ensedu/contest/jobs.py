"""What is asked of a contestant: one training on one split, and looks at it meanwhile."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.contest.forecasts import Forecast
from ensedu.contest.tasks import Given, Task
from ensedu.methods import METHODS

__all__ = ["LOOKS", "Contestant", "Job", "Setting", "Trained", "Watch"]

#: How often, at least, a training of as many epochs is looked at for its best one.
LOOKS = 20

Setting = dict[str, float]


@runtime_checkable
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
        The key of the method of this book that its networks are of; ``""`` for other models.
    scale
        Its width over that of the task; None: with as many parameters as four networks.
    epochs
        How many epochs a task gives it, by default the task's own.
    finish
        What is made of the network that was trained to the best epoch, where there is more to do:
        ``finish(job, trained)``. The epoch is judged before, the setting after it.
    draws
        Whether two trainings differ; else one is scored.

    Raises
    ------
    TypeError, ValueError
        For anything else.
    """

    label: str
    train: Callable[["Job", Watch | None], Any]
    tries: tuple[Setting, ...]
    method: str = "single"
    scale: float | None = 1.0
    epochs: Callable[[Task], int] = operator.attrgetter("epochs")
    finish: Callable[["Job", Any], Trained] | None = None
    draws: bool = True

    def __post_init__(self) -> None:
        checks.text("label", self.label)
        for name in ("train", "epochs", "finish"):
            value = getattr(self, name)
            if not callable(value) and (name != "finish" or value is not None):
                raise TypeError(f"{name} must be a function, got {checks.given(value)}")
        if not isinstance(self.tries, (tuple, list)) or not self.tries:
            raise TypeError(
                f"tries must be a tuple of dicts, at least one, got {checks.given(self.tries)}"
            )
        for i, setting in enumerate(self.tries):
            if not isinstance(setting, dict):
                raise TypeError(f"tries[{i}] must be a dict, got {checks.given(setting)}")
        checks.one_of("method", self.method, ("", *METHODS))
        if self.scale is not None:
            checks.real("scale", self.scale, low=0.0)
        checks.boolean("draws", self.draws)


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """One training: of whom, on which split, with which setting and seed, for how many epochs.

    Parameters
    ----------
    task, given
        The task, and a split of it as `ensedu.contest.given` returns it.
    contestant, setting
        Who is trained, and with which of its settings.
    seed
        All that is random follows from it.
    until
        Epochs; its rate falls to 0 over `epochs`, which may be more.
    looks
        How often it is looked at, at least.

    Raises
    ------
    TypeError, ValueError
        For a seed, epochs or looks that are no such integers.
    """

    task: Task
    given: Given
    contestant: Contestant
    setting: Setting
    seed: int
    until: int
    looks: int = LOOKS

    def __post_init__(self) -> None:
        checks.natural_int("seed", self.seed)
        checks.positive_int("until", self.until)
        checks.positive_int("looks", self.looks)

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
        """Say whether it is looked at after an epoch: at equal steps, the last at the end.

        That is after each epoch where there are fewer than twice as many as `looks`; else `looks`
        times where the epochs are a multiple of it, and otherwise up to half as often again.
        """
        every = max(1, self.epochs // self.looks)
        return (self.epochs - epoch) % every == 0

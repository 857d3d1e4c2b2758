"""What is asked of a contestant: one training on one split."""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.contest.forecasts import Forecast
from ensedu.contest.tasks import SplitData, Task
from ensedu.methods import METHODS

#: How long a training may be, as fractions of the task's epochs; its rate falls to 0 in each.
LENGTH_FRACTIONS = (0.125, 0.35, 1.0)

Setting = dict[str, float]


@runtime_checkable
class Trained(Protocol):
    """What was trained: its forecast for inputs, the same at each call."""

    #: How many numbers are stored for its forecasts.
    num_stored: int

    def __call__(self, x: Float[Array, "B *features"]) -> Forecast: ...


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A method at one size, how it is trained, and the six settings that it may choose from.

    Its `method` is the key of the method of this book that its networks are of; ``""`` is for other
    models.
    """

    #: What readers call it.
    label: str
    #: Called as ``train(job)``, returns what is `Trained` after ``job.epochs``.
    train: Callable[["Job"], Trained]
    #: The settings.
    settings: tuple[Setting, ...]
    method: str = "single"
    #: Its width over that of the task; with None it has as many parameters as four networks.
    width_scale: float | None = 1.0
    #: How many epochs a task gives it, by default the task's own.
    epochs: Callable[[Task], int] = operator.attrgetter("epochs")
    #: How long it may train, as fractions of these.
    length_fractions: tuple[float, ...] = LENGTH_FRACTIONS
    #: Whether two trainings differ; else one is scored.
    is_random: bool = True

    def __post_init__(self) -> None:
        checks.text("label", self.label)
        for name in ("train", "epochs"):
            if not callable(getattr(self, name)):
                raise TypeError(
                    f"{name} must be a function, got {checks.describe(getattr(self, name))}"
                )
        if not isinstance(self.settings, (tuple, list)) or not self.settings:
            raise TypeError(
                "settings must be a tuple of dicts, at least one, got "
                f"{checks.describe(self.settings)}"
            )
        for i, setting in enumerate(self.settings):
            if not isinstance(setting, dict):
                raise TypeError(f"settings[{i}] must be a dict, got {checks.describe(setting)}")
        checks.one_of("method", self.method, ("", *METHODS))
        if self.width_scale is not None:
            checks.real("width_scale", self.width_scale, low=0.0)
        checks.boolean("is_random", self.is_random)

    def lengths(self, task: Task) -> list[int]:
        """Return the epochs that it may choose from on a task, the fewest first."""
        whole = self.epochs(task)
        return sorted({max(1, round(part * whole)) for part in self.length_fractions})


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """One training: of whom, on which split, with which setting and seed, for how many epochs."""

    #: The task, and a split of it as `ensedu.contest.split_of` returns it.
    task: Task
    data: SplitData
    #: Who is trained, and with which of its settings.
    contestant: Contestant
    setting: Setting
    #: All that is random follows from it.
    seed: int
    #: How long; its rate falls to 0 until then.
    epochs: int

    def __post_init__(self) -> None:
        checks.natural_int("seed", self.seed)
        checks.positive_int("epochs", self.epochs)

    @property
    def batch_size(self) -> int:
        """How many examples a step takes, as the task says, or all that there are to fit on."""
        return min(self.task.batch_size, len(self.data.fit[0]))

    @property
    def steps(self) -> int:
        """How many steps its epochs are."""
        return self.epochs * math.ceil(len(self.data.fit[0]) / self.batch_size)

"""What a contest says: differences from a reference, pooled over sources, and their words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import arrays, checks
from ensedu.common.optional import optional
from ensedu.uncertainty import Interval, holm, resampled

__all__ = [
    "CLIP",
    "DELTA",
    "LEAST_SOURCES",
    "LEVEL",
    "SCALES",
    "Pooled",
    "TaskDifference",
    "TaskScores",
    "mean_intervals",
    "pooled",
    "source_means",
    "task_difference",
    "verdict",
]

#: A difference of a task counts as at most so many units, in both directions.
CLIP = 3.0
#: Units within which a difference is practically none.
DELTA = 0.25
#: With which probability each difference may be found where none is.
LEVEL = 0.05
LEAST_SOURCES = 3
#: On what scale the differences of several tasks are pooled.
SCALES = ("units", "log ratio", "difference")


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskScores:
    """One score of all contestants on one task.

    Parameters
    ----------
    name, source
        What the task is called, and where it comes from; tasks of one source count as one.
    classes
        Whether it asks for a class, not for a number.
    train, test
        How many rows a split fits and tests on.
    values
        By contestant (splits, seeds); the number of seeds may differ, that of splits may not.

    Raises
    ------
    TypeError, ValueError
        For other arrays, NaN, one split, and contestants of unequal splits.
    """

    name: str
    source: str
    classes: bool
    train: int
    test: int
    values: Mapping[str, Float[Array, "splits seeds"]]

    def __post_init__(self) -> None:
        for name in ("name", "source"):
            checks.text(name, getattr(self, name))
        checks.boolean("classes", self.classes)
        for name in ("train", "test"):
            checks.positive_int(name, getattr(self, name))
        if not isinstance(self.values, Mapping) or not self.values:
            raise TypeError(
                "values must be a mapping of contestants to arrays (splits, seeds), "
                f"got {checks.given(self.values)}"
            )
        splits = {}
        for contestant, values in self.values.items():
            where = f"values[{contestant!r}] of the task {self.name!r}"
            arrays.check_array(where, values, "f", "floats", ("splits", "seeds"))
            arrays.check_finite(where, values)
            splits[contestant] = len(values)
        if len(set(splits.values())) > 1 or min(splits.values()) < 2:
            raise ValueError(
                f"values of the task {self.name!r} must all have the same splits, at least two, "
                f"got {splits}"
            )

    @cached_property
    def unit(self) -> float:
        """What is luck here: the standard deviation over splits and seeds, median of contestants.

        Each is the root of the squares' sum divided by their number less one. The median is the
        same for all who are compared. A unit of the reference's own would be large when the
        reference had bad luck, and so make what it loses then look small.
        """
        return float(np.median([values.std(ddof=1) for values in self.values.values()]))


@dataclass(frozen=True, kw_only=True)
class TaskDifference:
    """How a contestant differs from the reference on one task."""

    task: str
    source: str
    #: The difference of the score itself, with the corrected resampled t interval over splits: it
    #: describes, and tests nothing.
    interval: Interval
    #: The difference on the scale on which it is pooled, and its standard error.
    scaled: float
    error: float
    #: What of it is pooled: in units no more than `CLIP`.
    counted: float

    @property
    def clipped(self) -> bool:
        """Whether it counts as less than it is."""
        return self.counted != self.scaled


@dataclass(frozen=True, kw_only=True)
class Pooled:
    """How a contestant differs from the reference over all sources."""

    #: The mean over sources, with its 95 % interval and p-value; n sources.
    interval: Interval
    #: Where the difference of a new source falls, with 95 %.
    prediction: tuple[float, float]
    #: The mean of the score's own differences, in nats for an NLL, nothing clipped.
    unscaled: Interval
    #: By source, the mean over its tasks of what is counted.
    sources: Mapping[str, float]
    tasks: tuple[TaskDifference, ...]
    #: Holm's p-value among all contestants, and what it all says; None unless the scale is units.
    adjusted: float | None
    word: str | None


def pooled(
    tasks: Sequence[TaskScores],
    *,
    reference: str,
    contestants: Sequence[str] | None = None,
    scale: str = "units",
    higher: bool = False,
) -> dict[str, Pooled]:
    """Return how each contestant differs from a reference, over all sources of tasks.

    Tasks of one source are averaged first. Then each source counts once: the mean over k sources
    has Student's t interval with k - 1 degrees of freedom, ``mean ± t s / √k``, and a new source's
    difference falls within ``mean ± t s √(1 + 1 / k)``. In units, all p-values are adjusted
    together (Holm). A contestant that equals the reference on each split of each task has no entry.

    Parameters
    ----------
    tasks
        Of at least three sources.
    reference
        The contestant from which the others differ.
    contestants
        The others; by default all.
    scale
        ``"units"``: in `TaskScores.unit`, and a difference of more than `CLIP` units counts as
        `CLIP`. ``"log ratio"``: the logarithm of the ratio of means over splits. ``"difference"``:
        the difference as it is.
    higher
        Whether a higher score is better, for the words.

    Raises
    ------
    TypeError, ValueError
        For fewer than three sources, two tasks of one name, a task without one of the contestants,
        a unit of 0, or a log ratio of means that are not above 0.
    ImportError
        If SciPy is not installed.
    """
    checks.boolean("higher", higher)
    checks.one_of("scale", scale, SCALES)
    names, of_task = _checked_contest(tasks, reference, contestants)
    found = {}
    for name in names:
        each = tuple(
            task_difference(task, name, reference=reference, scale=scale) for task in tasks
        )
        if any(one.interval.mean or one.error for one in each):
            found[name] = each
    if not found:
        return {}
    counted = np.array([[one.counted for one in each] for each in found.values()])
    unscaled = np.array([[one.interval.mean for one in each] for each in found.values()])
    values = source_means(counted, of_task)
    intervals = _intervals(values)
    own = _intervals(source_means(unscaled, of_task))
    beyond = (1 + values.shape[1]) ** 0.5
    adjusted = holm([one.p for one in intervals]) if scale == "units" else None
    result = {}
    for i, (name, each) in enumerate(found.items()):
        interval = intervals[i]
        half = beyond * (interval.high - interval.mean)
        p = None if adjusted is None else float(adjusted[i])
        result[name] = Pooled(
            interval=interval,
            prediction=(interval.mean - half, interval.mean + half),
            unscaled=own[i],
            sources=dict(zip(dict.fromkeys(of_task), values[i].tolist(), strict=True)),
            tasks=each,
            adjusted=p,
            word=None if p is None else verdict(interval, p, higher=higher),
        )
    return result


def task_difference(
    task: TaskScores,
    contestant: str,
    *,
    reference: str,
    scale: str = "units",
) -> TaskDifference:
    """Return how a contestant differs from a reference on one task; `pooled` says on which scale.

    Seeds are averaged first. The standard error is that of the corrected resampled t interval; of a
    log ratio it is that of its linear part.

    Raises
    ------
    TypeError, ValueError
        For an unknown contestant or scale, a unit of 0, or means that are not above 0.
    """
    for name, value in (("contestant", contestant), ("reference", reference)):
        checks.one_of(f"{name} of the task {task.name!r}", value, task.values)
    checks.one_of("scale", scale, SCALES)
    own, other = task.values[contestant], task.values[reference]
    own_splits, other_splits = own.mean(axis=1), other.mean(axis=1)
    differences = own_splits - other_splits
    interval = resampled(differences, train=task.train, test=task.test)
    scaled, parts = interval.mean, differences
    if scale == "units":
        if not task.unit:
            raise ValueError(
                f"values of the task {task.name!r} must differ in most contestants, to have a "
                "unit, got a median standard deviation of 0"
            )
        parts = differences / task.unit
        scaled = interval.mean / task.unit
    elif scale == "log ratio":
        means = own_splits.mean(), other_splits.mean()
        if min(means) <= 0:
            raise ValueError(
                f"values of the task {task.name!r} must have means above 0, to have a log ratio, "
                f"got {means[0]:g} ({contestant}) and {means[1]:g} ({reference})"
            )
        scaled = math.log(means[0] / means[1])
        parts = own_splits / means[0] - other_splits / means[1]
    overlap = 1 / len(parts) + task.test / task.train
    return TaskDifference(
        task=task.name,
        source=task.source,
        interval=interval,
        scaled=scaled,
        error=float(parts.std(ddof=1)) * math.sqrt(overlap),
        counted=min(max(scaled, -CLIP), CLIP) if scale == "units" else scaled,
    )


def source_means(
    values: Float[Array, "*contests tasks"], of_task: Sequence[str]
) -> Float[Array, "*contests k"]:
    """Return means over the tasks of each source, in the order in which sources are first named."""
    sources = list(dict.fromkeys(of_task))
    member = np.array([[one == source for one in of_task] for source in sources], float)
    return values @ (member / member.sum(axis=1, keepdims=True)).T


def mean_intervals(
    values: Float[Array, "*contests k"],
) -> tuple[Float[Array, "*contests"], Float[Array, "*contests"], Float[Array, "*contests"]]:
    """Return the mean over k, the half width of its 95 % t interval, and the two-sided p-value.

    The p-value is 0 or 1 where all values are equal.
    """
    special = optional("scipy.special", "scores")
    k = values.shape[-1]
    mean = values.mean(axis=-1)
    error = values.std(axis=-1, ddof=1) / k**0.5
    known = error > 0
    p = np.where(known, 0.0, np.asarray(mean == 0, float))
    p[known] = 2 * special.stdtr(k - 1, -np.abs(mean[known]) / error[known])
    return mean, -special.stdtrit(k - 1, LEVEL / 2) * error, p


def verdict(interval: Interval, adjusted: float, *, higher: bool = False) -> str:
    """Return in words what a pooled difference in units says, `adjusted` being Holm's p-value.

    ``"better"`` or ``"worse"`` below `LEVEL`, and ``"by little"`` behind it if the whole interval
    is within ± `DELTA`. Otherwise ``"practically equal"`` within ± `DELTA`, else ``"unclear"``.

    Raises
    ------
    TypeError, ValueError
        For a p-value that is none, or below `LEVEL` beside an interval that holds 0.
    """
    checks.boolean("higher", higher)
    if not 0 <= checks.real("adjusted", adjusted) <= 1:
        raise ValueError(f"adjusted must be from 0 to 1, got {adjusted}")
    little = -DELTA <= interval.low and interval.high <= DELTA
    if adjusted >= LEVEL:
        return "practically equal" if little else "unclear"
    if interval.low <= 0 <= interval.high:
        raise ValueError(
            f"adjusted must be {LEVEL:g} or more where the interval holds 0, got {adjusted:g} with "
            f"{interval.low:g} to {interval.high:g}"
        )
    word = "better" if (interval.mean > 0) == higher else "worse"
    return f"{word} by little" if little else word


def _intervals(values: Float[Array, "contestants k"]) -> list[Interval]:
    n = values.shape[1]
    return [
        Interval(float(mean), float(mean - half), float(mean + half), n, float(p))
        for mean, half, p in zip(*mean_intervals(values), strict=True)
    ]


def _checked_contest(
    tasks: Any, reference: str, contestants: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the contestants beside the reference, and the source of each task."""
    if not isinstance(tasks, (list, tuple)) or not all(isinstance(t, TaskScores) for t in tasks):
        raise TypeError(f"tasks must be a list of TaskScores, got {checks.given(tasks)}")
    names = [task.name for task in tasks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"tasks must have other names each, got {twice} twice")
    of_task = [task.source for task in tasks]
    if len(set(of_task)) < LEAST_SOURCES:
        raise ValueError(
            f"tasks must come from at least {LEAST_SOURCES} sources, got {sorted(set(of_task))}"
        )
    if contestants is None:
        contestants = [*dict.fromkeys(name for task in tasks for name in task.values)]
    elif isinstance(contestants, str):
        raise TypeError(f"contestants must be a list of names, got {checks.given(contestants)}")
    others = [name for name in contestants if name != reference]
    for task in tasks:
        if missing := [name for name in [reference, *others] if name not in task.values]:
            raise ValueError(
                f"the task {task.name!r} must have all contestants, {missing} are missing from "
                f"{list(task.values)}"
            )
    return others, of_task

"""What several data sets say together: differences from a reference, one a source, in words.

Other arguments are a ``TypeError`` or ``ValueError``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import check_floats
from ensedu.uncertainty.paired import MeanDifference, corrected_t

#: Units within which a difference is practically none.
DELTA = 0.25
#: With which probability one difference or more may be found where none is.
ALPHA = 0.05
LEAST_SOURCES = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskScores:
    """One score of all contestants on one task."""

    #: What the task is called, and where it comes from; tasks of one source count as one.
    name: str
    source: str
    #: Whether it asks for a class, not for a number.
    classes: bool
    #: How many rows a split fits and tests on.
    train: int
    test: int
    #: By contestant (splits, seeds); the number of seeds may differ, that of splits may not.
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
                f"got {checks.describe(self.values)}"
            )
        splits = {}
        for contestant, values in self.values.items():
            where = f"values[{contestant!r}] of the task {self.name!r}"
            check_floats(where, values, ("splits", "seeds"))
            splits[contestant] = len(values)
        if len(set(splits.values())) > 1 or min(splits.values()) < 2:
            raise ValueError(
                f"values of the task {self.name!r} must all have the same splits, at least two, "
                f"got {splits}"
            )

    @cached_property
    def unit(self) -> float:
        """How far luck moves one comparison here, a training each of two contestants on one split.

        It is the standard deviation of all such differences of two contestants, the median over all
        pairs of them, whoever is the reference. What is hard about a split moves both and cancels,
        and no accident of one contestant makes a unit.
        """
        pairs = combinations(self.values.values(), 2)
        each = [(one[:, :, None] - other[:, None]).std(ddof=1) for one, other in pairs]
        return float(np.median(each)) if each else 0.0


@dataclass(frozen=True, kw_only=True)
class TaskDifference:
    """How a contestant differs from the reference on one task."""

    task: str
    source: str
    #: The difference of the score itself, with the corrected resampled t interval over splits,
    #: which describes, and tests nothing.
    interval: MeanDifference
    #: The difference in units.
    in_units: float


@dataclass(frozen=True, kw_only=True)
class Pooled:
    """How a contestant differs from the reference over all sources, in units."""

    #: The median over sources, the typical one.
    middle: float
    #: Where that of all such sources lies; ± infinity where sources are too few to say.
    low: float
    high: float
    #: By source, the mean over its tasks.
    sources: Mapping[str, float]
    tasks: tuple[TaskDifference, ...]
    #: The two-sided p-value of the sign test, alone, and among all contestants.
    p: float
    adjusted: float
    word: str


def pooled(
    tasks: Sequence[TaskScores], *, reference: str, higher: bool = False
) -> dict[str, Pooled]:
    """Return how each contestant differs from a reference on the typical source of tasks.

    Tasks of one source are averaged first, in `TaskScores.unit`; then each source counts once. That
    a contestant is better on half of all sources is rejected by the sign test, its p-value
    multiplied by the number of contestants (Bonferroni). This needs no more than independent
    sources: neither skewed differences nor contestants that win together make false finds. The
    interval of the median goes from the r-th lowest source to the r-th highest, with the same test:
    it leaves 0 out where the adjusted p-value is `ALPHA` or less. A contestant that equals the
    reference on each split of each task has no entry.

    Tasks are of at least three sources, of each of which a contestant has a task. Of k sources all
    must agree to be clear if k is small: fewer than ``1 + log2(contestants / ALPHA)`` never are.
    `higher` says whether a higher score is better, for the words.
    """
    checks.boolean("higher", higher)
    if not isinstance(tasks, (list, tuple)) or not all(isinstance(t, TaskScores) for t in tasks):
        raise TypeError(f"tasks must be a list of TaskScores, got {checks.describe(tasks)}")
    names = [task.name for task in tasks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"tasks must have other names each, got {twice} twice")
    known: dict[str, set[str]] = {}
    for task in tasks:
        checks.one_of(f"reference of the task {task.name!r}", reference, task.values)
        known.setdefault(task.source, set()).update(task.values)
    if len(known) < LEAST_SOURCES:
        raise ValueError(
            f"tasks must come from at least {LEAST_SOURCES} sources, got {sorted(known)}"
        )
    others = [*dict.fromkeys(name for task in tasks for name in task.values if name != reference)]
    for source, there in known.items():
        if missing := [name for name in others if name not in there]:
            raise ValueError(
                f"the source {source!r} must have all contestants, {missing} are missing from "
                f"{sorted(there)}"
            )
    found = {}
    for name in others:
        each = tuple(
            task_difference(task, name, reference=reference)
            for task in tasks if name in task.values
        )  # fmt: skip
        if any(one.interval.low or one.interval.high for one in each):
            found[name] = each
    return {name: _pooled(each, len(found), higher) for name, each in found.items()}


def task_difference(task: TaskScores, contestant: str, *, reference: str) -> TaskDifference:
    """Return how a contestant differs from a reference on one task; seeds are averaged first."""
    for name, value in (("contestant", contestant), ("reference", reference)):
        checks.one_of(f"{name} of the task {task.name!r}", value, task.values)
    if not task.unit:
        raise ValueError(
            f"values of the task {task.name!r} must differ in most contestants, to have a unit, "
            "got a median standard deviation of 0"
        )
    differences = task.values[contestant].mean(axis=1) - task.values[reference].mean(axis=1)
    interval = corrected_t(differences, train=task.train, test=task.test)
    return TaskDifference(
        task=task.name, source=task.source, interval=interval, in_units=interval.mean / task.unit
    )


def verdict(low: float, high: float, *, higher: bool = False) -> str:
    """Return in words what the interval of a difference in units says.

    ``"better"`` or ``"worse"`` where it leaves out 0, and ``"by little"`` behind it if all of it is
    within ± `DELTA`. Otherwise ``"practically equal"`` within ± `DELTA`, else ``"unclear"``.
    """
    little = -DELTA <= low and high <= DELTA
    if low <= 0 <= high:
        return "practically equal" if little else "unclear"
    word = "better" if (low > 0) == higher else "worse"
    return f"{word} by little" if little else word


def _pooled(tasks: tuple[TaskDifference, ...], contestants: int, higher: bool) -> Pooled:
    by_source: dict[str, list[float]] = {}
    for task in tasks:
        by_source.setdefault(task.source, []).append(task.in_units)
    sources = {source: float(np.mean(each)) for source, each in by_source.items()}
    values = sorted(sources.values())
    k = len(values)
    # Of a fair coin; what is 0 speaks against either side.
    p = _two_sided(min(sum(v >= 0 for v in values), sum(v <= 0 for v in values)), k)
    left_out = [r for r in range(k // 2) if contestants * _two_sided(r, k) <= ALPHA]
    r = len(left_out)
    low, high = (values[r - 1], values[k - r]) if r else (-math.inf, math.inf)
    return Pooled(
        middle=float(np.median(values)), low=low, high=high, sources=sources, tasks=tasks, p=p,
        adjusted=min(1.0, contestants * p), word=verdict(low, high, higher=higher),
    )  # fmt: skip


def _two_sided(fewer: int, k: int) -> float:
    """Return how often k fair coins show so few heads, or so few tails, or fewer."""
    return min(1.0, 2 * sum(math.comb(k, i) for i in range(fewer + 1)) / 2**k)

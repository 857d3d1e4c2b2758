"""Whether what a contest says hangs on how it was pooled, on one source, or on a kind of task."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import arrays, checks
from ensedu.common.optional import optional
from ensedu.contest.statistics import LEAST_SOURCES, LEVEL, Pooled, TaskScores, pooled
from ensedu.uncertainty import Interval, paired

__all__ = ["Sensitivity", "knapp_hartung", "sensitivity"]


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """One contestant's pooled difference, computed in other ways."""

    #: By random effects, and the standard deviation of true differences between sources.
    random_effects: Interval
    between: float
    #: By source, what the others say without it; and the least and the greatest mean and p-value.
    without: Mapping[str, Interval]
    means: tuple[float, float]
    p_values: tuple[float, float]
    #: What some tasks say alone.
    alone: Mapping[str, Interval]


def sensitivity(
    tasks: Sequence[TaskScores],
    contestant: str,
    *,
    reference: str,
    groups: Mapping[str, Collection[str]] | None = None,
    scale: str = "units",
) -> Sensitivity:
    """Return a contestant's pooled difference in other ways; `pooled` explains the arguments.

    Random effects weigh a source by its standard error, that of the corrected resampled t interval.
    The standard error of several tasks of one source is the mean of theirs, which is the most that
    it can be. The p-values are adjusted for nothing.

    Parameters
    ----------
    tasks, contestant, reference, scale
        As `pooled` takes them.
    groups
        By words, such as "new", names of tasks to pool alone. Classes and numbers are pooled alone
        as ``"classes"`` and ``"numbers"``, where there are both.

    Raises
    ------
    TypeError, ValueError
        For what `pooled` does not take, fewer than three sources in a group, an unknown task, and a
        contestant that equals the reference.
    ImportError
        If SciPy is not installed.
    """
    settings: dict[str, Any] = {"reference": reference, "scale": scale}
    whole = _of_one(tasks, contestant, settings, "tasks")
    errors: dict[str, list[float]] = {}
    for task in whole.tasks:
        errors.setdefault(task.source, []).append(task.error)
    values = np.array([*whole.sources.values()])
    variances = np.array([np.mean(each) ** 2 for each in errors.values()])
    random_effects, between = knapp_hartung(values, variances)
    without = {source: paired(np.delete(values, i)) for i, source in enumerate(whole.sources)}
    means = [one.mean for one in without.values()]
    p_values = [one.p for one in without.values()]
    names = _checked_groups(tasks, groups)
    return Sensitivity(
        random_effects=random_effects,
        between=between,
        without=without,
        means=(min(means), max(means)),
        p_values=(min(p_values), max(p_values)),
        alone={
            words: _of_one(
                [task for task in tasks if task.name in some], contestant, settings, words
            ).interval
            for words, some in names.items()
        },
    )


def knapp_hartung(
    values: Float[Array, " k"], variances: Float[Array, " k"]
) -> tuple[Interval, float]:
    """Return the mean of random effects with its 95 % interval, and their standard deviation τ.

    Effects weigh ``w = 1 / (variance + τ²)``. τ² is that of Paule and Mandel (1982): the one with
    which ``Σ w (value - mean)² = k - 1``, or 0 where that sum is less already. The interval is that
    of Knapp and Hartung (2003): ``mean ± t √(Σ w (value - mean)² / ((k - 1) Σ w))``, with k - 1
    degrees of freedom. Needs SciPy.

    Parameters
    ----------
    values
        (k,), an effect a source, at least three.
    variances
        (k,), the squared standard error of each, above 0.

    Raises
    ------
    TypeError, ValueError
        For other arrays.
    ImportError
        If SciPy is not installed.
    """
    arrays.check_array("values", values, "f", "floats", ("k",))
    arrays.check_array("variances", variances, "f", "floats", values.shape, like="values")
    arrays.check_finite("values", values)
    arrays.check_finite("variances", variances)
    k = len(values)
    if k < LEAST_SOURCES:
        raise ValueError(f"values must be at least {LEAST_SOURCES}, got {k}")
    if variances.min() <= 0:
        raise ValueError(f"variances must be above 0, got {variances.min():g}")

    def weighted(square: float) -> tuple[float, float, float]:
        """Return the mean, the sum of weighted squares around it, and that of weights."""
        weights = 1 / (variances + square)
        mean = float(weights @ values / weights.sum())
        return mean, float(weights @ (values - mean) ** 2), float(weights.sum())

    square = 0.0
    if weighted(0.0)[1] > k - 1:
        # There it is no more: around the plain mean, and with weights of 1 / τ², it is k - 1.
        end = float(values.var(ddof=1))
        square = optional("scipy.optimize", "scores").brentq(
            lambda square: weighted(square)[1] - (k - 1), 0.0, end, xtol=1e-14
        )
    mean, squares, weight = weighted(square)
    special = optional("scipy.special", "scores")
    error = (squares / ((k - 1) * weight)) ** 0.5
    half = -float(special.stdtrit(k - 1, LEVEL / 2)) * error
    p = 2 * float(special.stdtr(k - 1, -abs(mean) / error)) if error else float(mean == 0)
    return Interval(mean, mean - half, mean + half, k, p), square**0.5


def _of_one(
    tasks: Sequence[TaskScores], contestant: str, settings: dict[str, Any], words: str
) -> Pooled:
    try:
        found = pooled(tasks, contestants=[contestant], **settings)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{words}: {error}") from None
    if contestant not in found:
        raise ValueError(
            f"contestant must differ from {settings['reference']!r} on some of {words}, "
            f"got {contestant!r}"
        )
    return found[contestant]


def _checked_groups(tasks: Sequence[TaskScores], groups: Any) -> dict[str, Collection[str]]:
    """Return names of tasks by words: classes and numbers, if there are both, and what is given."""
    found: dict[str, Collection[str]] = {
        words: [task.name for task in tasks if task.classes == classes]
        for words, classes in (("classes", True), ("numbers", False))
    }
    if not all(found.values()):
        found = {}
    if groups is not None and not isinstance(groups, Mapping):
        raise TypeError(f"groups must be a mapping of words to names, got {checks.given(groups)}")
    known = [task.name for task in tasks]
    for words, names in (groups or {}).items():
        if isinstance(names, str) or not isinstance(names, Collection):
            raise TypeError(
                f"groups[{words!r}] must be a collection of names, got {checks.given(names)}"
            )
        for name in names:
            checks.one_of(f"groups[{words!r}]: a name", name, known)
        found[words] = names
    return found

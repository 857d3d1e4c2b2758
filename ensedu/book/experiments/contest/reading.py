"""What pages say of the contest, from its tables, which are read when they are asked for."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.book import measured
from ensedu.book.experiments.contest.tasks import SAME_SOURCE, SEEN, TASKS
from ensedu.common import checks
from ensedu.contest.contestants import AGAIN, CONTESTANTS, REFERENCE
from ensedu.contest.networks import MEMBERS, PASSES
from ensedu.contest.sensitivity import Sensitivity, sensitivity
from ensedu.contest.statistics import (
    CLIP,
    Pooled,
    TaskScores,
    mean_intervals,
    pooled,
    source_means,
    task_difference,
    verdict,
)
from ensedu.methods import METHODS
from ensedu.plot import PooledEffect
from ensedu.uncertainty import Interval

__all__ = [
    "COSTS",
    "SCALED",
    "SCORES",
    "compared",
    "costs",
    "effects",
    "forests",
    "label",
    "means",
    "passes",
    "prices",
    "robustness",
    "rows",
    "tables",
    "task_scores",
    "tasks",
    "unplanned",
]

#: One network with a temperature, which stands beside the contestants.
SCALED = f"{REFERENCE}_scaled"
#: What is compared, on which scale, and whether more is better: of classes, of numbers, of both.
SCORES = {
    "nll": ("units", False, (True, False)),
    "error": ("log ratio", False, (True,)),
    "brier": ("log ratio", False, (True,)),
    "rmse": ("log ratio", False, (False,)),
    "crps": ("log ratio", False, (False,)),
    "auroc": ("difference", True, (True, False)),
}
#: What a contestant costs: parameters that a prediction needs, and seconds of one thread.
COSTS = ("kept", "train_seconds", "predict_seconds")
#: Who runs its network once a weight sample, without being a random method of the book.
SAMPLED = ("swag", "ivon")


def tasks() -> list[str]:
    """Return the tasks whose tables are there, in their order."""
    return [task for task in TASKS if f"contest/{task}" in measured.names()]


def tables() -> list[str]:
    """Return the names of their tables."""
    return [f"contest/{task}" for task in tasks()]


@functools.cache
def rows(task: str) -> tuple[dict[str, Any], ...]:
    """Return the rows of a task's table."""
    return tuple(measured.load(f"contest/{checks.one_of('task', task, TASKS)}")["rows"])


def scores_of_rows(task: str, score: str) -> dict[str, Float[Array, "splits seeds"]]:
    """Return a score of each contestant, what is scaled as ``…_scaled``."""
    found: dict[str, list[list[float]]] = {}
    for row in rows(task):
        name = row["contestant"]
        found.setdefault(name, []).append(row[score])
        found.setdefault(f"{name}_scaled", []).append(row["scaled"][score])
    return {name: np.array(values, np.float64) for name, values in found.items()}


@functools.cache
def task_scores(score: str) -> tuple[TaskScores, ...]:
    """Return a score of all tasks that have it, each with those who are compared."""
    kinds = SCORES[checks.one_of("score", score, SCORES)][2]
    names = [*CONTESTANTS, SCALED, *AGAIN]
    found = []
    for key in tasks():
        classes = "error" in rows(key)[0]
        if classes not in kinds:
            continue
        own = scores_of_rows(key, score)
        fit, test = np.mean([row["rows"] for row in rows(key)], axis=0).round().astype(int).tolist()
        found.append(
            TaskScores(
                name=key, source=SAME_SOURCE.get(key, key), classes=classes, train=fit, test=test,
                values={name: own[name] for name in names},
            )
        )  # fmt: skip
    return tuple(found)


@functools.cache
def compared(score: str = "nll", reference: str = REFERENCE) -> dict[str, Pooled]:
    """Return how each contestant differs from a reference, one of them or `SCALED`.

    A pair has one word, whoever of both is the reference. Holm's p-value is that among all
    differences from one network, which was asked beforehand; of a pair without it the larger of
    the two, each among all differences from one of the pair.
    """
    found = _family(score, reference)
    if SCORES[score][0] != "units":
        return found
    return {name: _of_the_pair(one, name, score, reference) for name, one in found.items()}


def _of_the_pair(one: Pooled, name: str, score: str, reference: str) -> Pooled:
    if reference == REFERENCE:
        return one
    mirrored = _family(score, name)[reference].adjusted
    asked = (mirrored,) if name == REFERENCE else (mirrored, one.adjusted)
    adjusted = max(p for p in asked if p is not None)
    higher = SCORES[score][1]
    return replace(one, adjusted=adjusted, word=verdict(one.interval, adjusted, higher=higher))


@functools.cache
def _family(score: str, reference: str) -> dict[str, Pooled]:
    scale, higher, _ = SCORES[checks.one_of("score", score, SCORES)]
    names = [name for name in (*CONTESTANTS, SCALED) if name != reference]
    return pooled(
        task_scores(score), reference=reference, contestants=names, scale=scale, higher=higher
    )


@functools.cache
def costs(contestant: str) -> dict[str, float]:
    """Return each of `COSTS` in multiples of one network's: the geometric mean over tasks.

    Of a task the median over its splits counts, each beside one network on the same split. A
    temperature costs nothing.
    """
    contestant = contestant.removesuffix("_scaled")
    found: dict[str, list[float]] = {cost: [] for cost in COSTS}
    for task in tasks():
        own, one = (
            [row for row in rows(task) if row["contestant"] == name]
            for name in (contestant, REFERENCE)
        )
        for cost, logs in found.items():
            ratios = [np.mean(a[cost]) / np.mean(b[cost]) for a, b in zip(own, one, strict=True)]
            logs.append(float(np.log(np.median(ratios))))
    return {cost: float(np.exp(np.mean(logs))) for cost, logs in found.items()}


def passes(contestant: str) -> int | None:
    """Return how often a network, or a member, runs for a prediction; None of what is no network.

    The members of a last layer have one body, which runs once.
    """
    name = contestant.removesuffix("_scaled")
    row = METHODS.get(CONTESTANTS[name].method)
    if row is None:
        return None
    if row.stochastic or name in SAMPLED:
        return PASSES
    return MEMBERS if row.members and not row.body else 1


def prices() -> dict[str, dict[str, float | None]]:
    """Return `costs` and `passes` of all, one network with a temperature behind one network."""
    others = [name for name in CONTESTANTS if name != REFERENCE]
    names = (REFERENCE, SCALED, *others)
    return {name: costs(name) | {"passes": passes(name)} for name in names}


def robustness(contestant: str) -> Sensitivity:
    """Return how an NLL differs from one network's, in other ways.

    ``"new"`` are tasks on which nothing had been compared, ``"mlps"`` all but LeNet-5's.
    """
    groups = {
        "new": [task for task in tasks() if task not in SEEN],
        "mlps": [task for task in tasks() if task != "lenet"],
    }
    return sensitivity(task_scores("nll"), contestant, reference=REFERENCE, groups=groups)


def label(contestant: str) -> str:
    """Return what readers call a contestant."""
    name = CONTESTANTS[contestant.removesuffix("_scaled")].label
    return name + ", with a temperature" * contestant.endswith("_scaled")


def effects(names: Sequence[str], reference: str = REFERENCE) -> dict[str, PooledEffect]:
    """Return the differences in NLL that `ensedu.plot.forest` draws, by readers' names."""
    found = {}
    for name in names:
        one = compared("nll", reference)[name]
        own = one.interval
        found[label(name)] = PooledEffect(
            (own.low, own.mean, own.high), one.prediction, [*one.sources.values()], one.word or "",
            _color_of(name),
        )  # fmt: skip
    return found


def _color_of(contestant: str) -> str | None:
    """Return the method whose color a contestant has, if it has one."""
    method = CONTESTANTS[contestant.removesuffix("_scaled")].method
    return method if contestant == method else None


def unplanned(
    contestant: str, reference: str = REFERENCE, *, without: Sequence[str] = ()
) -> PooledEffect:
    """Return how the NLL of any two differs, what is scaled as ``…_scaled``, without some tasks.

    The units are those of `compared`. Nobody planned to ask, so it has no word.
    """
    left_out = {checks.one_of("without", task, TASKS) for task in without}
    differences, sources = [], []
    for task in task_scores("nll"):
        if task.name in left_out:
            continue
        scores = scores_of_rows(task.name, "nll")
        checks.one_of("contestant", contestant, scores)
        checks.one_of("reference", reference, scores)
        difference = scores[contestant].mean() - scores[reference].mean()
        differences.append(np.clip(difference / task.unit, -CLIP, CLIP))
        sources.append(task.source)
    each = source_means(np.array(differences), sources)
    mean, half = (float(one[0]) for one in mean_intervals(each[None])[:2])
    beyond = half * (1 + len(each)) ** 0.5
    return PooledEffect(
        (mean - half, mean, mean + half), (mean - beyond, mean + beyond), each.tolist(), "",
        _color_of(contestant),
    )  # fmt: skip


def forests() -> dict[str, dict[str, PooledEffect]]:
    """Return `effects` of all, by the label of one beside whom they stand.

    They stand beside one network, and beside one with a temperature.
    """
    return {
        label(reference): effects([*compared("nll", reference)], reference=reference)
        for reference in (REFERENCE, SCALED)
    }


def means(task: str) -> dict[str, dict[str, tuple[float, Interval | None]]]:
    """Return by contestant and score the mean over splits, and how it differs from one network's.

    The difference describes one task, and has no word. One network itself has none.
    """
    found: dict[str, dict[str, tuple[float, Interval | None]]] = {}
    for score in SCORES:
        for own in task_scores(score):
            if own.name != task:
                continue
            for name in (*CONTESTANTS, SCALED):
                difference = None
                if name != REFERENCE:
                    difference = task_difference(own, name, reference=REFERENCE).interval
                mean = float(own.values[name].mean())
                found.setdefault(name, {})[score] = mean, difference
    return found

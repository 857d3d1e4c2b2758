"""What pages say of the contest, from its tables, which are read when they are asked for."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.contest.contestants import REFERENCE, STANDARD, TABULAR
from ensedu.contest.trainers.networks import MEMBERS, PASSES
from ensedu.methods import METHODS
from ensedu.uncertainty.meta_analysis import Pooled, TaskScores, pooled
from workshop import measured
from workshop.experiments.contest import AGAIN
from workshop.experiments.contest.tasks import SAME_SOURCE, TASKS
from workshop.plot import PooledEffect

#: One network with a temperature, which is a rival of those without.
TEMPERED = f"{REFERENCE}_tempered"
#: What is compared, whether more is better, and of which tasks: of classes, of numbers, of both.
SCORES = {
    "nll": (False, (True, False)),
    "error": (False, (True,)),
    "brier": (False, (True,)),
    "rmse": (False, (False,)),
    "crps": (False, (False,)),
    "auroc": (True, (True, False)),
}
#: What a contestant costs: parameters that a prediction needs, and seconds of one thread.
COSTS = ("num_stored", "train_seconds", "predict_seconds")
#: Who runs its network `PASSES` times, without being a random method of the book: once a weight
#: sample, or a member of TabM.
SAMPLED = ("swag", "ivon", *TABULAR)


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
    """Return a score of each contestant, with a temperature as ``…_tempered``."""
    found: dict[str, list[list[float]]] = {}
    for row in rows(task):
        name = row["contestant"]
        found.setdefault(name, []).append(row[score])
        found.setdefault(f"{name}_tempered", []).append(row["tempered"][score])
    return {name: np.array(values, np.float64) for name, values in found.items()}


@functools.cache
def contenders() -> tuple[str, ...]:
    """Return who has rows of each source, and so is compared."""
    by_source: dict[str, set[str]] = {}
    for task in tasks():
        there = by_source.setdefault(SAME_SOURCE.get(task, task), set())
        there.update(row["contestant"] for row in rows(task))
    return tuple(name for name in STANDARD if all(name in own for own in by_source.values()))


@functools.cache
def task_scores(score: str, tempered: bool = False) -> tuple[TaskScores, ...]:
    """Return a score of all tasks that have it, each with those who are compared.

    All have a temperature of their own if `tempered`; else none has, but `TEMPERED` is a rival. One
    network is both of its copies together, twice as many seeds.
    """
    kinds = SCORES[checks.one_of("score", score, SCORES)][1]
    (again,), ending = AGAIN, "_tempered" * checks.boolean("tempered", tempered)
    found = []
    for key in tasks():
        classes = "error" in rows(key)[0]
        if classes not in kinds:
            continue
        own = scores_of_rows(key, score)
        both = {
            name: np.concatenate([own[name], own[name.replace(REFERENCE, again)]], axis=1)
            for name in (REFERENCE, TEMPERED)
        }
        values = {name: own[name + ending] for name in contenders() if name + ending in own}
        values[REFERENCE] = both[REFERENCE + ending]
        if not tempered:
            values[TEMPERED] = both[TEMPERED]
        fit, test = np.mean([row["rows"] for row in rows(key)], axis=0).round().astype(int).tolist()
        found.append(
            TaskScores(
                name=key, source=SAME_SOURCE.get(key, key), classes=classes, train=fit, test=test,
                values=values,
            )
        )  # fmt: skip
    return tuple(found)


@functools.cache
def compared(
    score: str = "nll", reference: str = REFERENCE, tempered: bool = False
) -> dict[str, Pooled]:
    """Return how each of `task_scores` differs from one of them.

    A pair has one word, whoever of both is the reference.
    """
    higher = SCORES[checks.one_of("score", score, SCORES)][0]
    return pooled(task_scores(score, tempered), reference=reference, higher=higher)


@functools.cache
def costs(contestant: str) -> dict[str, float]:
    """Return each of `COSTS` in multiples of one network's: the geometric mean over tasks.

    Of a task the median over its splits counts, each beside one network on the same split. A
    temperature costs nothing.
    """
    contestant = contestant.removesuffix("_tempered")
    found: dict[str, list[float]] = {cost: [] for cost in COSTS}
    for task in tasks():
        own, one = (
            [row for row in rows(task) if row["contestant"] == name]
            for name in (contestant, REFERENCE)
        )
        for cost, logs in found.items() if own else ():
            ratios = [np.mean(a[cost]) / np.mean(b[cost]) for a, b in zip(own, one, strict=True)]
            logs.append(float(np.log(np.median(ratios))))
    return {cost: float(np.exp(np.mean(logs))) for cost, logs in found.items()}


def passes(contestant: str) -> int | None:
    """Return how often a network, or a member, runs for a prediction; None of what is no network.

    The members of a last layer have one body, which runs once.
    """
    name = contestant.removesuffix("_tempered")
    row = METHODS.get(STANDARD[name].method)
    if row is None:
        return None
    if row.stochastic or name in SAMPLED:
        return PASSES
    return MEMBERS if row.has_members and not row.body else 1


def prices() -> dict[str, dict[str, float | None]]:
    """Return `costs` and `passes` of all, one network with a temperature behind one network."""
    others = [name for name in contenders() if name != REFERENCE]
    names = (REFERENCE, TEMPERED, *others)
    return {name: costs(name) | {"passes": passes(name)} for name in names}


def label(contestant: str) -> str:
    """Return what readers call a contestant."""
    name = STANDARD[contestant.removesuffix("_tempered")].label
    return name + ", with a temperature" * contestant.endswith("_tempered")


def effects(names: Sequence[str], tempered: bool = False) -> dict[str, PooledEffect]:
    """Return the differences in NLL that `workshop.plot.forest` draws, by readers' names."""
    found = compared("nll", tempered=tempered)
    return {
        label(name): PooledEffect(
            (one.low, one.middle, one.high), [*one.sources.values()], one.word, _color_of(name)
        )
        for name in names if (one := found.get(name))
    }  # fmt: skip


def _color_of(contestant: str) -> str | None:
    """Return the method whose color a contestant has, if it has one."""
    method = STANDARD[contestant.removesuffix("_tempered")].method
    return method if contestant == method else None


def forests(names: Sequence[str] = ()) -> dict[str, dict[str, PooledEffect]]:
    """Return `effects` of some, by default of all, "without" a temperature and "with" one each."""
    return {
        words: effects(names or [*compared("nll", tempered=tempered)], tempered)
        for words, tempered in (("without", False), ("with", True))
    }

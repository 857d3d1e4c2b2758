"""Before anything is compared: who takes part, on how many rows, and how long that will take."""

import importlib.util
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ensedu.common import checks
from ensedu.common.checks import optional
from ensedu.contest.contestants import REFERENCE, STANDARD, TABULAR
from ensedu.contest.jobs import Contestant, Job
from ensedu.contest.one_split import SCORED_STARTS
from ensedu.contest.one_table.processes import in_processes
from ensedu.contest.one_table.tables import PreparedTable
from ensedu.contest.tasks import SPLITS, Task, split_of

#: Who takes part, and who does if there is time left.
ALWAYS = ("linear", "boosting", REFERENCE, "deep_ensemble", "batch_ensemble")
IF_TIME = ("mc_dropout", "wide", "rank1")
#: With more rows batches grow, so that each row is seen as often; fewer are not drawn for time.
USUAL_ROWS, USUAL_BATCH = 3000, 32
#: What part of its steps, or rounds, a training has; the last where time is short.
SHORTENED = (1.0, 0.5, 0.25)
#: Of more rows so many are timed first.
PILOT_ROWS = 20_000
#: The part of the minutes that is planned for.
BUDGET_SHARE = 0.8


@dataclass(frozen=True, kw_only=True)
class Search:
    """How each contestant is tuned and trained in a fold."""

    settings: int
    lengths: int
    #: Trainings that are scored.
    starts: int
    #: How long trainings are, as a part of what is usual.
    part: float | int
    batch_size: int


@dataclass(frozen=True, kw_only=True)
class Subsample:
    """How many rows are drawn, of how many."""

    rows: int
    of: int


@dataclass(frozen=True, kw_only=True)
class ComparisonPlan:
    """Who is compared, how, on how many rows, and in how many seconds each."""

    folds: int
    minutes: float | int
    workers: int
    labels: Mapping[str, str]
    methods: Mapping[str, str]
    search: Search
    subsample: Subsample | None
    seconds: Mapping[str, float | int]


def make_task(table: PreparedTable, seed: int, rows: int) -> tuple[Task, Any]:
    """Return the task that all get, and which rows of the table it has.

    The seed draws the rows, groups whole, and their order, by which splits cut them; with seed 0
    they stay in order, and the task is that of a contest.
    """
    n, rng, groups = len(table.y), np.random.default_rng([seed, rows]), table.groups
    drawn = np.arange(n)
    if rows < n:
        number = drawn if groups is None else groups
        place = rng.permutation(number.max() + 1)[number]
        drawn = np.sort(np.argsort(place, kind="stable")[:rows])
    if seed:
        drawn = rng.permutation(drawn)
    if groups is not None:  # in the order in which they come now, so that splits cut them otherwise
        groups = groups[drawn]
        if seed:
            groups = optional("pandas", "data").factorize(groups)[0].astype(np.int64)
    label = table.description.name
    task = Task(
        name=f"{label}, seed {seed}" if seed else label, label=label, groups=groups,
        x=table.x.iloc[drawn].reset_index(drop=True), y=table.y[drawn],
        time=None if table.time is None else table.time[drawn],
        batch_size=USUAL_BATCH * -(-rows // USUAL_ROWS), shifts={},
    )  # fmt: skip
    return task, drawn


def shorten(who: Mapping[str, Contestant], part: float) -> dict[str, Contestant]:
    """Return contestants whose trainings may have this part of their epochs."""
    return {
        name: replace(one, length_fractions=tuple(part * each for each in one.length_fractions))
        for name, one in who.items()
    }


def time_training(task: Task, name: str, contestant: Contestant) -> tuple[str, float, float]:
    """Return the seconds of all folds' searches of a contestant, and of a training more in each."""
    data, epochs = split_of(task, 0), contestant.lengths(task)
    setting = contestant.settings[len(contestant.settings) // 2]
    short = Job(
        task=task, data=data, contestant=contestant, setting=setting, seed=0, epochs=epochs[0]
    )
    seconds = []
    for _ in range(2):  # the first call imports
        before = time.perf_counter()
        with suppress(FloatingPointError):
            contestant.train(short)(data.test[0])
        seconds.append(time.perf_counter() - before)
    epoch = SPLITS * min(seconds) / epochs[0]
    return name, epoch * len(contestant.settings) * sum(epochs), epoch * epochs[-1]


def comparison_plan(
    table: PreparedTable, *, minutes: float | int, seed: int, workers: int,
    contestants: Mapping[str, Contestant] | None = None,
) -> ComparisonPlan:  # fmt: skip
    """Return the plan: what fits into the minutes, by trainings that are measured beforehand.

    With too little time fewer trainings are scored, then fewer rows are drawn, then trainings are
    shorter; with more than enough, more contestants take part.
    """
    end = time.monotonic() + 60 * checks.real("minutes", minutes, low=0.0)
    first = {k: STANDARD[k] for k in ALWAYS} if contestants is None else dict(contestants)
    if contestants is None and importlib.util.find_spec("tabm"):
        first |= TABULAR
    rows, part = min(len(table.y), PILOT_ROWS), SHORTENED[0]

    def measured(who: Mapping[str, Contestant]) -> dict[str, tuple[float, float]]:
        task, _ = make_task(table, seed, rows)
        cases = [(task, k, one) for k, one in shorten(who, part).items()]
        return {name: (fit, ask) for name, fit, ask in in_processes(time_training, cases, workers)}

    def total(each: Mapping[str, tuple[float, float]], starts: int) -> float:
        return sum(search + starts * one for search, one in each.values())

    while True:
        each = measured(first)
        budget = max(1.0, end - time.monotonic()) * workers * BUDGET_SHARE
        starts = next((s for s in (SCORED_STARTS, 2) if total(each, s) <= budget), 1)
        over = total(each, starts) / budget
        if over <= 1 or (rows <= USUAL_ROWS and part == SHORTENED[-1]):
            break
        if rows > USUAL_ROWS:
            rows = max(USUAL_ROWS, int(0.9 * rows / over))
        else:
            part = SHORTENED[SHORTENED.index(part) + 1]
    more = max(1.0, min(len(table.y) / rows, 1 / over))  # time grows no faster than rows
    rows, each = int(more * rows), {k: (more * a, more * b) for k, (a, b) in each.items()}
    if contestants is None and starts == SCORED_STARTS and rows == len(table.y):
        for name, seconds in sorted(measured({k: STANDARD[k] for k in IF_TIME}).items()):
            if total(each | {name: seconds}, starts) <= budget:
                each[name], first[name] = seconds, STANDARD[name]
    task, _ = make_task(table, seed, rows)
    search = Search(
        settings=len(first[REFERENCE].settings), lengths=len(first[REFERENCE].length_fractions),
        starts=starts, part=part, batch_size=task.batch_size,
    )  # fmt: skip
    return ComparisonPlan(
        folds=SPLITS, minutes=float(minutes), workers=workers, search=search,
        labels={k: one.label for k, one in first.items()},
        methods={k: one.method for k, one in first.items()},
        subsample=Subsample(rows=rows, of=len(table.y)) if rows < len(table.y) else None,
        seconds={k: total({k: each[k]}, starts) for k in first},
    )  # fmt: skip

"""Before anything is compared: who takes part, on how many rows, and how long that will take."""

import importlib.util
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ensedu.common import checks
from ensedu.common.checks import optional
from ensedu.contest.contestants import CONTESTANTS, REFERENCE, TABULAR
from ensedu.contest.jobs import Contestant, Job
from ensedu.contest.rounds import FRESH
from ensedu.contest.tables import Understood
from ensedu.contest.tasks import SPLITS, Task, given

__all__ = ["ENTRANTS", "as_task", "in_processes", "plan_of", "words_of_plan"]

ENTRANTS = CONTESTANTS | TABULAR
#: Who takes part, and who does if there is time left.
FIRST = ("linear", "boosting", REFERENCE, "deep_ensemble", "batch_ensemble")
MORE = ("mc_dropout", "wide", "rank1")
#: With more rows batches grow, so that each row is seen as often; fewer are not drawn for time.
USUAL_ROWS, USUAL_BATCH = 3000, 32
STEPS = (1000, 500, 250)
#: Of more rows so many are timed first.
PILOT_ROWS = 20_000
#: The part of the minutes that is planned for.
PLANNED = 0.8


def watched(parent: int, call: Callable[..., Any], case: tuple[Any, ...]) -> Any:
    """Call in a process that ends when the one that started it has ended, were it killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    if os.getpid() != parent and all(one.name != "watch" for one in threading.enumerate()):
        # Each training has a bar, if a hidden one, and a lock of processes outlives a killed one.
        optional("tqdm", "sklearn").tqdm.set_lock(threading.RLock())
        threading.Thread(target=watch, name="watch", daemon=True).start()
    return call(*case)


def in_processes(
    call: Callable[..., Any], cases: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[Any]:
    """Yield what a function returns of each case, as they are done, by processes of one thread.

    Raises ``RuntimeError`` if one of them is killed.
    """
    joblib = optional("joblib", "sklearn")
    killed = optional("joblib.externals.loky.process_executor", "sklearn").BrokenProcessPool
    one = optional("threadpoolctl", "sklearn").threadpool_limits(1)  # where there is one process
    with one, joblib.parallel_config("loky", inner_max_num_threads=1):
        run = joblib.Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1)
        try:
            yield from run(joblib.delayed(watched)(os.getpid(), call, case) for case in cases)
        except killed as error:
            raise RuntimeError(
                "a worker process was killed, for want of memory if nobody did it; what was done "
                "is kept in the output folder, if there is one, and the same call goes on"
            ) from error


def as_task(table: Understood, seed: int, rows: int, steps: int) -> tuple[Task, Any]:
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
    if groups is not None:
        groups = groups[drawn]
        if seed:  # in the order in which they come now, so that splits cut them otherwise
            groups = optional("pandas", "data").factorize(groups)[0].astype(np.int64)
    label = table.about["name"]
    task = Task(
        name=f"{label}, seed {seed}" if seed else label, label=label, groups=groups,
        x=table.x.iloc[drawn].reset_index(drop=True), y=table.y[drawn],
        time=None if table.time is None else table.time[drawn], steps=steps,
        batch_size=USUAL_BATCH * -(-rows // USUAL_ROWS),
    )  # fmt: skip
    return task, drawn


def pilot(task: Task, name: str, contestant: Contestant) -> tuple[str, float, float]:
    """Return the seconds of all folds' searches of a contestant, and of a training more in each."""
    own, epochs = given(task, 0), contestant.lengths(task)
    setting = contestant.tries[len(contestant.tries) // 2]
    short = Job(
        task=task, given=own, contestant=contestant, setting=setting, seed=0, epochs=epochs[0]
    )
    seconds = []
    for _ in range(2):  # the first call imports
        before = time.perf_counter()
        with suppress(FloatingPointError):
            contestant.train(short)(own.test[0])
        seconds.append(time.perf_counter() - before)
    epoch = SPLITS * min(seconds) / epochs[0]
    return name, epoch * len(contestant.tries) * sum(epochs), epoch * epochs[-1]


def plan_of(
    table: Understood, *, minutes: float | int, seed: int, workers: int, group: str | None,
    by_time: str | None, contestants: Mapping[str, Contestant] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the plan: what fits into the minutes, by trainings that are measured beforehand.

    With too little time fewer trainings are scored, then fewer rows are drawn, then trainings are
    shorter; with more than enough, more contestants take part.
    """
    end = time.monotonic() + 60 * checks.real("minutes", minutes, low=0.0)
    first = {k: ENTRANTS[k] for k in FIRST} if contestants is None else dict(contestants)
    if contestants is None and importlib.util.find_spec("tabm"):
        first |= TABULAR
    rows, steps = min(len(table.y), PILOT_ROWS), STEPS[0]

    def measured(who: Mapping[str, Contestant]) -> dict[str, tuple[float, float]]:
        task, _ = as_task(table, seed, rows, steps)
        found = in_processes(pilot, [(task, k, one) for k, one in who.items()], workers)
        return {name: (fit, ask) for name, fit, ask in found}

    def total(each: Mapping[str, tuple[float, float]], starts: int) -> float:
        return sum(search + starts * one for search, one in each.values())

    while True:
        each = measured(first)
        budget = max(1.0, end - time.monotonic()) * workers * PLANNED
        starts = next((s for s in (FRESH, 2) if total(each, s) <= budget), 1)
        over = total(each, starts) / budget
        if over <= 1 or (rows <= USUAL_ROWS and steps == STEPS[-1]):
            break
        if rows > USUAL_ROWS:
            rows = max(USUAL_ROWS, int(0.9 * rows / over))
        else:
            steps = STEPS[STEPS.index(steps) + 1]
    more = max(1.0, min(len(table.y) / rows, 1 / over))  # time grows no faster than rows
    rows, each = int(more * rows), {k: (more * a, more * b) for k, (a, b) in each.items()}
    if contestants is None and starts == FRESH and rows == len(table.y):
        for name, seconds in sorted(measured({k: ENTRANTS[k] for k in MORE}).items()):
            if total(each | {name: seconds}, starts) <= budget:
                each[name], first[name] = seconds, ENTRANTS[name]
    task, _ = as_task(table, seed, rows, steps)
    return {
        "folds": SPLITS, "minutes": minutes, "workers": workers, "group": group, "time": by_time,
        "splits": "time" if by_time else "group" if group else "random",
        "contestants": [*first], "labels": {k: one.label for k, one in first.items()},
        "methods": {k: one.method for k, one in first.items()},
        "search": {
            "settings": len(first[REFERENCE].tries), "lengths": len(first[REFERENCE].parts),
            "starts": starts, "steps": steps, "batch_size": task.batch_size, "epochs": task.epochs,
        },
        "subsample": {"rows": rows, "of": len(table.y)} if rows < len(table.y) else None,
        "seconds": {k: total({k: each[k]}, starts) for k in first},
    }  # fmt: skip


def words_of_plan(table: Understood, plan: Mapping[str, Any]) -> str:
    """Return what was done with the table, and the plan, as text to read before it starts."""
    about, search, seconds = table.about, plan["search"], plan["seconds"]
    lines = ["{name}: {rows:,} rows; {target}, a {task}".format(**about), *about["notes"]]
    for one in about["columns"]:
        words = (one["kind"], one["treatment"], one["note"])
        lines.append(f"  {one['name']}: {', '.join(filter(None, words))}")
    lines += [f"Warning: {words}" for words in about["warnings"]]
    if plan["subsample"]:
        lines.append(
            "{rows:,} of {of:,} rows are drawn, to fit into the minutes: the answer holds for "
            "tables of that size.".format(**plan["subsample"])
        )
    lines.append(
        f"Plan: {plan['folds']} folds; in each, {search['settings']} settings at "
        f"{search['lengths']} lengths, {search['steps']:,} steps at most, of "
        f"{search['batch_size']} rows; trainings that are scored: {search['starts']}"
    )
    lines += [f"  {plan['labels'][k]}: about {seconds[k]:,.0f} seconds" for k in seconds]
    minutes = sum(seconds.values()) / plan["workers"] / 60
    lines.append(f"About {minutes:.1f} minutes on {plan['workers']} processes.")
    if minutes > plan["minutes"]:
        lines.append("That is longer than was asked for, but nothing can be made shorter.")
    return "\n".join(lines)

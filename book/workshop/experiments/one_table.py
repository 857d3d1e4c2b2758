"""How often `ensedu.contest.compare` has a word for one table where none is due, and where one is.

**Nothing**: one network against itself under another name, on tables of 100 rows made at random, a
number or two classes to predict; training and its choice are cut short, which leaves it as lucky.
**A gain**: a linear model against the mean, of a target of which the input says 4 % of the
variance, at several sizes. Its gain is known: ½ log(1 / 0.96) = 0.0204 nats an example, less what
estimating costs. Counted are words, and of tables without one, how many rows are said to settle it.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas

from ensedu.contest.baselines import Fitted, train_linear
from ensedu.contest.contestants import CONTESTANTS, REFERENCE
from ensedu.contest.jobs import Contestant, Job
from ensedu.contest.one_table import verdicts
from ensedu.contest.rounds import run_split
from ensedu.contest.statistics import TaskScores
from ensedu.contest.tasks import SPLITS, Task
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

__all__ = ["EXPERIMENT", "SIZES", "run"]

SIGNAL = 0.2
#: Rows of the tables on which nothing is to be found, and on which a gain is.
SMALL, SIZES = 100, (400, 800, 1600, 3200)


def _epochs(task: Task) -> int:
    return 20


def _mean(job: Job) -> Fitted:
    return Fitted(job, lambda x: np.full(len(x), job.given.fit[1].mean()), None, 1)


NETWORK = replace(
    CONTESTANTS[REFERENCE], tries=CONTESTANTS[REFERENCE].tries[1:2], parts=(1.0,), epochs=_epochs
)
MEAN = Contestant(label="mean", train=_mean, tries=({},), epochs=_epochs, parts=(1.0,), draws=False)
LINEAR = replace(MEAN, label="linear", train=train_linear, tries=({"penalty": 1.0},))


def table(kind: str, rows: int, number: int) -> Task:
    """Return one of the tables."""
    rng = np.random.default_rng([len(kind), rows, number])
    x = pandas.DataFrame(rng.standard_normal((rows, 3)), columns=[*"abc"])
    noise = rng.standard_normal(rows)
    y: Any = SIGNAL * x["a"].to_numpy() + np.sqrt(1 - SIGNAL**2) * noise
    if kind == "gain":
        x = x[["a"]]
    else:
        y = np.sin(2 * x["a"].to_numpy()) + x["b"].to_numpy() + 0.5 * noise
        y = (y > 0).astype(np.int64) if kind == "classes" else y
    return Task(name=f"{kind} {rows} {number}", label=kind, x=x, y=y, shifts={})


def run(kind: str, rows: int, tables: int) -> dict[str, Any]:
    """Return how many tables have each word, with a temperature and without, and rows to settle."""
    who = {"network": MEAN, "linear": LINEAR} if kind == "gain" else {}
    who = who or {"network": NETWORK, "again": NETWORK}
    words: dict[str, dict[str, int]] = {"scaled": {}, "plain": {}}
    settle, gains = [], []
    for number in range(tables):
        task = table(kind, rows, number)
        with one_thread():
            found = {
                name: [run_split(task, name, one, fold, starts=1) for fold in range(SPLITS)]
                for name, one in who.items()
            }
        fit, test = found["network"][0]["rows"]
        for part, counts in words.items():
            values = {
                name: np.array(
                    [row["scaled"]["nll"] if part == "scaled" else row["nll"] for row in own]
                )
                for name, own in found.items()
            }
            scores = TaskScores(
                name=task.name, source=task.name, classes=kind == "classes", train=fit, test=test,
                values=values,
            )  # fmt: skip
            ((_, one),) = verdicts(scores, reference="network", rows=rows).items()
            counts[one["word"]] = counts.get(one["word"], 0) + 1
        if one["rows_to_settle"] is not None:
            settle.append(one["rows_to_settle"])
        gains.append(-one["difference"])
    return {
        "words": words,
        "settle": float(np.median(settle or [0])),
        "gain": float(np.mean(gains)),
    }


EXPERIMENT = Experiment(
    name="one-table",
    about="of so many tables, how many have each word, scaled with a temperature and plain "
    "without; settle, the median of the rows that are said to settle those without a word; gain, "
    "the mean difference, nats an example",
    budget="a network of 20 epochs with one setting, or a linear model and the mean",
    cases=[
        *({"kind": kind, "rows": SMALL, "tables": 100} for kind in ("number", "classes")),
        *({"kind": "gain", "rows": rows, "tables": 60} for rows in SIZES),
    ],
    run=run,
)

"""How often `ensedu.contest.compare` has a word for one table where none is due, and where one is.

**Nothing**: one network against itself under another name, on tables of 100 rows made at random, a
number or two classes to predict. The networks are cheap: one hidden layer of random ReLUs that stay
as they are, and a linear layer behind it, so that luck is what the hidden layer brings.
**A gain**: a linear model against the mean, of a target of which the input says 4 % of the
variance, at several sizes. Its gain is known: ½ log(1 / 0.96) = 0.0204 nats an example, less what
estimating costs. Counted are words, and of tables without one, how many rows are said to settle it.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from ensedu.contest.forecasts import Forecast
from ensedu.contest.jobs import Contestant, Job, Trained
from ensedu.contest.one_split import SCORED_STARTS, seed_of
from ensedu.contest.one_table.findings import verdicts
from ensedu.contest.tasks import SPLITS, Task, split_of
from ensedu.contest.trainers.baselines import SklearnModel, train_linear
from ensedu.uncertainty.meta_analysis import TaskScores
from workshop.running.experiment import Experiment

SIGNAL = 0.2
#: Rows of the tables on which nothing is to be found, and on which a gain is.
SMALL, SIZES = 100, (400, 800, 1600, 3200, 6400)
UNITS = 30
#: With a temperature each, and without.
PARTS = ("tempered", "plain")


class Hidden:
    """A linear model behind a layer that stays as it was drawn."""

    def __init__(self, job: Job) -> None:
        rng, data = np.random.default_rng(job.seed), job.data
        self.weights = rng.standard_normal((data.fit[0].shape[1] + 1, UNITS))
        fit, select = ((self.layer(x), y) for x, y in (data.fit, data.select))
        self.linear: Trained = train_linear(
            replace(job, data=replace(data, fit=fit, select=select))
        )
        self.num_stored = self.linear.num_stored + self.weights.size

    def layer(self, x: Any) -> Any:
        return np.maximum(np.column_stack([x, np.ones(len(x))]) @ self.weights, 0.0)

    def __call__(self, x: Any) -> Forecast:
        return self.linear(self.layer(x))


def _mean(job: Job) -> SklearnModel:
    constant = SimpleNamespace(predict=lambda x: np.full(len(x), job.data.fit[1].mean()))
    return SklearnModel(job, constant, 1)


NETWORK = Contestant(label="network", train=Hidden, settings=({"penalty": 10.0},))
LINEAR = replace(NETWORK, label="linear", train=train_linear, is_random=False)
MEAN = replace(LINEAR, label="mean", train=_mean)
RIVALS = {"gain": {"network": MEAN, "linear": LINEAR}}


def table(kind: str, rows: int, number: int) -> Task:
    """Return one of the tables."""
    rng = np.random.default_rng([len(kind), rows, number])
    x = rng.standard_normal((rows, 1 if kind == "gain" else 3))
    y: Any = SIGNAL * x[:, 0] + np.sqrt(1 - SIGNAL**2) * rng.standard_normal(rows)
    if kind != "gain":
        y = np.sin(2 * x[:, 0]) + x[:, 1] + 0.5 * rng.standard_normal(rows)
    if kind == "classes":
        y = (y > 0).astype(np.int64)
    return Task(name=f"{kind} {rows} {number}", label=kind, x=x, y=y, shifts={})


def scores(task: Task, who: dict[str, Contestant]) -> dict[str, TaskScores]:
    """Return the NLL of each on each fold, of all its trainings, with a temperature and without."""
    found = {part: {name: np.zeros((SPLITS, 0)) for name in who} for part in PARTS}
    for name, one in who.items():
        starts = range(SCORED_STARTS if one.is_random else 1)
        values = np.zeros((len(PARTS), SPLITS, len(starts)))
        for fold, data in enumerate(split_of(task, fold) for fold in range(SPLITS)):
            for start in starts:
                job = Job(
                    task=task, data=data, contestant=one, setting=one.settings[0], epochs=1,
                    seed=seed_of(task.name, name, fold, start),
                )  # fmt: skip
                trained = one.train(job)
                test: Any = trained(data.test[0])
                calibration: Any = trained(data.calibrate[0])
                both = test.tempered(calibration, data.calibrate[1]), test
                values[:, fold, start] = [each.scores(data.test[1])["nll"] for each in both]
        for part, each in zip(PARTS, values, strict=True):
            found[part][name] = each
    return {
        part: TaskScores(
            name=task.name, source=task.name, classes=bool(task.num_classes), values=each,
            train=len(data.fit[0]), test=len(data.test[0]),
        )
        for part, each in found.items()
    }  # fmt: skip


def run(kind: str, rows: int, tables: int) -> dict[str, Any]:
    """Return how many tables have each word, and of the others the rows that are said to settle."""
    who = RIVALS.get(kind, {"network": NETWORK, "again": NETWORK})
    words: dict[str, dict[str, int]] = {part: {} for part in PARTS}
    settle, gains = [], []
    for number in range(tables):
        for part, each in scores(table(kind, rows, number), who).items():
            (one,) = verdicts(each, reference="network", rows=rows)
            words[part][one.word] = words[part].get(one.word, 0) + 1
        gains.append(-one.difference)
        if one.rows_to_settle is not None:
            settle.append(one.rows_to_settle)
    settled = float(np.median(settle)) if settle else None
    return {"words": words, "settle": settled, "gain": float(np.mean(gains))}


EXPERIMENT = Experiment(
    name="one-table",
    about="of so many tables, how many have each word, with a temperature each (tempered) or "
    "plain; without one: settle, the median of the rows that are said to settle what has no word; "
    "gain, the mean difference, nats an example",
    budget="random layers and a linear one, or a linear model and the mean, no tuning",
    cases=[
        *({"kind": kind, "rows": SMALL, "tables": 200} for kind in ("number", "classes")),
        *({"kind": "gain", "rows": rows, "tables": 100} for rows in SIZES),
    ],
    run=run,
)

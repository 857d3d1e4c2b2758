"""What *Which one should you use?* claims, by the contest's tables and the page's own cells."""

import math
from functools import cache

import numpy as np

from ensedu.book.experiments.contest import reading
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.contest.contestants import REFERENCE
from ensedu.contest.statistics import task_difference
from ensedu.data import concrete
from ensedu.methods import METHODS
from ensedu.uncertainty import ConformalIntervals
from tests.book.claiming import Change, Claims
from tests.book.claims.learning.shootout import apart, clear, middle, scaled, word

PAPER = "how the method predicts, by its paper"
CLAIMS = Claims(
    "cost/choosing",
    unclaimed={
        "anything left that an ensemble does better": "a question",
        "but being narrow takes better means": "a factor keeps the order of widths as it is",
        "the better a method's means": "a factor keeps the order of widths as it is",
        "Unclear does not mean equal": "what a word means",
        "a method whose typical difference is": "advice",
        "it gets the same input several times": PAPER,
        "wider layers are cut into members": PAPER,
        "a BatchEnsemble whose members have last": PAPER,
        "adds products of thin matrices to weights": PAPER,
        "MC dropout with a few masks": PAPER,
        "a small network reads the features": PAPER,
        "where the learning rate has fallen": PAPER,
    },
)


def row(task: str, contestant: str, *way: str, times: float) -> Change:
    """Return a change of a contestant's numbers in a task's table."""
    return Change(f"contest/{task}", "rows", {"contestant": contestant}, *way, times=times)


def on_concrete(contestant: str, key: str) -> np.ndarray:
    """Return the mean of what concrete's rows of a contestant hold."""
    mine = [one for one in reading.rows("concrete") if one["contestant"] == contestant]
    return np.mean([one[key] for one in mine], axis=(0, 1))


#: Whose intervals the page speaks of.
MADE = [*METHODS, "swag", "laplace", "boosting"]


@CLAIMS.says(
    "too-few", "90% intervals hold too few rows", row("concrete", "single", "coverage", times=1.1)
)
@CLAIMS.says(
    "before",
    "all but two of these methods hold 82%",
    row("concrete", "rank1", "coverage", times=1.1),
)
@CLAIMS.says("ten", "ten methods of our contest made 90%")
def _() -> None:
    found = sorted(float(on_concrete(name, "coverage")) for name in MADE)
    assert 0.815 < found[0] < found[-3] < 0.855 < 0.88 < found[-2]
    assert on_concrete("single", "coverage") < 0.855
    assert len(MADE) == 10


@CLAIMS.says(
    "about", "makes them hold about 90%, as it", row("concrete", "swag", "conformal", times=1.1)
)
def _() -> None:
    found = [on_concrete(name, "conformal")[0] for name in MADE]
    assert 0.88 < min(found) < max(found) < 0.93


@CLAIMS.says(
    "width",
    "one network's intervals are 20.2 MPa wide",
    row("concrete", "single", "conformal", times=1.02),
)
@CLAIMS.says(
    "narrower",
    "and a BatchEnsemble's 18.7, though",
    row("concrete", "batch_ensemble", "conformal", times=1.02),
)
@CLAIMS.says("splits", "on five splits of one table that")
def _() -> None:
    widths = [on_concrete(name, "conformal")[1] for name in ("single", "batch_ensemble")]
    assert [round(float(width), 1) for width in widths] == [20.2, 18.7]
    assert len({one["split"] for one in reading.rows("concrete")}) == 5


@CLAIMS.says(
    "two", "Of these two, and of no others",
    row("wage", "deep_ensemble", "nll", times=2), row("digits", "deep_ensemble", "nll", times=2),
)  # fmt: skip
@CLAIMS.says("summary", "ensemble and a BatchEnsemble are better, and cost")
@CLAIMS.says("not-because", "not because nothing is better")
@CLAIMS.says("case", "Both are better than one network on the")
@CLAIMS.says("case-c", "A BatchEnsemble fits as well, is better")
@CLAIMS.says("half", "ensemble and a BatchEnsemble gain half a unit")
@CLAIMS.says("relatives", "compared with one network each of them is")
@CLAIMS.says("alone", "gains little on the typical data set, which")
def _() -> None:
    both = {"deep_ensemble": "better", "batch_ensemble": "better"}
    assert clear() == clear(True) == both
    assert min(-middle(name, tempered) for name in both for tempered in (False, True)) > 0.45
    assert -0.1 < middle(reading.SCALED) < 0
    assert word(reading.SCALED) == "unclear"


@CLAIMS.says("passes", "takes 32 in our contest")
@CLAIMS.says("last-layer", "A last-layer ensemble of four takes one")
@CLAIMS.says("none", "and the linear model take none")
@CLAIMS.says("last-laplace", "1 in all where only the last")
@CLAIMS.says("swag-passes", "fitted to the last steps of one training")
@CLAIMS.says("ivon-passes", "optimizer that keeps a variance for each")
@CLAIMS.says("summary-passes", "MIMO predicts in one pass, ensembles run")
def _() -> None:
    passes = {
        "single": 1, "deep_ensemble": 4, "rank1": 32, "last_layer": 1, "boosting": None,
        "linear": None, "laplace": 1, "swag": 32, "ivon": 32,
    }  # fmt: skip
    assert {name: reading.passes(name) for name in passes} == passes


@CLAIMS.says(
    "time", "predicts in 1.4 times the time of one",
    *(row(task, "deep_ensemble", "predict_seconds", times=5) for task in ("gpa2", "lenet")),
)  # fmt: skip
def _() -> None:
    assert round(reading.costs("deep_ensemble")["predict_seconds"], 1) == 1.4


@CLAIMS.says(
    "told", "was about two hundredths above that of one",
    row("gpa2", "deep_ensemble", "auroc", times=0.5),
)  # fmt: skip
def _() -> None:
    assert 0.015 < apart("auroc", "deep_ensemble") < 0.025


@CLAIMS.says("tabm", "TabM ran on two tables, too few")
def _() -> None:
    there = [t for t in TASKS if any(row["contestant"] == "tabm" for row in reading.rows(t))]
    assert len(there) == 2


@CLAIMS.says("small", "on small networks and at most 3,000")
def _() -> None:
    """Of them 55% are fitted and 20% tested on."""
    sizes = [sum(row["rows"]) for task in TASKS for row in reading.rows(task)]
    assert round(max(sizes) / 0.75, -1) == 3_000


@CLAIMS.says("swag", "stores as much as 22 networks, however")
def _() -> None:
    """A mean, a variance and 20 deviations of every weight, in each task's network."""
    assert {
        own["kept"] / one["kept"]
        for task in TASKS
        for own, one in zip(
            *([row for row in reading.rows(task) if row["contestant"] == name]
              for name in ("swag", "single")),
            strict=True,
        )
    } == {22}  # fmt: skip


@CLAIMS.says(
    "seven", "of these 247 intervals over splits only seven",
    *(scaled(task, "batch_ensemble", 2) for task in ("deliveries", "churn")),
)  # fmt: skip
def _() -> None:
    found = [
        task_difference(task, name, reference=REFERENCE).interval
        for task in reading.task_scores("nll", True)
        for name in task.values
        if name != REFERENCE
    ]
    assert sum(one.high < 0 for one in found) == 7
    assert len(found) == 247


@CLAIMS.says("largest", "that is the largest one, 2.4")
def _() -> None:
    errors = np.array([0.4, -1.9, 0.2, -0.8, 1.1, 0.5, 2.4, -0.9, 1.3])[:, None]
    mean, std = np.full((9, 1), 35.0), np.full((9, 1), 5.0)
    low, high = ConformalIntervals.fit(mean, mean + std * errors, std).interval(
        mean[:1], level=0.9, std=std[:1]
    )
    assert math.isclose(high.item() - 35, 2.4 * 5) and math.isclose(35 - low.item(), 2.4 * 5)


@CLAIMS.says("most", "with a probability of at most 10%")
def _() -> None:
    """As likely as any other, the new one of ten errors is one of them; equal ones exceed less."""
    for errors in (range(10), [1, 2, 2, 3, 5, 7, 7, 9, 9, 9]):
        above = [
            all(new > one for other, one in enumerate(errors) if other != place)
            for place, new in enumerate(errors)
        ]
        assert np.mean(above) <= 0.1


@cache
def inside() -> tuple[np.ndarray, float]:
    """Return the parts of rows inside under the least and the most noise, by another fit."""
    table = concrete()
    x = (table.x - table.x.mean(0)) / table.x.std(0)
    found = []
    for split in range(10, 70):
        rng = np.random.default_rng([split, 2020])
        fit, held, new = np.split(rng.permutation(len(x)), [724, 824])
        for std in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
            noisy = x[new] + std * rng.standard_normal(x[new].shape)
            if std in (0.0, 0.5):
                rows = np.concatenate([x[fit], x[held], noisy])
                design = np.column_stack([np.ones(len(rows)), rows, rows**2])
                weights = np.linalg.pinv(design[:724]) @ table.y[fit]
                errors = np.abs(table.y[[*fit, *held, *new]] - design @ weights)[724:, 0]
                most = np.sort(errors[:100])[int(np.ceil(101 * 0.9)) - 1]
                found.append((errors[100:] <= most).mean())
    return 100 * np.array(found).reshape(60, 2).mean(0)


@CLAIMS.says("keep", "Over all rows they keep their 90%")
@CLAIMS.says("noise", "a standard deviation, 65% are left inside")
def _() -> None:
    assert inside().round().tolist() == [91, 65]

"""What *Which one should you use?* claims, by the contest's tables and the page's own cells."""

from functools import cache
from typing import Any

import numpy as np

from ensedu.contest.contestants import REFERENCE
from ensedu.contest.statistics import task_difference
from ensedu.methods import METHODS
from tests.book.claiming import Claims
from tests.book.claims.learning import shootout as contest
from tests.book.conftest import ran, read
from workshop.experiments.contest import reading

PAPER = "how the method predicts, by its paper"
CLAIMS = Claims(
    "cost/choosing",
    unclaimed={
        "anything left that an ensemble does better": "a question",
        "but being narrow takes better means": "a factor keeps the order of widths as it is",
        "the better a method's means": "a factor keeps the order of widths as it is",
        "Unclear does not mean equal": "what a word means",
        "a method whose typical difference is": "advice",
        "is better on the typical data set may": "what a typical difference leaves open",
        "says which of them predict better": "what a report says",
        "would settle what stays unclear": "what a report says",
        "it gets the same input several times": PAPER,
        "wider layers are cut into members": PAPER,
        "a BatchEnsemble whose members have last": PAPER,
        "adds products of thin matrices to weights": PAPER,
        "MC dropout with a few masks": PAPER,
        "a small network reads the features": PAPER,
        "where the learning rate has fallen": PAPER,
    },
)

says, row, BOTH, SCALED = CLAIMS.says, contest.row, contest.BOTH, contest.SCALED
DEEP, BATCH = BOTH
PAGE = f"book/{CLAIMS.chapter}"
#: Whose intervals the page speaks of.
MADE = [*METHODS, "swag", "laplace", "boosting"]


def on_concrete(contestant: str, key: str) -> np.ndarray:
    """Return the mean of what concrete's rows of a contestant hold."""
    mine = [one for one in reading.rows("concrete") if one["contestant"] == contestant]
    return np.mean([one[key] for one in mine], axis=(0, 1))


def before() -> list[float]:
    """Return the parts of rows that intervals hold before the factor, the least first."""
    return sorted(on_concrete(name, "coverage") for name in MADE)


def of_all(key: str, name: str) -> set[float]:
    """Return what a contestant has in multiples of one network, on all splits of all tasks."""
    own, one = ([row[key] for task in reading.tasks() for row in reading.rows(task)
                 if row["contestant"] == who] for who in (name, REFERENCE))  # fmt: skip
    return {*np.divide(own, one)}


def by_task() -> list[bool]:
    """Say of each method and task whether the interval over splits lies on the better side."""
    return [
        task_difference(task, name, reference=REFERENCE).interval.high < 0
        for task in reading.task_scores("nll", True) for name in task.values if name != REFERENCE
    ]  # fmt: skip


@cache
def inside() -> list[float]:
    """Return the parts of rows inside, by noise, as the page's cells count them."""
    names: dict[str, Any] = ran(PAGE, "the noise on the inputs", **ran(PAGE, "the nine errors"))
    (cell,) = [cell.source for cell in read(PAGE).cells if "\ndef inside_of" in f"\n{cell.source}"]
    exec(cell.split("explore(")[0], names)
    return names["BY_NOISE"]


says("90% intervals hold too few rows", lambda: on_concrete("single", "coverage") < 0.855,
     row("concrete", "single", 1.1, "coverage"))  # fmt: skip
says("makes them hold about 90%, as it",
     lambda: all(0.88 < on_concrete(name, "conformal")[0] < 0.93 for name in MADE),
     row("concrete", "swag", 1.1, "conformal"))  # fmt: skip
says("one network's intervals are 20.2 MPa wide", lambda: on_concrete("single", "conformal")[1],
     row("concrete", "single", 1.02, "conformal"))  # fmt: skip
says("and a BatchEnsemble's 18.7, though", lambda: on_concrete(BATCH, "conformal")[1],
     row("concrete", BATCH, 1.02, "conformal"))  # fmt: skip
says("on five splits of one table that",
     lambda: len({one["split"] for one in reading.rows("concrete")}))  # fmt: skip
says("ten methods of our contest made", lambda: len(MADE))
says("all but two of these methods hold 82%", lambda: before()[0])
says("to 85% of the rows; afterwards all", lambda: before()[-3],
     row("concrete", "rank1", 1.1, "coverage"))  # fmt: skip
says(["Of these two, and of no others", "ensemble and a BatchEnsemble are better, and cost",
      "not because nothing is better", "Both are better than one network on the",
      "A BatchEnsemble fits as well, is better"],
     lambda: contest.words(reading.compared()) == BOTH
     and contest.words(reading.compared(tempered=True)) == contest.WITH,
     row("wage", DEEP, 2), row("digits", DEEP, 2))  # fmt: skip
says("ensemble and a BatchEnsemble gain half a unit",
     lambda: all(contest.beside(name, tempered=tempered).middle < -0.45
                 for name in BOTH for tempered in (True, False)))  # fmt: skip
says("gains little on the typical data set, which",
     lambda: contest.beside(SCALED).word == "unclear"
     and -0.1 < contest.beside(SCALED).middle < 0)  # fmt: skip
says("compared with one network each of them is",
     lambda: contest.unclear("swag", "laplace", "ivon"))  # fmt: skip
says("takes 32 in our contest", lambda: reading.passes("rank1"))
says(["fitted to the last steps of one training", "optimizer that keeps a variance for each"],
     lambda: {reading.passes(name) for name in ("swag", "ivon")} == {32})  # fmt: skip
says("A last-layer ensemble of four takes one", lambda: reading.passes("last_layer"))
says("and the linear model take none",
     lambda: reading.passes("linear") is reading.passes("boosting") is None)  # fmt: skip
says("1 in all where only the last", lambda: reading.passes("laplace"))
says("predicts in 1.4 times the time of one", lambda: reading.costs(DEEP)["predict_seconds"],
     row("gpa2", DEEP, 5, "predict_seconds"), row("lenet", DEEP, 5, "predict_seconds"))  # fmt: skip
says("was about two hundredths above that of one",
     lambda: 0.015 < contest.apart("auroc", DEEP) < 0.025,
     row("gpa2", DEEP, 0.5, "auroc"))  # fmt: skip
says(["it is better if everybody has a temperature", "For tables there is a third: TabM"],
     lambda: [contest.beside("tabm", tempered=t).word for t in (True, False)]
     == ["better", "unclear"])  # fmt: skip
says("on small networks and at most 3,000", lambda: round(contest.most_rows(), -1))
says("stores as much as 22 networks, however", lambda: [*of_all("kept", "swag")])
says("compare the 14 other methods with one network", lambda: len(reading.compared(tempered=True)))
says("on each of the 19 tasks", lambda: len(reading.task_scores("nll", True)))
says("of these 265 intervals over splits only twelve",
     lambda: (len(found := by_task()), sum(found)),
     row("deliveries", BATCH, 2, "scaled", "nll"),
     row("churn", BATCH, 2, "scaled", "nll"))  # fmt: skip
says("that is the largest one, 2.4",
     lambda: (ran(PAGE, "the nine errors")["high"].item() - 35) / 5)  # fmt: skip
says("with a probability of at most 10%", lambda: np.mean([
    all(new > one for one in range(10) if one != new) for new in range(10)
]))  # fmt: skip
says("Over all rows they keep their 90%", lambda: 0.9 < inside()[0] < 0.91)
says("a standard deviation, 65% are left inside", lambda: inside()[-1])

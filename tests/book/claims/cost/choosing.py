"""What *Which one should you use?* claims, by the contest's tables and the page's own cells."""

from functools import cache

import numpy as np

from ensedu.contest.contestants import REFERENCE
from ensedu.methods import METHODS
from ensedu.uncertainty.meta_analysis import task_difference
from tests.book.claiming import Claims, entry
from tests.book.claims.learning import shootout as contest
from tests.book.claims.learning.shootout import BATCH, BOTH, COUNTED, DEEP, TEMPERED, WITH, beside
from tests.book.conftest import ran
from workshop.experiments.contest import reading

CLAIMS = Claims("cost/choosing", unclaimed={
    "a factor keeps the order of widths as it is": ["but being narrow takes better means"],
    "what a reader writes below": ["call 1 minus the probability of a"],
    "what a word means": ["An AUROC of 1 is perfect", "is better on the typical data set may",
        "says which of them predict better"],
    "how the method predicts, by its paper": ["it gets the same input several times",
        "wider layers are cut into members", "a BatchEnsemble whose members have last",
        "adds products of thin matrices to weights", "MC dropout with a few masks",
        "a small network reads the features", "where the learning rate has fallen"],
})  # fmt: skip
says, PAGE, BACKWARD = CLAIMS.says, f"book/{CLAIMS.chapter}", "forward+backward"
#: Whose intervals the page speaks of.
MADE = [*METHODS, "swag", "laplace", "boosting"]


def on_concrete(name: str, key: str) -> np.ndarray:
    return entry("contest/concrete", "rows", {"contestant": name}, key).mean(axis=0)


def before() -> list[float]:
    """Return the parts of rows that intervals hold before the factor, the least first."""
    return sorted(on_concrete(name, "coverage") for name in MADE)


def on_one_task() -> list[bool]:
    """Return whether a method is below one network, for each method and task."""
    return [task_difference(task, name, reference=REFERENCE).interval.high < 0
            for task in reading.task_scores("nll", True) for name in task.values
            if name != REFERENCE]  # fmt: skip


@cache
def inside() -> list[float]:
    """Return the parts of rows inside, by noise and then by fifth, as the page counts them."""
    return ran(PAGE, "the nine errors", "the noise on the inputs")["share"]


# fmt: off
says("90% intervals hold too few rows", lambda: on_concrete("single", "coverage") < 0.855)
says("makes them hold about 90%, as it",
     lambda: all(0.88 < on_concrete(name, "conformal")[0] < 0.93 for name in MADE))
says("one network's intervals are 20.2 MPa wide", lambda: on_concrete("single", "conformal")[1])
says(["those of a deep ensemble of four 19.4", "a deep ensemble's are 19.4 MPa wide"],
     lambda: on_concrete(DEEP, "conformal")[1])
says("a BatchEnsemble's 18.7, and one network's 20.2",
     lambda: [on_concrete(name, "conformal")[1] for name in (BATCH, "single")])
says("on five splits of one table", lambda: len({one["split"] for one in reading.rows("concrete")}))
says("ten methods of our contest made", lambda: len(MADE))
says("and gradient boosting hold 82%", lambda: before()[0])
says("all but MC dropout and gradient boosting",
     lambda: min(on_concrete(name, "coverage") for name in ("mc_dropout", "boosting"))
         == before()[-2])
says("to 85% of the rows; afterwards all", lambda: before()[-3])
says(["these two are better than one network, whether", "of no other method can we say",
      "contest a deep ensemble and a BatchEnsemble are",
      "not because nothing is better", "Both are better than one network on the",
      "A BatchEnsemble fits as well, is better"],
     lambda: [contest.words(reading.compared(tempered=t)) for t in (True, False)] == [WITH, BOTH])
says("Half a unit wins seven of ten comparisons", lambda: 0.68 < contest.wins(0.5) < 0.74)
says("ensemble and a BatchEnsemble gain half a unit",
     lambda: all(beside(name, tempered=t).middle < -0.45 for name in BOTH for t in (True, False)))
says("gains little on the typical data set, and",
     lambda: beside(TEMPERED).word == "unclear" and -0.1 < beside(TEMPERED).middle < 0)
says("compared with one network each of them is",
     lambda: contest.unclear("swag", "laplace", "ivon"))
says("takes 32 in our contest", lambda: reading.passes("rank1"))
says(["fitted to the last steps of one training", "optimizer that keeps a variance for each"],
     lambda: {reading.passes(name) for name in ("swag", "ivon")} == {32})
says("A last-layer ensemble of four takes one", lambda: reading.passes("last_layer"))
says("are no networks, and take none",
     lambda: reading.passes("linear") is reading.passes("boosting") is None)
says("1 in all where only the last", lambda: reading.passes("laplace"))
says("trains and predicts in 1.4 times the time",
     lambda: [*{round(reading.costs(DEEP)[f"{what}_seconds"], 2) for what in ("train", "predict")}])
says("examples at once, both take four times as",
     lambda: all(0.97 < entry("speed-cpu", "cells", {"method": DEEP, "m": 1024, "B": 1024, "M": 4},
         "contestants", "ensedu", run, "ratio", 1) < 1.03 for run in ("forward", BACKWARD)))
says("which trained faster in our contest, or a",
     lambda: reading.costs(DEEP)["train_seconds"] < reading.costs(BATCH)["train_seconds"])
says("which one is better is unclear",
     lambda: {beside(BATCH, DEEP, t).word for t in (True, False)} == {"unclear"})
says("a last-layer ensemble, whose gain is unclear",
     lambda: beside("last_layer").word == beside("last_layer", tempered=True).word == "unclear")
says(["it is better if everybody has a temperature", "TabM is better only if everybody has"],
     lambda: [beside("tabm", tempered=t).word for t in (True, False)] == ["better", "unclear"])
says("takes six times as long to train as", lambda: reading.costs("tabm")["train_seconds"])
says("without one, both are unclear beside one network",
     lambda: {beside(name, TEMPERED).word for name in BOTH} == {"unclear"})
says("on small networks and at most 3,000", lambda: round(contest.most_rows(), -1))
says("of 265 intervals over splits, one for each", lambda: len(on_one_task()), COUNTED)
says("only twelve lie wholly on the better side", lambda: sum(on_one_task()))
says("that is the largest one, 2.4", lambda: (ran(PAGE, "the nine errors")["high"].item() - 35) / 5)
says("with a probability of at most 10%",
     lambda: np.mean([all(new > one for one in range(10) if one != new) for new in range(10)]))
says("Over all rows they keep their 90%", lambda: 0.9 < inside()[0] < 0.91)
says("the weakest mixes get more than that", lambda: inside()[-5] > 0.92 > 0.88 > inside()[-1])
says("standard deviation 89% are left inside, with half", lambda: inside()[1])
says("with half of one 66%", lambda: (0.5, inside()[2]))

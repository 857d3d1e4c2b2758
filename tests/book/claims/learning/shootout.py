"""What *Which one is best?* claims, by the contest's tables."""

from dataclasses import replace
from functools import cache

import numpy as np

from ensedu.book.experiments.contest import reading
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.contest.contestants import CONTESTANTS, REFERENCE
from ensedu.contest.statistics import pooled
from tests.book.claiming import Change, Claims

#: Sets of data on which a BatchEnsemble's errors are smaller, and the score that says so.
THREE = {"deliveries": "rmse", "churn": "error", "leaves": "error"}

PROTOCOL = "the protocol, which the contest's own code and tests hold"
MEANING = "what a word or a number means"
CLAIMS = Claims(
    "learning/shootout",
    unclaimed={
        "Perhaps it is better": "the story's question",
        "A difference of 1 unit": MEANING,
        "The difference counts as": MEANING,
        "a quantile of Student's distribution": MEANING,
        "Then with 95% probability": MEANING,
        "A method is better or worse": MEANING,
        "so among fourteen it would be no surprise": "what a p-value of 0.05 means",
        "It is practically equal if": MEANING,
        "All else is unclear": MEANING,
        "are to train on": PROTOCOL,
        "Two hidden layers of": PROTOCOL,
        "Ensembles have four members": PROTOCOL,
        "a rate that falls to 0": PROTOCOL,
        "Each choice is the least NLL": PROTOCOL,
        "Dropout is 0.1": PROTOCOL,
        "snapshots of the last third of a training": PROTOCOL,
        "Holm's p-value below 0.05": PROTOCOL,
        "an average may be unclear although": MEANING,
        "if none of the four networks is better": "a question of principle",
        "a mixture is never worse": "a theorem, in the glossary",
        "How much better it is depends": "what follows from the theorem",
        "average 32 networks that are drawn": PROTOCOL,
        "it holds their dot 95 times": MEANING,
        "do not contradict each other": "the story's answer",
        "moves one score by 1 unit": MEANING,
        "The AUROC says it": MEANING,
        "1,000 steps on one thread": PROTOCOL,
        "A method that needs other settings": "a doubt, and no result",
        "Unclear is not equal": MEANING,
    },
)


def row(task: str, contestant: str, times: float, score: str = "nll") -> Change:
    """Return a change of a contestant's NLL, or another score, in a task's table."""
    return Change(f"contest/{task}", "rows", {"contestant": contestant}, score, times=times)


def mean(contestant: str, beside: str = REFERENCE) -> float:
    """Return how a contestant's NLL differs on average."""
    return reading.compared("nll", beside)[contestant].interval.mean


def word(contestant: str, beside: str = REFERENCE) -> str | None:
    """Return a contestant's word in NLL."""
    return reading.compared("nll", beside)[contestant].word


def on(task: str, contestant: str) -> float:
    """Return a contestant's difference on one set of data."""
    return reading.compared()[contestant].sources[task]


@cache
def without_lenet(beside: str = REFERENCE):
    """Return the differences in NLL without LeNet-5's task."""
    return pooled([t for t in reading.task_scores("nll") if t.name != "lenet"], reference=beside)


def lenet(contestant: str):
    """Return the NLL of each of a contestant's trainings on LeNet-5's task."""
    (task,) = (task for task in reading.task_scores("nll") if task.name == "lenet")
    return np.sort(task.values[contestant].ravel())


def ratio(contestant: str, task: str, name: str) -> float:
    """Return a score on one set of data in multiples of one network's."""
    found = reading.means(task)
    return found[contestant][name][0] / found[REFERENCE][name][0]


@CLAIMS.says("rivals", "Fourteen rivals meet one network")
@CLAIMS.says("sources", "nine of numbers and nine of classes")
def _() -> None:
    assert len(reading.compared()) == 14
    assert len({task().source for task in TASKS.values()}) == 18
    kinds = [
        {t().source for t in TASKS.values() if bool(t().classes) == of} for of in (True, False)
    ]
    assert list(map(len, kinds)) == [9, 9]


@CLAIMS.says("four", "The four are better than one", row("gpa2", "deep_ensemble", 2))
@CLAIMS.says("deep-third", "by about a third of a unit", row("leaves", "deep_ensemble", 1.5))
@CLAIMS.says("summary", "by about a third of what luck", row("digits", "batch_ensemble", 1.3))
def _() -> None:
    assert word("deep_ensemble") == word("batch_ensemble") == "better"
    assert -0.38 < mean("deep_ensemble") < -0.29
    assert -0.72 < mean("batch_ensemble") < -0.62


@CLAIMS.says("beside-wide", "that difference, too, is unclear", row("cells", "wide", 1.5))
@CLAIMS.says("quarter", "a quarter of a unit below that one's")
def _() -> None:
    assert word("deep_ensemble", "wide") == "unclear"
    assert round(4 * mean("deep_ensemble", "wide")) == -1


@CLAIMS.says("half-width", "which of the two is better is unclear")
def _() -> None:
    """Two sets of data are too few to be pooled, so nothing can be clear."""
    halves = ("deep_ensemble_half", "batch_ensemble_half")
    both = [t for t in TASKS if any(row["contestant"] in halves for row in reading.rows(t))]
    assert sorted(both) == ["concrete", "digits"]


@CLAIMS.says("lowest", "has the lowest average of all", row("leaves", "batch_ensemble", 2))
def _() -> None:
    means = {name: mean(name) for name in reading.compared()}
    assert min(means, key=means.__getitem__) == "batch_ensemble"
    assert word("batch_ensemble") == "better"
    assert sorted(means, key=means.__getitem__)[-4:] == ["boosting", "ivon", "laplace", "linear"]


@CLAIMS.says("eight", "eight of 18 lie within a quarter", row("churn", "batch_ensemble", 1.2))
def _() -> None:
    shared = reading.compared()["batch_ensemble"].sources
    assert len(shared) == 18
    assert sum(abs(one) < 0.25 for one in shared.values()) == 8
    assert {*sorted(shared, key=shared.__getitem__)[:4]} == {*THREE, "mnist"}
    assert all(on(task, "batch_ensemble") < -1 for task in THREE)
    assert all(on(task, "rank1") < -0.5 for task in THREE)


@CLAIMS.says("errors", "by a tenth to a quarter", row("leaves", "batch_ensemble", 2, "error"))
def _() -> None:
    for task, name in THREE.items():
        assert 0.72 < ratio("batch_ensemble", task, name) < 0.91
        assert ratio("deep_ensemble", task, name) > 0.97


@CLAIMS.says("accident", "So does MNIST, but", row("mnist", "batch_ensemble", 2))
@CLAIMS.says("without", "the deep ensemble stays better")
@CLAIMS.says("misses", "so one that misses 0")
def _() -> None:
    assert on("mnist", "batch_ensemble") < -1
    rest = without_lenet()
    assert rest["deep_ensemble"].word == "better"
    assert rest["batch_ensemble"].word == "unclear"
    assert rest["batch_ensemble"].interval.high < 0
    assert {rest[name].word for name in ("wide", "long", "swag")} == {"practically equal"}


@CLAIMS.says("scaled-without", "is then practically equal, too")
def _() -> None:
    assert without_lenet(reading.SCALED)["deep_ensemble"].word == "practically equal"


@CLAIMS.says("samples", "Whether any of them gains anything", row("mnist", "swag", 2))
@CLAIMS.says("bigger-or-longer", "it is unclear whether either gains anything")
@CLAIMS.says("linear", "Only the linear model is worse", row("gpa2", "linear", 0.5))
def _() -> None:
    words = {name: word(name) for name in reading.compared()}
    better = {"deep_ensemble", "batch_ensemble"}
    assert {name for name in words if words[name] == "better"} == better
    assert [name for name in words if words[name] == "worse"] == ["linear"]
    assert list(words.values()).count("unclear") == 11


@CLAIMS.says("boosting", "It loses 3 units or more", row("churn", "boosting", 1.2))
def _() -> None:
    assert on("deliveries", "boosting") == 3
    pooled_here = reading.compared()
    assert min(pooled_here, key=lambda name: on("churn", name)) == "boosting"


@CLAIMS.says("temperature", "what the temperature itself gains")
@CLAIMS.says(
    "leads", "the leads of both ensembles are unclear", row("cells", "batch_ensemble", 0.9)
)
def _() -> None:
    assert round(8 * mean(reading.SCALED)) == -1
    for name in ("deep_ensemble", "batch_ensemble", "wide", "long"):
        assert word(name, reading.SCALED) == "unclear"
        assert mean(name, reading.SCALED) > mean(name)
    assert on("gpa2", reading.SCALED) > 0.1


@CLAIMS.says("shared-dots", "all its dots lie left", row("gpa2", "batch_ensemble", 2))
@CLAIMS.says("deep-dots", "two of its dots do", row("gpa2", "deep_ensemble", 2))
def _() -> None:
    shared, deep = (reading.compared()[name] for name in ("batch_ensemble", "deep_ensemble"))
    assert shared.prediction[1] > 0.5 > deep.prediction[1] > 0
    half = [one.interval.high - one.interval.mean for one in (shared, deep)]
    assert half[0] > 2 * half[1]
    assert max(shared.sources.values()) < shared.prediction[1]
    assert sum(one > 0 for one in deep.sources.values()) == 2


@CLAIMS.says("units", "train in little more time than one")
def _() -> None:
    costs = {name: reading.costs(name)["train_seconds"] for name in CONTESTANTS}
    assert costs["deep_ensemble"] < 1.5 < costs["batch_ensemble"] < 2.5
    kept = {name: reading.costs(name)["kept"] for name in CONTESTANTS}
    assert kept["deep_ensemble"] == 4
    assert kept["batch_ensemble"] < 1.5


@CLAIMS.says("passes", "take more than 30 times as long")
def _() -> None:
    assert 30 < reading.costs("mc_dropout")["predict_seconds"] < 40


@CLAIMS.says("dead", "One of the twelve trainings", row("lenet", "mc_dropout", 30))
def _() -> None:
    dead = {name: int((lenet(name) > 2.2).sum()) for name in CONTESTANTS}
    assert {name: n for name, n in dead.items() if n} == {REFERENCE: 1, "mc_dropout": 1, "ivon": 5}
    assert len(lenet(REFERENCE)) == 12
    assert round(lenet(REFERENCE)[-1], 1) == 2.3


@CLAIMS.says("raised", "from 0.14 to 0.32", row("lenet", "single", 1.1))
def _() -> None:
    one = lenet(REFERENCE)
    assert round(one[:-1].mean(), 2) == 0.14
    assert round(one.mean(), 2) == 0.32


@CLAIMS.says("again", "it came out 0.2 units worse", row("leaves", "again", 2))
@CLAIMS.says("both", "are better all the same", row("gpa2", "deep_ensemble", 2))
def _() -> None:
    scores = reading.task_scores("nll")
    again = pooled(scores, reference=REFERENCE, contestants=["again"])["again"]
    assert (again.word, round(again.interval.mean, 1)) == ("unclear", 0.2)
    both = [
        replace(
            one,
            values=one.values | {"both": np.hstack([one.values[n] for n in (REFERENCE, "again")])},
        )
        for one in scores
    ]  # fmt: skip
    found = pooled(both, reference="both", contestants=[*reading.compared()])
    assert found["deep_ensemble"].word == found["batch_ensemble"].word == "better"


@CLAIMS.says("auroc", "about two hundredths higher", row("gpa2", "deep_ensemble", 0.8, "auroc"))
@CLAIMS.says("auroc-scaled", "it changes all doubts alike")
def _() -> None:
    told = {name: one.interval for name, one in reading.compared("auroc").items()}
    deep, shared = told["deep_ensemble"], told["batch_ensemble"]
    assert 0.014 < deep.mean < 0.026
    assert deep.low > 0
    assert shared.mean > deep.mean
    assert shared.high - shared.mean > 2 * (deep.high - deep.mean)
    assert abs(told[reading.SCALED].mean) < 0.002


@CLAIMS.says("ivon", "its errors are larger than one network's")
def _() -> None:
    for name in ("error", "rmse"):
        assert reading.compared(name)["ivon"].interval.mean > 0

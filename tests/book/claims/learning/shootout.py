"""What *Which one is best?* claims, by the contest's tables."""

from functools import cache

import numpy as np

from ensedu.book.experiments.contest import mixes, reading
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.contest.contestants import CONTESTANTS, REFERENCE
from ensedu.contest.statistics import pooled
from tests.book.claiming import Change, Claims

PROTOCOL = "the protocol, which the contest's own code and tests hold"
MEANING = "what a word or a number means"
CLAIMS = Claims(
    "learning/shootout",
    unclaimed={
        "each of the intervals": MEANING,
        "quantile of Student's distribution": MEANING,
        "We call this length 1 unit": MEANING,
        "so each must lie further from 0": MEANING,
        "we would know the average better": MEANING,
        "do not contradict each other": "what follows from the thin line",
        "1 is perfect": MEANING,
        "are to train on": PROTOCOL,
        "Two hidden layers of": PROTOCOL,
        "Ensembles have four members": PROTOCOL,
        "a rate that falls to 0": PROTOCOL,
        "Each choice is the least NLL": PROTOCOL,
        "Dropout is 0.1": PROTOCOL,
        "snapshots of the last third of a training": PROTOCOL,
        "Holm's p-value below 0.05": PROTOCOL,
        "an average may be unclear although": MEANING,
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


def lengths(contestant: str) -> np.ndarray:
    """Return how long a contestant's intervals for the six mixes are, MPa."""
    return np.diff(mixes.intervals(contestant), axis=0)[0]


def clear(beside: str = REFERENCE) -> dict[str, str]:
    """Return the words of those that are not unclear."""
    words = {name: word(name, beside) for name in reading.compared("nll", beside)}
    return {name: one for name, one in words.items() if one != "unclear"}


@CLAIMS.says("rivals", "on data from 18 sources: see")
@CLAIMS.says("sources", "nine of numbers and nine of classes")
def _() -> None:
    assert len(reading.compared()) == 14
    assert len({task().source for task in TASKS.values()}) == 18
    kinds = [
        {t().source for t in TASKS.values() if bool(t().classes) == of} for of in (True, False)
    ]
    assert list(map(len, kinds)) == [9, 9]


@CLAIMS.says("lower", "NLL is 0.06 lower", row("concrete", "single", 1.01))
@CLAIMS.says("apart", "a standard deviation of 0.13", row("concrete", "single", 1.1))
@CLAIMS.says("unit", "the median over all 16 entries", row("concrete", "single", 1.01))
def _() -> None:
    (task,) = (task for task in reading.task_scores("nll") if task.name == "concrete")
    one, deep = (task.values[name] for name in (REFERENCE, "deep_ensemble"))
    assert one.size == deep.size == 20
    assert round(one.mean() - deep.mean(), 2) == 0.06
    assert round(one.std(ddof=1), 2) == 0.13
    assert round(task.unit, 2) == 0.10
    assert len(task.values) == 16
    assert round(on("concrete", "deep_ensemble"), 1) == -0.6


@CLAIMS.says("half-width", "which of the two is better is unclear")
def _() -> None:
    """Two sets of data are too few to be pooled, so nothing can be clear."""
    halves = ("deep_ensemble_half", "batch_ensemble_half")
    both = [t for t in TASKS if any(row["contestant"] in halves for row in reading.rows(t))]
    assert sorted(both) == ["concrete", "digits"]


@CLAIMS.says("better", "Better is, for example, the deep ensemble")
@CLAIMS.says("left", "Its thick line lies left of 0")
@CLAIMS.says("worse", "whose thick line lies right of 0", row("gpa2", "linear", 0.5))
@CLAIMS.says("unclear", "Unclear is, for example, SWAG")
@CLAIMS.says("holds", "Its thick line holds 0, so", row("leaves", "swag", 0.85))
@CLAIMS.says("none", "Practically equal would be")
@CLAIMS.says("rank1", "and yet it is called unclear", row("leaves", "rank1", 2))
def _() -> None:
    found = reading.compared()
    words = {name: one.word for name, one in found.items()}
    assert [words[k] for k in ("deep_ensemble", "linear")] == ["better", "worse"]
    assert words["swag"] == words["rank1"] == "unclear"
    assert found["deep_ensemble"].interval.high < 0 < found["linear"].interval.low
    assert found["swag"].interval.low < 0 < found["swag"].interval.high
    assert "practically equal" not in words.values()
    assert found["rank1"].interval.high < 0


@CLAIMS.says("words", "So two rivals are better than one", row("gpa2", "deep_ensemble", 2))
@CLAIMS.says("predict", "On average over data from 18 sources")
@CLAIMS.says("summary-better", "than one network by a third", row("digits", "batch_ensemble", 1.3))
@CLAIMS.says("summary-worse", "Only the linear model is worse", row("gpa2", "linear", 0.5))
@CLAIMS.says("seven", "although its average is better")
@CLAIMS.says("less-than-luck", "two rivals that are better gain less")
def _() -> None:
    assert clear() == {"deep_ensemble": "better", "batch_ensemble": "better", "linear": "worse"}
    assert len(reading.compared()) == 14
    assert -0.38 < mean("deep_ensemble") < -0.29
    assert -0.72 < mean("batch_ensemble") < -0.62


@CLAIMS.says("dots", "Take the deep ensemble's 18 dots")
@CLAIMS.says("deep-dots", "16 of its 18 dots lie left", row("gpa2", "deep_ensemble", 0.9))
def _() -> None:
    own = reading.compared()["deep_ensemble"].sources
    assert len(own) == 18
    assert sum(one < 0 for one in own.values()) == 16
    assert -0.38 < mean("deep_ensemble") < -0.29


@CLAIMS.says("eight", "while eight of its 18 dots", row("churn", "batch_ensemble", 1.2))
@CLAIMS.says("twice", "gains twice as much on average", row("leaves", "batch_ensemble", 2))
@CLAIMS.says("accident", "Both gain as much on MNIST", row("lenet", "batch_ensemble", 3))
def _() -> None:
    shared, deep = (reading.compared()[name] for name in ("batch_ensemble", "deep_ensemble"))
    assert 1.85 < shared.interval.mean / deep.interval.mean < 2.15
    assert len(shared.sources) == 18
    inside = [sum(abs(one) < 0.25 for one in each.sources.values()) for each in (shared, deep)]
    assert inside == [8, 7]
    assert {task for task, one in shared.sources.items() if one < -1} == {
        "deliveries",
        "churn",
        "leaves",
        "mnist",
    }
    assert deep.sources["mnist"] < -1


@CLAIMS.says("nobody", "Now no rival is better", row("cells", "batch_ensemble", 0.9))
@CLAIMS.says("shrink", "that is enough to make them unclear")
@CLAIMS.says("eighth", "average is an eighth of a unit lower")
@CLAIMS.says("own-temperature", "it is 0.28 units ahead of one")
@CLAIMS.says("remember", "nothing and no rival here is better")
@CLAIMS.says("summary-temperature", "the leads of both ensembles are unclear")
@CLAIMS.says("think-temperature", "no rival is better than it")
def _() -> None:
    assert clear(reading.SCALED) == {"linear": "worse"}
    assert round(reading.unplanned("deep_ensemble_scaled", reading.SCALED).interval[1], 2) == -0.28
    assert 0.115 < -mean(reading.SCALED) < 0.14
    for name in ("deep_ensemble", "batch_ensemble"):
        shrunk = mean(name, reading.SCALED) - mean(name)
        np.testing.assert_allclose(shrunk, -mean(reading.SCALED), atol=0.01)


@CLAIMS.says("bigger-or-longer", "gains anything on average is unclear")
def _() -> None:
    assert word("wide") == word("long") == "unclear"


@CLAIMS.says("shrinks", "It would shrink much less, because")
def _() -> None:
    """With ever more sources, as different from each other as these."""
    found = reading.compared()["deep_ensemble"]
    own = np.array([*found.sources.values()])
    low, high = found.prediction
    assert 0.85 < 2 * 1.96 * own.std(ddof=1) / (high - low) < 0.95


@CLAIMS.says("boosting", "it loses 3 units or more", row("churn", "boosting", 1.2))
def _() -> None:
    assert on("deliveries", "boosting") == 3
    pooled_here = reading.compared()
    assert min(pooled_here, key=lambda name: on("churn", name)) == "boosting"


@CLAIMS.says("reaches", "half a unit to the right of 0", row("gpa2", "deep_ensemble", 2))
@CLAIMS.says("thin", "thin line, which reaches beyond 0")
def _() -> None:
    assert 0.4 < reading.compared()["deep_ensemble"].prediction[1] < 0.6


@CLAIMS.says("once", "to one network three times in ten", row("mnist", "deep_ensemble", 0.1))
def _() -> None:
    """Any two of their trainings on one split; all tables count alike."""
    scores = [one.values for one in reading.task_scores("nll")]
    lost = [(v["deep_ensemble"][:, :, None] > v[REFERENCE][:, None]).mean() for v in scores]
    assert 0.29 < np.mean(lost) < 0.315


@CLAIMS.says("units", "in 1.4 times the time of one")
def _() -> None:
    costs = {name: reading.costs(name)["train_seconds"] for name in CONTESTANTS}
    assert round(costs["deep_ensemble"], 1) == 1.4
    assert 1.9 < costs["batch_ensemble"] < 2.1
    kept = {name: reading.costs(name)["kept"] for name in CONTESTANTS}
    assert kept["deep_ensemble"] == 4
    assert kept["batch_ensemble"] < 1.3


@CLAIMS.says("auroc", "about two hundredths above", row("gpa2", "deep_ensemble", 0.8, "auroc"))
@CLAIMS.says("auroc-scaled", "a temperature gives nothing of it")
def _() -> None:
    told = {name: one.interval for name, one in reading.compared("auroc").items()}
    deep = told["deep_ensemble"]
    assert 0.014 < deep.mean < 0.026
    assert deep.low > 0
    assert abs(told[reading.SCALED].mean) < 0.002


@CLAIMS.says(
    "alarm", "its AUROC is about 0.6 or less", row("concrete", "deep_ensemble", 1.2, "auroc")
)
def _() -> None:
    own = {t.name: t.values["deep_ensemble"].mean() for t in reading.task_scores("auroc")}
    images = [own.pop(task) for task in ("digits", "mnist", "lenet")]
    assert len(own) == 16
    assert sum(round(one, 2) <= 0.6 for one in own.values()) == 13
    assert min(images) > 0.8


@CLAIMS.says("small", "and our networks 3,000 to 90,000 parameters")
def _() -> None:
    """Of a split 55% of the rows are fitted and 20% tested on."""
    rows = [own for task in reading.tasks() for own in reading.rows(task)]
    kept = {own["kept"] for own in rows if own["contestant"] == REFERENCE}
    assert [round(end, -3) for end in (min(kept), max(kept))] == [3_000, 90_000]
    assert round(max(sum(own["rows"]) for own in rows) / 0.75, -1) == 3_000


@CLAIMS.says("without", "deep ensemble is then practically equal")
@CLAIMS.says("without-shared", "but a BatchEnsemble's lead is unclear")
def _() -> None:
    rest = without_lenet()
    assert rest["deep_ensemble"].word == "better"
    assert rest["batch_ensemble"].word == "unclear"
    assert without_lenet(reading.SCALED)["deep_ensemble"].word == "practically equal"


@CLAIMS.says("ways", "Both ensembles stay ahead")
@CLAIMS.says(
    "vanishes", "gain nearly vanishes in the random-effects model",
    Change("contest/gpa2", "rows", {"contestant": "single"}, "scaled", "nll", times=1.05),
)  # fmt: skip
def _() -> None:
    for name in ("deep_ensemble", "batch_ensemble"):
        other = reading.robustness(name)
        alone = [one.mean for one in other.alone.values()]
        assert max(*alone, *(o.mean for o in other.without.values()), other.random_effects.mean) < 0
    other = reading.robustness(reading.SCALED)
    assert -0.03 < other.random_effects.mean < 0.03
    rest = [other.alone["mlps"], other.alone["new"], *other.without.values()]
    assert max(one.mean for one in rest) < -0.05


@CLAIMS.says("second", "came out 0.2 units behind the first")
@CLAIMS.says("again", "That is unclear, though barely", row("leaves", "again", 2))
def _() -> None:
    scores = reading.task_scores("nll")
    again = pooled(scores, reference=REFERENCE, contestants=["again"])["again"]
    assert (again.word, round(again.interval.mean, 1)) == ("unclear", 0.2)
    assert again.interval.mean > -mean(reading.SCALED)
    assert -0.02 < again.interval.low < 0


@CLAIMS.says("holm", "leave out 0, are unclear all")
@CLAIMS.says("p-values", "0.0015 (deep ensemble)", row("leaves", "deep_ensemble", 1.5))
def _() -> None:
    p = {name: one.interval.p for name, one in reading.compared().items()}
    assert {name: round(p[name], 4) for name in sorted(p, key=p.__getitem__)[:6]} == {
        "linear": 0.0002, "deep_ensemble": 0.0015, "batch_ensemble": 0.0027, "ivon": 0.0173,
        "rank1": 0.0173, "laplace": 0.0250,
    }  # fmt: skip
    assert round(sorted(p.values())[6], 3) == 0.054
    below = {name for name, one in reading.compared().items() if one.interval.p < 0.05}
    assert len(below) == 6
    assert below > {*clear()}
    assert len(clear()) == 3

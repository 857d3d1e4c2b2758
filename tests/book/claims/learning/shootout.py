"""What *Which one is best?* claims, by the contest's tables."""

from itertools import permutations
from math import comb

import numpy as np

from ensedu.book import measured
from ensedu.book.experiments.contest import mixes, reading
from ensedu.book.experiments.contest.tasks import SEEN, TASKS
from ensedu.contest.contestants import CONTESTANTS, HALVES, REFERENCE, TABULAR
from ensedu.contest.statistics import pooled
from tests.book.claiming import Change, Claims

PROTOCOL = "the protocol, which the contest's own code and tests hold"
MEANING = "what a word or a number means"
SECOND = "what the second edition published"
CLAIMS = Claims(
    "learning/shootout",
    unclaimed={
        "The mark is the middle of a": MEANING,
        "Suppose that a rival is no better": MEANING,
        "Unclear is not equal": MEANING,
        "we would know the middle better": MEANING,
        "do not contradict each other": "what follows from the dots",
        "1 is perfect": MEANING,
        "the lines of all rivals hold theirs": MEANING,
        "Better: the line lies left of 0": MEANING,
        "Unclear: anything else": MEANING,
        "A rival is better if its NLL": MEANING,
        "are to train on": PROTOCOL,
        "Two hidden layers of": PROTOCOL,
        "Ensembles have four members": PROTOCOL,
        "a rate that falls to 0": PROTOCOL,
        "Each choice is the least NLL": PROTOCOL,
        "Dropout is 0.1": PROTOCOL,
        "snapshots of the last third of a training": PROTOCOL,
        "Its p-values of the deep ensemble": SECOND,
        "The second edition found both ensembles better": SECOND,
        "the typical difference may not be": MEANING,
    },
)


#: One network with a temperature, and how many rivals there are.
SCALED, RIVALS = reading.SCALED, 14


def row(task: str, contestant: str, times: float, score: str = "nll") -> Change:
    """Return a change of a contestant's NLL, or another score, in a task's table."""
    return Change(f"contest/{task}", "rows", {"contestant": contestant}, score, times=times)


def scaled(task: str, contestant: str, times: float) -> Change:
    """Return a change of the NLL of a contestant with a temperature, in a task's table."""
    where = {"contestant": contestant}
    return Change(f"contest/{task}", "rows", where, "scaled", "nll", times=times)


def middle(contestant: str, tempered: bool = False) -> float:
    """Return how a contestant's NLL differs from one network's on the typical source."""
    return reading.compared("nll", tempered=tempered)[contestant].middle


def word(contestant: str, beside: str = REFERENCE, tempered: bool = False) -> str:
    """Return a contestant's word in NLL."""
    return reading.compared("nll", beside, tempered)[contestant].word


def lower(contestant: str, beside: str = REFERENCE, tempered: bool = False) -> int:
    """Return on how many sources a contestant's NLL is the lower one."""
    return sum(
        d < 0 for d in reading.compared("nll", beside, tempered)[contestant].sources.values()
    )


def on(task: str, contestant: str) -> float:
    """Return a contestant's difference on one set of data."""
    return reading.compared()[contestant].sources[task]


def apart(score: str, contestant: str) -> float:
    """Return the mean over sources of how a score differs from one network's, in its own units."""
    by_source: dict[str, list[float]] = {}
    for one in reading.compared(score)[contestant].tasks:
        by_source.setdefault(one.source, []).append(one.interval.mean)
    return float(np.mean([np.mean(each) for each in by_source.values()]))


def dead(contestant: str) -> tuple[int, int]:
    """Return how many of a contestant's trainings of LeNet-5 never began to learn, and of all."""
    (task,) = (task for task in reading.task_scores("nll") if task.name == "lenet")
    own = task.values[contestant]
    return int((own > 2).sum()), own.size


def lengths(contestant: str) -> np.ndarray:
    """Return how long a contestant's intervals for the six mixes are, MPa."""
    return np.diff(mixes.intervals(contestant), axis=0)[0]


def clear(tempered: bool = False) -> dict[str, str]:
    """Return the words of those that are not unclear."""
    found = reading.compared("nll", tempered=tempered)
    return {name: one.word for name, one in found.items() if one.word != "unclear"}


def lucky(others: int, k: int) -> float:
    """Return how often k coins show the same side but for so many or fewer."""
    return 2 * sum(comb(k, i) for i in range(others + 1)) / 2**k


def wins() -> np.ndarray:
    """Return of all pairs on all tasks how far the first is ahead, and how often it wins."""
    found = []
    for task in reading.task_scores("nll"):
        for one, other in permutations([v for n, v in task.values.items() if n != SCALED], 2):
            ahead = (other.mean() - one.mean()) / task.unit
            found.append((ahead, (one[:, :, None] < other[:, None]).mean()))
    return np.array(found).T


@CLAIMS.says("rivals", "on data from 18 sources: see")
@CLAIMS.says("sources", "nine of numbers and nine of classes")
def _() -> None:
    assert len(reading.compared()) == RIVALS
    assert len({task().source for task in TASKS.values()}) == 18
    kinds = [
        {t().source for t in TASKS.values() if bool(t().classes) == of} for of in (True, False)
    ]
    assert list(map(len, kinds)) == [9, 9]


@CLAIMS.says("comparisons", "Here are 160 such comparisons")
@CLAIMS.says("lower", "NLL is 0.06 lower", row("concrete", "deep_ensemble", 1.01))
@CLAIMS.says("unit", "on concrete it is 0.11", row("concrete", "rank1", 2))
@CLAIMS.says("half-a-unit", "gains about half a unit", row("concrete", "deep_ensemble", 0.99))
def _() -> None:
    (task,) = (task for task in reading.task_scores("nll") if task.name == "concrete")
    one, deep = (task.values[name] for name in (REFERENCE, "deep_ensemble"))
    assert 5 * one.shape[1] * deep.shape[1] == one.size * deep.size / 5 == 160
    assert round(one.mean() - deep.mean(), 2) == 0.06
    assert round(task.unit, 2) == 0.11
    assert 0.45 < -on("concrete", "deep_ensemble") < 0.6


@CLAIMS.says("six", "NLL in only six of ten comparisons, which")
@CLAIMS.says("seven", "Half a unit wins seven of ten")
@CLAIMS.says("take-with-you", "wins about seven of ten comparisons")
def _() -> None:
    ahead, won = wins()
    for far, low, high in (
        (0.25, 0.58, 0.64),
        (0.5, 0.68, 0.74),
        (0.65, 0.68, 0.77),
        (1, 0.8, 0.9),
    ):
        assert low < np.mean(won[abs(ahead - far) < 0.1 * far]) < high, far


@CLAIMS.says("half-width", "two tables are too few for a verdict")
def _() -> None:
    for names, there in (
        (HALVES, ["concrete", "digits"]), (TABULAR, ["college_distance", "gpa2"])
    ):  # fmt: skip
        ran = [t for t in TASKS if any(row["contestant"] in names for row in reading.rows(t))]
        assert sorted(ran) == there


@CLAIMS.says("trials", "more only once in 762 trials")
@CLAIMS.says("fifty", "so in about one contest of fifty")
@CLAIMS.says("nine", "it would happen in one of nine")
@CLAIMS.says("exercise-coins", "One rival is that lucky once")
@CLAIMS.says("exercise-called", "So it may be called better")
@CLAIMS.says("exercise-eleven", "With 11 of 12 it is nine percent")
@CLAIMS.says("exercise-asks", "May a rival that is lower on 12")
@CLAIMS.says("exercise-question", "meet it on 12 sources")
def _() -> None:
    assert round(1 / lucky(2, 18)) == 762
    assert 45 < 1 / (RIVALS * lucky(2, 18)) < 55
    assert round(1 / (RIVALS * lucky(3, 18))) == 9
    assert 1 / lucky(0, 12) == 2048
    assert round(100 * RIVALS * lucky(0, 12), 1) == 0.7
    assert round(100 * RIVALS * lucky(1, 12)) == 9


@CLAIMS.says("two-dots", "At most two of the 18 dots")
def _() -> None:
    for one in (*reading.compared().values(), *reading.compared("nll", tempered=True).values()):
        values = sorted(one.sources.values())
        assert (one.low, one.high, one.middle) == (values[2], values[-3], np.median(values))
        assert (one.word == "better") == (sum(d >= 0 for d in values) <= 2)


@CLAIMS.says("own-copy", "one network beside its own copy")
def _() -> None:
    apart: dict[str, list[float]] = {}
    for task in reading.task_scores("nll"):
        one, copy = np.split(task.values[REFERENCE], 2, axis=1)
        apart.setdefault(task.source, []).append((one.mean() - copy.mean()) / task.unit)
    line = sorted(float(np.mean(each)) for each in apart.values())[2:-2]
    assert line[0] < 0 < line[-1]  # as for fourteen rivals
    assert max(-line[0], line[-1]) > 0.25


@CLAIMS.says("none-worse", "Worse: it lies right of 0")
@CLAIMS.says("none-equal", "Practically equal: all of it lies in")
@CLAIMS.says("two", "Two rivals are better than one", row("wage", "deep_ensemble", 2))
@CLAIMS.says("predict", "On the typical one of our data sets")
@CLAIMS.says("summary", "one network by 0.6 units on the")
@CLAIMS.says("others", "All others are unclear")
@CLAIMS.says("wins-though-better", "although it is better: so one comparison")
def _() -> None:
    assert clear() == {"deep_ensemble": "better", "batch_ensemble": "better"}
    assert len(reading.compared()) == RIVALS
    assert round(middle("deep_ensemble"), 1) == -0.6


@CLAIMS.says("all", "has the lower NLL on all 18", row("digits", "batch_ensemble", 1.3))
@CLAIMS.says("seven-tenths", "On the typical one it gains 0.7",
             *(row(t, "batch_ensemble", 2) for t in ("churn", "hpc", "cells")))  # fmt: skip
@CLAIMS.says("mnist", "on MNIST only because trainings died")
@CLAIMS.says("three", "on deliveries and telephone customers about three")
def _() -> None:
    own = reading.compared()["batch_ensemble"].sources
    assert lower("batch_ensemble") == len(own) == 18
    assert round(middle("batch_ensemble"), 1) == -0.7
    assert [round(own[task]) for task in ("deliveries", "churn")] == [-3, -3]
    assert [round(own[task], 1) for task in ("saratoga", "breast_cancer")] == [-0.2, -0.2]
    assert sorted(own, key=own.__getitem__)[:2] == ["churn", "deliveries"]
    tasks = {one.task: one.scaled for one in reading.compared()["batch_ensemble"].tasks}
    assert tasks["lenet"] < 0 < tasks["mnist"] < 0.01


@CLAIMS.says(
    "deep", "gains 0.6 units on the typical source, and", row("gpa2", "deep_ensemble", 0.5)
)
@CLAIMS.says("twelve", "on 12 of the 18 it gains", row("leaves", "deep_ensemble", 1.2))
@CLAIMS.says("sixteen", "It has the lower NLL on 16")
@CLAIMS.says("right", "Two of the deep ensemble's dots lie", row("gpa2", "deep_ensemble", 0.9))
@CLAIMS.says("take", "Take the deep ensemble's 18 dots")
@CLAIMS.says("one-dot", "changed sides it would be unclear")
@CLAIMS.says("hair", "less than a hundredth of a unit")
@CLAIMS.says("gaps", "any of the 19 gaps that our dots")
@CLAIMS.says("one-in-nine", "lie right of 0, one in nine")
@CLAIMS.says("three-in-ten", "not even three in ten can be")
@CLAIMS.says("may-be-smaller", "its lead may be smaller than our")
def _() -> None:
    own = reading.compared()["deep_ensemble"].sources
    assert lower("deep_ensemble") == 16
    assert sum(d > 0 for d in own.values()) == 2
    assert sum(-1 < d < -0.5 for d in own.values()) == 12
    assert round(middle("deep_ensemble"), 1) == -0.6
    assert -0.01 < own["hpc"] < 0
    # With so large a part of all sources, two or fewer of 18 still come in one case of twenty.
    few = sum(comb(18, i) * 0.3**i * 0.7 ** (18 - i) for i in range(3))
    assert few > 0.05 and 2 / 18 == 1 / 9
    assert -0.01 < reading.compared()["deep_ensemble"].high < 0


@CLAIMS.says("unclear", "SWAG's dots lie mostly to the left", row("gpa2", "swag", 2))
@CLAIMS.says("linear", "On eight sources it loses more than", row("gpa2", "linear", 0.5))
@CLAIMS.says("linear-unclear", "The linear model is unclear for another")
def _() -> None:
    assert word("swag") == word("linear") == "unclear"
    assert lower("swag") == 14
    lost = [*reading.compared()["linear"].sources.values()]
    assert (sum(d > 3 for d in lost), sum(d < 0 for d in lost)) == (8, 5)


@CLAIMS.says("tempered", "of them on 17 of 18 sources", scaled("gpa2", "deep_ensemble", 0.5),
             scaled("wage", "batch_ensemble", 2))  # fmt: skip
@CLAIMS.says("with", "With temperatures, 17 are lower")
@CLAIMS.says("tempered-gain", "half a unit and the BatchEnsemble 0.7")
@CLAIMS.says("shorter-units", "and units have become shorter")
@CLAIMS.says("summary-tempered", "both ensembles stay better, by half")
@CLAIMS.says("take-tempered", "and they stay better when everybody")
def _() -> None:
    assert clear(True) == {"deep_ensemble": "better", "batch_ensemble": "better"}
    assert lower("deep_ensemble", tempered=True) == lower("batch_ensemble", tempered=True) == 17
    assert 0.45 < -middle("deep_ensemble", True) < 0.55
    units = [[one.unit for one in reading.task_scores("nll", t)] for t in (True, False)]
    assert 0.8 < np.median(np.divide(*units)) < 0.95
    assert round(middle("batch_ensemble", True), 1) == -0.7


@CLAIMS.says("temperature", "than a tenth of a unit on the")
@CLAIMS.says("part", "whether one larger network gains anything is unclear")
@CLAIMS.says("larger-or-longer", "Whether either gains anything is unclear")
@CLAIMS.says("beside-larger", "whether a deep ensemble is better than")
@CLAIMS.says("summary-alone", "for one network alone is unclear")
def _() -> None:
    assert 0 < -middle(SCALED) < 0.1
    assert word(SCALED) == "unclear"
    assert {word(name, tempered=t) for name in ("wide", "long") for t in (True, False)} == {
        "unclear"
    }
    beside = {word("deep_ensemble", n, t) for n in ("wide", "long") for t in (True, False)}
    assert beside == {"unclear"}


@CLAIMS.says("boosting", "it loses more than 3 units", row("churn", "boosting", 1.2))
def _() -> None:
    assert on("deliveries", "boosting") > 3
    pooled_here = reading.compared()
    assert min(pooled_here, key=lambda name: on("churn", name)) == "boosting"


@CLAIMS.says("once", "to one network almost three times", row("mnist", "deep_ensemble", 0.1))
@CLAIMS.says("predicted", "Almost three times in ten")
def _() -> None:
    """Any two of their trainings on one split; all tables count alike."""
    scores = [one.values for one in reading.task_scores("nll")]
    lost = [(v["deep_ensemble"][:, :, None] > v[REFERENCE][:, None]).mean() for v in scores]
    assert 0.27 < np.mean(lost) < 0.3


@CLAIMS.says("units", "in 1.4 times the time of one")
def _() -> None:
    costs = {name: reading.costs(name)["train_seconds"] for name in CONTESTANTS}
    assert round(costs["deep_ensemble"], 1) == 1.4
    assert 1.9 < costs["batch_ensemble"] < 2.1
    kept = {name: reading.costs(name)["kept"] for name in CONTESTANTS}
    assert kept["deep_ensemble"] == 4
    assert kept["batch_ensemble"] < 1.3


@CLAIMS.says("auroc", "about two hundredths above", row("gpa2", "deep_ensemble", 0.5, "auroc"))
@CLAIMS.says("auroc-scaled", "a temperature gives nothing of it")
def _() -> None:
    assert 0.014 < apart("auroc", "deep_ensemble") < 0.026
    assert abs(apart("auroc", SCALED)) < 0.002


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


@CLAIMS.says("dead", "2 of the 24 trainings of one")
@CLAIMS.says("without", "without LeNet-5 every word stays")
def _() -> None:
    assert [dead(name) for name in (REFERENCE, "mc_dropout", "ivon")] == [(2, 24), (1, 12), (7, 12)]
    for tempered in (False, True):
        ways = reading.other_ways(tempered)
        usual, rest = ways["as in the figure"], ways["without LeNet-5"]
        assert [one.word for one in usual.values()] == [rest[name].word for name in usual]


@CLAIMS.says("false", "draws 2,000 contests at a time from our",
             Change("false-words", "rows", {"luck": "median 0"}, "signs", times=4))  # fmt: skip
@CLAIMS.says("keeps", "Signs are the one test that keeps")
@CLAIMS.says("wanted", "in at most 5% of them")
@CLAIMS.says("power", "is called better in one contest of")
@CLAIMS.says("price", "of rivals that are better, signs find half",
             Change("false-words", "rows", {"luck": "shifted"}, "signs", times=2))  # fmt: skip
def _() -> None:
    found = sum(comb(18, i) * 0.8**i * 0.2 ** (18 - i) for i in range(16, 19))
    assert 0.25 < found < 0.29  # in at least 16 of 18
    table = measured.load("false-words")
    assert table["settings"]["contests"] == 2000
    found = {row["luck"]: row for row in table["rows"]}
    assert max(found[luck]["signs"] for luck in ("coin", "median 0")) <= 0.05
    assert min(found["median 0"][test] for test in ("t", "ranks", "flips")) > 0.05
    assert 0.4 < found["shifted"]["signs"] / found["shifted"]["t"] < 0.6


@CLAIMS.says("untempered", "it is lower on 14 sources, a")
def _() -> None:
    names = ("deep_ensemble", "batch_ensemble")
    assert [lower(name, SCALED) for name in names] == [14, 15]
    assert {word(name, SCALED) for name in names} == {"unclear"}


@CLAIMS.says("nine-of-nine", "that is lower on all nine has")
def _() -> None:
    assert RIVALS * lucky(0, 9) > 0.05


@CLAIMS.says("first-copy", "a BatchEnsemble with a temperature is unclear")
@CLAIMS.says("second-copy", "BNN with a temperature is better; all")
@CLAIMS.says("new", "13 sources, the deep ensemble without")
@CLAIMS.says("single-source", "any single source changes no word")
def _() -> None:
    usual = {"deep_ensemble": "better", "batch_ensemble": "better"}
    for tempered, first, second, new in (
        (False, usual, usual, {"batch_ensemble": "better"}),
        (True, {"deep_ensemble": "better"}, usual | {"rank1": "better"}, usual),
    ):
        found = {
            way: {name: one.word for name, one in each.items() if one.word != "unclear"}
            for way, each in reading.other_ways(tempered).items()
        }
        assert [*found.values()] == [usual, first, second, usual, new]
        tasks = reading.task_scores("nll", tempered)
        assert len({task.source for task in tasks if task.name not in SEEN}) == 13
        for source in {task.source for task in tasks}:
            rest = pooled([task for task in tasks if task.source != source], reference=REFERENCE)
            assert {k: one.word for k, one in rest.items() if one.word != "unclear"} == usual

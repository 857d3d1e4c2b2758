"""What *Which one is best?* claims, by the contest's tables."""

from itertools import permutations
from math import comb

import numpy as np

from ensedu.contest.contestants import REFERENCE
from ensedu.uncertainty.meta_analysis import Pooled, pooled
from tests.book.claiming import Claims
from workshop.experiments.contest import reading
from workshop.experiments.contest.tasks import SEEN, TASKS

CLAIMS = Claims("learning/shootout", unclaimed={
    "what a word means": ["The mark is the middle of a", "Suppose that a rival is no better",
        "Unclear is not equal", "1 is perfect", "Better: the line lies left of 0",
        "Unclear: anything else", "A rival is better if its NLL"],
    "what follows from the dots": ["do not contradict each other"],
    "the protocol, which the contest's own code and tests hold": ["are to train on",
        "Two hidden layers of", "Ensembles have four members", "a rate that falls to 0",
        "Each choice is the least NLL", "Dropout is 0.1", "TabM is as its authors' package makes",
        "snapshots of the last third of a training"],
})  # fmt: skip
says, TEMPERED = CLAIMS.says, reading.TEMPERED
BOTH = {"deep_ensemble": "better", "batch_ensemble": "better"}
COUNTED = "rivals, seeds and dots are counted, and no cell says how many"
#: With a temperature for everybody.
WITH = BOTH | {"tabm": "better"}
DEEP, BATCH = BOTH


def beside(contestant: str, reference: str = REFERENCE, tempered: bool = False) -> Pooled:
    return reading.compared("nll", reference, tempered)[contestant]


def units(contestant: str) -> np.ndarray:
    """Return a contestant's dots, sorted."""
    return np.sort([*beside(contestant).sources.values()])


def lower(contestant: str, reference: str = REFERENCE, tempered: bool = False) -> int:
    """Return on how many sources a contestant's NLL is the lower one."""
    return sum(d < 0 for d in beside(contestant, reference, tempered).sources.values())


def words(found: dict[str, Pooled]) -> dict[str, str]:
    return {name: one.word for name, one in found.items() if one.word != "unclear"}


def unclear(*names: str, reference: str = REFERENCE) -> bool:
    """Say whether all are unclear, with a temperature and without."""
    return {beside(name, reference, t).word for name in names for t in (True, False)} == {"unclear"}


def rivals() -> int:
    return len(reading.compared())


def by_source(of) -> list[float]:
    """Return means over the tasks of each source, of what is asked of a task."""
    found: dict[str, list[float]] = {}
    for one in reading.task_scores("nll"):
        found.setdefault(one.source, []).append(of(one))
    return [float(np.mean(each)) for each in found.values()]


def apart(score: str, contestant: str) -> float:
    """Return the mean over sources of how a score differs from one network's, in its own units."""
    change = {one.task: one.interval.mean for one in reading.compared(score)[contestant].tasks}
    return np.mean(by_source(lambda task: change[task.name]))


def scores(task: str, score: str = "nll"):
    return next(one for one in reading.task_scores(score) if one.name == task)


def dead(contestant: str) -> tuple[int, int]:
    """Return how many of a contestant's trainings of LeNet-5 never began to learn, and of all."""
    own = scores("lenet").values[contestant]
    return int((own > 2).sum()), own.size


def lucky(others: int, k: int) -> float:
    """Return how often k coins show the same side but for so many or fewer."""
    return 2 * sum(comb(k, i) for i in range(others + 1)) / 2**k


def wins(far: float) -> float:
    """Return how often those win that are so far ahead of another, of all pairs on all tasks."""
    won = []
    for task in reading.task_scores("nll"):
        own = [(v, v.mean() / task.unit) for n, v in task.values.items() if n != TEMPERED]
        for (one, low), (other, high) in permutations(own, 2):
            if abs(high - low - far) < 0.1 * far:
                won.append((one[:, :, None] < other[:, None]).mean())
    return float(np.mean(won))


def copies() -> list[float]:
    """Return the line of one network beside its own copy."""

    def ahead(task) -> float:
        one, copy = np.split(task.values[REFERENCE], 2, axis=1)
        return (one.mean() - copy.mean()) / task.unit

    return sorted(by_source(ahead))[2:-2]


def loses() -> float:
    """Return how often a deep ensemble loses to one network: any two trainings on one split."""
    tables = [one.values for one in reading.task_scores("nll")]
    return np.mean([(v[DEEP][:, :, None] > v[REFERENCE][:, None]).mean() for v in tables])


def line_is_drawn_by_hand() -> bool:
    """Say whether all lines go from the third dot to the third last, and agree with their words."""
    found = [*reading.compared().values(), *reading.compared("nll", tempered=True).values()]
    return all(
        (one.low, one.middle, one.high) == (d[2], np.median(d), d[-3])
        and (one.word == "better") == (sum(v >= 0 for v in d) <= 2)
        for one in found for d in [sorted(one.sources.values())]
    )  # fmt: skip


def rows() -> list[dict]:
    """Return the rows of one network on each split of each task."""
    found = (own for task in reading.tasks() for own in reading.rows(task))
    return [own for own in found if own["contestant"] == REFERENCE]


def most_rows() -> int:
    """Return the rows of the largest table: of a split 55% are fitted and 20% tested on."""
    return max(sum(own["rows"]) for own in rows()) / 0.75


def fewer_words(*names: str, tempered: bool = False) -> dict[str, str]:
    """Return the words that some tasks alone lead to."""
    tasks = [task for task in reading.task_scores("nll", tempered) if task.name in names]
    return words(pooled(tasks, reference=REFERENCE))


def auroc_of_tables() -> list[float]:
    tasks = (t for t in reading.task_scores("auroc") if t.name not in ("digits", "mnist", "lenet"))
    return [round(t.values[DEEP].mean(), 2) for t in tasks]


# fmt: off
# How luck moves a comparison.
says("on data from 18 sources: see", lambda: len({task().source for task in TASKS.values()}))
says("of our 19 tasks two make MNIST",
     lambda: (len(TASKS), sum(task().source == "mnist" for task in TASKS.values())))
says("Fifteen rivals meet one network", rivals, COUNTED)
says("nine of numbers and nine of classes",
     lambda: [len({t().source for t in TASKS.values() if bool(t().num_classes) == of})
         for of in (False, True)])
says("Here are 160 such comparisons",
     lambda: scores("concrete").values[DEEP].size * scores("concrete").values[REFERENCE].shape[1],
     COUNTED)
says("NLL is 0.06 lower",
     lambda: -np.subtract(*(scores("concrete").values[k].mean() for k in (DEEP, REFERENCE))))
says("on concrete their median is 0.11", lambda: scores("concrete").unit)
says("gains about half a unit", lambda: 0.45 < -beside(DEEP).sources["concrete"] < 0.6)
says("NLL in only six of ten comparisons, which", lambda: round(10 * wins(0.25)) == 6)
says("Half a unit wins seven of ten", lambda: 0.68 < wins(0.5) < 0.74 and 0.8 < wins(1) < 0.9)

# Coins.
says("more only once in 762 trials", lambda: 1 / lucky(2, 18))
says("so in about one contest of fifty", lambda: 45 < 1 / (rivals() * lucky(2, 18)) < 55, COUNTED)
says("it would happen in one of nine", lambda: round(1 / (rivals() * lucky(3, 18))) == 9, COUNTED)
says("One rival is that lucky once", lambda: 1 / lucky(0, 12) == 2048)
says("So it may be called better", lambda: rivals() * lucky(0, 12) < 0.05, COUNTED)
says("11 of 12 it is almost ten percent", lambda: (11, 12, rivals() * lucky(1, 12)), COUNTED)
says(["May a rival that is lower on 12", "meet it on 12 sources"],
     lambda: rivals() * lucky(0, 12) < 0.05 < rivals() * lucky(1, 12), COUNTED)
says("At most two of the 18 dots", line_is_drawn_by_hand, COUNTED)
says("one network beside its own copy",
     lambda: copies()[0] < 0 < copies()[-1] and max(map(abs, copies())) > 0.25)

# Without a temperature.
says(("Two rivals are better than one", "Worse: it lies right of 0", "All others are unclear",
      "Practically equal: all of it lies in", "On the typical one of our data sets"),
     lambda: words(reading.compared()) == BOTH)
says(["one network by 0.6", "gains 0.6 units on the typical source,"], lambda: -beside(DEEP).middle)
says("although it is better: so one comparison", lambda: beside(DEEP).word == "better")
says("has the lower NLL on all 18", lambda: lower(BATCH))
says("on the typical one it gains 0.7", lambda: -beside(BATCH).middle)
says("MNIST only because trainings of one network died",
     lambda: {t.task: t.in_units < 0 for t in beside(BATCH).tasks if t.source == "mnist"}
         == {"mnist": False, "lenet": True})
says("on 12 of the 18 it gains",
     lambda: (((units(DEEP) > -1) & (units(DEEP) < -0.5)).sum(), units(DEEP).size))
says("It has the lower NLL on 16", lambda: lower(DEEP))
says("Two of the deep ensemble's dots lie", lambda: (units(DEEP) > 0).sum())
says("Take the deep ensemble's 18 dots", lambda: units(DEEP).size)
says("it would be unclear", lambda: rivals() * lucky(18 - lower(DEEP) + 1, 18) > 0.05, COUNTED)
says("less than a hundredth of a unit", lambda: -0.01 < beside(DEEP).sources["hpc"] < 0)
says("any of the 19 gaps that our dots", lambda: units(DEEP).size + 1)
says("lie right of 0, one in nine", lambda: np.mean(units(DEEP) > 0) == 1 / 9)
says("your chance to be there is three in",
     lambda: sum(comb(18, i) * 0.3**i * 0.7 ** (18 - i) for i in range(3)) > 0.05)
says("its lead may be smaller than our", lambda: -0.01 < beside(DEEP).high < 0)
says("the typical source, 1.3 units", lambda: -beside("tabm").middle)
says("three of its dots do not lie to", lambda: 18 - lower("tabm"))
says("and on diamonds it loses five units", lambda: round(beside("tabm").sources["diamonds"]))
says("All others are unclear, TabM with the",
     lambda: beside("tabm").middle == min(one.middle for one in reading.compared().values()))

# With a temperature for everybody, and for one network alone.
says("of them on 17 of 18", lambda: lower(DEEP, tempered=True) == lower(BATCH, tempered=True) == 17)
says("With temperatures, 17 are lower", lambda: lower(DEEP, tempered=True))
says("half a unit and the BatchEnsemble 0.7",
     lambda: (-beside(DEEP, tempered=True).middle, -beside(BATCH, tempered=True).middle))
says("so these units are shorter",
     lambda: 0.8 < np.median([np.divide(*(one.unit for one in both)) for both in zip(
         reading.task_scores("nll", True), reading.task_scores("nll"), strict=True)]) < 0.95)
says("both ensembles stay better, by half",
     lambda: words(reading.compared("nll", tempered=True)) == WITH)
says("it is now lower on 16 sources", lambda: lower("tabm", tempered=True))
says("and TabM is better, too", lambda: beside("tabm", tempered=True).word == "better")
says("than a tenth of a unit on the", lambda: 0 < -beside(TEMPERED).middle < 0.1)
says("for one network alone is unclear", lambda: beside(TEMPERED).word == "unclear")
says("or longer training gains anything is unclear", lambda: unclear("wide", "long"))
says("whether a deep ensemble is better than",
     lambda: unclear(DEEP, reference="wide") and unclear(DEEP, reference="long"))

# Your data.
says("temperature alone gain 0.8 units, more than either",
     lambda: -beside("mc_dropout").sources["concrete"])
says("more than either ensemble, although on the typical",
     lambda: max(beside(name).sources["concrete"] for name in ("mc_dropout", TEMPERED))
         < -0.75 and min(beside(name).sources["concrete"] for name in BOTH) > -0.8
         and beside("mc_dropout").word == beside(TEMPERED).word == "unclear")
says("it loses more than 3 units",
     lambda: beside("boosting").sources["deliveries"] > 3
         and min(reading.compared(), key=lambda k: beside(k).sources["churn"]) == "boosting")
says("Almost three times in ten", lambda: 0.27 < loses() < 0.3)
says("about two hundredths above", lambda: 0.014 < apart("auroc", DEEP) < 0.026)
says("a temperature gives nothing of it", lambda: abs(apart("auroc", TEMPERED)) < 0.002)
says("on 13 of our 16 tables its AUROC",
     lambda: (sum(one <= 0.6 for one in auroc_of_tables()), len(auroc_of_tables())))

# Where it fails.
says("Our tables have at most 3,000 rows", lambda: round(most_rows(), -1))
says("and our networks 3,000 to 90,000 parameters",
     lambda: [round(extreme(own["num_stored"] for own in rows()), -3) for extreme in (min, max)])
says("3 of the 40 trainings of one", lambda: dead(REFERENCE))
says("1 of 20 with MC dropout and 15", lambda: (*dead("mc_dropout"), dead("ivon")[0]))
says("without LeNet-5 every word stays",
     lambda: all(fewer_words(*(TASKS.keys() - {"lenet"}), tempered=t)
         == words(reading.compared("nll", tempered=t)) for t in (True, False)))
says("lower on all nine would be unclear", lambda: rivals() * lucky(0, 9) > 0.05, COUNTED)
says(["it is lower on 14 sources", "So is a BatchEnsemble, with 15"],
     lambda: [(lower(n, TEMPERED), beside(n, TEMPERED).word) for n in BOTH]
         == [(14, "unclear"), (15, "unclear")])
says("On the 13 sources alone that were new",
     lambda: len({task().source for name, task in TASKS.items() if name not in SEEN}) == 13
         and fewer_words(*(name for name in TASKS if name not in SEEN))
         == {BATCH: "better", "tabm": "better"})

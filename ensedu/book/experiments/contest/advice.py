"""Which contestant a reader should take: from seven answers to a ranking, by one rule.

The rule was fixed when three of the contest's nineteen tables were there, and before any pooled
difference had been looked at; nothing of it was chosen by results.
One network with a temperature is the first choice. Those that the answers allow are then asked
from the cheapest to the dearest, by passes, time to train, and parameters. One of them replaces the
current choice if the contest calls it better than that, and not by little, unless its interval on
the reader's own kind, numbers or classes, is all on the worse side. So a cheaper one stays where
two are practically equal, or where it is unclear.

Where out-of-distribution inputs matter, the score is the AUROC of telling them instead of the NLL.
Its intervals describe: the contest corrects for its many comparisons in NLL alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ensedu.book.experiments.contest import reading
from ensedu.common import checks
from ensedu.contest.contestants import CONTESTANTS, REFERENCE
from ensedu.contest.networks import MEMBERS, PASSES
from ensedu.contest.statistics import Pooled
from ensedu.methods import METHODS
from ensedu.uncertainty import Interval

__all__ = [
    "AFTERWARDS",
    "ANSWERS",
    "CANDIDATES",
    "TABLES_ONLY",
    "Advice",
    "Price",
    "Standing",
    "advise",
    "eligible",
    "price",
    "ruled_out",
    "word",
]

#: Whom the rule may name, the first one first.
CANDIDATES = (reading.SCALED, *(name for name in CONTESTANTS if name != REFERENCE))
#: What can be answered, the first answer first.
ANSWERS: Mapping[str, tuple[str, ...]] = {
    "outside": ("no", "yes"),
    "memory": ("one", "four", "twenty"),
    "passes": ("one", "four", "many"),
    "target": ("number", "class"),
    "time": ("four", "one"),
    "inputs": ("table", "images", "large"),
    "trained": ("no", "yes"),
}
#: The most parameters, passes, and time to train; one network's are 1.
MEMORY = {"one": 1.5, "four": 4.5, "twenty": math.inf}
MOST_PASSES = {"one": 1, "four": MEMBERS, "many": PASSES}
TIME = {"four": math.inf, "one": 2.0}
#: What is no network, and fits rows of a table alone.
TABLES_ONLY = tuple(name for name, one in CONTESTANTS.items() if not one.method)
#: What is put around a trained network. SWAG is not: it needs the training to go on.
AFTERWARDS = (reading.SCALED, "laplace")
#: Who runs its network once a weight sample, without being a random method of the book.
SAMPLED = ("swag", "ivon")
#: The task of the small images, and the small convolutional network.
IMAGES = "lenet"


@dataclass(frozen=True, order=True)
class Price:
    """What a contestant costs, in the order in which prices are compared."""

    #: How often a network, or a member, runs for a prediction; 0 of what is no network.
    passes: int
    #: Time to train and parameters to keep, in multiples of one network's.
    train: float
    kept: float


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a contestant stands in a ranking.

    Attributes
    ----------
    contestant, price
        Who, and what it costs.
    word, difference
        What the contest says of it beside one network, and how much it differs.
    beside_first
        What the contest says of it beside the one who is recommended; of that one itself, nothing.
    stopped
        Whether it is better than that one, and the reader's own kind alone forbids it.
    images
        The difference from one network on the task of small images, in the score's own unit.
    """

    contestant: str
    price: Price
    word: str
    difference: Pooled
    beside_first: str | None
    stopped: bool
    images: Interval | None


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What a reader's answers lead to.

    Attributes
    ----------
    answers
        All of them.
    score
        What decides, a key of `reading.SCORES`.
    passed
        The earlier choices, from one network with a temperature on.
    standings
        First the one that is recommended, then the others that fit, the best mean first. Nobody
        for a large network, which the contest did not measure.
    """

    answers: Mapping[str, str]
    score: str
    passed: tuple[str, ...]
    standings: tuple[Standing, ...]


def advise(**answers: str) -> Advice:
    """Return the ranking for these answers; a question without one has its first.

    Raises
    ------
    TypeError, ValueError
        For a question or an answer that is not in `ANSWERS`.
    """
    for key, value in answers.items():
        checks.one_of("answers: a question", key, ANSWERS)
        checks.one_of(f"answers[{key!r}]", value, ANSWERS[key])
    whole = {key: answers.get(key, first) for key, (first, *_) in ANSWERS.items()}
    score = "auroc" if whole["outside"] == "yes" else "nll"
    if whole["inputs"] == "large":
        return Advice(answers=whole, score=score, passed=(), standings=())
    kind = "numbers" if whole["target"] == "number" else "classes"
    fit = eligible(whole)
    first, *dearer = fit
    passed = []
    for name in dearer:
        if _is_better(name, first, score) and not _forbids(name, first, score, kind):
            passed.append(first)
            first = name
    best = reading.SCORES[score][1]
    means = {name: found.interval.mean for name, found in reading.compared(score).items()}
    others = sorted((n for n in fit if n != first), key=lambda n: means[n], reverse=best)
    images = whole["inputs"] == "images"
    return Advice(
        answers=whole,
        score=score,
        passed=tuple(passed),
        standings=tuple(_standing(name, first, score, kind, images) for name in (first, *others)),
    )


def price(contestant: str) -> Price:
    """Return what a candidate costs; the protocol says its passes, the tables the others."""
    name = contestant.removesuffix("_scaled")
    costs = reading.costs(name)
    return Price(_passes(name), costs["train_seconds"], costs["kept"])


def eligible(answers: Mapping[str, str]) -> list[str]:
    """Return who fits all answers: one network with a temperature, the others from the cheapest."""
    fitting = [name for name in CANDIDATES[1:] if not ruled_out(name, answers)]
    return [reading.SCALED, *sorted(fitting, key=price)]


def word(found: Pooled, score: str) -> str:
    """Return what the contest says; for an AUROC, what the interval of the mean says by itself."""
    return found.word or _side(found.interval, score)


def _side(interval: Interval, score: str) -> str:
    """Return on which side of 0 an interval lies, in words."""
    if interval.low <= 0 <= interval.high:
        return "unclear"
    return "better" if (interval.low > 0) == reading.SCORES[score][1] else "worse"


def _passes(name: str) -> int:
    row = METHODS.get(CONTESTANTS[name].method)
    if row is None:
        return 0
    if row.stochastic or name in SAMPLED:
        return PASSES
    return MEMBERS if row.members and not row.body else 1


def ruled_out(contestant: str, answers: Mapping[str, str]) -> list[str]:
    """Return the questions whose answers rule a candidate out, none if it fits."""
    own = price(contestant)
    missed = {
        "inputs": answers["inputs"] != "table" and contestant in TABLES_ONLY,
        "trained": answers["trained"] == "yes" and contestant not in AFTERWARDS,
        "passes": own.passes > MOST_PASSES[answers["passes"]],
        "memory": own.kept > MEMORY[answers["memory"]],
        "time": own.train > TIME[answers["time"]],
    }
    return [question for question, misses in missed.items() if misses]


def _is_better(name: str, than: str, score: str) -> bool:
    return word(reading.compared(score, than)[name], score) == "better"


def _forbids(name: str, than: str, score: str, kind: str) -> bool:
    """Whether the interval on one kind of sources is all on the worse side."""
    if not reading.poolable(score, kind):
        return False
    return _side(reading.compared(score, than, kind)[name].interval, score) == "worse"


def _standing(name: str, first: str, score: str, kind: str, images: bool) -> Standing:
    one = reading.compared(score)[name]
    better = name != first and _is_better(name, first, score)
    return Standing(
        contestant=name,
        price=price(name),
        word=word(one, score),
        difference=one,
        beside_first=word(reading.compared(score, first)[name], score) if name != first else None,
        stopped=better and _forbids(name, first, score, kind),
        images=next((t.interval for t in one.tasks if images and t.task == IMAGES), None),
    )

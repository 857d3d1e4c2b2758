"""What *Training deep ensembles* claims, by its tables, those of the contest, and by hand."""

from functools import cache

import numpy as np

from ensedu import uncertainty
from tests.book.claiming import Claims, entry, every
from tests.book.claims.learning.shootout import DEEP, TEMPERED, apart, beside, lower
from tests.book.conftest import ran
from workshop.experiments import deep_ensembles as trained
from workshop.experiments.contest import reading
from workshop.experiments.contest.tasks import SAME_SOURCE, TASKS

CLAIMS = Claims("learning/deep-ensembles", unclaimed={
    "an example": ["this concrete will bear 35 megapascals"],
    "what a word means": ["Close to 95% of them",
        "1 unit is how far luck typically", "A method is better if its NLL"],
    "a theorem": ["a mixture is never worse"],
})  # fmt: skip
says, reads = CLAIMS.says, CLAIMS.reads
SETTINGS = "deep-ensembles", "settings"
BETAS, MOVED = ([f"{own}_{how}" for own in ("single", DEEP)] for how in ("beta", "adversarial"))
SOURCES = len({SAME_SOURCE.get(task, task) for task in TASKS})


def rows() -> list[dict]:
    return entry("deep-ensembles", "rows")


def effect(name: str, score: str, key: str, of: str = "concrete"):
    """Return what something that is switched on changes."""
    summary, plain = entry("deep-ensembles", "summary"), name.rpartition("_")[0]
    return trained.difference(summary, of, name, score, plain)[key]


def unclear(names: list[str], of: str) -> bool:
    return not any(effect(one, score, "verdict", of) for one in names for score in trained.SCORES)


def by_size(of: str):
    """Return mean squared errors and NLLs of 1 to 10 members, and each as two numbers give it."""

    def law(each):
        one, shared = each[0], 2 * each[1] - each[0]
        return shared + (one - shared) / np.arange(1, 11)

    squared, nll = (each.mean(0) for each in trained.of_each_training(rows(), of))
    return squared, law(squared), nll, law(nll)


def removed(members: int) -> np.ndarray:
    """Return what part of each set's removable squared error members remove; ten remove 9/10."""
    found = [by_size(of)[0] for of in trained.DATA]
    return np.array([(one[0] - one[members - 1]) / (one[0] - one[9]) * 0.9 for one in found])


def kappa() -> float:
    """Return what all members share of one's squared error on concrete."""
    squared = by_size("concrete")[0]
    return 2 * squared[1] / squared[0] - 1


@cache
def by_hand() -> np.ndarray:
    """Return the NLLs of the three members."""
    return ran(f"book/{CLAIMS.chapter}", "target = 13.0")["nll"]


@cache
def own_table() -> dict:
    return ran(f"book/{CLAIMS.chapter}", "new = clean(table)")


def sizes(part: str) -> np.ndarray:
    return np.array([*dict.fromkeys(every("deep-ensembles", "rows", {}, part))])


def rmse() -> float:
    """Return the error of four networks over that of one, the geometric mean over tables."""
    values = [one.values for one in reading.task_scores("rmse")]
    return np.exp(np.mean([np.log(own[DEEP].mean() / own["single"].mean()) for own in values]))


def adjusted(summary: list[dict]) -> int:
    """Return for how many comparisons p-values are adjusted, each for all of them."""
    wanted = uncertainty.holm([one["p"] for one in summary])
    return sum(np.isclose([one["adjusted"] for one in summary], wanted, rtol=1e-3))


def from_published(of: str) -> float:
    """Return how far the paper's figures lie from ours, in standard errors, at most.

    Both drew splits of the same rows, so no correction for their overlap is due. The paper's NLL is
    taken for that of one Gaussian.
    """
    far = []
    for score, (theirs, spread) in trained.PUBLISHED[of].items():
        ours, own = trained.mean_of(rows(), of, DEEP, "moment" if score == "nll" else score)
        far.append(abs(ours - theirs) / (np.hypot(own, spread) / np.sqrt(trained.SPLITS)))
    return max(far)


# fmt: off
says("so it pays 13.4 nats", lambda: by_hand()[0])
says("The others pay about 2", lambda: {*by_hand()[1:].round()} == {2})
says("at random, you would pay 5.8 on average", lambda: by_hand().mean())
says("The mixture pays 2.3", lambda: -np.log(np.exp(-by_hand()).mean()))
says(["asks exactly this, on data from 18", "from 18 sources four", "one of our 18"],
     lambda: SOURCES)
says(["Four networks predict better than one", "Four networks are better than one: on"],
     lambda: beside(DEEP).word == "better")
says("on 16 of the 18 sources", lambda: (lower(DEEP), SOURCES))
says("middle of the 18, by 0.6", lambda: (SOURCES, -beside(DEEP).middle))
says("with the parameters of four gains", lambda: reading.costs("wide")["num_stored"])
says(["That is unclear, and so is whether", "What one larger network gains is unclear"],
     lambda: {beside("wide", tempered=t).word for t in (False, True)} == {"unclear"})
says(["is whether four networks are better than that", "whether four are better than it"],
     lambda: {beside(DEEP, "wide", t).word for t in (False, True)} == {"unclear"})
says("error (RMSE) is 1.0% lower", lambda: 1 - rmse())
says(["four networks stay better than one", "are better than one network all the same"],
     lambda: beside(DEEP, tempered=True).word == "better")
says("still by half a unit", lambda: -beside(DEEP, tempered=True).middle)
says("four networks without one: 0.8 units and 0.6",
     lambda: [-beside(name).sources["concrete"] for name in (TEMPERED, DEEP)])
says("alone gains more than four networks without",
     lambda: beside(TEMPERED).sources["concrete"] < beside(DEEP).sources["concrete"])
says(["gains about an eighth of a unit", "about a quarter of it, and"],
     lambda: 0.2 < beside("wide", tempered=True).middle / beside(DEEP, tempered=True).middle < 0.3
         and 0.11 < -beside("wide", tempered=True).middle < 0.14)
says("only the ensemble becomes less sure where",
     lambda: max(abs(apart("auroc", one)) for one in ("wide", TEMPERED)) < apart("auroc", DEEP) / 3)
says("within 1.2 standard errors",
     lambda: np.ceil(10 * max(map(from_published, trained.PUBLISHED))) / 10)
says("Concrete and Boston, 20 splits each", lambda: trained.SPLITS)
says("90% to train on", lambda: np.mean(sizes("train") / (sizes("train") + sizes("test"))))
says("One hidden layer of 50 ReLU units", lambda: trained.WIDTH)
says("40 epochs of Adam at 0.01", lambda: [entry(*SETTINGS, key) for key in ("epochs", "lr")])
reads("batches of 100", *SETTINGS, "batch_size")
reads("three initial seeds, others", *SETTINGS, "seeds")
says(["So the second member removes half", "the second removes half"],
     lambda: np.allclose(removed(2), 1 / 2, atol=5e-3))
says(["five members remove four fifths", "and five remove four fifths"],
     lambda: np.allclose(removed(5), 4 / 5, atol=5e-3))
says("is this formula, and exact",
     lambda: all(np.allclose(*by_size(of)[:2], rtol=1e-4) for of in trained.DATA))
says("off by less than 3% of what ten",
     lambda: all(0.002 < abs(nats - guess).max() < 0.03 * (nats[0] - nats[-1])
         for nats, guess in (by_size(of)[2:] for of in trained.DATA)))
says("is 0.92, so a thousand", kappa)
says("would still have 92% of", lambda: kappa() + (1 - kappa()) / 1000)
says("lowers the RMSE on concrete by 0.39 MPa",
     lambda: [*{round(-effect(one, "rmse", "difference"), 2) for one in BETAS}])
says("NLL hardly moves", lambda: all(abs(effect(one, "nll", "difference")) < 0.01 for one in BETAS))
says("on Boston all is unclear", lambda: unclear(BETAS, "boston"))
says("moved by 1% of each input's range", lambda: trained.RECIPES[MOVED[0]].adversarial)
says("neither RMSE nor NLL clearly", lambda: all(unclear(MOVED, of) for of in trained.DATA))
reads("with Holm's correction over 28 comparisons", "deep-ensembles", "summary", of=adjusted)
says(["Now new holds 20 rows", "about the 20 new mixes"], lambda: len(own_table()["new"]))
says("Of the others, 90%", lambda: len(own_table()["split"].train) / len(own_table()["x"]))
says("0.072, so -0.09", lambda: (np.hypot(0.25, 0.20) / 20**0.5, 2.32 - 2.41))

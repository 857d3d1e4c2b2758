"""What *Training a BatchEnsemble* claims, by its tables, by those of the contest, and by hand."""

from functools import cache

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from ensedu.torch import fit, mlp, predict
from ensedu.torch.losses import half_squared_error
from ensedu.uncertainty import chance_disagreement, disagreement
from tests.book.claiming import Claims, entry, every, reader
from tests.book.claims.learning.shootout import BATCH, DEEP, beside, lower, units
from tests.book.conftest import ran
from workshop.experiments import batch_ensemble_training as training
from workshop.experiments.contest import reading

CLAIMS = Claims("learning/batch-ensemble", unclaimed={
    "what random signs are": ["by the toss of a coin"],
})  # fmt: skip
says, TABLE = CLAIMS.says, "batch-ensemble-training"
pair = reader(TABLE, "summary", by="contestant than")
passed = reader("speed-cpu", "headline", by="m B")
TWINS = (("normal", "normal"), ("deep", DEEP))
STARTS, MIXTURE = ("near", "normal", "signs"), "signs_mixture"
RECIPES, SIZES = training.RECIPES, [784, 128, 128, 10]


def of(name: str, score: str, data: str = "digits") -> float:
    return np.mean(entry(TABLE, "rows", {"data": data, "contestant": name}, score))


def by_split(name: str) -> np.ndarray:
    """Return the NLLs on MNIST-5000, in the order of splits."""
    rows = every(TABLE, "rows", {"data": "mnist5000", "contestant": name})
    rows.sort(key=lambda row: row["split"])
    return np.array([np.mean(row["nll"]) for row in rows])


def ratio(*way: str) -> float:
    """Return the disagreement over that of independent errors."""
    name, *data = way
    return of(name, "disagreement", *data) / of(name, "chance", *data)


def gain(name: str) -> float:
    """Return by how much the NLL is lower than that of members on average."""
    return of(name, "members_nll") - of(name, "nll")


def budget(data: str, key: str):
    return np.ravel(entry(TABLE, "settings", "budgets", data, key))[-1]


@cache
def pulls() -> np.ndarray:
    """Return the members' pulls on the second entry of the first row of W."""
    return ran(f"book/{CLAIMS.chapter}", "dW, dr, ds =")["dW"][:, 0, 1]


@cache
def surviving(start: str, layer: int = 0) -> float:
    """Return how much of a member's own gradient of W is in the average, before training."""
    x, y = training.examples("digits", 0)[0]
    net = training.network("digits", start, 0)
    each = [cross_entropy(f, y) for f in net(x)]
    weight = net[layer].weight
    own = torch.stack([torch.autograd.grad(one, weight, retain_graph=True)[0] for one in each])
    return float(((own.mean(0) * own).sum((1, 2)) / own.square().sum((1, 2))).mean())


def same_stay_same() -> bool:
    """Say whether members that start as one train, and stay one, with Adam as in the figure."""
    x = torch.linspace(-1, 1, 20, dtype=torch.float64)[:, None]
    torch.manual_seed(0)
    net = mlp([1, 20, 1], BATCH, 4).double()
    with torch.no_grad():
        for name, array in net.named_parameters():
            if not name.endswith("weight"):
                array[:] = array[0].clone()
    before = predict(net, x)
    fit(net, x, torch.sin(3 * x), half_squared_error, epochs=20, batch_size=5, lr=0.01, bar=False)
    after = predict(net, x)
    return bool((after - before).abs().max() > 0.1 > 1e11 * (after - after[0]).abs().max())


def two(p: list[int]) -> float:
    """Return the ratio of two networks that each misread a fifth of the images of three classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=100_000)
    wrong = rng.random((2, len(y))) < 0.2
    said = np.eye(3)[np.where(wrong, (y + rng.integers(1, 3, size=wrong.shape)) % 3, y)][p]
    return disagreement(said) / chance_disagreement(said, y)


def lessons() -> np.ndarray:
    """Return what part of an image's lesson goes to each member."""
    nll = (-torch.tensor([0.6, 0.2, 0.2, 0.2]).log()).requires_grad_()
    (-(-nll).exp().mean().log()).backward()
    return nll.grad.numpy()


# fmt: off
says("almost three times as much",
     lambda: 2.75 < of(MIXTURE, "disagreement") / of("signs", "disagreement") < 3)
says("disagree on 8.4% of the images instead of", lambda: of(MIXTURE, "disagreement"))
says("instead of 2.9%", lambda: of("signs", "disagreement"))
says(["and its NLL is worse, although it", "and yet the ensemble is worse"],
     lambda: pair(MIXTURE, "signs", "verdict") == "worse")
says("Four members are at work there", same_stay_same)
says("pulls the second entry of W by 7", lambda: pulls()[0])
says("the other one by −3", lambda: pulls()[1])
says("in the average only 2 is left", lambda: pulls().mean())
says("The ratio is 0 for two copies", lambda: two([0, 0]))
says("and 1 for independent errors", lambda: abs(two([0, 1]) - 1) < 0.02)
says(["a twentieth as often", "differ little if their fast"], lambda: 0.045 < ratio("near") < 0.055)
says("has an NLL of 0.122", lambda: of("near", "members_nll"))
says("all four together have 0.120", lambda: of("near", "nll"))
says("random signs the ratio is more than half", lambda: 0.5 < ratio("signs") < 0.6)
says("but 0.58, hardly more", lambda: ratio(DEEP))
says("hardly more than random signs do", lambda: 0 < ratio(DEEP) - ratio("signs") < 0.03)
says("Architecture, data and learning rate were the",
     lambda: len({RECIPES[one].lr("digits") for one in STARTS}) == 1)
says("a deep ensemble has only 0.23", lambda: ratio(DEEP, "mnist5000"))
says("From random signs it is 0.25", lambda: surviving("signs"))
says("so 0.78 of a pull is left", lambda: surviving("near"))
says("since four times 0.78 is about 3", lambda: (4, surviving("near"), 4 * surviving("near")))
says(["near 1, the average does not slow", "pull W nearly the same way"],
     lambda: all(surviving("near", layer) > 2 * surviving("signs", layer) for layer in (0, 2, 4)))
says(["probability of 0.6, and the three others", "the member that knows an image best gets"],
     lambda: np.allclose(lessons(), [1 / 2, 1 / 6, 1 / 6, 1 / 6]))
says("the NLL is lower the more the members",
     lambda: all((np.diff([of(one, score) for one in STARTS]) * sign > 0).all()
         for score, sign in (("disagreement", 1), ("nll", -1))))
says("3.3% of the images to 2.9%", lambda: [of(one, "disagreement") for one in (DEEP, "signs")])
says("little higher, 0.079 to 0.074", lambda: [of(one, "nll") for one in (DEEP, "signs")])
says("members differ no more than before",
     lambda: of("deep_mixture", "disagreement") < of(DEEP, "disagreement"))
says("one network | – | 0.278", lambda: of("single", "nll", "mnist5000"))
for name, said in {"signs": "random signs | 4.1% | 0.271", "normal": "| 3.3% | 0.260",
                   DEEP: "| 2.8% | 0.250"}.items():
    says(said, lambda name=name: [of(name, key, "mnist5000") for key in ("disagreement", "nll")])
says("above on 8 of 10 splits",
     lambda: (sum(by_split("normal") < by_split("signs")), len(by_split("signs"))))
says("signs, each row has a lower NLL than", lambda: sum(by_split(DEEP) < by_split("normal")) == 8)
says("have 0.144 nats on average", lambda: of("signs", "members_nll"))
says("average and gain 0.071", lambda: gain("signs"))
says("they have 0.836 and gain 0.702", lambda: (of(MIXTURE, "members_nll"), gain(MIXTURE)))
says("ten times as much by differing", lambda: gain(MIXTURE) / gain("signs"))
says("From N(1, 0.1²) we did not try it",
     lambda: {"signs_mixture", "near_mixture"} & {*RECIPES} == {"signs_mixture"})
says("but for both it is unclear",
     lambda: not any(pair(f"{one}_mixture", start, "verdict") for one, start in TWINS))
says("10 random splits into 1,344 to", lambda: (10, len(training.examples("digits", 0)[0][0])))
says("1,797 images of 8 × 8", lambda: (1344 + training.TEST["digits"], 8, 8))
says("and 453 to test on, 3 initializations",
     lambda: (training.TEST["digits"], budget("digits", "starts")))
says("64-64-64-10, four members, 40 epochs",
     lambda: (*training.sizes("digits"), 4, budget("digits", "epochs")))
says("batches of 48", lambda: budget("digits", "batch_size"))
says("784-128-128-10, 15", lambda: (*training.sizes("mnist5000"), budget("mnist5000", "epochs")))
says("learning rate 0.001 for all", lambda: RECIPES["signs"].lr("mnist5000"))
says("over all 11 pairs", lambda: len(entry(TABLE, "summary")))
says("methods on data from 18 sources", lambda: len(units(BATCH)))
says("its BatchEnsembles start from random signs",
     lambda: {*mlp([5, 7, 3], BATCH, 4)[0].r.unique().tolist()} == {-1, 1})
says(["the BatchEnsemble is better than one network", "contest a BatchEnsemble is better than one"],
     lambda: beside(BATCH).word == "better")
says("the lower one on all 18 sources", lambda: lower(BATCH))
says("MNIST only because trainings of one network died",
     lambda: {t.task: t.in_units < 0 for t in beside(BATCH).tasks if t.source == "mnist"}
         == {"mnist": False, "lenet": True})
says("on the typical one by 0.7 units", lambda: -beside(BATCH).middle)
says("it stays better, on 17 of 18", lambda: (lower(BATCH, tempered=True), len(units(BATCH))))
says("it stays better", lambda: beside(BATCH, tempered=True).word == "better")
says(["Compared with a deep ensemble it is unclear", "compared with a deep ensemble it is unclear"],
     lambda: {beside(BATCH, DEEP, t).word for t in (True, False)} == {"unclear"})
says("it stores 1.27 times", lambda: reading.costs(BATCH)["num_stored"])
says("a deep ensemble four times as many", lambda: reading.costs(DEEP)["num_stored"])
says("takes only 1.4 times as long", lambda: reading.costs(DEEP)["train_seconds"])
says("it takes twice as long to train", lambda: reading.costs(BATCH)["train_seconds"])
says(["It does save time in wide layers", "time only in wide layers that see"],
     lambda: 2 * passed(1024, 1, "forward", BATCH, "ratio", 1)
         < min(1, passed(1024, 1, "forward", DEEP, "ratio", 1)))
says("Together this is 5.90%, of which", lambda: 2 * 0.97 * 0.03 + 0.03**2 * 8 / 9)

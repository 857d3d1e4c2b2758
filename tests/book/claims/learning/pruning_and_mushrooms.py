"""What *Pruning and mushrooms* claims, by its tables and by the code of its experiments."""

from math import exp

import numpy as np

from ensedu.data import bandit, mnist5000
from ensedu.priors import Normal, ScaleMixture
from tests.book.claiming import Claims, entry, every, reader
from workshop.experiments import bandit as bandits
from workshop.experiments import bayes, pruning

CLAIMS = Claims("learning/pruning-and-mushrooms", unclaimed={
    "published by others": ["names two uses", "learned from 60,000 digits"],
    "what the ranking means": ["the weight could as well be 0"],
    "how weights are dropped": ["and set the lowest to 0"],
    "what Thompson sampling is": ["eats if that one network predicts more"],
})  # fmt: skip
says, reads = CLAIMS.says, CLAIMS.reads
LEVELS, PRIORS, PAPER = pruning.LEVELS, pruning.PRIORS, pruning.PUBLISHED
agent = reader("bandit", "summary", by="agent")
KINDS = [(name, beta) for name in PRIORS for beta in pruning.BETAS]
NARROW = "pruning", "summary", {"contestant": "narrow", "beta": 1.0}


def error(name: str, beta: float, dropped: int = 0) -> float:
    """Return the error with so many percent of the weights dropped."""
    where = {"contestant": name, "beta": beta}
    return entry("pruning", "summary", where, "error", LEVELS.index(dropped)) / 100


def pulls_like(std: float, low: float, high: float) -> bool:
    """Say whether the mixture pulls like a normal distribution, between multiples of σ₂."""
    at = np.linspace(low, high, 20) * exp(-6)
    return np.allclose(PRIORS["mixture"].slope(at, np), Normal(0.0, std).slope(at, np), rtol=0.03)


def mixed(place: str, score: str) -> float:
    """Return where the interval begins of what a mixture for a prior changed on our curve."""
    where = bayes.BASE | {"prior": "mixture", "place": place, "score": score}
    return entry("bayes", "summary", where, "low")


def pays(poisonous: bool) -> np.ndarray:
    """Return what mushrooms pay, the most first."""
    found = bandit.sample(np.random.default_rng(0), 4000)
    return np.unique(found.pays[found.poisonous == poisonous])[::-1]


def called(verdict: str) -> set[str]:
    """Return the agents that have a verdict."""
    rows = every("bandit", "summary", {})
    return {row["agent"] for row in rows if row.get("verdict") == verdict}


def seeds(table: str) -> set[int]:
    return {*every(table, "rows", {}, "seed")}


# fmt: off
says(["errs on 1.24%", "The paper's begins at 1.24%"], lambda: PAPER[0] / 100)
says("1.24% with half of them, and on 1.29%", lambda: (PAPER[50] / 100, 50 / 100, PAPER[95] / 100))
reads("down to a tenth of the weights", *NARROW, "error",
      of=lambda error: np.ptp(error[:-2]) < 1 < error[-2] - error[-3])
says("at 14% errors", lambda: error("narrow", 1.0))
says("errors, twice those", lambda: error("narrow", 1.0) / error("single", 0.0))
reads(r"\sigma is 0.02", *NARROW, "signal_to_noise")
says("begins at 5.5%", lambda: error("mixture", 0.01))
says("it is about 3 points higher",
     lambda: [*{round(100 * (error(name, 0.01, 90) - error(name, 0.01))) for name in PRIORS}])
says("all nine of our Bayesian networks", lambda: len(KINDS))
says("err less than half as often",
     lambda: all(error(*kind, 95) < error("single", 0.0, 95) / 2 for kind in KINDS))
says("the KL was still falling", lambda: all(kl[-1] < kl[-2] for name in PRIORS
     for kl in every("pruning", "rows", {"contestant": name, "beta": 1.0}, "kl")))
says("and the paper's mixture",
     lambda: [*PRIORS.values()] == [Normal(0, 0.1), Normal(0, 1), ScaleMixture(0.5, 1, exp(-6))])
says("784-400-400-10, ReLU", lambda: pruning.SIZES)
says("Five splits of", lambda: len({*every("pruning", "rows", {}, "split")}))
says("4,000 digits and 1,000", lambda: (pruning.TRAIN, len(mnist5000()[0]) - pruning.TRAIN))
reads("after 15 epochs with", "pruning", "settings", "epochs")
reads("in batches of 100", "pruning", "settings", "batch_size")
says("all standard deviations start at 0.05", lambda: pruning.START)
says("is the better of 0.001 and 0.003", lambda: pruning.RATES)
reads("Predictions average eight weight samples", "pruning", "settings", "draws")
says("It pulls small weights to 0", lambda: pulls_like(exp(-6), 0.1, 2))
says("leaves large ones as free as", lambda: pulls_like(1.0, 10, 1000))
says("it changes nothing clearly at the data", lambda: mixed("regions", "nll") < 0)
says("a little away from NUTS", lambda: mixed("gap", "wasserstein") > 0)
says("Eating an edible mushroom pays 5", lambda: pays(poisonous=False))
says("pays 5 or −35", lambda: pays(poisonous=True))
says("15 for a poisonous", lambda: bandit.regret(np.array([True]), np.array([True])))
says("5 for an edible one left", lambda: bandit.regret(np.array([False]), np.array([False])))
says("Over twelve seeds nobody", lambda: len(seeds("bandit")))
says("nobody gains measurably", lambda: not called("better"))
says("148 less regret than", lambda: -agent("thompson", "difference"))
says("the greedy one's 2,628", lambda: agent("greedy", "regret"))
says("the interval, from −340", lambda: agent("thompson", "low"))
says("to 45, includes", lambda: agent("thompson", "high"))
says("it ends 202 behind", lambda: agent("whole", "difference"))
says("Only agents that toss coins are worse", lambda: called("worse") == {*bandits.COINS})
says("in 5% of its decisions", lambda: bandits.COINS["explore"])
says("ends 450 behind", lambda: agent("explore", "difference"))
says("Networks 64-50-50-1; ten members", lambda: (*bandits.SIZES, bandits.MEMBERS))
reads("eat the first 20", "bandit", "settings", "first")
reads("come five steps of AdamW", "bandit", "settings", "steps")
says("Each agent had eight settings", lambda: np.unique([*map(len, bandits.GRIDS.values())]))
says("on two other seeds", lambda: len(seeds("bandit-tuning") - seeds("bandit")))
reads("seeds of 1,000 mushrooms", "bandit-tuning", "settings", "number")
says("over all five comparisons", lambda: len(called("") | called("worse")))

"""What *Pruning and mushrooms* claims, by its tables and by the code of its experiments."""

from math import exp
from typing import Any

import numpy as np

from ensedu.data import bandit, mnist5000
from ensedu.priors import Normal, ScaleMixture
from tests.book.claiming import Change, Claims
from workshop import measured
from workshop.experiments import bandit as bandits
from workshop.experiments import bayes, pruning

CLAIMS = Claims(
    "learning/pruning-and-mushrooms",
    unclaimed={
        "names two uses": "what the paper proposes",
        "the weight could as well be 0": "what the ranking means",
        "and set the lowest to 0": "how weights are dropped",
        "learned from 60,000 digits": "what the paper reports",
        "eats if that one network predicts more": "what Thompson sampling is",
    },
)
says, reads = CLAIMS.says, CLAIMS.reads
LEVELS, PRIORS, PAPER = pruning.LEVELS, pruning.PRIORS, pruning.PUBLISHED
BATCHES, TRICKS, PARTS = bayes.BATCHES, bayes.ESTIMATORS[1:], ("mean", "rho")
KINDS = [(name, beta) for name in PRIORS for beta in pruning.BETAS]


def summed(name: str, beta: float) -> tuple[Any, ...]:
    """Return the way to an entry of the summary."""
    return "pruning", "summary", {"contestant": name, "beta": beta}


NARROW, SINGLE, BEST = summed("narrow", 1.0), summed("single", 0.0), summed("mixture", 0.01)


def errors(name: str, beta: float) -> dict[int, float]:
    """Return the error by percent of the weights dropped."""
    found = measured.row(measured.load("pruning")["summary"], contestant=name, beta=beta)
    return dict(zip(LEVELS, found["error"], strict=True))


def flat(found: list[float]) -> bool:
    """Say whether an error changes by less than a point until a tenth is left, and then by more."""
    *before, tenth, after, _ = found
    return np.ptp([*before, tenth]) < 1 < after - tenth


def falling(name: str) -> bool:
    """Say whether the KL of a network that is trained with all of it falls in the last epoch."""
    rows = measured.load("pruning")["rows"]
    kl = [row["kl"] for row in rows if (row["contestant"], row["beta"]) == (name, 1.0)]
    return all(last < before for *_, before, last in kl)


def pulls_like(std: float, low: float, high: float) -> bool:
    """Say whether the mixture pulls like a normal distribution, between multiples of σ₂."""
    at = np.linspace(low, high, 20) * exp(-6)
    return np.allclose(PRIORS["mixture"].slope(at, np), Normal(0.0, std).slope(at, np), rtol=0.03)


def mixed(place: str, score: str) -> tuple[Any, ...]:
    """Return the way to what a mixture for a prior changed on our curve."""
    where = bayes.BASE | {"prior": "mixture", "place": place, "score": score}
    return "bayes", "summary", where


def pays(poisonous: bool) -> np.ndarray:
    """Return what mushrooms pay, the most first."""
    found = bandit.sample(np.random.default_rng(0), 4000)
    return np.unique(found.pays[found.poisonous == poisonous])[::-1]


def agent(name: str) -> tuple[Any, ...]:
    """Return the way to what the summary says of an agent."""
    return "bandit", "summary", {"agent": name}


def called(verdict: str) -> set[str]:
    """Return the agents that have a verdict."""
    rows = measured.load("bandit")["summary"]
    return {row["agent"] for row in rows if row.get("verdict") == verdict}


def seeds(table: str) -> set[int]:
    """Return the seeds of a table of agents."""
    return {row["seed"] for row in measured.load(table)["rows"]}


def noise(way: str, part: str) -> np.ndarray:
    """Return the variance of a gradient in μ or ρ by batch size, a mean over networks."""
    return np.mean([row[way][part] for row in measured.load("bayes-noise")["rows"]], axis=0)


def left(part: str, batch: int) -> np.ndarray:
    """Return how much of the variance of plain weight samples each trick leaves."""
    at = BATCHES.index(batch)
    return np.array([noise(way, part)[at] / noise("weights", part)[at] for way in TRICKS])


def falls(low: int, high: int) -> np.ndarray:
    """Return how much of the variance in μ and ρ plain weight samples keep in larger batches."""
    small, large = map(BATCHES.index, (low, high))
    return np.array(
        [noise("weights", part)[large] / noise("weights", part)[small] for part in PARTS]
    )


def noisy(way: str, part: str, batch: int) -> Change:
    """Return a change of a variance."""
    return Change("bayes-noise", "rows", {}, way, part, BATCHES.index(batch), times=3)


# fmt: off
says(["errs on 1.24%", "The paper's begins at 1.24%"], lambda: PAPER[0] / 100)
says("1.24% with half of them, and on 1.29%", lambda: (PAPER[50] / 100, 50 / 100, PAPER[95] / 100))
reads("down to a tenth of the weights", *NARROW, "error", of=flat, times=3)
reads("at 14% errors", *NARROW, "error", 0, of=lambda error: error / 100)
reads("errors, twice those", *SINGLE, "error", 0, of=lambda one: errors("narrow", 1.0)[0] / one)
reads("still cost it 0.7 nats each", *NARROW, "train_nll")
reads(r"\sigma is 0.02", *NARROW, "signal_to_noise")
reads("begins at 5.5%", *BEST, "error", 0, of=lambda error: error / 100, times=1.1)
says("it is about 3 points higher", lambda: np.unique(
     [round(errors(name, 0.01)[90] - errors(name, 0.01)[0]) for name in PRIORS]))
says("all nine of our Bayesian networks", lambda: len(KINDS))
reads("err less than half as often", *SINGLE, "error", LEVELS.index(95), times=0.8,
      of=lambda one: all(errors(*kind)[95] < one / 2 for kind in KINDS))
says("the KL was still falling", lambda: all(map(falling, PRIORS)))
says("and the paper's mixture", lambda: [*PRIORS.values()] == [
     Normal(0, 0.1), Normal(0, 1), ScaleMixture(0.5, 1, exp(-6))])
says("784-400-400-10, ReLU", lambda: pruning.SIZES)
says("Five splits of", lambda: len({row["split"] for row in measured.load("pruning")["rows"]}))
says("4,000 digits and 1,000", lambda: (pruning.TRAIN, len(mnist5000()[0]) - pruning.TRAIN))
reads("after 15 epochs with", "pruning", "settings", "epochs")
reads("in batches of 100", "pruning", "settings", "batch_size")
says("all standard deviations start at 0.05", lambda: pruning.START)
says("is the better of 0.001 and 0.003", lambda: pruning.RATES)
reads("Predictions average eight weight samples", "pruning", "settings", "draws")
says("It pulls small weights to 0", lambda: pulls_like(exp(-6), 0.1, 2))
says("leaves large ones as free as", lambda: pulls_like(1.0, 10, 1000))
reads("it changes nothing clearly at the data", *mixed("regions", "nll"), "low",
      of=lambda low: low < 0, times=-1)
reads("a little away from NUTS", *mixed("gap", "wasserstein"), "low",
      of=lambda low: low > 0, times=-1)
says("Eating an edible mushroom pays 5", lambda: pays(poisonous=False))
says("pays 5 or −35", lambda: pays(poisonous=True))
says("15 for a poisonous", lambda: bandit.regret(np.array([True]), np.array([True])))
says("5 for an edible one left", lambda: bandit.regret(np.array([False]), np.array([False])))
says("Over twelve seeds nobody", lambda: len(seeds("bandit")))
says("nobody gains measurably", lambda: not called("better"))
reads("148 less regret than", *agent("thompson"), "difference", of=lambda one: -one)
reads("the greedy one's 2,628", *agent("greedy"), "regret")
reads("the interval, from −340", *agent("thompson"), "low")
reads("to 45, includes", *agent("thompson"), "high")
reads("it ends 202 behind", *agent("whole"), "difference")
reads("Only agents that toss coins are worse", *agent("random"), "verdict", to="",
      of=lambda _: called("worse") == {*bandits.COINS})
says("in 5% of its decisions", lambda: bandits.COINS["explore"])
reads("ends 450 behind", *agent("explore"), "difference")
says("Networks 64-50-50-1; ten members", lambda: (*bandits.SIZES, bandits.MEMBERS))
reads("eat the first 20", "bandit", "settings", "first")
reads("come five steps of AdamW", "bandit", "settings", "steps")
says("Each agent had eight settings", lambda: np.unique([*map(len, bandits.GRIDS.values())]))
says("on two other seeds", lambda: len(seeds("bandit-tuning") - seeds("bandit")))
reads("seeds of 1,000 mushrooms", "bandit-tuning", "settings", "number")
says("over all five comparisons", lambda: len(called("") | called("worse")))
says("some tens of examples still helps", lambda: (falls(16, 64) < 0.65).all())
says("over hundreds hardly", lambda: (falls(128, 512) > 0.8).all())
says("In ten small networks", lambda: len(measured.load("bayes-noise")["rows"]))
says("the noise of both goes on falling", lambda: all(
     (np.diff(noise(way, part)) < 0).all() for way in TRICKS for part in PARTS),
     noisy("flipout", "rho", 512))
says("leave a seventh at 128", lambda: (abs(left("mean", 128) - 1 / 7) < 0.015).all(),
     noisy("flipout", "mean", 128))
says("at 512 they leave 4%", lambda: (BATCHES[-1], *np.unique(left("mean", 512).round(2))),
     noisy("local", "mean", 512))
says("is quieter from the first example on", lambda: max(
     left("rho", batch)[0] for batch in BATCHES) < 0.1, noisy("local", "rho", 1))
says("Flipout begins where weight samples are", lambda: 0.95 < left("rho", 1)[1] < 1)
says("leaves 8% in the end", lambda: left("rho", BATCHES[-1])[1])

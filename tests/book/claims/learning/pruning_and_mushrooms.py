"""What *Pruning and mushrooms* claims, by its tables and by the code of its experiments."""

import numpy as np

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import bandits, bayes, pruning
from ensedu.data import bandit, mnist5000
from ensedu.priors import Normal, ScaleMixture
from tests.book.claiming import Change, Claims
from tests.book.claims.learning import bayes_by_backprop

#: Agents that toss coins, and those whose networks doubt.
COINS, SURE = ("explore", "random"), ("ensemble", "thompson", "whole")
#: What the settings of Bayesian networks change.
KEYS = {
    "thompson": {"lr", "posterior_std", "beta"}, "whole": {"lr", "posterior_std", "prior_std"}
}  # fmt: skip

BATCHES = bayes.NOISE.settings["sizes"]

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


def pruned(name: str, beta: float, score: str = "error"):
    """Return a score of the summary, errors by `pruning.LEVELS`."""
    return measured.row(measured.load("pruning")["summary"], contestant=name, beta=beta)[score]


def cut(name: str, beta: float, percent: int, times: float) -> Change:
    """Return a change of an error with so many percent of the weights dropped."""
    row, level = {"contestant": name, "beta": beta}, pruning.LEVELS.index(percent)
    return Change("pruning", "summary", row, "error", level, times=times)


def noise(way: str, part: str) -> np.ndarray:
    """Return the variance of a gradient in μ or ρ by batch size, a mean over networks."""
    rows = measured.load("bayes-noise")["rows"]
    return np.mean([row[way][part] for row in rows], axis=0)


def noisy(way: str, part: str, batch: int, times: float) -> Change:
    """Return a change of this variance at a batch size."""
    return Change("bayes-noise", "rows", {}, way, part, BATCHES.index(batch), times=times)


def regret(agent: str) -> np.ndarray:
    """Return what the seeds of an agent regret in the end."""
    rows = measured.load("bandit")["rows"]
    return np.array([row["regret"][-1] for row in rows if row["agent"] == agent])


def behind(agent: str) -> uncertainty.Interval:
    """Return how far an agent ends behind the greedy one."""
    return uncertainty.paired(regret(agent) - regret("greedy"))


def worth(agent: str, times: float) -> Change:
    """Return a change of an agent's regret."""
    return Change("bandit", "rows", {"agent": agent}, "regret", times=times)


@CLAIMS.says("paper", "1.24% with half of them, and on 1.29%")
@CLAIMS.says("begins", "The paper's begins at 1.24%", cut("single", 0.0, 0, 0.1))
def _() -> None:
    own = [pruning.PUBLISHED[k] for k in (0, 50, 95)]
    assert own == [1.24, 1.24, 1.29]
    errors = [row["error"][0] for row in measured.load("pruning")["summary"]]
    assert own[0] < min(errors)


@CLAIMS.says("priors", "and the paper's mixture")
def _() -> None:
    narrow, wide, mixture = pruning.PRIORS.values()
    assert (narrow, wide) == (Normal(0.0, 0.1), Normal(0.0, 1.0))
    assert isinstance(mixture, ScaleMixture)


@CLAIMS.says("flat", "down to a tenth of the weights", cut("narrow", 1.0, 90, 1.2))
@CLAIMS.says("twice", "at 14% errors, twice those", cut("single", 0.0, 0, 1.3))
def _() -> None:
    flat, one = pruned("narrow", 1.0), pruned("single", 0.0)
    assert np.ptp(flat[: pruning.LEVELS.index(90) + 1]) < 1 < flat[5] - flat[4]
    assert round(flat[0]) == 14
    assert 1.9 < flat[0] / one[0] < 2.2


@CLAIMS.says(
    "underfits", "still cost it 0.7 nats each",
    Change("pruning", "summary", {"contestant": "narrow", "beta": 1.0}, "train_nll", times=0.8),
)  # fmt: skip
def _() -> None:
    assert round(pruned("narrow", 1.0, "train_nll"), 1) == 0.7
    assert pruned("narrow", 1.0, "train_nll") > 20 * pruned("single", 0.0, "train_nll")
    assert round(pruned("narrow", 1.0, "signal_to_noise"), 2) == 0.02


@CLAIMS.says("tenth", "it is about 3 points higher", cut("mixture", 0.01, 90, 0.7))
@CLAIMS.says("lower", "normal distribution begins at 5.5%", cut("mixture", 0.01, 0, 1.1))
def _() -> None:
    tenth = pruning.LEVELS.index(90)
    for name in pruning.PRIORS:
        own = pruned(name, 0.01)
        assert pruned(name, 0.01, "train_nll") < 0.06
        assert 2.5 < own[tenth] - own[0] < 3.5
    assert round(pruned("mixture", 0.01)[0], 1) == 5.5


@CLAIMS.says("nine", "all nine of our Bayesian networks", cut("mixture", 1.0, 95, 1.2))
def _() -> None:
    """And the differences are clear (Holm)."""
    at = pruning.LEVELS.index(95)
    kinds = [(name, beta) for name in pruning.PRIORS for beta in pruning.BETAS]
    assert len(kinds) == 9
    assert all(2 * pruned(*kind)[at] < pruned("single", 0.0)[at] for kind in kinds)
    rows = measured.load("pruning")["rows"]
    errors = {
        kind: np.array([r["error"][at] for r in rows if (r["contestant"], r["beta"]) == kind])
        for kind in [*kinds, ("single", 0.0)]
    }
    apart = [errors[kind] - errors["single", 0.0] for kind in kinds]
    p = [uncertainty.resampled(one, train=pruning.TRAIN, test=1000).p for one in apart]
    assert max(uncertainty.holm(p)) < 0.05


@CLAIMS.says(
    "falling", "whole KL, the KL was still falling",
    Change("pruning", "rows", {"contestant": "narrow", "beta": 1.0}, "kl", -1, times=2),
)  # fmt: skip
def _() -> None:
    rows = measured.load("pruning")["rows"]
    for name in pruning.PRIORS:
        kl = np.array([r["kl"] for r in rows if (r["contestant"], r["beta"]) == (name, 1.0)])
        assert kl.shape[1] == 15
        assert (kl[:, -1] < kl[:, -2]).all()


@CLAIMS.says("sizes", "784-400-400-10, ReLU")
@CLAIMS.says(
    "splits",
    "Five splits of MNIST-5000 into",
    Change("pruning", "rows", {"split": 4}, "split", to=0),
)
@CLAIMS.says(
    "epochs",
    "all standard deviations start at 0.05",
    Change("pruning", "settings", "epochs", to=16),
)
@CLAIMS.says("draws", "Predictions average eight weight samples")
def _() -> None:
    assert pruning.SIZES == (784, 400, 400, 10)
    assert "ReLU" in repr(pruning.network("single"))
    table = measured.load("pruning")
    assert len({row["split"] for row in table["rows"]}) == 5
    assert len(mnist5000()[0]) == pruning.TRAIN + 1000 == 5000
    assert table["settings"] == {"epochs": 15, "batch_size": 100, "draws": 8}
    assert pruning.START == 0.05


@CLAIMS.says(
    "rates",
    "is the better of 0.001 and 0.003",
    Change("pruning-tuning", "rows", {"contestant": "wide", "lr": 0.003}, "error", times=0.5),
)
def _() -> None:
    table, splits = measured.load("pruning-tuning"), measured.load("pruning")["rows"]
    assert pruning.RATES == (0.001, 0.003)
    assert table["settings"]["split"] not in {row["split"] for row in splits}
    for name, rate in pruning.LR.items():
        own = [row for row in table["rows"] if row["contestant"] == name]
        assert {row["lr"] for row in own} == {*pruning.RATES}
        assert min(own, key=lambda row: row["error"])["lr"] == rate


@CLAIMS.says("pulls", "pulls small weights to 0")
def _() -> None:
    """Within twice the narrow part's deviation, and beyond ten times."""
    both = pruning.PRIORS["mixture"]
    small, large = np.linspace(0.1, 2, 20) * np.exp(-6), np.linspace(10, 1000, 20) * np.exp(-6)
    narrow, wide = Normal(0.0, np.exp(-6)), Normal(0.0, 1.0)
    assert np.allclose(both.slope(small, np), narrow.slope(small, np), rtol=0.03)
    assert np.allclose(both.slope(large, np), wide.slope(large, np), rtol=0.01)


@CLAIMS.says("nothing", "it changes nothing clearly at the data")
@CLAIMS.says(
    "away", "a little away from NUTS", bayes_by_backprop.base("gap", "wasserstein", times=2)
)
def _() -> None:
    """It is in the gap that it is further from NUTS."""
    assert not bayes_by_backprop.clear("mixture prior")
    assert bayes_by_backprop.clear("mixture prior", "gap")
    further = bayes_by_backprop.gained("gap", "wasserstein", prior="mixture").mean
    assert 0 < further < 0.2 * bayes_by_backprop.setting("gap", "wasserstein").mean()
    assert bayes.PRIORS["normal"] == Normal(0.0, 2.0)


@CLAIMS.says("edible", "Eating an edible mushroom pays 5")
@CLAIMS.says("poisonous", "pays 5 or −35")
def _() -> None:
    found = bandit.sample(np.random.default_rng(0), 4000)
    bad = found.pays[found.poisonous]
    assert {*found.pays[~found.poisonous]} == {5.0}
    assert {*bad} == {5.0, -35.0}
    assert abs((bad < 0).mean() - 0.5) < 0.04


@CLAIMS.says("regret", "15 for a poisonous mushroom eaten")
def _() -> None:
    eaten, poisonous = np.array([True, True, False, False]), np.array([True, False] * 2)
    assert np.diff(bandit.regret(eaten, poisonous), prepend=0).tolist() == [15, 0, 0, 5]


@CLAIMS.says("nobody", "nobody gains measurably", worth("ensemble", 0.8))
@CLAIMS.says("less", "148 less regret", worth("thompson", 1.05))
@CLAIMS.says("behind", "it ends 202 behind", worth("whole", 1.05))
@CLAIMS.says("coins", "in 5% of its decisions ends 450 behind", worth("explore", 0.9))
@CLAIMS.says("holm", "by Holm over all five comparisons", worth("random", 0.1))
def _() -> None:
    """148 and 203 are 147.5 and 202.5."""
    others = [*COINS, *SURE]
    assert {*others, "greedy"} == {*bandits.AGENTS}
    against = {agent: behind(agent) for agent in others}
    adjusted = dict(zip(others, uncertainty.holm([one.p for one in against.values()]), strict=True))
    assert [agent for agent in others if adjusted[agent] < 0.05] == [*COINS]
    assert all(one.n == 12 for one in against.values())
    assert all(against[agent].mean > 0 for agent in COINS)
    assert np.isclose(against["thompson"].mean, -148, rtol=0, atol=0.5)
    assert [round(end) for end in (against["thompson"].low, against["thompson"].high)] == [-340, 45]
    assert np.isclose(against["whole"].mean, 203, rtol=0, atol=0.5)
    assert round(against["explore"].mean) == 450
    assert round(regret("greedy").mean()) == 2628
    assert bandits.COINS == {"explore": 0.05, "random": 1.0}


@CLAIMS.says("bandit-sizes", "Networks 64-50-50-1; ten members")
@CLAIMS.says(
    "first", "All eat the first 20 mushrooms", Change("bandit", "settings", "first", to=10)
)
@CLAIMS.says(
    "steps", "five steps of AdamW on minibatches", Change("bandit", "settings", "steps", to=4)
)
def _() -> None:
    assert bandits.SIZES == (64, 50, 50, 1)
    assert bandits.MEMBERS == 10
    assert bandits.SCALE == 10
    settings = measured.load("bandit")["settings"]
    assert (settings["first"], settings["steps"]) == (20, 5)


@CLAIMS.says(
    "eight", "Each agent had eight settings", Change("bandit-tuning", "settings", "number", to=2000)
)
def _() -> None:
    table, seeds = measured.load("bandit-tuning"), measured.load("bandit")["rows"]
    tried = {row["seed"] for row in table["rows"]}
    assert len(tried) == 2
    assert not tried & {row["seed"] for row in seeds}
    assert table["settings"]["number"] == 1000
    for agent, grid in bandits.GRIDS.items():
        assert len(grid) == 8
        changed = {key for key in grid[0] if len({one[key] for one in grid}) > 1}
        assert changed == KEYS.get(agent, {"lr", "weight_decay"})


@CLAIMS.says("tens", "some tens of examples still helps", noisy("weights", "mean", 64, 2))
@CLAIMS.says("hundreds", "over hundreds hardly", noisy("weights", "mean", 512, 0.7))
def _() -> None:
    """Four times the examples leave 0.6 of the variance from 16 on, and 0.9 of it from 128 on."""
    for part in ("mean", "rho"):
        own = dict(zip(BATCHES, noise("weights", part), strict=True))
        assert own[64] / own[16] < 0.65 < 0.8 < own[512] / own[128]


@CLAIMS.says("goes-on", "the noise of both goes on falling", noisy("flipout", "rho", 512, 2))
@CLAIMS.says("four-percent", "at 512 they leave 4%", noisy("local", "mean", 512, 1.3))
@CLAIMS.says("seventh", "leave a seventh at 128", noisy("flipout", "mean", 128, 1.2))
@CLAIMS.says("quieter", "is quieter from the first example on", noisy("local", "rho", 1, 3))
@CLAIMS.says("begins-there", "leaves 8% in the end", noisy("flipout", "rho", 1, 1.2))
def _() -> None:
    assert BATCHES[-1] == 512
    assert len(measured.load("bayes-noise")["rows"]) == 10
    left = {}
    for way in bayes.ESTIMATORS[1:]:
        for part in ("mean", "rho"):
            assert (np.diff(noise(way, part)) < 0).all()
            left[way, part] = noise(way, part) / noise("weights", part)
        assert round(left[way, "mean"][-1], 2) == 0.04
        assert abs(left[way, "mean"][BATCHES.index(128)] - 1 / 7) < 0.015
    assert left["local", "rho"].max() < 0.1
    assert 0.95 < left["flipout", "rho"][0] < 1
    assert round(left["flipout", "rho"][-1], 2) == 0.08

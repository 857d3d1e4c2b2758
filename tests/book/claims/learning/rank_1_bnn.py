"""What *Training a rank-1 BNN* claims, by its tables, by those of the contest, and by algebra."""

import math
from typing import Any

import numpy as np
import torch

from ensedu import counting
from ensedu.book import measured
from ensedu.book.experiments import training_rank1 as training
from ensedu.book.experiments.contest import mixes, reading
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.book.page.live import live, trainer_state
from ensedu.contest import networks
from ensedu.contest.contestants import CONTESTANTS
from ensedu.priors import Normal
from ensedu.torch import mlp
from ensedu.uncertainty import resampled
from tests.book.claiming import Change, Claims
from tests.book.claims.learning.shootout import lengths, lower, middle, row, scaled, word

RANK1, TRAINED = "rank1", "rank1-training"
CURVE = {"data": "gap", "method": "rank1", "prior_scale": 0.1}

PUBLISHED = "what others published"
CLAIMS = Claims(
    "learning/rank-1-bnn",
    unclaimed={
        "an entry that is far from 1": "what heavy tails are",
        "Why not start the means": "the story's question",
        "way the mean passes 0": "continuity",
        "The second way out is to": "what the first sections measured",
        "here: the corrected resampled t-test": "a test",
        "it offers means that start near 1": PUBLISHED,
        "36.5M": PUBLISHED,
        "0.136": PUBLISHED,
        "0.128": PUBLISHED,
        "0.120": PUBLISHED,
        "146M": PUBLISHED,
        "or take a prior that asks less": "advice",
    },
)


def average(name: str, score: str) -> float:
    """Return the mean of a score over splits and initializations."""
    return np.mean(measured.row(measured.load(TRAINED)["rows"], contestant=name)[score])


def changed(name: str, score: str, times: float) -> Change:
    """Return a change of a score."""
    return Change(TRAINED, "rows", {"contestant": name}, score, times=times)


def curve(name: str, part: str) -> np.ndarray:
    """Return means after each epoch of the table."""
    return np.array(measured.row(measured.load(TRAINED)["rows"], contestant=name)["curves"][part])


def bent(name: str, part: str, at: int, times: float) -> Change:
    """Return a change of a curve."""
    return Change(TRAINED, "rows", {"contestant": name}, "curves", part, at, times=times)


def pair(name: str, than: str) -> dict[str, Any]:
    """Return how the NLLs of two contestants differ."""
    return measured.row(measured.load(TRAINED)["summary"]["pairs"], contestant=name, than=than)


def told(name: str, than: str) -> Change:
    """Return a change of the word of a pair."""
    where = {"contestant": name, "than": than}
    return Change(TRAINED, "summary", "pairs", where, "verdict", to="worse")


def by_split(scores: Any) -> np.ndarray:
    """Return the mean over initializations of each split."""
    return np.array([np.mean(one) for one in scores])


def noisy(score: str = "nll") -> np.ndarray:
    """Return the score of one network with noise, by split."""
    return by_split(measured.load("rank1-noise")["rows"][0][score])


def louder(times: float) -> Change:
    """Return a change of it."""
    return Change("rank1-noise", "rows", 0, "nll", times=times)


def single() -> np.ndarray:
    """Return the NLL of one network by split."""
    rows = measured.load("batch-ensemble-training")["rows"]
    own = [r for r in rows if (r["data"], r["contestant"]) == ("digits", "single")]
    return by_split([r["nll"] for r in sorted(own, key=lambda r: r["split"])])


def learned(score: str = "nll", name: str = "normal") -> np.ndarray:
    """Return a score of a rank-1 BNN by split."""
    return by_split(measured.row(measured.load(TRAINED)["rows"], contestant=name)[score])


def interval(differences: np.ndarray):
    """Return the corrected resampled t interval of the digits' splits."""
    return resampled(differences, train=1344, test=453)


def kl(mean: float, std: float) -> float:
    """Return nats from N(mean, std²) to N(1, 0.1²), from Torch."""
    own, prior = (
        torch.distributions.Normal(*torch.tensor(p, dtype=torch.float64))
        for p in ((mean, std), (1.0, 0.1))
    )
    return float(torch.distributions.kl_divergence(own, prior))


START = (0.001 / 0.999) ** 0.5


def predicted(contestant: str, part: str, times: float) -> Change:
    """Return a change of what a contestant predicts of concrete."""
    return Change(mixes.TABLE, "rows", {"contestant": contestant}, part, times=times)


@CLAIMS.says("entries", "each of the 808 entries")
@CLAIMS.says("begins", r"standard deviation \sigma of 0.01")
def _() -> None:
    net = live(**CURVE)
    shapes = trainer_state.shapes({**net.options, "points": net.points.tolist()})[0]
    assert sum(math.prod(s) for name, s in shapes.items() if "_mean" in name) == 808
    assert (net.options["initial_std"], net.options["prior_scale"]) == (0.01, 0.1)


@CLAIMS.says("starts", r"with a \sigma of 0.032")
def _() -> None:
    net = training.Stack(training.CONTESTANTS["normal"], [0], (64, 64, 64, 10))
    means, deviations = net.fast_weight_moments()
    assert means[0].shape == (4, 330)
    assert np.allclose(deviations, START)
    assert round(START, 3) == 0.032


@CLAIMS.says("ring", "of them lie above 0.099", bent("normal", "sigma", -1, 0.9))
@CLAIMS.says("summary-return", "of r and s return to their prior", bent("normal", "sigma", -1, 0.6))
def _() -> None:
    low, middle, high = curve("normal", "sigma")[-1]
    assert round(middle, 3) == 0.099
    assert 0.09 < low < high < 0.11
    assert measured.load(TRAINED)["settings"]["epochs"][-1] == 40


@CLAIMS.says("report", "it is 0.080, where one", changed("normal", "nll", 1.02))
@CLAIMS.says("alone", "one weight sample has 0.105", changed("normal", "draw_nll", 1.02))
@CLAIMS.says("mixture", "it gave 0.091 instead of 0.080", told("mixture", "normal"))
def _() -> None:
    found = [average("normal", k) for k in ("nll", "draw_nll")]
    assert [round(one, 3) for one in found] == [0.080, 0.105]
    assert round(average("mixture", "nll"), 3) == 0.091
    assert pair("mixture", "normal")["verdict"] == ""


@CLAIMS.says(
    "slower", "the variance for W was 1.5 times",
    Change("rank1-gradients", "rows", {}, "member", "weight", 5, times=1.1),
)  # fmt: skip
@CLAIMS.says("each", "did to the NLL is unclear", told("per_example", "normal"))
def _() -> None:
    rows = measured.load("rank1-gradients")["rows"]
    at = measured.load("rank1-gradients")["settings"]["sizes"].index(32)
    each = [np.mean([r[kind]["weight"][at] for r in rows]) for kind in ("member", "example")]
    assert round(each[0] / each[1], 1) == 1.5
    assert pair("per_example", "normal")["verdict"] == ""


@CLAIMS.says("fewer", "four times fewer than a deep ensemble")
def _() -> None:
    """Of the published network, as facts of counting have it."""
    parameters = {"rank1": 36_635_872, "deep": 145_916_776, "mean_field": 72_940_436}
    assert abs(parameters["deep"] / parameters["rank1"] - 4) < 0.03
    assert abs(parameters["mean_field"] / parameters["rank1"] - 2) < 0.02


@CLAIMS.says("loss", "our loss on digits is 0.014", bent("normal", "train_nll", -1, 1.1))
@CLAIMS.says("nats", "19 nats for all 1,344 images", bent("normal", "train_nll", -1, 1.05))
@CLAIMS.says("entry", "costs 0.7 nats")
@CLAIMS.says("hold", "231 nats, twelve times the whole loss")
def _() -> None:
    """The KL at any mean is at least that at the prior's."""
    loss = curve("normal", "train_nll")[-1] + curve("normal", "kl")[-1]
    assert round(loss, 3) == 0.014
    assert round(1344 * loss) == 19
    assert round(kl(1.0, START), 1) == 0.7
    assert round(330 * kl(1.0, START)) == 231
    assert round(330 * kl(1.0, START) / (1344 * loss)) == 12
    assert all(kl(mean, START) > kl(1.0, START) for mean in (0.9, 1.2, -1))


@CLAIMS.says("lower", "not higher but slightly lower", changed("normal", "prior_nll", 1.05))
@CLAIMS.says("nothing", "the NLL is not higher, so we see", changed("normal", "prior_nll", 1.2))
def _() -> None:
    found = interval(learned("prior_nll") - learned())
    assert round(found.mean, 3) == -0.004
    assert found.high < 0.001


@CLAIMS.says("means", "NLL that is 0.009 higher", changed("normal", "point_nll", 1.02))
@CLAIMS.says("above", "interval 0.004 to 0.015")
def _() -> None:
    found = interval(learned("point_nll") - learned())
    assert [round(x, 3) for x in (found.mean, found.low, found.high)] == [0.009, 0.004, 0.015]


@CLAIMS.says("rival", "predicts with 128 weight samples")
@CLAIMS.says("noise", "NLL is 0.094, between one network", louder(1.02))
@CLAIMS.says("both", "rank-1 BNN, and both differences are unclear")
def _() -> None:
    assert training.NOISY.fixed
    assert training.NOISE.settings["passes"] * training.MEMBERS == 128
    assert round(noisy().mean(), 3) == 0.094
    assert learned().mean() < noisy().mean() < single().mean()
    for rival in (learned(), single()):
        found = interval(noisy() - rival)
        assert found.low < 0 < found.high
    net = training.Stack(training.NOISY, [0], (64, 64, 64, 10))
    sizes = [v.numel() for v in net.parameters.values() if v.requires_grad]
    assert sum(sizes) == counting.mlp([64, 64, 64, 10]).total


@CLAIMS.says("cauchy", "the NLL rises to 1.07", changed("cauchy", "prior_nll", 1.05))
def _() -> None:
    found = [round(average("cauchy", k), 2) for k in ("nll", "prior_nll")]
    assert found == [0.07, 1.07]


@CLAIMS.says("away", "is 20 standard deviations away")
@CLAIMS.says("cost", "= 200 nats more than a mean")
@CLAIMS.says("guess", "a digit blindly costs only 2.3")
@CLAIMS.says("summary-cost", "a -1 costs 200 nats more")
@CLAIMS.says("six", "a -1 costs 6 nats more")
def _() -> None:
    assert round((1 - -1) / 0.1) == 20
    assert round(kl(-1.0, START) - kl(1.0, START), 6) == 200
    assert round(np.log(10), 1) == 2.3
    drawn = START * np.random.default_rng(5).standard_normal(200_000)
    far, near = (np.log1p(((m + drawn - 1) / 0.1) ** 2).mean() for m in (-1.0, 1.0))
    assert round(far - near) == 6


@CLAIMS.says("left", "nearly all means have left the side", bent("signs", "negative", -1, 4))
@CLAIMS.says("rises", "rises from 0.16 to 0.19", bent("signs", "train_nll", 5, 0.9))
@CLAIMS.says("stay", "40% of the means stay", bent("signs_cauchy", "negative", -1, 1.1))
def _() -> None:
    epochs = measured.load(TRAINED)["settings"]["epochs"]
    at = [epochs.index(epoch) for epoch in (5, 12)]
    negative, nll = curve("signs", "negative"), curve("signs", "train_nll")
    assert negative[0] > 0.49 > 0.02 > negative[-1]
    assert abs((negative[at[0]] - negative[at[1]]) / negative[0] - 0.5) < 0.03
    assert [round(nll[k], 2) for k in at] == [0.16, 0.19]
    assert round(curve("signs_cauchy", "negative")[-1], 2) == 0.40


@CLAIMS.says("signs-end", "0.109 from random signs", changed("signs", "nll", 1.02))
@CLAIMS.says("cauchy-end", "The two ways out end lower", told("signs_cauchy", "signs"))
@CLAIMS.says("start-end", "lower, but both differences are unclear", told("signs", "normal"))
def _() -> None:
    found = [round(average(name, "nll"), 3) for name in ("signs", "signs_cauchy", "normal")]
    assert found[0] == 0.109 and max(found[1:]) < 0.1
    assert pair("signs_cauchy", "signs")["verdict"] == pair("signs", "normal")["verdict"] == ""


@CLAIMS.says("sizes", "1,797 digits of 8 × 8")
@CLAIMS.says("annealed", "over 32 of the 40 epochs")
@CLAIMS.says("averaged", "averages 32 weight samples of each member")
@CLAIMS.says("network", "64-64-64-10, four members")
@CLAIMS.says("heavy", "with an NLL of 2.25", changed("signs_heavy", "nll", 1.02))
def _() -> None:
    (x, _), (test, _) = training.before.examples("digits", 0)
    assert (len(x), len(test), x.shape[1]) == (1344, 453, 64)
    own = training.SETTINGS
    assert (own["splits"], own["starts"], own["batch_size"]) == (10, 2, 48)
    assert (own["passes"], own["epochs"][-1], training.MEMBERS) == (32, 40, 4)
    assert len(training.RATES) == 3
    assert round(average("signs_heavy", "nll"), 2) == 2.25


@CLAIMS.says("sources", "on data from 18 sources")
@CLAIMS.says("near-one", "start from N(1, 0.3^2), which is")
def _() -> None:
    assert len({task().source for task in TASKS.values()}) == 18
    assert not {"init", "init_std"} & {key for one in CONTESTANTS[RANK1].tries for key in one}
    assert networks.RANK1_STD == 0.3
    torch.manual_seed(0)
    layer = mlp([50, 70, 3], RANK1, 4, **networks.OPTIONS[RANK1])[0]
    means = torch.cat([layer.r_mean.ravel(), layer.s_mean.ravel()])
    assert abs(means.mean() - 1) < 0.06
    assert abs(means.std() - networks.RANK1_STD) < 0.03
    assert layer.prior == Normal(1.0, networks.RANK1_STD)


@CLAIMS.says("single", "0.4 units lower on the typical source", row("gpa2", RANK1, 0.5))
@CLAIMS.says("beside-batch", "on only 3 sources, which", row("gpa2", RANK1, 0.8))
@CLAIMS.says("tempered", "have a temperature it is worse, with 2", scaled("gpa2", RANK1, 0.5))
@CLAIMS.says("beside-deep", "Compared with a deep ensemble it is unclear")
@CLAIMS.says("summary", "with one network, and worse than a BatchEnsemble")
@CLAIMS.says("think", "for both its NLL is worse")
def _() -> None:
    assert word(RANK1) == word(RANK1, tempered=True) == "unclear"
    assert round(middle(RANK1), 1) == -0.4
    assert 18 - lower(RANK1) == 4
    beside = "batch_ensemble"
    assert [word(RANK1, beside, tempered) for tempered in (False, True)] == ["unclear", "worse"]
    assert [lower(RANK1, beside, tempered) for tempered in (False, True)] == [3, 2]
    assert {word(RANK1, "deep_ensemble", tempered) for tempered in (False, True)} == {"unclear"}


@CLAIMS.says("times", "3.7 times as long as one network to")
@CLAIMS.says("predicts", "and 5.7 times as long to predict", Change("contest/digits", "rows",
             {"contestant": RANK1}, "predict_seconds", times=3))  # fmt: skip
@CLAIMS.says("think-predicts", "BNN takes 5.7 times as long")
@CLAIMS.says("summary-costs", "it takes more time than both")
def _() -> None:
    own, batch, deep = map(reading.costs, (RANK1, "batch_ensemble", "deep_ensemble"))
    assert [round(own[k], 1) for k in ("train_seconds", "predict_seconds")] == [3.7, 5.7]
    assert all(own[k] > batch[k] > 1 for k in own)
    assert all(own[k] > deep[k] > 1 for k in ("train_seconds", "predict_seconds"))


@CLAIMS.says("larger", "networks thousands of times larger than ours")
def _() -> None:
    assert 2000 < 36.6e6 / counting.mlp([64, 64, 64, 10], RANK1, 4).total < 4000


@CLAIMS.says("wider", "For five of the engineer's six mixes", predicted(RANK1, "std", 0.8))
def _() -> None:
    factors = lengths(RANK1) / lengths("single")
    assert sum(factors > 1.05) == 5

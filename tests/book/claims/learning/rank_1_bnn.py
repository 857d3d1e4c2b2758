"""What *Training a rank-1 BNN* claims, by its tables, by those of the contest, and by algebra."""

from functools import partial

import numpy as np
import torch

from ensedu import counting
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.trainers import networks
from ensedu.data import digits
from ensedu.priors import Normal
from ensedu.torch import mlp
from ensedu.uncertainty import MeanDifference, corrected_t
from tests.book.claiming import Claims, every, reader
from tests.book.claims.learning.shootout import BATCH, DEEP, beside, lower
from workshop.experiments import rank1_training as training
from workshop.experiments.contest import reading
from workshop.page.live import live, trainer_picture

CLAIMS = Claims("learning/rank-1-bnn", unclaimed={
    "continuity": ["way the mean passes 0"],
    "what the first sections measured": ["There are two ways out"],
    "a test": ["here: the corrected resampled t-test"],
    "published by others": ["it offers means that start near 1"],
    "advice": ["or take a prior that asks less"],
})  # fmt: skip
says, reads, settings = CLAIMS.says, CLAIMS.reads, ("rank1-training", "settings")
of = reader("rank1-training", "rows", by="contestant")
SIZES, PRIOR = training.before.sizes("digits"), training.RECIPES["normal"].prior
TRAIN, TEST = (len(x) for x, _ in training.before.examples("digits", 0))
#: The standard deviations of r and s as they start.
_, STARTS = training.Stack(training.RECIPES["normal"], [0], SIZES).fast_weight_moments()
START, CURVE = STARTS.mean(), live(data="gap", method="rank1", prior_scale=0.1)
beside, lower = (partial(asked, "rank1") for asked in (beside, lower))


def nll(name: str, score: str = "nll") -> float:
    return np.mean(of(name, score))


def unclear(said: str, name: str, than: str) -> None:
    """Claim that the NLLs of two contestants differ by nothing clear."""
    pair = {"contestant": name, "than": than}
    reads(said, "rank1-training", "summary", pair, "verdict", of=lambda word: not word)


def by_split(name: str, score: str = "nll") -> np.ndarray:
    """Return a score of a rank-1 BNN by split."""
    return np.mean(of(name, score), axis=-1)


def apart(scores: np.ndarray, than: np.ndarray) -> MeanDifference:
    return corrected_t(scores - than, train=TRAIN, test=TEST)


def without(kind: str) -> MeanDifference:
    """Return what r and s from the prior, or at their means, change in the NLL."""
    return apart(by_split("normal", f"{kind}_nll"), by_split("normal"))


def loss() -> float:
    """Return the loss in the end, nats an image."""
    return of("normal", "curves", "train_nll", -1) + np.mean(of("normal", "kl"))


def kl(mean: float) -> float:
    """Return nats from N(mean, START²) to the prior, from Torch."""
    pairs = torch.tensor([[mean, START], [PRIOR.loc, PRIOR.scale]], dtype=torch.float64)
    own, prior = (torch.distributions.Normal(*pair) for pair in pairs)
    return float(torch.distributions.kl_divergence(own, prior))


def all_kl() -> float:
    return STARTS.shape[-1] * kl(1.0)


def cauchy(mean: float) -> float:
    """Return what a mean costs under the Cauchy prior, up to a constant."""
    drawn = mean + START * np.random.default_rng(5).standard_normal(200_000)
    return np.log1p(((drawn - PRIOR.loc) / PRIOR.scale) ** 2).mean()


def entries() -> int:
    """Return how many entries r and s of the first figure have."""
    params = trainer_picture.network(CURVE.state, CURVE.state).params
    return sum(array.size for name, array in params.items() if name.endswith("_mean"))


def starts_at_prior() -> bool:
    """Say whether the contest's means of r and s are drawn from their prior, whatever is tried."""
    torch.manual_seed(0)
    layer = mlp([50, 70, 3], "rank1", 4, **networks.OPTIONS["rank1"])[0]
    means = torch.cat([layer.r_mean.ravel(), layer.s_mean.ravel()])
    tried = {key for one in CONTESTANTS["rank1"].settings for key in one}
    drawn = abs(means.mean() - 1) < 0.06 and abs(means.std() - 0.3) < 0.03
    return bool(drawn) and layer.prior == Normal(1.0, 0.3) and not tried & {"init", "init_std"}


def more(place: str) -> np.ndarray:
    """Return how much more than a BatchEnsemble it pays on each draw of the curve's data."""
    own, other = (
        {row["data_seed"]: np.mean(row[place]["nll"])
         for row in every("running-example", "rows", {"contestant": name})}
        for name in ("rank1", "batch_ensemble_signs")
    )  # fmt: skip
    return np.array([own[seed] - other[seed] for seed in sorted(own)])


# fmt: off
says("each of the 808 entries", entries)
says(r"standard deviation \sigma of 0.01", lambda: CURVE.state["initial_std"])
says("on our digits it is 0.080", lambda: nll("normal"))
says("one weight sample has 0.105", lambda: nll("normal", "draw_nll"))
says("in the figure, at 0.032", lambda: np.unique(STARTS.round(9)))
reads("after 40 epochs", *settings, "epochs", -1)
says("of them lie above 0.099", lambda: of("normal", "curves", "sigma", -1, 1))
says("of r and s return to their prior",
     lambda: np.allclose(of("normal", "curves", "sigma", -1), 0.1, rtol=0, atol=0.01))
says("KL together, is 0.014 nats an image", loss)
says("19 nats for all 1,344 images", lambda: (TRAIN * loss(), TRAIN))
says("costs 0.7 nats", lambda: kl(1.0))
says("A member has 330 entries", lambda: STARTS.shape[-1])
says("231 nats, twelve times as much", lambda: (all_kl(), all_kl() / TRAIN / loss()))
says(["not higher but slightly lower", "the NLL is not higher, so we see"],
     lambda: -0.01 < without("prior").mean < 0)
says("0.009 higher", lambda: without("point").mean)
says("interval 0.004 to 0.015", lambda: (without("point").low, without("point").high))
says("it rises to 1.07", lambda: nll("cauchy", "prior_nll"))
says("is 20 standard deviations away", lambda: (PRIOR.loc + 1) / PRIOR.scale)
says(["= 200 nats more", "costs 200 nats more"], lambda: kl(-1.0) - kl(1.0))
says("33,000 nats, or 25 for each of 1,344",
     lambda: (half := STARTS.shape[-1] * (kl(-1.0) - kl(1.0)) / 2, half / TRAIN, TRAIN))
says("a digit blindly costs only 2.3", lambda: np.log(10))
says("costs 6 nats more", lambda: cauchy(-1.0) - cauchy(1.0))
says("nearly all means have left the side", lambda: of("signs", "curves", "negative", -1) < 0.02)
says("From epoch 5 to 12", lambda: training.EPOCHS[3:6:2])
says("about half of them cross",
     lambda: 0.47 < ((left := of("signs", "curves", "negative"))[3] - left[5]) / left[0] < 0.53)
says("rises from 0.16 to 0.19", lambda: of("signs", "curves", "train_nll")[3:6:2])
says("40% of the means stay", lambda: of("signs_cauchy", "curves", "negative", -1))
says("both ways out have a lower NLL",
     lambda: nll("signs") > max(nll("signs_cauchy"), nll("normal")))
unclear("normal prior, but both differences are unclear", "signs_cauchy", "signs")
unclear("but both differences are unclear", "signs", "normal")
says("1,797 digits of 8 × 8", lambda: (len(digits()[0]), *[digits()[0].shape[1] ** 0.5] * 2))
reads("10 random splits", *settings, "splits")
says("1,344 to learn from and 453", lambda: (TRAIN, TEST))
says("64-64-64-10, four members", lambda: (*SIZES, training.MEMBERS))
reads("of Adam, batches of 48", *settings, "batch_size")
says("32 of the 40 epochs", lambda: (training.RECIPES["normal"].anneal, training.EPOCHS[-1]))
reads("averages 32 weight samples of each member", *settings, "passes")
says("on data from 18 sources", lambda: len(beside().sources))
says("start from N(1, 0.3^2), which is", starts_at_prior)
says("0.4 units lower on the typical source", lambda: -beside().middle)
says("is higher on 4 of 18", lambda: (len(beside().sources) - lower(), len(beside().sources)))
says(["18, so the difference is unclear", "unclear compared with one network"],
     lambda: beside().word == "unclear")
says("lower one on only 3 sources", lambda: lower(BATCH))
says("3 sources, which is still unclear", lambda: beside(BATCH).word == "unclear")
says("temperature, it is lower on 2", lambda: lower(BATCH, tempered=True))
says(["and 32 weight samples for a prediction", "BNN makes 32 of them for"],
     lambda: networks.PASSES)
says("signs, on 15 of 20", lambda: (sum(more("gap") < 0), len(more("gap"))))
says("data sets, and more at the data", lambda: sum(more("regions") > 0) > 15)
says(["worse than a BatchEnsemble", "with a temperature for both, its NLL is"],
     lambda: beside(BATCH, tempered=True).word == "worse")
says("Compared with a deep ensemble it is unclear",
     lambda: {beside(DEEP, tempered=t).word for t in (False, True)} == {"unclear"})
says(["costs the most time of these four", "it takes more time than both"],
     lambda: all(reading.costs("rank1")[kind] > reading.costs(other)[kind]
         for other in ("single", BATCH, DEEP) for kind in ("train_seconds", "predict_seconds")))
says("3.7 times as long as one", lambda: reading.costs("rank1")["train_seconds"])
says("times larger than ours", lambda: 2000 < 36.6e6 / counting.mlp(SIZES, "rank1", 4).total < 4000)

"""What *Training a rank-1 BNN* claims, by its tables, by those of the contest, and by algebra."""

import math
from typing import Any

import numpy as np
import torch

from ensedu import counting
from ensedu.contest import networks
from ensedu.contest.contestants import CONTESTANTS
from ensedu.data import digits
from ensedu.priors import Normal
from ensedu.torch import mlp
from ensedu.uncertainty import Interval, resampled
from tests.book.claiming import Change, Claims, follow
from workshop import measured
from workshop.experiments import rank1_training as training
from workshop.experiments.contest import mixes, reading
from workshop.page.live import live, trainer_state

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
says, reads = CLAIMS.says, CLAIMS.reads
TABLE, RANK1, BATCH, DEEP = "rank1-training", "rank1", "batch_ensemble", "deep_ensemble"
SIZES, PRIOR = training.before.sizes("digits"), training.CONTESTANTS["normal"].prior
TRAIN, TEST = (len(x) for x, _ in training.before.examples("digits", 0))
#: The standard deviations of r and s as they start.
_, STARTS = training.Stack(training.CONTESTANTS["normal"], [0], SIZES).fast_weight_moments()
START, CURVE = STARTS.mean(), live(data="gap", method="rank1", prior_scale=0.1)


def of(name: str, *way: str | int) -> tuple[Any, ...]:
    """Return the way to what a contestant has."""
    return TABLE, "rows", {"contestant": name}, *way


def nll(said: str, name: str, score: str = "nll") -> None:
    """Claim the mean of a score over splits and initializations."""
    reads(said, *of(name, score), of=np.mean)


def unclear(said: str, name: str, than: str) -> None:
    """Claim that the NLLs of two contestants differ by nothing clear."""
    pair = {"contestant": name, "than": than}
    reads(said, TABLE, "summary", pair, "verdict", of=lambda word: not word, to="worse")


def by_split(name: str, score: str = "nll") -> np.ndarray:
    """Return a score by split: of a rank-1 BNN, one network, or the one with noise."""
    table = {"noise": "rank1-training-noise", "single": "batch-ensemble-training"}.get(name, TABLE)
    where = {"single": {"data": "digits", "contestant": name}, "noise": {}}
    rows = follow(measured.load(table)["rows"], where.get(name, {"contestant": name}))
    found = [row[score] for row in sorted(rows, key=lambda row: row.get("split", 0))]
    return np.mean(found, axis=-1).ravel()


def apart(scores: np.ndarray, than: np.ndarray) -> Interval:
    """Return the corrected resampled t interval of the digits' splits."""
    return resampled(scores - than, train=TRAIN, test=TEST)


def without(kind: str) -> Interval:
    """Return what r and s from the prior, or at their means, change in the NLL."""
    return apart(by_split("normal", f"{kind}_nll"), by_split("normal"))


def curve(name: str, part: str) -> np.ndarray:
    """Return means after some epochs."""
    return np.array(measured.row(measured.load(TABLE)["rows"], contestant=name)["curves"][part])


def crossed() -> float:
    """Return which part of the means below 0 has left that side between epochs 5 and 12."""
    first, *_, five, _, twelve = curve("signs", "negative")[:6]
    return (five - twelve) / first


def loss() -> float:
    """Return the loss in the end, nats an image."""
    row = measured.row(measured.load(TABLE)["rows"], contestant="normal")
    return curve("normal", "train_nll")[-1] + np.mean(row["kl"])


def kl(mean: float) -> float:
    """Return nats from N(mean, START²) to the prior, from Torch."""
    pairs = torch.tensor([[mean, START], [PRIOR.loc, PRIOR.scale]], dtype=torch.float64)
    own, prior = (torch.distributions.Normal(*pair) for pair in pairs)
    return float(torch.distributions.kl_divergence(own, prior))


def all_kl() -> float:
    """Return the KL of a member whose entries stay where they start."""
    return STARTS.shape[-1] * kl(1.0)


def cauchy(mean: float) -> float:
    """Return what a mean costs under the Cauchy prior, up to a constant."""
    drawn = mean + START * np.random.default_rng(5).standard_normal(200_000)
    return np.log1p(((drawn - PRIOR.loc) / PRIOR.scale) ** 2).mean()


def entries() -> int:
    """Return how many entries r and s of the first figure have."""
    shapes = trainer_state.shapes(CURVE.state)[0]
    return sum(math.prod(shape) for name, shape in shapes.items() if "_mean" in name)


def starts_at_prior() -> bool:
    """Say whether the contest's means of r and s are drawn from their prior, whatever is tried."""
    torch.manual_seed(0)
    layer = mlp([50, 70, 3], RANK1, 4, **networks.OPTIONS[RANK1])[0]
    means = torch.cat([layer.r_mean.ravel(), layer.s_mean.ravel()])
    tried = {key for one in CONTESTANTS[RANK1].tries for key in one}
    drawn = abs(means.mean() - 1) < 0.06 and abs(means.std() - 0.3) < 0.03
    return bool(drawn) and layer.prior == Normal(1.0, 0.3) and not tried & {"init", "init_std"}


def word(other: str = "single", tempered: bool = False) -> str:
    """Return the rank-1 BNN's word in NLL."""
    return reading.compared("nll", other, tempered)[RANK1].word


def lower(other: str = "single", tempered: bool = False) -> int:
    """Return on how many sources its NLL is the lower one."""
    return sum(one < 0 for one in reading.compared("nll", other, tempered)[RANK1].sources.values())


def contest(task: str, *way: str, times: float = 0.5) -> Change:
    """Return a change of what it has in the contest."""
    return Change(f"contest/{task}", "rows", {"contestant": RANK1}, *way, times=times)


def dearer(*than: str) -> bool:
    """Say whether it takes more time than others, to train and to predict."""
    own, kinds = reading.costs(RANK1), ("train_seconds", "predict_seconds")
    return all(own[kind] > reading.costs(other)[kind] for other in than for kind in kinds)


# fmt: off
says("each of the 808 entries", entries)
says(r"standard deviation \sigma of 0.01", lambda: CURVE.state["initial_std"])
nll("on our digits it is 0.080", "normal")
nll("one weight sample has 0.105", "normal", "draw_nll")
unclear("did to the NLL is unclear", "per_example", "normal")
says("four times fewer than a deep ensemble", lambda: 145_916_776 / 36_635_872)
says("half as many as mean-field", lambda: 36_635_872 / 72_940_436)
nll("here it gave 0.091", "mixture")
unclear("instead of 0.080, which is unclear", "mixture", "normal")
says(r"with a \sigma of 0.032", lambda: np.unique(STARTS.round(9)))
reads("after 40 epochs", TABLE, "settings", "epochs", -1)
reads("of them lie above 0.099", *of("normal", "curves", "sigma", -1, 1), times=0.9)
reads("of r and s return to their prior", *of("normal", "curves", "sigma", -1), times=0.6,
      of=lambda ends: 0.09 < min(ends) < max(ends) < 0.11)
reads("our loss on digits is 0.014", *of("normal", "curves", "train_nll", -1), of=lambda _: loss())
says("19 nats for all 1,344 images", lambda: (TRAIN * loss(), TRAIN))
says("costs 0.7 nats", lambda: kl(1.0))
says("A member has 330 entries", lambda: STARTS.shape[-1])
says("231 nats, twelve times the whole loss", lambda: (all_kl(), all_kl() / TRAIN / loss()))
says(["not higher but slightly lower", "the NLL is not higher, so we see"],
     lambda: -0.01 < without("prior").mean < 0, Change(*of("normal", "prior_nll"), times=1.2))
says("0.009 higher", lambda: without("point").mean, Change(*of("normal", "point_nll"), times=1.02))
says("interval 0.004 to 0.015", lambda: (without("point").low, without("point").high))
says("128 weight samples", lambda: training.NOISE.settings["passes"] * training.MEMBERS)
reads("Its NLL is 0.094", "rank1-training-noise", "rows", 0, "nll", of=np.mean)
says("between one network and the rank-1 BNN",
     lambda: by_split("normal").mean() < by_split("noise").mean() < by_split("single").mean())
says("and both differences are unclear", lambda: all(
     apart(by_split("noise"), by_split(other)).p > 0.05 for other in ("normal", "single")))
nll("the NLL rises to 1.07", "cauchy", "prior_nll")
says("is 20 standard deviations away", lambda: (PRIOR.loc + 1) / PRIOR.scale)
says(["= 200 nats more", "costs 200 nats more"], lambda: kl(-1.0) - kl(1.0))
says("a digit blindly costs only 2.3", lambda: np.log(10))
says("costs 6 nats more", lambda: cauchy(-1.0) - cauchy(1.0))
reads("nearly all means have left the side", *of("signs", "curves", "negative", -1), times=4,
      of=lambda end: end < 0.02)
says("From epoch 5 to 12", lambda: training.EPOCHS[3:6:2])
says("about half of them cross", lambda: 0.47 < crossed() < 0.53)
says("rises from 0.16 to 0.19", lambda: curve("signs", "train_nll")[3:6:2],
     Change(*of("signs", "curves", "train_nll", 5), times=0.9))
reads("40% of the means stay", *of("signs_cauchy", "curves", "negative", -1))
nll("0.109 from random signs", "signs")
says("The two ways out end lower", lambda: by_split("signs").mean() > max(
     by_split(name).mean() for name in ("signs_cauchy", "normal")))
unclear("lower, but both differences are unclear", "signs_cauchy", "signs")
unclear("but both differences are unclear", "signs", "normal")
says("1,797 digits of 8 × 8", lambda: (len(digits()[0]), *[digits()[0].shape[1] ** 0.5] * 2))
reads("10 random splits", TABLE, "settings", "splits")
says("1,344 to learn from and 453", lambda: (TRAIN, TEST))
says("64-64-64-10, four members", lambda: (*SIZES, training.MEMBERS))
reads("of Adam, batches of 48", TABLE, "settings", "batch_size")
says("over 32 of the 40 epochs",
     lambda: (training.CONTESTANTS["normal"].anneal, training.EPOCHS[-1]))
reads("averages 32 weight samples of each member", TABLE, "settings", "passes")
nll("with an NLL of 2.25", "signs_heavy")
says("on data from 18 sources", lambda: len(reading.compared()[RANK1].sources))
says("start from N(1, 0.3^2), which is", starts_at_prior)
says("0.4 units lower on the typical source", lambda: -reading.compared()[RANK1].middle,
     contest("gpa2", "nll"))
says("is higher on 4 of 18", lambda: (18 - lower(), 18))
says(["18, so the difference is unclear", "unclear compared with one network"],
     lambda: word() == "unclear")
says("on only 3 sources, which", lambda: lower(BATCH), contest("gpa2", "nll", times=0.8))
says("it is worse, with 2", lambda: lower(BATCH, True), contest("gpa2", "scaled", "nll"))
says(["worse than a BatchEnsemble", "for both its NLL is worse"],
     lambda: word(BATCH, True) == "worse")
says("Compared with a deep ensemble it is unclear",
     lambda: {word(DEEP, tempered) for tempered in (False, True)} == {"unclear"})
says("For five of the engineer's six mixes", lambda: sum(
     np.diff(mixes.intervals(RANK1), axis=0)[0] > np.diff(mixes.intervals("single"), axis=0)[0]),
     Change(mixes.TABLE, "rows", {"contestant": RANK1}, "std", times=0.8))
says(["costs the most time of these four", "it takes more time than both"],
     lambda: dearer("single", BATCH, DEEP))
says("3.7 times as long as one", lambda: reading.costs(RANK1)["train_seconds"])
says(["and 5.7 times as long to predict", "BNN takes 5.7 times as long"],
     lambda: reading.costs(RANK1)["predict_seconds"],
     contest("digits", "predict_seconds", times=3))
says("thousands of times larger than ours",
     lambda: 2000 < 36.6e6 / counting.mlp(SIZES, RANK1, 4).total < 4000)

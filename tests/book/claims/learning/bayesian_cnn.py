"""What *Bayesian CNNs* claims: by algebra, by its cells and tables, and by the contest's."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import torch

from ensedu import counting, uncertainty
from ensedu import torch as et
from ensedu.numpy import variational
from ensedu.priors import Normal
from ensedu.torch.losses import softmax_cross_entropy
from ensedu.torch.models import lenet5
from tests.book.claiming import Change, Claims
from tests.book.claims.learning.shootout import DEEP, beside, row, units
from tests.book.conftest import ran
from workshop import measured
from workshop.experiments import bayesian_cnn as cnn
from workshop.experiments import bayesian_cnn_images as seen
from workshop.experiments.contest import reading

TABLE = "bayesian-cnn"
CLAIMS = Claims(
    "learning/bayesian-cnn",
    unclaimed={
        "written as a vector with a 1": "a definition",
        "gives half to 2 and half": "an example",
        "half of them say 2": "an example",
        "badly written 4": "an example",
        "that it is a 4 or": "an example",
        "only two possible answers, 4": "an example",
        "gives 4 the probability": "a definition",
        "answer to an ugly 4": "an example",
        "but softplus activations": "what others published",
    },
)


says, MEAN = CLAIMS.says, "mean_field"
#: Where the doubt is cut, too.
CUTS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


@cache
def found(mark: str) -> dict[str, Any]:
    """Return what a cell of the page finds."""
    return ran(f"book/{CLAIMS.chapter}", mark, np=np, torch=torch)


def rows_of(name: str, *keys: str | int) -> np.ndarray:
    """Return what a contestant's rows hold, a split each."""
    own = [row for row in measured.load(TABLE)["rows"] if row["contestant"] == name]
    for key in keys:
        own = [one[key] for one in own]
    return np.array(own)


def errors(name: str) -> np.ndarray:
    """Return what part of the digits each network misreads, the best first."""
    return np.sort(rows_of(name, "error", 0)) / 100


def by_epoch(name: str, *keys: str) -> np.ndarray:
    return rows_of(name, "by_epoch", *keys).mean(0)


def last_sigmas(*names: str) -> list[float]:
    """Return the mean σ of each layer at the end."""
    return [by_epoch(name, "sigma", own)[-1] for name in names for own in cnn.LAYERS.values()]


def of(name: str, *way: str | int, times: float) -> Change:
    return Change(TABLE, "rows", {"contestant": name}, *way, times=times)


def image(kind: str, key: str, times: float) -> Change:
    """Return a change of what the network says of all images of a kind."""
    return Change(seen.TABLE, "rows", 0, kind, key, times=times)


def larger(cut: float = seen.CUT) -> float:
    """Return in what part of pairs the letter has the larger epistemic share."""
    return uncertainty.auroc(*(seen.doubtful_shares(own, cut) for own in seen.known().values()))


def larger_by_weights() -> float:
    """Return the same, if kernels are drawn to predict."""
    (row,), both = measured.load(seen.TABLE)["rows"], []
    for kind in ("digits", "letters"):
        kept = ~np.isin(np.array(row[kind]["label"]), [*cnn.LIKE_DIGITS])
        parts = [row[kind][f"{part}_by_weights"] for part in ("aleatoric", "epistemic")]
        own = seen.Known(np.zeros((1, 28, 28)), np.array(parts)[:, kept], kept)
        both.append(seen.doubtful_shares(own))
    return uncertainty.auroc(*both)


def finds_misread() -> list[float]:
    """Return how often each part of the doubt is larger for a misread digit."""
    own = seen.known()["digits"]
    return [uncertainty.auroc(part[~own.wrong], part[own.wrong]) for part in own.parts]


def doubtful_digits() -> tuple[int, int]:
    """Return how many misread digits are doubtful, and how many digits are."""
    own = seen.known()["digits"]
    doubtful = own.whole > seen.CUT
    return (own.wrong & doubtful).sum(), doubtful.sum()


def by_hand(m: float, s: float) -> np.ndarray:
    """Return both parts of the doubt between two answers."""
    p = 1 / (1 + np.exp(-(m + s * found("S = 2.0")["eps"])))
    return np.array([2 * (p * (1 - p)).mean(), 2 * p.var()])


def share(m: float, s: float) -> float:
    return by_hand(m, s)[1] / by_hand(m, s).sum()


def doubles() -> bool:
    """Say whether it does from the tenth epoch on, as σ does, while the other part vanishes."""
    at = by_epoch("wide", "epoch").tolist().index(9)
    epistemic, aleatoric = (by_epoch("wide", part) for part in ("epistemic", "aleatoric"))
    sigmas = [by_epoch("wide", "sigma", layer) for layer in cnn.LAYERS.values()]
    grown = all(own[-1] > 2 * own[at] for own in (epistemic, *sigmas))
    gone = (np.diff(aleatoric) < 5e-4).all() and aleatoric[-1] < 0.2 * aleatoric[1]
    return grown and gone and (np.diff(epistemic[at:]) > 0).all()


@cache
def sum_of_the_prior() -> float:
    """Return that of a net whose posterior is the prior: no KL, and the NLL of its samples."""
    torch.manual_seed(0)
    net = et.ensemble(lenet5(), MEAN, prior=Normal(0.0, 0.1), posterior_std=0.1, estimator="local")
    with torch.no_grad():
        for name, array in net.named_parameters():
            if name.endswith("_mean"):
                array.zero_()
        digits, labels = cnn.split_digits(0)[0]
        return float(et.kl(net) + softmax_cross_entropy(net(digits[:1000])[0], labels[:1000]))


def sums(name: str, times: float) -> tuple[float, float, float]:
    """Return misfit, KL and both together of those of a contestant that read, nats a digit."""
    reads = rows_of(name, "error", 0) < 10
    misfit, kl = (rows_of(name, key)[reads].mean() for key in ("train_nll", "kl"))
    return misfit, times * kl, misfit + times * kl


def small() -> float:
    """Return what all weights pay for the σ at which they end, nats a digit."""
    one = variational.kl(0.0, variational.inverse_softplus(0.032), Normal(0.0, 0.1))
    return one * counting.count(lenet5()).total / setting("train")


def setting(*names: str):
    found = [measured.load(TABLE)["settings"][name] for name in names]
    return found if len(names) > 1 else found[0]


def ends(values: Iterable[float]) -> tuple[float, float]:
    return min(own := [*values]), max(own)


def never_learned(name: str) -> tuple[int, int]:
    """Return how many networks are at chance, and how many there are."""
    return sum(errors(name) > 0.85), len(errors(name))


def letters() -> list[str]:
    return measured.load(seen.TABLE)["rows"][0]["letters"]["label"]


# fmt: off
says("goes from 61,706 parameters to 123,412",
     lambda: [counting.count(net).total for net in (lenet5(), et.ensemble(lenet5(), MEAN))])
says("misreads 36 of 1,000 test digits",
     lambda: ((wrong := seen.known()["digits"].wrong).sum(), len(wrong)))
says("27 of them are among the 73", doubtful_digits, image("digits", "epistemic", 0.1))
says("digits with a doubt above 0.2", lambda: seen.CUT)
says("correctly in 94% of all pairs", lambda: [*{round(one, 2) for one in finds_misread()}],
     image("digits", "epistemic", -1))
says("In 52% of these pairs (51% to 62%", lambda: (larger(), *ends(map(larger, CUTS))))
says("in 51% to 62% of the pairs", lambda: ends(map(larger, CUTS)))
says("letter has the larger share in 52%", larger, image("letters", "epistemic", 1.2))
says("you cut the doubt between 0.05 and 0.5", lambda: ends(CUTS))
says("digits have 37% of it in the epistemic",
     lambda: seen.doubtful_shares(seen.known()["digits"]).mean(), image("digits", "epistemic", 1.2))
says("and letters have 37%", lambda: seen.doubtful_shares(seen.known()["letters"]).mean())
says("in 51% of the pairs", larger_by_weights, image("letters", "epistemic_by_weights", 1.2))
says("the smaller are both parts",
     lambda: (np.diff([by_hand(m, 2.0) for m in (0, 1, 2, 4)], axis=0) < 0).all())
says("from m = 0 to 2 their", lambda: np.ptp([share(m, 2.0) for m in (0, 1, 2)]) < 0.04)
says("it is 0.17 with", lambda: share(0, 1.0))
says("0.54 with", lambda: share(0, 3.0))
says("Ours start small, at 0.01", lambda: by_epoch("wide", "sigma", "conv1")[0],
     of("wide", "by_epoch", "sigma", "conv1", 0, times=2))
says("all standard deviations start at 0.01",
     lambda: [*{one.start for name, one in cnn.BAYESIAN.items() if name != cnn.STUCK}])
says("arrive at 0.032 or 0.033", lambda: ends(found("STEPS = 1200")["path"][-1]))
says("ends between 0.029 and 0.033", lambda: ends(last_sigmas("wide", "narrow")),
     of("wide", "by_epoch", "sigma", "conv2", times=1.1),
     of("narrow", "by_epoch", "sigma", "dense3", times=0.9))
says("layer end at 0.019 and 0.020", lambda: last_sigmas("narrow_tenth")[:: len(cnn.LAYERS) - 1],
     of("narrow_tenth", "by_epoch", "sigma", "conv1", times=1.1))
says("The epistemic part, with N(0, 1)", doubles,
     of("wide", "by_epoch", "epistemic", -1, times=0.8),
     of("wide", "by_epoch", "sigma", "dense1", -1, times=0.8))
says(["(NLL), a mean-field network is unclear", "In NLL a mean-field network is unclear",
      "contest's word for a mean-field network"], lambda: beside(MEAN).word == "unclear")
says("deep ensemble is better than one", lambda: beside(DEEP).word == "better",
     row("wage", DEEP, 1.5))
says("on data from 18 sources", lambda: len(units(MEAN)))
says("9.9 times as long to predict", lambda: reading.costs(MEAN)["predict_seconds"],
     row("wage", MEAN, 3, "predict_seconds"))
says("One of ten networks never learned", lambda: never_learned("narrow"))
says("the other nine misread 4.6%", lambda: errors("narrow")[:9].mean(),
     of("narrow", "error", times=1.1))
says("all ten learned", lambda: sum(errors("narrow_tenth") < 0.05))
says("and misread 3.0%", lambda: errors("narrow_tenth").mean(),
     of("narrow_tenth", "error", times=1.1))
says("gave LeNet-5 the prior of", lambda: cnn.BAYESIAN["narrow"].prior_std == 0.1)
says("the prior, knows nothing | 2.4", sum_of_the_prior)
says("0.2 | 11.1 | 11.3", lambda: sums("narrow", 1.0), of("narrow", "kl", times=1.1))
says("0.05 | 1.2 | 1.3", lambda: sums("narrow_tenth", cnn.BAYESIAN["narrow_tenth"].beta),
     of("narrow_tenth", "kl", times=1.2))
says("end with a larger sum than one",
     lambda: max(rows_of("narrow", "elbo", 0)) < -sum_of_the_prior())
says("more than ten of the 11.1 nats", lambda: 10 < small() < sums("narrow", 1.0)[1],
     of("narrow", "kl", times=0.1))
says("at 0.05, nearer to that prior", lambda: cnn.BAYESIAN[cnn.STUCK].start)
says("one of three networks is at chance", lambda: never_learned(cnn.STUCK))
says("chance after 15 epochs", lambda: rows_of(cnn.STUCK, "by_epoch", "epoch")[0, -1])
says("misread 4.7% and 10.7%", lambda: errors(cnn.STUCK)[:2], of("stuck", "error", times=0.9))
says("a sum of 1.7 and 1.8", lambda: -rows_of(cnn.STUCK, "elbo", 0)[1:],
     of("stuck", "elbo", times=1.1))
says("less than the prior's", lambda: min(rows_of(cnn.STUCK, "elbo", 0)[1:]) > -sum_of_the_prior())
says("Ten splits of", lambda: len({*rows_of("wide", "split")}))
says("4,000 digits to train on and 1,000 to", lambda: setting("train", "test"))
says("Adam at 0.001, batches of 100, 30 epochs", lambda: (cnn.LR, *setting("batch_size", "epochs")))
says("average 32 weight samples, and four", lambda: setting("draws", "few_draws"))
says("with 64 samples an image", lambda: measured.load(seen.TABLE)["settings"]["draws"])
says("Letters are 52 in ten fonts", lambda: (n := len({*letters()}), len(letters()) / n))
says(f"without {cnn.LIKE_DIGITS}, which", lambda: {*cnn.LIKE_DIGITS} < {*letters()})

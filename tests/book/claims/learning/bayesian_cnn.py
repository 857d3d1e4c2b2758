"""What *Bayesian CNNs* claims: by algebra, by its cells and tables, and by the contest's."""

from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import numpy as np
import torch

from ensedu import counting, uncertainty
from ensedu import torch as et
from ensedu.numpy import variational
from ensedu.priors import Normal
from ensedu.torch.losses import softmax_cross_entropy
from ensedu.torch.models import lenet5
from tests.book.claiming import Claims, entry, every
from tests.book.claims.learning.shootout import DEEP, beside, units
from tests.book.conftest import ran
from workshop.experiments import bayesian_cnn as cnn
from workshop.experiments import bayesian_cnn_images as seen
from workshop.experiments.contest import reading

CLAIMS = Claims("learning/bayesian-cnn", unclaimed={
    "an example": ["gives half to 2 and half", "half of them say 2", "badly written 4",
        "that it is a 4 or", "only two possible answers, 4", "answer to an ugly 4"],
    "a definition": ["gives 4 the probability"],
})  # fmt: skip
says, MEAN = CLAIMS.says, "mean_field"
#: Where the doubt is cut, too.
CUTS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


@cache
def found(mark: str) -> dict[str, Any]:
    return ran(f"book/{CLAIMS.chapter}", mark, np=np, torch=torch)


def rows_of(name: str, *way: str | int) -> np.ndarray:
    """Return what a contestant's rows hold, a split each."""
    return np.array(every("bayesian-cnn", "rows", {"contestant": name}, *way))


def errors(name: str) -> np.ndarray:
    """Return what part of the digits each network misreads, the best first."""
    return np.sort(rows_of(name, "error")) / 100


def by_epoch(name: str, *way: str) -> np.ndarray:
    return rows_of(name, "by_epoch", *way).mean(0)


def last_sigmas(*names: str) -> list[float]:
    return [by_epoch(name, "sigma", own)[-1] for name in names for own in cnn.LAYERS.values()]


def larger(cut: float = seen.CUT) -> float:
    """Return in what part of pairs the letter has the larger epistemic share."""
    return uncertainty.auroc(*(seen.doubtful_shares(own, cut) for own in seen.known().values()))


def larger_by_weights() -> float:
    """Return the same, if kernels are drawn to predict."""
    row, both = entry(seen.TABLE, "rows", 0), []
    for kind in ("digits", "letters"):
        kept = ~np.isin(np.array(row[kind]["label"]), [*cnn.LIKE_DIGITS])
        parts = [row[kind][f"{part}_by_weights"] for part in ("aleatoric", "epistemic")]
        known = seen.Known(np.zeros((1, 28, 28)), np.array(parts)[:, kept], kept)
        both.append(seen.doubtful_shares(known))
    return uncertainty.auroc(*both)


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
    reads = rows_of(name, "error") < 10
    misfit, kl = (rows_of(name, key)[reads].mean() for key in ("train_nll", "kl"))
    return misfit, times * kl, misfit + times * kl


def small() -> float:
    """Return what all weights pay for the σ at which they end, nats a digit."""
    one = variational.entry_kl(0.0, variational.inverse_softplus(0.032), Normal(0.0, 0.1))
    return one * counting.count(lenet5()).total / entry("bayesian-cnn", "settings", "train")


def settings(*names: str) -> list[Any]:
    return [entry("bayesian-cnn", "settings", name) for name in names]


def ends(values: Iterable[float]) -> tuple[float, float]:
    return min(own := [*values]), max(own)


letters = partial(entry, seen.TABLE, "rows", 0, "letters", "label")


# fmt: off
says("goes from 61,706 parameters to 123,412",
     lambda: [counting.count(net).total for net in (lenet5(), et.ensemble(lenet5(), MEAN))])
says("36 of 1,000 test digits", lambda: ((wrong := seen.known()["digits"].wrong).sum(), len(wrong)))
says("27 of them are among the 73", lambda: ((own := seen.known()["digits"]).wrong[
     doubtful := own.whole > seen.CUT].sum(), doubtful.sum()))
says("digits with a doubt above 0.2", lambda: seen.CUT)
says("in 94% of all pairs of a", lambda: [
     *{round(uncertainty.auroc(part[~wrong], part[wrong]), 2) for own in [seen.known()["digits"]]
       for part in own.parts for wrong in [own.wrong]}])
says("In 52% of these pairs", larger)
says("in 51% to 62% of the pairs", lambda: ends(map(larger, CUTS)))
says("letter has the larger share in 52%", larger)
says("you cut the doubt between 0.05 and 0.5", lambda: ends(CUTS))
says("have 37% of it in the epistemic", lambda: seen.doubtful_shares(seen.known()["digits"]).mean())
says("letters both have 37% of it", lambda: seen.doubtful_shares(seen.known()["letters"]).mean())
says("drawn for the prediction, in 51%", larger_by_weights)
says("the smaller are both parts",
     lambda: (np.diff([by_hand(m, 2.0) for m in (0, 1, 2, 4)], axis=0) < 0).all())
says("from m = 0 to 2 their", lambda: np.ptp([share(m, 2.0) for m in (0, 1, 2)]) < 0.04)
says("it is 0.17 with", lambda: share(0, 1.0))
says("0.54 with", lambda: share(0, 3.0))
says("Ours start small, at 0.01", lambda: by_epoch("wide", "sigma", "conv1")[0])
says("all standard deviations start at 0.01",
     lambda: [*{one.start for name, one in cnn.BAYESIAN.items() if name != cnn.STUCK}])
says("arrive at 0.032 or 0.033", lambda: ends(found("STEPS = 1200")["path"][-1]))
says("ends between 0.029 and 0.033", lambda: ends(last_sigmas("wide", "narrow")))
says("layer end at 0.019 and 0.020", lambda: last_sigmas("narrow_tenth")[:: len(cnn.LAYERS) - 1])
says("The epistemic part, with N(0, 1)", doubles)
says(["(NLL), a mean-field network is unclear", "In NLL a mean-field network is unclear",
      "contest's word for a mean-field network"],
     lambda: beside(MEAN).word == "unclear")
says("deep ensemble is better than one", lambda: beside(DEEP).word == "better")
says("on data from 18 sources", lambda: len(units(MEAN)))
says("makes 32 passes for a prediction", lambda: reading.passes(MEAN))
says("One of ten networks never learned",
     lambda: (sum(errors("narrow") > 0.85), len(errors("narrow"))))
says("the other nine misread 4.6%", lambda: errors("narrow")[:9].mean())
says("all ten learned", lambda: sum(errors("narrow_tenth") < 0.05))
says("and misread 3.0%", lambda: errors("narrow_tenth").mean())
says("gave LeNet-5 the prior of", lambda: cnn.BAYESIAN["narrow"].prior_std == 0.1)
says("the prior, knows nothing | 2.4", sum_of_the_prior)
says("0.2 | 11.1 | 11.3", lambda: sums("narrow", 1.0))
says("0.05 | 1.2 | 1.3", lambda: sums("narrow_tenth", cnn.BAYESIAN["narrow_tenth"].beta))
says("end with a larger sum than one", lambda: max(rows_of("narrow", "elbo")) < -sum_of_the_prior())
says("more than ten of the 11.1 nats", lambda: 10 < small() < sums("narrow", 1.0)[1])
says("started at 0.05, two of three networks",
     lambda: (cnn.BAYESIAN[cnn.STUCK].start, sum(rows_of(cnn.STUCK, "elbo") > -sum_of_the_prior()),
              len(errors(cnn.STUCK))))
says("Ten splits of", lambda: len({*rows_of("wide", "split")}))
says("4,000 digits to train on and 1,000 to", lambda: settings("train", "test"))
says("at 0.001, batches of 100, 30 epochs", lambda: (cnn.LR, *settings("batch_size", "epochs")))
says("average 32 weight samples", lambda: settings("draws"))
says("Letters are 52 in ten fonts", lambda: (n := len({*letters()}), len(letters()) / n))
says(f"without {cnn.LIKE_DIGITS}, which", lambda: {*cnn.LIKE_DIGITS} < {*letters()})

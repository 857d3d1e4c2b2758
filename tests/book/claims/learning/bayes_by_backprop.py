"""What *Bayes by Backprop* claims: by its tables, by what its cells find, and by its formulas."""

from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch.distributions import Normal as TorchNormal
from torch.distributions import kl_divergence

from ensedu import uncertainty
from ensedu.common.training_settings import minibatch_kl_weights
from ensedu.data import gap
from ensedu.numpy import variational
from ensedu.priors import Normal
from tests.book.claiming import Claims, entry, every
from tests.book.claims.learning.shootout import beside
from tests.book.conftest import ran
from workshop.experiments import bayes, nuts
from workshop.figures.learning import bayes_by_backprop as figures

#: What stands in the cells that fit lines.
CELLS = "def posterior(", "def bayes_by_backprop(", "def doubt("

CLAIMS = Claims("learning/bayes-by-backprop", unclaimed={
    "what a word means": ["never negative, and 0 only if"],
    "a proof": ["Set the derivatives of"],
    "that the misfit is least there": ["most steps away from a good fit"],
    "published by others": ["made narrower on purpose, predicted better"],
})  # fmt: skip
says = CLAIMS.says

SETTINGS, LONG = partial(entry, "bayes", "settings"), bayes.CHANGES["12,000 steps"]
#: Standard deviations that go to 0.
TENTHS = 10.0 ** -np.arange(3, 9)


@cache
def found() -> dict[str, Any]:
    """Return what the cells of the page find before they draw it."""
    return ran(f"book/{CLAIMS.chapter}", *CELLS, figures=figures)


def line(around: int = 3) -> Any:
    return found()["both"](around)


def true(around: int = 3) -> np.ndarray:
    return np.sqrt(np.diag(line(around).covariance))


def correlation(around: int = 3) -> float:
    return line(around).covariance[0, 1] / true(around).prod()


def at(x: float) -> int:
    return int(np.abs(found()["along"] - x).argmin())


def wider(around: int = 3) -> np.ndarray:
    """Return how far apart the lines of q are by x, in parts of how far they should be."""
    return np.divide(*line(around).doubt[1::-1])


def exact() -> tuple[np.ndarray, np.ndarray]:
    """Return the weights' mean, and their covariance."""
    mean, precision = found()["posterior"](*found()["line"](3), noise=0.5)
    return mean, np.linalg.inv(precision)


def truth() -> np.ndarray:
    """Return intercept and slope that the points were made with, by the noise of their seed."""
    (x, y), rng = found()["line"](3), np.random.default_rng(1)
    rng.uniform(size=len(x))
    return np.linalg.lstsq(x, y - 0.5 * rng.standard_normal(len(x)), rcond=None)[0]


def signal(std: float) -> float:
    """Return how large the gradient of the misfit is at the start, in parts of its noise."""
    x, y = (torch.from_numpy(part.T) for part in gap.sample(np.random.default_rng(0)))
    seeded = torch.Generator().manual_seed(0)
    noise = torch.randn(100, 1, nuts.NUMBER, generator=seeded, dtype=torch.float64)
    q = bayes.started([0], std)
    losses = [bayes.loss(q, one[None], x, y, nuts.PRIOR, 0.0).sum() for one in noise]
    slopes = torch.stack([torch.autograd.grad(one, q.mean)[0] for one in losses])
    return float(slopes.mean(0).norm() / slopes.var(0).sum().sqrt())


def setting(*way: str, **changed: Any) -> np.ndarray:
    """Return a score by data set, of the base or of a change."""
    return np.array(entry("bayes", "rows", bayes.BASE | changed, *way))


def gained(*way: str, **changed: Any) -> uncertainty.MeanDifference:
    """Return what a change does to a score."""
    return uncertainty.paired(setting(*way, **changed) - setting(*way))


def clear(name: str) -> bool:
    """Return whether an NLL is, among all 16 comparisons: NLL, and in the gap the distance."""
    planned = ("regions", "nll"), ("gap", "wasserstein")
    p = [gained(*one, **own).p for one in planned for own in bayes.CHANGES.values()]
    return uncertainty.holm(p)[[*bayes.CHANGES].index(name)] < 0.05


def helps(name: str) -> bool:
    return gained("regions", "nll", **bayes.CHANGES[name]).high < 0 and clear(name)


def ratio(place: str) -> float:
    """Return a standard deviation after many steps, over that of NUTS."""
    return setting(place, "std_ratio", **LONG).mean()


def gap_and_data(**changed: Any) -> list[float]:
    """Return standard deviations in parts of NUTS, in the gap and at the data."""
    return [setting(place, "std_ratio", **changed).mean() for place in ("gap", "regions")]


# fmt: off
says(["You fit a line to 20 points", "do 20 noisy points come"], lambda: len(found()["line"](3)[1]))
says("intercept of 0.5 and a slope of −1", truth)
says("off by more than one and a half",
     lambda: all(abs(exact()[0] - truth()) > 1.5 * np.sqrt(np.diag(exact()[1]))))
says("says −2.49, and the truth is −2.5", lambda: np.array([exact()[0], truth()]) @ [1, 3])
says("The two errors cancel", lambda: abs((exact()[0] - truth()) @ [1, 3]) < 0.02)
says("For the 61 weights above", lambda: nuts.NUMBER)
says("it grows without limit",
     lambda: np.allclose(
         np.diff(variational.entry_kl(0.0, np.log(np.expm1(TENTHS)), Normal(0.0, 1.0))),
         np.log(10), atol=1e-4))
says("each of three minibatches bears a third", lambda: np.allclose(minibatch_kl_weights(3), 1 / 3))
says("The means agree with the exact posterior",
     lambda: (abs(found()["mu"] - exact()[0]) < 0.1 * np.sqrt(np.diag(exact()[1]))).all()
         and np.allclose(found()["sigma"], line().sigma, rtol=0.05))
says(["The standard deviations are far too small", "a fifth of the true one"],
     lambda: {*(line().sigma / true()).round(1)} == {0.2})
says("seems less certain", lambda: wider()[at(3)] > 1.3)
says(["tell you how high the line is", "its height at 3 stays"],
     lambda: line().doubt[0][at(3)] < 0.25 * min(true() * [1, 3]))
says("They hardly tell you the intercept", lambda: line().doubt[0][at(0)] > 0.5)
says("a thin ellipse that leans", lambda: correlation() < -0.97)
says("lines are only a fifth as far apart", lambda: round(1 / wider()[at(0)]) == 5)
says("there is not a single point", lambda: line().inputs.min() > 2)
says("both errors almost vanish", lambda: np.allclose(wider(0), 1, atol=0.11))
says("the exact ellipse stands upright by itself", lambda: abs(correlation(0)) < 0.15)
says("On ten data sets, after 12,000 steps", lambda: (len(SETTINGS("data")), LONG["steps"]))
says("1.9 times as uncertain", lambda: ratio("regions"))
says("about half as uncertain", lambda: 0.4 < ratio("gap") < 0.55)
says("no single factor", lambda: ratio("gap") < 1 < ratio("regions"))
says("R-hat of at most 1.001", lambda: max(every("nuts", "rows", {}, "r_hat")))
says("base has KL weight 1", lambda: bayes.BASE["beta"])
says("of 0.1, 3,000 steps and one weight sample",
     lambda: [bayes.BASE[name] for name in ("std", "steps", "samples")])
says("changed one thing at a time", lambda: {*map(len, bayes.CHANGES.values())} == {1})
says("may drown in that noise", lambda: signal(1.0) < 0.5 < 3 < signal(0.1))
says("must be small for so short a training", lambda: gained("regions", "nll", std=1.0).low > 0.5)
says("the fit is just as bad",
     lambda: np.ptp([gained("regions", "nll", std=1.0, **kl).mean for kl in ({}, {"beta": 0.0})])
         < 0.02)
says("four times as many steps help", lambda: helps("12,000 steps"))
says("so do 16 weight samples", lambda: helps("16 samples a step"))
says("the NLL at the data is 0.17",
     lambda: -gained("regions", "nll", std=0.01).mean)
says("From 0.01, a tenth of the base's",
     lambda: bayes.CHANGES["initial σ 0.01"]["std"])
says("So you can improve the fit", lambda: helps("initial σ 0.01"))
says("A tenth of it fits the data better", lambda: helps("KL weight 0.1"))
says("KL is what keeps", lambda: setting("sigma", beta=0.1).mean() < 0.5 * setting("sigma").mean())
says("the base's is too narrow already", lambda: gap_and_data()[0] < 0.6)
says("of the KL makes it about half as",
     lambda: 0.45 < gap_and_data(beta=0.1)[0] / gap_and_data()[0] < 0.6)
says("KL weight should not be smaller",
     lambda: all(gained("free_energy", beta=beta).low > 0 for beta in (0.1, 10.0)))
says("but none of these changes gives",
     lambda: all(np.divide(*gap_and_data(**one)) < 1 / 3 for one in ({}, *bayes.CHANGES.values())))
says("Model and data are those", lambda: SETTINGS("data") == every("nuts", "rows", {}, "data_seed"))
says("1-20-1 with tanh", lambda: nuts.SIZES)
says("10 data sets, 4 initializations on each", lambda: (len(SETTINGS("data")), SETTINGS("starts")))
says("Adam at 0.01, batches of 20, 400 weight",
     lambda: [SETTINGS(name) for name in ("lr", "batch_size", "passes")])
says("by Holm over 16 comparisons", lambda: 2 * len(bayes.CHANGES))
says("it is unclear whether a mean-field network is",
     lambda: beside("mean_field").word == "unclear")
says("The difference, 0.403 nats, is the KL",
     lambda: kl_divergence(TorchNormal(0.0, 1.0), TorchNormal(0.5, 0.5**0.5)).item())

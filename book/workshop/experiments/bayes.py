"""Bayes by Backprop: which settings make a fit or break it.

`run` trains the mean-field posterior of the model of `workshop.experiments.nuts`, 1-20-1 with
tanh, NTK parametrization and the prior N(0, 2²), on that table's draws of data. One setting changes
at a time: the weight of the KL, the standard deviation at which weights start, over which part of
the steps the KL grows, how the minibatches share it, the prior, the number of draws and of steps.
All starts on all data train side by side, one row of `Posterior` each, with gradients of their own;
starts and noise are the same for all settings.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor

from ensedu import uncertainty
from ensedu.common.training_settings import minibatch_kl_weights
from ensedu.data import gap
from ensedu.priors import Prior, ScaleMixture
from ensedu.torch.variational import entry_kl, inverse_softplus, softplus
from workshop import measured
from workshop.experiments import nuts
from workshop.experiments import running_example as example
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

PRIORS = {
    "normal": nuts.PRIOR,
    # Its wide part is the normal prior; π and the narrow part are from Blundell et al. 2015.
    "mixture": ScaleMixture(0.5, nuts.PRIOR.scale, math.exp(-6)),
}
BASE: dict[str, Any] = {
    "beta": 1.0, "std": 0.1, "anneal": 0.0, "share": "uniform", "prior": "normal", "samples": 1,
    "steps": 3000,
}  # fmt: skip
#: What is changed, one at a time.
CHANGES: dict[str, dict[str, Any]] = {
    "KL weight 0.1": {"beta": 0.1}, "KL weight 10": {"beta": 10.0},
    "initial σ 0.01": {"std": 0.01}, "initial σ 1": {"std": 1.0},
    "KL grows slowly": {"anneal": 0.5}, "mixture prior": {"prior": "mixture"},
    "16 samples a step": {"samples": 16}, "12,000 steps": {"steps": 12000},
}  # fmt: skip
#: And what else a page asks for.
BESIDES: tuple[dict[str, Any], ...] = ({"beta": 0.0, "std": 1.0}, {"share": "geometric"})
#: Of the data of `nuts`, the draw that is shown: its scores are closest to their medians.
TYPICAL = 8


@dataclass(frozen=True)
class Posterior:
    """K factorized normals of D weights each: mean and ρ, both (K, D), as `nuts` orders them."""

    mean: Tensor
    rho: Tensor

    def draw(self, noise: Float[Tensor, "S K D"]) -> Float[Tensor, "S K D"]:
        """Return weights, μ + softplus(ρ) ∘ ε."""
        return self.mean + softplus(self.rho) * noise


def started(seeds: list[int], std: float) -> Posterior:
    """Return posteriors whose means are draws from N(0, 1), each of a seed of its own."""
    means = [
        torch.randn(nuts.NUMBER, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        for seed in seeds
    ]
    mean = torch.stack(means).requires_grad_()
    return Posterior(mean, torch.full_like(mean, inverse_softplus(std)).requires_grad_())


def loss(
    q: Posterior, noise: Float[Tensor, "S K D"], x: Float[Tensor, "K B"], y: Float[Tensor, "K B"],
    prior: Prior, kl_weight: float,
) -> Float[Tensor, " K"]:  # fmt: skip
    """Return ``kl_weight · KL - E log p(y | w)`` of a minibatch, in nats without the constant."""
    error = (y - nuts.curve(q.draw(noise), x[:, None], torch)) / gap.noise
    divergence = entry_kl(q.mean, q.rho, prior, noise).sum(-1)
    return kl_weight * divergence + 0.5 * error.square().sum(-1).mean(0)


def trained(
    data: list[int], starts: int, *, beta: float, std: float, anneal: float, share: str,
    prior: str, samples: int, steps: int, lr: float, batch_size: int,
) -> Posterior:  # fmt: skip
    """Return posteriors of all starts on all data, trained with Adam side by side.

    `anneal` is the part of the steps over which the KL grows to `beta`, linearly.
    """
    seeds = [starts * seed + start for seed in data for start in range(starts)]
    q = started(seeds, std)
    points = [gap.sample(np.random.default_rng(seed)) for seed in data for _ in range(starts)]
    x, y = (torch.from_numpy(np.stack(part)[..., 0]) for part in zip(*points, strict=True))
    K, N = x.shape
    number = N // batch_size
    shares = minibatch_kl_weights(number, share)
    draws = torch.Generator().manual_seed(seeds[0])
    orders = torch.Generator().manual_seed(seeds[0] + 1)
    adam = torch.optim.Adam([q.mean, q.rho], lr=lr)
    with one_thread():
        for step in range(steps):
            part = step % number
            if part == 0:
                order = torch.rand(K, N, generator=orders).argsort(1)
            rows = order[:, part * batch_size : (part + 1) * batch_size]
            grown = min(1.0, (step + 1) / (anneal * steps)) if anneal else 1.0
            noise = torch.randn(samples, *q.mean.shape, generator=draws, dtype=torch.float64)
            adam.zero_grad()
            each = loss(
                q, noise, x.gather(1, rows), y.gather(1, rows), PRIORS[prior],
                beta * grown * shares[part],
            )  # fmt: skip
            each.sum().backward()
            adam.step()
    return Posterior(q.mean.detach(), q.rho.detach())


def run(
    beta: float, std: float, anneal: float, share: str, prior: str, samples: int, steps: int,
    data: list[int], starts: int, lr: float, batch_size: int, passes: int,
) -> dict[str, Any]:  # fmt: skip
    """Return scores and distances from NUTS, lists over data of means over starts."""
    q = trained(
        data, starts, beta=beta, std=std, anneal=anneal, share=share, prior=prior, samples=samples,
        steps=steps, lr=lr, batch_size=batch_size,
    )  # fmt: skip
    draws = torch.Generator().manual_seed(0)
    noise = torch.randn(passes, *q.mean.shape, generator=draws, dtype=torch.float64)
    found: dict[str, Any] = {"sigma": [], "free_energy": []}
    for place, names in _SCORES.items():
        found[place] = {name: [] for name in names}
    with torch.no_grad(), one_thread():
        weights = q.draw(noise).numpy()  # (passes, K, D)
        sigma = softplus(q.rho).numpy()
        energies = _free_energies(q, noise, data, starts)
    for at, seed in enumerate(data):
        own = [at * starts + start for start in range(starts)]
        scores = [_scores(weights[:, k], seed) for k in own]
        for place, names in _SCORES.items():
            for name in names:
                values = [score[place][name] for score in scores]
                found[place][name].append(float(np.mean(values)))
        found["sigma"].append(float(np.median(sigma[own])))
        found["free_energy"].append(float(energies[own].mean()))
    return found


_DISTANCES = ("mean_difference", "std_ratio", "wasserstein")
_SCORES = {
    place: (*(("nll", "rmse", "spread") if place in example.PLACES else ()), *_DISTANCES)
    for place in nuts.PLACES
}


def distances(f: Float[Array, "S B"], reference: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return how far curves at `nuts.coarse_grid` are from a row of the table nuts, by place.

    ``mean_difference`` is the mean over x of the distance of the means, ``std_ratio`` that of the
    standard deviations' ratio, to the reference's, ``wasserstein`` that of the distance of the
    distributions of f(x).
    """
    mean, std = (np.array(reference[key])[:: nuts.COARSE] for key in ("mean", "std"))
    by_x = {
        "mean_difference": np.abs(f.mean(0) - mean),
        "std_ratio": f.std(0) / std,
        "wasserstein": nuts.wasserstein(f, np.array(reference["quantiles"]).T),
    }
    return {
        place: {name: float(values[rows].mean()) for name, values in by_x.items()}
        for place, rows in nuts.inputs_by_place(nuts.coarse_grid()).items()
    }


def _scores(weights: Float[Array, "S D"], seed: int) -> dict[str, dict[str, float]]:
    """Return what draws of weights are worth on new data, and how far they are from NUTS."""
    reference = dict(measured.row(measured.load("nuts")["rows"], data_seed=seed))
    found = distances(nuts.curve(weights, nuts.coarse_grid()), reference)
    x, truth, y = example.new_points(seed, int(example.SETTINGS["points"]))
    f = nuts.curve(weights, x[:, 0])[..., None]
    for place, rows in zip(example.PLACES, np.split(np.arange(len(x)), 2), strict=True):
        found[place] |= example.score(f[:, rows], truth[rows], y[rows])
    return found


def _free_energies(q: Posterior, noise: Tensor, data: list[int], starts: int) -> Array:
    """Return KL to the normal prior minus the expected log-likelihood of all data, in nats."""
    points = [gap.sample(np.random.default_rng(seed)) for seed in data for _ in range(starts)]
    x, y = (torch.from_numpy(np.stack(part)[..., 0]) for part in zip(*points, strict=True))
    constant = x.shape[1] * math.log(math.sqrt(2 * math.pi) * gap.noise)
    return (loss(q, noise, x, y, nuts.PRIOR, 1.0) + constant).numpy()


def shown() -> tuple[dict[str, Any], Float[Array, "N 2"]]:
    """Return the band of NUTS that is shown, as `live` takes it, and the data that it was given."""
    row = measured.row(measured.load("nuts")["rows"], data_seed=TYPICAL)
    band = {"x": nuts.grid(), "mean": row["mean"], "std": row["std"], "label": "NUTS"}
    return band, np.hstack(gap.sample(np.random.default_rng(TYPICAL)))


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each setting's means over data, and differences from `BASE` with 95 % intervals."""
    by = [{name: row[name] for name in BASE} for row in rows]
    base = rows[by.index(BASE)]
    found = []
    for case, row in zip(by, rows, strict=True):
        for place, names in _SCORES.items():
            for name in names:
                own, theirs = np.array(row[place][name]), np.array(base[place][name])
                entry = {**case, "place": place, "score": name, "mean": float(own.mean())}
                if row is not base:
                    one = uncertainty.paired(own - theirs)
                    entry |= {"difference": one.mean, "low": one.low, "high": one.high}
                found.append(entry)
    return found


EXPERIMENT = Experiment(
    name="bayes",
    about="the mean-field posterior of the model of nuts on the same data, each a list over data "
    "of means over starts: scores as in running-example, of new points; distances from NUTS, see "
    "`distances`; sigma, the median standard deviation of a weight; free_energy, the negative "
    "ELBO in nats, with the whole KL to the normal prior; the summary holds means over data, and "
    "paired differences from the base setting",
    budget="10 draws of data x 4 starts, Adam with batches of 20, no tuning; the learning rate and "
    "the settings were fixed on data of other seeds",
    cases=[BASE | changed for changed in ({}, *CHANGES.values(), *BESIDES)],
    run=run,
    settings={"data": list(range(10)), "starts": 4, "lr": 0.01, "batch_size": 20, "passes": 400},
    summarize=summarize,
)

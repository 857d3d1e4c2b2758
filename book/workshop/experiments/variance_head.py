"""Where a variance head explains away what the mean has not learned, and what β-NLL makes of it.

A fast sine with little noise, ``y = sin(12x) + ε``, ε ~ N(0, 0.02²), 300 points in [-1.5, 1.5], as
the toy of Seitzer et al. (2022) is one. Networks 1-50-50-2, 200 epochs of Adam at 0.005 with
batches of 50, alike for each β: 0 is the NLL, at 1 the mean learns as from the squared error.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import uncertainty
from ensedu.data import Curve
from ensedu.torch import fit, gaussian_nll, mlp, predict
from ensedu.torch.base import seeded
from workshop.experiments.shared.comparisons import add_verdicts
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

__all__ = ["BETAS", "EXPERIMENT", "run", "sine", "summarize"]


def _sine(x: Array, noise: Array) -> Array:
    return np.sin(12 * x) + noise


sine = Curve("sine", _sine, noise=0.02, regions=((-1.5, 1.5),), number=300)
BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)


def trained(
    beta: float, data_seed: int, x: Float[Array, "B 1"], networks: int, epochs: int,
    batch_size: int, lr: float,
) -> tuple[Float[Array, "M B 1"], Float[Array, "M B 1"]]:  # fmt: skip
    """Return means and variances at x of networks that learned from one draw of data."""
    inputs, targets = map(torch.from_numpy, sine.sample(np.random.default_rng(data_seed)))
    with one_thread():
        with seeded(data_seed):
            net = mlp([1, 50, 50, 2], "deep_ensemble", networks, dtype=torch.float64)
        fit(
            net, inputs, targets, partial(gaussian_nll, beta=beta), epochs=epochs,
            batch_size=batch_size, lr=lr, seed=data_seed, bar=False,
        )  # fmt: skip
    return uncertainty.gaussian_heads(predict(net, torch.from_numpy(x)).numpy())


def run(
    beta: float, data_seed: int, networks: int, epochs: int, batch_size: int, lr: float, points: int
) -> dict[str, Any]:
    """Return the scores of each network at new points: from the curve, and NLL."""
    x, y = sine.sample(np.random.default_rng([data_seed, 1]), points)
    mean, variance = trained(beta, data_seed, x, networks, epochs, batch_size, lr)
    errors = (mean - sine.truth(x))[..., 0]
    return {
        "rmse": np.sqrt((errors**2).mean(axis=1)).tolist(),
        "nll": uncertainty.gaussian_nll(mean, variance, y).mean(axis=1).tolist(),
    }


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means, and differences from the NLL over draws of data, Holm's correction over all."""
    found: list[dict[str, Any]] = []
    differences: list[tuple[dict[str, Any], uncertainty.Interval]] = []
    by = {b: [row for row in rows if row["beta"] == b] for b in BETAS}
    for score in ("rmse", "nll"):
        values = {b: np.array([row[score] for row in by[b]]) for b in BETAS}
        for beta in BETAS:
            entry: dict[str, Any] = {
                "beta": beta,
                "score": score,
                "mean": float(values[beta].mean()),
            }
            found.append(entry)
            if beta:
                differences.append((entry, uncertainty.paired(values[beta] - values[0.0])))
    add_verdicts(differences)
    return found


EXPERIMENT = Experiment(
    name="variance-head",
    about="rmse from the curve without noise, and nll, nats a new example, each a list over five "
    "networks; the summary holds means, and differences from beta 0 over draws of data",
    budget="10 draws of data x 5 initial seeds, 200 epochs of Adam each, alike for all, no tuning",
    cases=[
        {"beta": beta, "data_seed": 100 + data_seed} for beta in BETAS for data_seed in range(10)
    ],
    run=run,
    settings={"networks": 5, "epochs": 200, "batch_size": 50, "lr": 0.005, "points": 400},
    summarize=summarize,
)

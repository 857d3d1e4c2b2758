"""The cubic of the paper on deep ensembles, learned in four ways, and seen while they learn.

20 points of ``y = x³ + ε`` (Lakshminarayanan et al. 2017, fig. 1), networks 1-100-1 or, with a
variance, 1-100-2, all 20 points in each step of Adam at 0.01, inputs and targets standardized. Four
forecasts: members trained on the squared error, with the variance between them; one network trained
on the NLL; the same with adversarial training; and an ensemble of those. `run` scores them on new
points, on fresh data for each data seed; `draw` makes the curves of the data that are `typical`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import uncertainty
from ensedu.book.experiments.shared.recorder import Recorder
from ensedu.contest.running.experiment import Experiment
from ensedu.contest.running.machine import one_thread
from ensedu.contest.running.seeding import seeded
from ensedu.data import Split, cubic
from ensedu.torch import fit, gaussian_nll, half_squared_error, mlp, predict

__all__ = ["CURVES", "EXPERIMENT", "PANELS", "SIZES", "draw", "forecasts", "run", "summarize"]

#: What is drawn: the training, and whether of one network or of members.
PANELS = {
    "squared error": ("squared", True),
    "one network": ("nll", False),
    "one network, adversarial": ("adversarial", False),
    "ensemble": ("adversarial", True),
}
TRAININGS = ("squared", "nll", "adversarial")
#: Numbers of members, and of epochs, of which there are curves.
SIZES, EPOCHS = (2, 5, 10), (20, 50, 100, 200, 400)
#: Within the data, and beyond them on both sides.
PLACES = ("inside", "beyond")
#: The data seed whose scores are closest to their means over data, as `typical` finds it.
TYPICAL = 16

Members = list[tuple[Float[Array, "M B"], Float[Array, "M B"]]]


def trained(
    training: str, data_seed: int, x: Float[Array, "B 1"], seed: int, networks: int, width: int,
    lr: float, epochs: Sequence[int],
) -> Members:  # fmt: skip
    """Return means and variances at x after so many epochs each, of networks trained on a draw."""
    known, targets = cubic.sample(np.random.default_rng(data_seed))
    twice = np.concatenate([known, known]), np.concatenate([targets, targets])
    rows = np.arange(len(known))
    split = Split(*twice, rows, rows + len(known))  # to standardize by the twenty
    inputs = torch.from_numpy(split.standardized(x))
    heads = 1 if training == "squared" else 2
    with one_thread():
        with seeded(seed):
            net = mlp([1, width, heads], "deep_ensemble", networks, dtype=torch.float64)
        recorder = Recorder(lambda: predict(net, inputs).numpy(), at=epochs)
        fit(
            net, torch.from_numpy(split.x_train), torch.from_numpy(split.y_train),
            half_squared_error if heads == 1 else gaussian_nll, epochs=max(epochs),
            batch_size=len(split.train), lr=lr, seed=seed, optimizer=recorder.optimizer,
            adversarial=0.01 if training == "adversarial" else 0.0, bar=False,
        )  # fmt: skip
    found = []
    for outputs in recorder.kept:
        pair = (outputs, 0 * outputs) if heads == 1 else uncertainty.gaussian_heads(outputs)
        mean, variance = split.original(*pair)
        found.append((mean[..., 0], variance[..., 0]))
    return found


def belief(
    mean: Float[Array, "M B"], variance: Float[Array, "M B"], size: int
) -> tuple[Float[Array, " B"], Float[Array, " B"]]:
    """Return mean and standard deviation of the first members, as one forecast."""
    own = mean[:size]
    center = own.mean(axis=0)
    return center, np.sqrt((variance[:size] + (own - center) ** 2).mean(axis=0))


def forecasts(
    members: dict[str, tuple[Float[Array, "M B"], Float[Array, "M B"]]], size: int
) -> dict[str, tuple[Float[Array, " B"], Float[Array, " B"]]]:
    """Return mean and standard deviation of each panel, from the members of each training."""
    return {
        name: belief(*members[training], size if several else 1)
        for name, (training, several) in PANELS.items()
    }


def new_points(data_seed: int, points: int) -> tuple[Float[Array, "B 1"], Float[Array, "B 1"]]:
    """Return new examples: so many where the data lie, and as many up to 2 beyond on both sides."""
    rng = np.random.default_rng([data_seed, 1])
    low, high = cubic.regions[0]
    inside = rng.uniform(low, high, (points, 1))
    beyond = rng.uniform(high, high + 2, (points, 1)) * rng.choice([-1, 1], (points, 1))
    x = np.concatenate([inside, beyond])
    return x, cubic.truth(x) + cubic.noise * rng.standard_normal(x.shape)


def run(
    data_seed: int, seed: int, networks: int, width: int, lr: float, epochs: list[int],
    points: int, members: int,
) -> dict[str, Any]:  # fmt: skip
    """Return how many new points the band of each panel holds, a list over epochs."""
    x, y = new_points(data_seed, points)
    each = {
        name: trained(name, data_seed, x, seed, networks, width, lr, epochs) for name in TRAININGS
    }
    found: dict[str, Any] = {name: {place: [] for place in PLACES} for name in PANELS}
    for i in range(len(epochs)):
        now = forecasts({name: each[name][i] for name in TRAININGS}, members)
        for name, (mean, std) in now.items():
            held = np.abs(y[:, 0] - mean) <= 2 * std
            for place, part in zip(PLACES, np.split(held, 2), strict=True):
                found[name][place].append(float(part.mean()))
    return found


def summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over data."""
    return {
        name: {
            place: np.mean([row[name][place] for row in rows], axis=0).tolist() for place in PLACES
        }
        for name in PANELS
    }


def typical(rows: list[dict[str, Any]]) -> int:
    """Return the data seed whose bands hold nearest what they do on average over data."""
    scores = np.array([[row[n][place] for n in PANELS for place in PLACES] for row in rows])
    apart = np.abs(scores - scores.mean(axis=0)).sum(axis=(1, 2))
    return int(rows[int(apart.argmin())]["data_seed"])


def draw(
    training: str, data_seed: int, seed: int, networks: int, width: int, lr: float,
    epochs: list[int], low: float, high: float, number: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the curves of each network of a training, (epochs, networks, number)."""
    x = np.linspace(low, high, number)[:, None]
    found = trained(training, data_seed, x, seed, networks, width, lr, epochs)
    own = slice(1) if training == "nll" else slice(None)  # one network is all that is drawn
    stds = [] if training == "squared" else [np.sqrt(v[own]).tolist() for _, v in found]
    return {"mean": [mean[own].tolist() for mean, _ in found], "std": stds}


SETTINGS: dict[str, Any] = {
    "seed": 0, "networks": max(SIZES), "width": 100, "lr": 0.01, "epochs": list(EPOCHS),
}  # fmt: skip
EXPERIMENT = Experiment(
    name="cubic",
    about="for each of four forecasts, the fraction of new points within two standard deviations "
    "of its mean, where the data lie and up to 2 beyond on both sides, after 20, 50, 100, 200 and "
    "400 epochs; ensembles have five members; the summary holds means over data",
    budget="20 draws of 20 points, one initial seed, 400 epochs of Adam at 0.01, no tuning",
    cases=[{"data_seed": data_seed} for data_seed in range(20)],
    run=run,
    settings={**SETTINGS, "points": 400, "members": 5},
    summarize=summarize,
)
CURVES = Experiment(
    name="cubic-curves",
    about="means and standard deviations of networks, on an even grid from low to high, after each "
    "number of epochs: ten networks, of the NLL without adversarial training one; the squared "
    "error teaches no standard deviation",
    budget="as cubic, on the draw of data that is typical of it",
    cases=[{"training": training} for training in TRAININGS],
    run=draw,
    settings={**SETTINGS, "data_seed": TYPICAL, "low": -6.0, "high": 6.0, "number": 61},
)

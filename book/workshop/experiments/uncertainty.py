"""Noise and spread of a deep ensemble, beside the noise and the error that are known.

On the curve of the running example, with noise σ of several sizes and data of several: its
members predict a mean and a variance each, so that `ensedu.uncertainty.variance_parts` gives their
noise, the mean of the variances, and their spread. The truth is known: the noise is σ², and the
squared error of the ensemble's mean is what it did not know of the curve. `tune` is how the number
of training steps was chosen, for each number of examples and each σ by the NLL at new inputs
among the data, not in the gap, of other draws. Fixed before the table was made: sizes, settings,
scores, and the 60 ratios of `summarize`, whose tests against 1 stand together under Holm's
correction.
"""

from itertools import product
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import nn

from ensedu import data, uncertainty
from ensedu.common import checks
from ensedu.torch import fit, gaussian_nll, mlp, predict
from ensedu.torch.base import seeded
from workshop import measured
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

#: Members are 1-50-50-2: a mean and a raw variance.
WIDTHS = (1, 50, 50, 2)
#: Examples of a training set, and standard deviations of their noise.
NUMBERS, SIGMAS = (30, 120, 480), (0.1, 0.2, 0.4)
#: Steps of Adam that were tried, and for each number and σ those that were best.
TRIES = (300, 750, 1500, 3000)
BEST = (300, 300, 300, 1500, 750, 300, 3000, 3000, 3000)
CHOSEN = dict(zip(product(NUMBERS, SIGMAS), BEST, strict=True))
SETTINGS = {"members": 5, "lr": 0.005, "batch_size": 20, "points": 400}
PLACES = ("regions", "gap")
#: Ratios of two quantities of one cell.
CELLS = {"noise / σ²": ("noise", "truth"), "error / spread": ("error", "spread")}


def curve(sigma: float) -> data.Curve:
    """Return the curve of the running example with another noise."""
    gap = data.gap
    return data.Curve(gap.name, gap.function, sigma, gap.regions, gap.number)


def trained(
    number: int, sigma: float, data_seed: int, steps: int, members: int, lr: float, batch_size: int
) -> nn.Module:
    """Return a deep ensemble, trained on so many examples; the data seed starts its weights, too.

    As many whole epochs as come nearest to `steps`.
    """
    rng = np.random.default_rng(data_seed)
    x, y = map(torch.from_numpy, curve(sigma).sample(rng, number))
    epochs = max(1, round(steps / -(-number // batch_size)))
    with one_thread():
        with seeded(data_seed):
            net = mlp(WIDTHS, "deep_ensemble", members, dtype=torch.float64)
        fit(
            net, x, y, gaussian_nll, epochs=epochs, batch_size=batch_size, lr=lr, seed=data_seed
        )  # fmt: skip
    return net


def member_heads(
    net: nn.Module, x: Float[Array, "B 1"]
) -> tuple[Float[Array, "M B 1"], Float[Array, "M B 1"]]:
    """Return the mean and the variance of each member."""
    return uncertainty.gaussian_heads(predict(net, torch.from_numpy(x)).numpy())


def new_points(
    sigma: float, data_seed: int, points: int
) -> dict[str, tuple[Float[Array, "B 1"], Float[Array, "B 1"]]]:
    """Return new x and y, so many where data lies, and in the gap."""
    rng = np.random.default_rng([data_seed, 1])
    own = curve(sigma)
    x, y = own.sample(rng, points)
    inside = rng.uniform(*own.gaps[0], (points, 1))
    noise = sigma * rng.standard_normal(inside.shape)
    return {"regions": (x, y), "gap": (inside, own.truth(inside) + noise)}


def run(
    number: int, sigma: float, data_seed: int, members: int, lr: float, batch_size: int,
    points: int,
) -> dict[str, Any]:  # fmt: skip
    """Return, where data lies and in the gap, the parts of the variance, errors and scores."""
    steps = CHOSEN[number, sigma]
    net = trained(number, sigma, data_seed, steps, members, lr, batch_size)
    found: dict[str, Any] = {}
    for place, (x, y) in new_points(sigma, data_seed, points).items():
        mean, variance = member_heads(net, x)
        parts = uncertainty.variance_parts(mean, variance)
        errors = uncertainty.ambiguity(mean, curve(sigma).truth(x))
        nll = uncertainty.gaussian_nll(mean, variance, y)
        values = {
            "noise": parts.noise, "spread": parts.spread,
            "error": errors.ensemble, "member_error": errors.members,
            "nll": uncertainty.mixture_nll(nll), "member_nll": nll,
        }  # fmt: skip
        found[place] = {name: float(value.mean()) for name, value in values.items()}
    return found


def tune(
    number: int, sigma: float, steps: int, data_seed: int, members: int, lr: float,
    batch_size: int, points: int,
) -> dict[str, float]:  # fmt: skip
    """Return the NLL of the mixture at new points between the data, not in the gap."""
    net = trained(number, sigma, data_seed, steps, members, lr, batch_size)
    x, y = new_points(sigma, data_seed, points)["regions"]
    mean, variance = member_heads(net, x)
    nll = uncertainty.mixture_nll(uncertainty.gaussian_nll(mean, variance, y))
    return {"nll": float(nll.mean())}


def best_steps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each number of examples and σ, the steps whose mean NLL over data is least."""
    found = []
    for number, sigma in CHOSEN:
        own = [row for row in rows if (row["number"], row["sigma"]) == (number, sigma)]
        means = {
            steps: float(np.mean([row["nll"] for row in own if row["steps"] == steps]))
            for steps in TRIES
        }
        steps = min(means, key=lambda steps: means[steps])
        found.append({"number": number, "sigma": sigma, "steps": steps, "nll": means[steps]})
    return found


def summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return ``"cells"``, means over draws of data, and ``"contrasts"``, ratios with intervals.

    A ratio is the geometric mean over draws of data, with the 95 % interval of the logarithm's
    mean: in one cell of two quantities, or of one quantity at the ends of `NUMBERS`, or of
    `SIGMAS`. ``p`` is that of a ratio of 1, ``adjusted`` the same after Holm over all of them.
    """
    logs = {}
    cells = []
    for place, (number, sigma) in product(PLACES, CHOSEN):
        own = [row[place] for row in rows if (row["number"], row["sigma"]) == (number, sigma)]
        values = {name: np.array([row[name] for row in own]) for name in own[0]}
        ends = {name: uncertainty.paired(value) for name, value in values.items()}
        cells.append(
            {"place": place, "number": number, "sigma": sigma}
            | {name: [end.low, end.mean, end.high] for name, end in ends.items()}
        )
        positive = ("noise", "spread", "error", "member_error")
        logs[place, number, sigma] = {name: np.log(values[name]) for name in positive} | {
            "truth": np.full(len(own), np.log(sigma**2))
        }
    found: dict[tuple[str, str, int | None, float | None], Array] = {}
    for place in PLACES:
        for name, (top, bottom) in CELLS.items():
            for number, sigma in CHOSEN:
                both = logs[place, number, sigma]
                found[name, place, number, sigma] = both[top] - both[bottom]
        for part in ("noise", "spread"):
            for sigma in SIGMAS:
                few, many = (logs[place, number, sigma][part] for number in NUMBERS[::2])
                found[f"{part}, more data", place, None, sigma] = many - few
            for number in NUMBERS:
                low, high = (logs[place, number, sigma][part] for sigma in SIGMAS[::2])
                found[f"{part}, more noise", place, number, None] = high - low
    intervals = [uncertainty.paired(value) for value in found.values()]
    adjusted = uncertainty.holm(np.array([one.p for one in intervals]))
    contrasts = [
        {
            "ratio": ratio, "place": place, "number": number, "sigma": sigma,
            "low": float(np.exp(one.low)), "mean": float(np.exp(one.mean)),
            "high": float(np.exp(one.high)), "p": one.p, "adjusted": float(after),
        }
        for (ratio, place, number, sigma), one, after in zip(
            found, intervals, adjusted, strict=True
        )
    ]  # fmt: skip
    return {"cells": cells, "contrasts": contrasts}


def summary_cell(place: str, number: int, sigma: float) -> dict[str, Any]:
    """Return a row of ``"cells"`` of the committed table: [low, mean, high] of each quantity."""
    checks.one_of("place", place, PLACES)
    rows = measured.load("uncertainty")["summary"]["cells"]
    return dict(measured.row(rows, place=place, number=number, sigma=sigma))


TUNING = Experiment(
    name="uncertainty-tuning",
    about="nll: nats a new example between the data (not in the gap) of the mixture of a deep "
    "ensemble's members, on data of seeds apart from those of uncertainty",
    budget="four numbers of steps for each number of examples and each sigma, 3 draws of data, "
    "members of 1-50-50-2, Adam",
    cases=[
        {"number": number, "sigma": sigma, "steps": steps, "data_seed": 1000 + data_seed}
        for number, sigma in CHOSEN
        for steps in TRIES
        for data_seed in range(3)
    ],
    run=tune,
    settings=dict(SETTINGS),
    summarize=best_steps,
)
EXPERIMENT = Experiment(
    name="uncertainty",
    about="where data lies and in the gap, means over new inputs: noise, mean of the members' "
    "variances; spread, variance of their means; error, squared distance of the ensemble's mean "
    "from the curve without noise; member_error, that of one member's, mean over members; nll, "
    "nats a new example, of the mixture, and member_nll of one member; the summary holds means "
    "and ratios with 95 % intervals over data",
    budget="20 draws of data and starts for each number of examples and each sigma, five members "
    "of 1-50-50-2, Adam; its steps chosen among four on other data, see uncertainty-tuning",
    cases=[
        {"number": number, "sigma": sigma, "data_seed": data_seed}
        for number, sigma in CHOSEN
        for data_seed in range(20)
    ],
    run=run,
    settings=dict(SETTINGS),
    summarize=summarize,
)

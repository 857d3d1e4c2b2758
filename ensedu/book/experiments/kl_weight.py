"""What the KL does to a rank-1 BNN: the running example's, trained with other weights of it.

``beta`` is what the KL is times in the loss: 0 leaves it out, 1 is the running example's. A row
holds what the standard deviations of r and s became, and the curves and scores that follow.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import nn

from ensedu.book import measured
from ensedu.book.experiments import running_example as example
from ensedu.running.experiment import Experiment
from ensedu.torch import Rank1Linear

__all__ = ["CURVES", "EXPERIMENT", "deviations", "draw", "run", "trained", "typical"]

CONTESTANT = example.CONTESTANTS["rank1"]
#: In percent: of all standard deviations, which are kept.
PERCENT = tuple(range(0, 101, 10))
BETAS = (0.0, 0.1, 1.0, 10.0)
#: The draw of data whose curves are shown, as `typical` finds it.
TYPICAL = 1


def trained(beta: float, data_seed: int, epochs: int, batch_size: int, seed: int) -> nn.Module:
    """Return the running example's rank-1 BNN, trained with the KL times `beta`."""
    setting = CONTESTANT.setting
    return example.trained(CONTESTANT, setting, data_seed, seed, epochs, batch_size, beta)


def _seed(data_seed: int) -> int:
    """Return the first of the running example's initial seeds on a draw of data."""
    return example.starts(data_seed, example.EXPERIMENT.settings["seeds"])[0]


def deviations(net: nn.Module) -> Float[Array, " N"]:
    """Return the standard deviations of all entries of r and s, of all members and layers."""
    rho = [
        getattr(layer, name).detach().ravel()
        for layer in net.modules()
        if isinstance(layer, Rank1Linear)
        for name in ("r_rho", "s_rho")
    ]
    return torch.nn.functional.softplus(torch.cat(rho)).numpy()


def run(
    beta: float, data_seed: int, epochs: int, batch_size: int, passes: int, points: int
) -> dict[str, Any]:
    """Return percentiles of the standard deviations, and scores."""
    seed = _seed(data_seed)
    net = trained(beta, data_seed, epochs, batch_size, seed)
    x, truth, y = example.new_points(data_seed, points)
    means = example.beliefs(CONTESTANT, net, x, passes, seed)
    found: dict[str, Any] = {"deviations": np.percentile(deviations(net), PERCENT).tolist()}
    for place, rows in zip(example.PLACES, np.split(np.arange(len(x)), 2), strict=True):
        found[place] = example.score(means[:, rows], truth[rows], y[rows])
    return found


def draw(
    beta: float, data_seed: int, epochs: int, batch_size: int, passes: int, low: float,
    high: float, number: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the curve: mean and standard deviation over draws, without noise, and eight draws."""
    seed = _seed(data_seed)
    net = trained(beta, data_seed, epochs, batch_size, seed)
    grid = np.linspace(low, high, number)[:, None]
    draws = example.beliefs(CONTESTANT, net, grid, passes, seed)[..., 0]
    return {
        "mean": draws.mean(0).tolist(),
        "spread": draws.std(0).tolist(),
        "draws": draws[:: len(draws) // 8].tolist(),
    }


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each weight of the KL, means over draws of data."""
    summary = []
    for beta in dict.fromkeys(row["beta"] for row in rows):
        own = [row for row in rows if row["beta"] == beta]
        deviations = np.mean([row["deviations"] for row in own], axis=0)
        means = {
            place: float(np.mean([row[place]["nll"] for row in own])) for place in example.PLACES
        }
        summary.append({"beta": beta, "deviations": deviations.tolist(), **means})
    return summary


def typical(rows: list[dict[str, Any]]) -> int:
    """Return the data seed whose NLLs in the gap are closest to their medians over data."""
    betas = dict.fromkeys(row["beta"] for row in rows)
    table = {
        seed: np.array([measured.row(rows, beta=b, data_seed=seed)["gap"]["nll"] for b in betas])
        for seed in dict.fromkeys(row["data_seed"] for row in rows)
    }
    middle = np.median(list(table.values()), axis=0)
    return min(table, key=lambda seed: float(np.abs(table[seed] - middle).sum()))


EXPERIMENT = Experiment(
    name="kl-weight",
    about="deviations: percentiles 0, 10, ... 100 of the standard deviations of r and s, of all "
    "members and layers; scores as in running-example; the summary holds means over data, of "
    "scores the nll",
    budget="the rank-1 BNN of running-example with the KL times beta, 8 draws of data, one initial "
    "seed of its own each, no tuning",
    cases=[{"beta": beta, "data_seed": data_seed} for beta in BETAS for data_seed in range(8)],
    run=run,
    settings=dict(example.SETTINGS),
    summarize=summarize,
)
CURVES = Experiment(
    name="kl-weight-curves",
    about="the curves on the draw of data that is typical of kl-weight: mean and spread over "
    "draws, and eight of them, on an even grid from low to high",
    budget="as kl-weight",
    cases=[{"beta": beta} for beta in BETAS],
    run=draw,
    settings={
        "data_seed": TYPICAL,
        **{name: value for name, value in example.SETTINGS.items() if name != "points"},
        **example.GRID,
    },
)

"""Why averaging helps: how much the errors of a deep ensemble's members have in common.

On the running example, with 16 members. With v the members' mean squared error and c the mean
product of two members' errors, the average of M members drawn from them has the mean squared error
``v / M + (1 - 1 / M) c``.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.book.experiments import running_example as example
from ensedu.contest.running.experiment import Experiment
from ensedu.torch import predict

__all__ = ["EXPERIMENT", "averaged_error", "error_products", "run"]


def error_products(errors: Float[Array, "M B"]) -> tuple[float, float]:
    """Return v, the mean square of errors, and c, the mean product of two members' errors."""
    members = len(errors)
    square = float((errors**2).mean())
    pooled = float((errors.mean(0) ** 2).mean())
    return square, (members * pooled - square) / (members - 1)


def averaged_error(square: float, product: float, members: int) -> float:
    """Return the mean squared error of the average of so many members, over their choice."""
    return square / members + (1 - 1 / members) * product


def run(data_seed: int, seeds: int, members: int, points: int) -> dict[str, Any]:
    """Return v and c where data lies and in the gap, each a list over initial seeds."""
    x, truth, _ = example.new_points(data_seed, points)
    found: dict[str, Any] = {}
    for seed in example.starts(data_seed, seeds):
        net = example.deep_ensemble(members, data_seed=data_seed, seed=seed)
        errors = (predict(net, torch.from_numpy(x)).numpy() - truth)[..., 0]
        for place, rows in zip(example.PLACES, np.split(np.arange(len(x)), 2), strict=True):
            values = zip(("square", "product"), error_products(errors[:, rows]), strict=True)
            for name, value in values:
                found.setdefault(place, {}).setdefault(name, []).append(value)
    return found


def summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return, for each place, the means of v and c over data and seeds, and c / v."""
    found = {}
    for place in example.PLACES:
        square, product = (
            float(np.mean([row[place][name] for row in rows])) for name in ("square", "product")
        )
        found[place] = {"square": square, "product": product, "correlation": product / square}
    return found


EXPERIMENT = Experiment(
    name="averaging",
    about="square: the members' mean squared error from the curve without noise; product: the "
    "mean product of two members' errors, each a list over initial seeds; the summary holds their "
    "means, and product / square",
    budget="a deep ensemble of 16 on 20 draws of data x 5 initial seeds of its own, trained as in "
    "running-example, no tuning",
    cases=[{"data_seed": data_seed} for data_seed in range(20)],
    run=run,
    settings={"seeds": 5, "members": 16, "points": 400},
    summarize=summarize,
)

"""Why averaging helps: how much the errors of a deep ensemble's members have in common.

On the running example, with 16 members. With v the members' mean squared error and c the mean
product of two members' errors, the average of M members drawn from them has the mean squared error
``v / M + (1 - 1 / M) c``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray as Array
from torch import nn

from ensedu.book.experiments import running_example as example
from ensedu.data import gap
from ensedu.numpy import Sequential, half_squared_error
from ensedu.running.experiment import Experiment
from ensedu.torch import predict

__all__ = [
    "EXPERIMENT", "ByStart", "averaged_error", "begun", "by_start", "error_products", "run",
]  # fmt: skip


def error_products(errors: Float[Array, "M B"]) -> tuple[float, float]:
    """Return v, the mean square of errors, and c, the mean product of two members' errors."""
    members = len(errors)
    square = float((errors**2).mean())
    pooled = float((errors.mean(0) ** 2).mean())
    return square, (members * pooled - square) / (members - 1)


def averaged_error(square: float, product: float, members: int) -> float:
    """Return the mean squared error of the average of so many members, over their choice."""
    return square / members + (1 - 1 / members) * product


@dataclass(frozen=True, eq=False)
class ByStart:
    """Deep ensembles of the running example, from ``"different"`` starts and from the ``"same"``.

    Attributes
    ----------
    x, truth
        (N,), where their curves are drawn, and the true curve there.
    points
        x and y of what they were trained on, (B,) each.
    nets, curves
        The ensembles, and their members' curves, (M, N), by start.
    """

    x: Float[Array, " N"]
    truth: Float[Array, " N"]
    points: tuple[Float[Array, " B"], Float[Array, " B"]]
    nets: dict[str, nn.Module]
    curves: dict[str, Float[Array, "M N"]]

    @property
    def in_gap(self) -> Bool[Array, " N"]:
        """Whether an x lies where no point is."""
        low, high = gap.gaps[0]
        return (low < self.x) & (self.x < high)

    def left(self, sizes: Iterable[int]) -> dict[int, float]:
        """Return the average's mean squared error in the gap, over all choices of its members."""
        errors = (self.curves["different"] - self.truth)[:, self.in_gap]
        return {size: averaged_error(*error_products(errors), size) for size in sizes}


def by_start(members: int) -> ByStart:
    """Train so many members from different starts, and from one; it takes some seconds."""
    x, (data_x, data_y) = np.linspace(-4.6, 4.6, 185), gap.sample(np.random.default_rng(0))
    nets = {
        start: example.deep_ensemble(members, same_start=start == "same")
        for start in ("different", "same")
    }
    curves = {
        start: predict(net, torch.from_numpy(x[:, None])).numpy()[..., 0]
        for start, net in nets.items()
    }
    return ByStart(x, gap.truth(x), (data_x[:, 0], data_y[:, 0]), nets, curves)


def begun(net: Sequential, seed: int) -> tuple[float, float]:
    """Return how the members of a BatchEnsemble begin, on random data, without biases.

    The correlation of the first two members' outputs of the first layer; and what the average of
    the members' losses leaves of its gradient of W, along a member's own.
    """
    first = net.layers[0]
    members = first.ensemble_size
    for name, array in net.params.items():
        if name.endswith("bias"):
            array[...] = 0.0
    m, n = first.params["weight"].shape[0], net.layers[-1].params["weight"].shape[1]
    rng = np.random.default_rng([seed, 1])
    x, wanted = rng.standard_normal((64, m)), rng.standard_normal((64, n))
    outputs = first.forward(x)
    _, grad = half_squared_error(net(x), wanted, reduction="sum")
    gradients = []
    for member in range(members):  # of W, from the loss of this member alone
        net.zero_grad()
        net.backward(grad * (np.arange(members) == member)[:, None, None])
        gradients.append(first.grads["weight"].ravel())
    correlation = np.corrcoef(outputs[0].ravel(), outputs[1].ravel())[0, 1]
    square, product = error_products(np.array(gradients))
    return float(correlation), averaged_error(1.0, product / square, members)


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

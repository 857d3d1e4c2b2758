"""SWAG: a Gaussian around the weights that one training went through (Maddox et al. 2019)."""

import functools
from typing import Any

import torch
from numpy import ndarray as Array
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ensedu import counting
from ensedu.contest.forecasts import Forecast
from ensedu.contest.jobs import Job, Watch
from ensedu.contest.networks import (
    AT_ONCE,
    PASSES,
    as_inputs,
    cosine,
    forecast,
    loss_of,
    network,
    training_data,
)
from ensedu.torch import fit, predict

__all__ = ["WINDOW", "Swag", "draw_weights", "train_swag"]

#: The part of the epochs so far, the last ones, at whose ends it looks at the weights.
WINDOW = 1 / 3


def draw_weights(seen: Tensor, generator: torch.Generator) -> Tensor:
    """Draw weights (W,) around those seen, (K, W): half the variance diagonal, half of low rank.

    Maddox et al. 2019, sec. 3.2: ``mean + σ z₁ / √2 + Dᵀ z₂ / √(2 (K - 1))``, with σ² the variance
    of each weight and D (K, W) the deviations from the mean. Of one row: that row.
    """
    mean, K = seen.mean(0), len(seen)
    if K == 1:
        return mean
    away = seen - mean
    std = away.square().mean(0).sqrt()
    each = torch.randn(len(mean), generator=generator)
    joint = torch.randn(K, generator=generator)
    return mean + std * each / 2**0.5 + joint @ away / (2 * (K - 1)) ** 0.5


class Swag:
    """A network, and the weights that a Gaussian is put around."""

    def __init__(self, job: Job, net: Any) -> None:
        self.job, self.net, self.seen = job, net, list[Tensor]()

    @property
    def window(self) -> Tensor:
        """The weights at the ends of the last epochs, (K, W)."""
        return torch.stack(self.seen[-max(1, round(WINDOW * len(self.seen))) :])

    @property
    def kept(self) -> int:
        """How many numbers a forecast needs: a mean, a variance and the deviations."""
        return (2 + len(self.window)) * counting.count(self.net).total

    def __call__(self, x: Array) -> Forecast:
        parameters = list(self.net.parameters())
        now = parameters_to_vector(parameters).detach().clone()
        window, inputs = self.window, as_inputs(x)
        generator = torch.Generator().manual_seed(self.job.seed)
        outputs = []
        for _ in range(PASSES):
            vector_to_parameters(draw_weights(window, generator), parameters)
            outputs.append(predict(self.net, inputs, batch_size=AT_ONCE))
        vector_to_parameters(now, parameters)
        return forecast(self.job, torch.cat(outputs))


def train_swag(job: Job, watch: Watch | None = None) -> Swag:
    """Train one network as others are, and keep its weights after each epoch."""
    found = Swag(job, network(job))
    x, y = training_data(job)

    def look(row: dict[str, Any]) -> None:
        found.seen.append(parameters_to_vector(found.net.parameters()).detach().clone())
        if watch is not None and job.is_look(row["epoch"]):
            watch(row["epoch"], found)

    fit(
        found.net, x, y, loss_of(job), epochs=job.until, batch_size=job.task.batch_size,
        lr=job.setting["lr"], weight_decay=job.setting["weight_decay"], seed=job.seed,
        optimizer=functools.partial(torch.optim.AdamW, fused=True), scheduler=cosine(job),
        callback=look, bar=False,
    )  # fmt: skip
    return found

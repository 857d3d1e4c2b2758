"""SWAG: a Gaussian around the weights that one training went through (Maddox et al. 2019)."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ensedu.contest.jobs import Job
from ensedu.contest.trainers.networks import CHUNK, PASSES, TrainedNetwork, fit_network, network
from ensedu.torch import predict

#: The part of the steps, the last ones, in which it looks at the weights, and how often.
WINDOW, SNAPSHOTS = 1 / 3, 20


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


class Swag(TrainedNetwork):
    """A network, and the weights that a Gaussian is put around, (K, W)."""

    def __init__(self, job: Job, net: Any, seen: Tensor) -> None:
        super().__init__(job, net)
        self.seen = seen
        self.num_stored *= 2 + len(seen)  # a mean, a variance and the deviations

    def outputs(self, x: Tensor) -> Tensor:
        """Return what `PASSES` networks around it give; it stays as it is."""
        parameters, generator = (
            [*self.net.parameters()],
            torch.Generator().manual_seed(self.seed),
        )
        now, found = parameters_to_vector(parameters).detach().clone(), []
        for _ in range(PASSES):
            vector_to_parameters(draw_weights(self.seen, generator), parameters)
            found.append(predict(self.net, x, batch_size=CHUNK))
        vector_to_parameters(now, parameters)
        return torch.cat(found)


def train_swag(job: Job) -> Swag:
    """Train one network as others are, and look at its weights on the way."""
    net, seen, step = network(job), list[Tensor](), 0
    wanted = steps_to_see(job)

    def look() -> None:
        nonlocal step
        step += 1
        if step in wanted:
            seen.append(parameters_to_vector(net.parameters()).detach().clone())

    fit_network(job, net, after_step=look)
    return Swag(job, net, torch.stack(seen))


def steps_to_see(job: Job) -> set[int]:
    """Return after which steps it looks: evenly over the last ones, and at the end."""
    seen = np.linspace((1 - WINDOW) * job.steps, job.steps, SNAPSHOTS)
    return {int(step) for step in seen.round()} - {0}

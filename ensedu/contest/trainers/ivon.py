"""IVON: mean-field variational inference by natural gradients, of ivon-opt (Shen et al. 2024)."""

from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import CosineAnnealingLR

from ensedu.common.checks import optional
from ensedu.contest.jobs import Job
from ensedu.contest.trainers.networks import (
    CHUNK,
    PASSES,
    TrainedNetwork,
    loss_of,
    network,
    training_data,
)
from ensedu.torch import predict
from ensedu.torch.base import seeded

__all__ = ["Ivon", "train_ivon"]

#: What it forgets of its Hessian a step (its own default is for runs a thousand times as long),
#: and the Hessian's first guess.
HESSIAN_DECAY, FIRST_HESSIAN = 5e-4, 0.1


class Ivon(TrainedNetwork):
    """A network whose optimizer holds a distribution of its weights."""

    def __init__(self, job: Job, net: Any, optimizer: Any) -> None:
        super().__init__(job, net)
        self.optimizer = optimizer
        self.num_stored *= 2

    def outputs(self, x: Tensor) -> Tensor:
        """Return what `PASSES` samples of its weights give."""
        found = []
        for _ in range(PASSES):
            with self.optimizer.sampled_params():
                found.append(predict(self.net, x, batch_size=CHUNK))
        return torch.cat(found)


def train_ivon(job: Job) -> Ivon:
    """Learn a mean and a standard deviation of each weight; a setting has the prior's precision.

    Raises
    ------
    ImportError
        If ivon-opt is not installed.
    """
    net = network(job)
    x, y = training_data(job)
    optimizer = optional("ivon", None).IVON(
        net.parameters(),
        lr=job.setting["lr"],
        ess=len(x),
        hess_init=FIRST_HESSIAN,
        weight_decay=job.setting["precision"] / len(x),
        beta2=1 - HESSIAN_DECAY,
    )
    schedule, loss = CosineAnnealingLR(optimizer, T_max=job.steps), loss_of(job)
    with seeded(job.seed):
        for _ in range(job.epochs):
            for rows in torch.randperm(len(x)).split(job.batch_size):
                with optimizer.sampled_params(train=True):
                    optimizer.zero_grad()
                    loss(net(x[rows]), y[rows]).backward()
                optimizer.step()
                schedule.step()
    return Ivon(job, net, optimizer)

"""MIMO: one network that several inputs pass at once, with an output each (Havasi et al. 2021)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.contest.jobs import Job
from ensedu.contest.trainers.networks import (
    MEMBERS,
    TrainedNetwork,
    build_seeded,
    fit_network,
    mlp_sizes,
)
from ensedu.torch import mlp


class Mimo(nn.Module):
    """A network of M inputs side by side, (B, M · m) -> (B, M · k), as M members of a batch.

    In training, each row has M examples of the minibatch, shuffled for each member by itself, and
    outputs are put back in order: so any loss takes them. Else a row has one example M times:
    ``p(y | x) = 1/M Σ_i p(y_i | x, …, x)`` (Havasi et al. 2021, sec. 2).

    Parameters
    ----------
    net
        The network.
    members
        M.
    """

    def __init__(self, net: nn.Module, members: int) -> None:
        super().__init__()
        self.net = net
        self.leading = (members,)  # by which `predict` knows where the batch stands

    def forward(self, x: Float[Tensor, "B m"]) -> Float[Tensor, "M B k"]:
        (M,), B = self.leading, len(x)
        order = torch.arange(B, device=x.device).repeat(M, 1)  # (M, B)
        if self.training:  # the first stays: to shuffle all M is to shuffle rows, too
            order[1:] = torch.rand(M - 1, B, device=x.device).argsort(1)
        out = self.net(x[order].transpose(0, 1).flatten(1))  # (B, M · k)
        each = out.unflatten(1, (M, -1)).transpose(0, 1)  # (M, B, k), of the examples of `order`
        return each.take_along_dim(order.argsort(1)[..., None], 1)


def train_mimo(job: Job, members: int = MEMBERS) -> TrainedNetwork:
    """Train one network of the task's widths, with so many inputs and outputs, as all are.

    Its loss is the mean over members, of which the paper takes the sum. With one member it is one
    network. ``ValueError`` for LeNet-5, whose images have channels.
    """
    M = checks.positive_int("members", members)
    if job.task.is_convolutional:
        raise ValueError(f"hidden must be a tuple of sizes for MIMO, got {job.task.hidden!r}")
    m, *hidden, k = mlp_sizes(job)
    net = Mimo(build_seeded(job, lambda _: mlp([M * m, *hidden, M * k], "single")), M)
    fit_network(job, net)
    return TrainedNetwork(job, net)

"""TabM: a BatchEnsemble made for tables, of the package tabm (Gorishniy et al. 2025)."""

from typing import Any

from torch import Tensor, nn

from ensedu.common.checks import optional
from ensedu.contest.jobs import Job
from ensedu.contest.trainers.networks import TrainedNetwork, build_seeded, fit_network, mlp_sizes

__all__ = ["MembersFirst", "train_tabm"]


class MembersFirst(nn.Module):
    """A network of tabm, with members in front of the batch: (B, m) -> (members, B, n)."""

    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net
        self.leading = (net.k,)  # by which `predict` knows where the batch stands

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x).transpose(0, 1)


def train_tabm(job: Job) -> TrainedNetwork:
    """Train TabM as networks are: as the package makes it, but of the task's depth and width.

    So it has 32 members, a head each, random signs at the inputs alone, and dropout of 0.1 in
    training. As of a BatchEnsemble, matrices decay, and neither fast weights nor biases.

    Raises
    ------
    ImportError
        If tabm is not installed.
    ValueError
        For LeNet-5, and for hidden layers of several widths.
    """
    package = optional("tabm", None)
    if job.task.is_convolutional or len({*job.task.hidden}) != 1:
        raise ValueError(f"hidden must be equal sizes for TabM, got {job.task.hidden!r}")
    inputs, *hidden, outputs = mlp_sizes(job)

    def build(job: Job) -> nn.Module:
        return package.TabM.make(
            n_num_features=inputs, d_out=outputs, n_blocks=len(hidden), d_block=hidden[0]
        )

    net = MembersFirst(build_seeded(job, build))
    fit_network(job, net, decays=lambda name: name.endswith("weight"))
    return TrainedNetwork(job, net)

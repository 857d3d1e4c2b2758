"""Contestants that other packages bring: IVON, a Laplace approximation, and TabM.

Each is an ``ImportError`` with the command that installs its package where that is missing.
"""

import warnings
from types import ModuleType
from typing import Any

import torch
from numpy import ndarray as Array
from torch import Tensor, nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

from ensedu import counting
from ensedu.common.checks import optional
from ensedu.contest.forecasts import ClassForecast, Forecast, NumericForecast
from ensedu.contest.jobs import Job
from ensedu.contest.trainers.networks import (
    CHUNK,
    PASSES,
    TrainedNetwork,
    as_inputs,
    build_seeded,
    fit_network,
    loss_of,
    mlp_sizes,
    network,
    training_data,
)
from ensedu.torch import half_squared_error, predict
from ensedu.torch.base import seeded

#: What IVON forgets of its Hessian a step (its own default is for runs a thousand times as long),
#: and the Hessian's first guess.
HESSIAN_DECAY, FIRST_HESSIAN = 5e-4, 0.1
#: What gave operators their names; they are gone with it.
OPERATORS: list[torch.library.Library] = []


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
    """Learn a mean and a standard deviation of each weight; a setting has the prior's precision."""
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


def train_laplace(job: Job) -> "LaplaceLastLayer":
    """Train a network, of a regression by its squared error, and put a Gaussian around its end."""
    net: Any = network(job)
    if not job.task.num_classes:
        last = net[len(net) - 1]
        net[len(net) - 1] = build_seeded(job, lambda _: nn.Linear(last.in_features, 1))
    fit_network(job, net, None if job.task.num_classes else half_squared_error)
    return LaplaceLastLayer(job, net)


class LaplaceLastLayer:
    """A Gaussian around the last layer of a trained network.

    Its Hessian is Kronecker-factored, as the package comes, and full for a regression, where the
    package's factors lose the noise's gradient. The precision of the prior, and the noise of a
    regression, are those with the greatest marginal likelihood.
    """

    def __init__(self, job: Job, net: nn.Module) -> None:
        package, self.net = laplace_torch(), net.eval()
        self.seed, self.classes = job.seed, job.task.num_classes
        with seeded(job.seed):
            self.found = package.Laplace(
                self.net, "classification" if job.task.num_classes else "regression",
                subset_of_weights="last_layer",
                hessian_structure="kron" if job.task.num_classes else "full",
            )  # fmt: skip
            rows = TensorDataset(*training_data(job))
            self.found.fit(DataLoader(rows, batch_size=job.batch_size))
            self.noise = 0.0
            if job.task.num_classes:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # which link comes by default
                    self.found.optimize_prior_precision(method="marglik")
                factors = [*self.found.H.eigenvectors, *self.found.H.eigenvalues]
                held = sum(part.numel() for each in factors for part in each)
            else:
                self.noise = optimize_prior_and_noise(self.found)
                held = self.found.H.numel()
        self.num_stored = counting.count(net).total + held

    def __call__(self, x: Array) -> Forecast:
        inputs = as_inputs(x)
        with seeded(self.seed):
            if self.classes:
                drawn: Tensor = self.found.functional_samples(inputs, n_samples=PASSES)
                return ClassForecast(drawn.detach().double().numpy())
            mean, variance = self.found(inputs)
        total = variance.reshape(-1, 1).detach().double().numpy() + self.noise
        return NumericForecast(mean.detach().double().numpy()[None], total[None])


def optimize_prior_and_noise(found: Any, steps: int = 200) -> float:
    """Find the prior's precision and the noise of the greatest marginal likelihood.

    As the package's own example of a regression does; returns the noise's variance.
    """
    prior, noise = (torch.zeros(1, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.Adam([prior, noise], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        (-found.log_marginal_likelihood(prior.exp(), noise.exp())).backward()
        optimizer.step()
    found.prior_precision = prior.detach().exp()
    found.sigma_noise = noise.detach().exp()
    return float(found.sigma_noise.item() ** 2)


def laplace_torch() -> ModuleType:
    """Import laplace-torch, whose metrics load torchvision; no model here calls its operators.

    A torchvision for CUDA brings operators that a CPU-only Torch cannot load. At import it
    describes two of them, so they must at least have a name.
    """
    names = [name for name in ("nms", "qnms") if not hasattr(torch.ops.torchvision, name)]
    fragment = torch.library.Library("torchvision", "FRAGMENT")
    for name in names:
        fragment.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    OPERATORS.append(fragment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what it imports in turn
        return optional("laplace", None)


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
    ``ValueError`` for LeNet-5, and for hidden layers of several widths.
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

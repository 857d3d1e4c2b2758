"""A Laplace approximation of the last layer, of laplace-torch (Daxberger et al. 2021)."""

import warnings
from types import ModuleType
from typing import Any

import torch
from numpy import ndarray as Array
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from ensedu import counting
from ensedu.common.checks import optional
from ensedu.contest.forecasts import ClassForecast, Forecast, NumericForecast
from ensedu.contest.jobs import Job
from ensedu.contest.trainers.networks import (
    PASSES,
    as_inputs,
    build_seeded,
    fit_network,
    network,
    training_data,
)
from ensedu.torch import half_squared_error
from ensedu.torch.base import seeded

__all__ = ["LaplaceLastLayer", "laplace_torch", "optimize_prior_and_noise", "train_laplace"]

#: What gave operators their names; they are gone with it.
OPERATORS: list[torch.library.Library] = []


def train_laplace(job: Job) -> "LaplaceLastLayer":
    """Train a network, of a regression by its squared error, and put a Gaussian around its end.

    Raises
    ------
    ImportError
        If laplace-torch is not installed.
    """
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

    Raises
    ------
    ImportError
        If it is not installed.
    """
    names = [name for name in ("nms", "qnms") if not hasattr(torch.ops.torchvision, name)]
    fragment = torch.library.Library("torchvision", "FRAGMENT")
    for name in names:
        fragment.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    OPERATORS.append(fragment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what it imports in turn
        return optional("laplace", None)

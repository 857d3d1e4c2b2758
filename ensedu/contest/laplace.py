"""A Laplace approximation of the last layer, of laplace-torch (Daxberger et al. 2021)."""

import copy
import functools
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy import ndarray as Array
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from ensedu import counting
from ensedu.common.optional import optional
from ensedu.contest.forecasts import Classes, Forecast, Numbers
from ensedu.contest.jobs import Job, Watch
from ensedu.contest.networks import (
    AT_ONCE,
    PASSES,
    as_inputs,
    cosine,
    loss_of,
    network,
    training_data,
)
from ensedu.torch import fit, half_squared_error, predict

__all__ = [
    "LaplaceLastLayer",
    "MapNetwork",
    "laplace_torch",
    "optimize_prior_and_noise",
    "train_map",
]

#: What gave operators their names; they are gone with it.
OPERATORS: list[torch.library.Library] = []


class MapNetwork:
    """The network under a Laplace approximation; a regression's gives a mean alone.

    Its forecast, by which its epoch is chosen, has one variance for all rows: its squared error.
    """

    def __init__(self, job: Job, net: Any) -> None:
        self.job, self.net = job, net
        self.kept = counting.count(net).total

    def __call__(self, x: Array) -> Forecast:
        out = predict(self.net, as_inputs(x), batch_size=AT_ONCE).double().numpy()
        if self.job.task.classes:
            return Classes(out)
        known, y = self.job.given.select
        own = predict(self.net, as_inputs(known), batch_size=AT_ONCE).double().numpy()
        return Numbers(out, np.full_like(out, ((own[0] - y) ** 2).mean()))

    def copied(self) -> "MapNetwork":
        """Return one that further training leaves as it is."""
        return MapNetwork(self.job, copy.deepcopy(self.net))


def train_map(job: Job, watch: Watch | None = None) -> MapNetwork:
    """Train the network; of a regression by its squared error."""
    net: Any = network(job)
    if not job.task.classes:
        last = net[len(net) - 1]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(job.seed)
            net[len(net) - 1] = nn.Linear(last.in_features, 1)
    found = MapNetwork(job, net)

    def look(row: dict[str, Any]) -> None:
        if watch is not None and job.is_look(row["epoch"]):
            watch(row["epoch"], found)

    fit(
        net, *training_data(job), loss_of(job) if job.task.classes else half_squared_error,
        epochs=job.until, batch_size=job.task.batch_size, lr=job.setting["lr"],
        weight_decay=job.setting["weight_decay"], seed=job.seed,
        optimizer=functools.partial(torch.optim.AdamW, fused=True), scheduler=cosine(job),
        callback=look, bar=False,
    )  # fmt: skip
    return found


class LaplaceLastLayer:
    """A Gaussian around the last layer of a trained network.

    Its Hessian is Kronecker-factored, as the package comes, and full for a regression, where the
    package's factors lose the noise's gradient. The precision of the prior, and the noise of a
    regression, are those with the greatest marginal likelihood.
    """

    def __init__(self, job: Job, trained: MapNetwork) -> None:
        package, self.job = laplace_torch(), job
        net = trained.net.eval()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(job.seed)
            self.found = package.Laplace(
                net, "classification" if job.task.classes else "regression",
                subset_of_weights="last_layer",
                hessian_structure="kron" if job.task.classes else "full",
            )  # fmt: skip
            rows = TensorDataset(*training_data(job))
            self.found.fit(DataLoader(rows, batch_size=job.task.batch_size))
            self.noise = 0.0
            if job.task.classes:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # which link comes by default
                    self.found.optimize_prior_precision(method="marglik")
                factors = [*self.found.H.eigenvectors, *self.found.H.eigenvalues]
                held = sum(part.numel() for each in factors for part in each)
            else:
                self.noise = optimize_prior_and_noise(self.found)
                held = self.found.H.numel()
        self.kept = trained.kept + held

    def __call__(self, x: Array) -> Forecast:
        inputs = as_inputs(x)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.job.seed)
            if self.job.task.classes:
                drawn: Tensor = self.found.functional_samples(inputs, n_samples=PASSES)
                return Classes(drawn.detach().double().numpy())
            mean, variance = self.found(inputs)
        own = variance.reshape(-1, 1).detach().double().numpy() + self.noise
        return Numbers(mean.detach().double().numpy()[None], own[None])


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

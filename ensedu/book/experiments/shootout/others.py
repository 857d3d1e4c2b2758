"""Contestants of other packages: laplace-torch, ivon-opt, and torch-uncertainty's SWAG.

They are imported when they are asked for.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch
from numpy import ndarray as Array
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from ensedu import counting
from ensedu.book.experiments.shootout.tasks import Task
from ensedu.contest.forecasts import Forecast
from ensedu.contest.laplace import laplace_torch, optimize_prior_and_noise
from ensedu.torch import fit, gaussian_nll, half_squared_error, predict
from ensedu.torch.train.losses import softmax_cross_entropy
from ensedu.torch.train.parameter_groups import parameter_groups

__all__ = ["DRAWS", "Forecaster", "Posterior", "ivon", "laplace", "laplace_torch", "swag"]

#: Draws of a posterior, alike for all of these.
DRAWS = 32
#: What IVON forgets of its Hessian a step; its own default is for runs a thousand times as long.
FORGETS = 5e-4
#: The part of the epochs at whose ends SWAG looks at the weights, and its scale: that of its paper.
LOOKS, SCALE = 1 / 3, 0.5

Plain = Callable[[], nn.Module]
Setting = dict[str, Any]


class Posterior:
    """What was trained: `outputs` maps x (B, ...) to (S, B, k), drawn by Torch's own generator."""

    def __init__(self, outputs: Callable[[Tensor], Tensor], kept: int) -> None:
        self.outputs, self.kept = outputs, kept


class Forecaster:
    """A posterior whose draws are the same at each call."""

    def __init__(self, own: Posterior, forecast: Callable[[Tensor], Forecast], seed: int) -> None:
        self.own, self.forecast, self.seed = own, forecast, seed
        self.kept = own.kept

    def __call__(self, x: Array) -> Forecast:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return self.forecast(self.own.outputs(torch.from_numpy(x).float()))


def laplace(
    task: Task, plain: Plain, setting: Setting, x: Tensor, y: Tensor, seed: int
) -> Posterior:
    """Put a Gaussian around the last layer of a trained network (Daxberger et al. 2021).

    Its Hessian is Kronecker-factored, as the package comes, and full for a regression, where the
    package's factors lose the noise's gradient. The precision of the prior, and the noise of a
    regression, are those with the greatest marginal likelihood. A regression's noise is one number
    there, so that its network gives a mean alone.
    """
    package = laplace_torch()
    net, loss = plain(), softmax_cross_entropy
    if not task.classes:
        head = net[len(net) - 1]
        net[len(net) - 1] = nn.Linear(head.in_features, 1)
        loss = half_squared_error
    fit(
        net, x, y, loss, epochs=task.epochs, batch_size=task.batch_size, lr=setting["lr"],
        weight_decay=setting["weight_decay"], seed=seed % 2**31, optimizer=_adam, bar=False,
    )  # fmt: skip
    net.eval()
    kind = "classification" if task.classes else "regression"
    form = "kron" if task.classes else "full"
    found = package.Laplace(net, kind, subset_of_weights="last_layer", hessian_structure=form)
    found.fit(DataLoader(TensorDataset(x, y), batch_size=task.batch_size))
    noise = 1.0
    if task.classes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # which link comes by default
            found.optimize_prior_precision(method="marglik")
        factors = [*found.H.eigenvectors, *found.H.eigenvalues]
        held = sum(part.numel() for each in factors for part in each)
    else:
        noise = optimize_prior_and_noise(found)
        held = found.H.numel()
    kept = counting.count(net).total + held

    def outputs(new: Tensor) -> Tensor:
        if task.classes:
            return found.functional_samples(new, n_samples=DRAWS).detach()
        mean, variance = found(new)
        raw = torch.log(torch.expm1(variance.reshape(-1, 1).double() + noise))
        return torch.cat([mean.double(), raw], dim=1)[None].detach()

    return Posterior(outputs, kept)


def ivon(task: Task, plain: Plain, setting: Setting, x: Tensor, y: Tensor, _: int) -> Posterior:
    """Learn a mean and a standard deviation of each weight by natural gradients (Shen et al. 2024).

    The prior is N(0, 1).
    """
    net = plain()
    optimizer = import_module("ivon").IVON(
        net.parameters(), lr=setting["lr"], ess=len(x), hess_init=setting["hess_init"],
        weight_decay=1 / len(x), beta2=1 - FORGETS,
    )  # fmt: skip
    loss = softmax_cross_entropy if task.classes else gaussian_nll
    for rows in _batches(task, x):
        with optimizer.sampled_params(train=True):
            optimizer.zero_grad()
            loss(net(x[rows]), y[rows]).backward()
        optimizer.step()

    def outputs(new: Tensor) -> Tensor:
        drawn = []
        for _ in range(DRAWS):
            with optimizer.sampled_params():
                drawn.append(predict(net, new))
        return torch.cat(drawn)

    return Posterior(outputs, 2 * counting.count(net).total)


def swag(task: Task, plain: Plain, setting: Setting, x: Tensor, y: Tensor, _: int) -> Posterior:
    """Fit a Gaussian to the weights at the ends of the last epochs (Maddox et al. 2019).

    Adam goes on at its rate meanwhile, where the paper has SGD. The package draws the low-rank
    part of each array by itself.
    """
    net = plain()
    looks = max(2, round(LOOKS * task.epochs))
    first = task.epochs - looks
    found = _swag().SWAG(
        net, cycle_start=first, cycle_length=1, scale=SCALE, max_num_models=looks,
        num_estimators=DRAWS,
    )  # fmt: skip
    optimizer = _adam(parameter_groups(net, weight_decay=setting["weight_decay"]), setting["lr"])
    loss = softmax_cross_entropy if task.classes else gaussian_nll
    steps = -(-len(x) // task.batch_size)
    for step, rows in enumerate(_batches(task, x), 1):
        optimizer.zero_grad()
        loss(net(x[rows]), y[rows]).backward()
        optimizer.step()
        if step % steps == 0:
            found.update_wrapper(step // steps)

    def outputs(new: Tensor) -> Tensor:
        return torch.cat([predict(drawn, new) for drawn in found.samples])

    return Posterior(outputs, (2 + looks) * counting.count(net).total)


def _adam(groups: Any, lr: float) -> torch.optim.Optimizer:
    return torch.optim.AdamW(groups, lr=lr, fused=True)


def _batches(task: Task, x: Tensor) -> Iterator[Tensor]:
    """Yield the rows of each step of all epochs."""
    for _ in range(task.epochs):
        yield from torch.randperm(len(x)).split(task.batch_size)


def _swag() -> ModuleType:
    """Import SWAG of torch-uncertainty alone, whose trainer wants Lightning and torchvision."""
    name = "torch_uncertainty"
    if name not in sys.modules:
        found = find_spec(name)
        if found is None:
            raise ImportError(f"{name} is needed")
        alone = ModuleType(name)
        alone.__path__ = list(found.submodule_search_locations or ())
        sys.modules[name] = alone
    return import_module(f"{name}.methods.swag")

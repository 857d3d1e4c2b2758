"""Who takes part in the shoot-out, the settings that each may choose from, and its training."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy import ndarray as Array
from torch import Tensor, nn

from ensedu import counting, uncertainty
from ensedu.book.experiments.shootout import others
from ensedu.book.experiments.shootout.tasks import TASKS, Task, TaskSplit
from ensedu.contest.forecasts import Classes, Forecast, Numbers
from ensedu.contest.networks import with_dropout
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal
from ensedu.torch import KLWeight, ensemble, fit, gaussian_nll, mlp, predict
from ensedu.torch.train.losses import softmax_cross_entropy

__all__ = [
    "CONTESTANTS",
    "MEMBERS",
    "PASSES",
    "Contestant",
    "network",
    "seed",
    "train",
    "with_dropout",
]

MEMBERS = 4
#: Forward passes of what draws; of a rank-1 BNN so many by all its members together.
PASSES = 32
#: Examples that are predicted at once.
AT_ONCE = 500

Setting = dict[str, Any]
RATES = (0.003, 0.01, 0.03)


def _tries(name: str, values: tuple[Any, ...], rates: tuple[float, ...] = RATES) -> list[Setting]:
    return [{name: value, "lr": lr} for value, lr in product(values, rates)]


DECAY = _tries("weight_decay", (0.0, 0.3))
STARTS = _tries("init", ("signs", "normal"))
SPREADS = _tries("init_std", (0.1, 0.5))
IVON = _tries("hess_init", (0.1, 1.0), (0.1, 0.3, 1.0))


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A method at one size, and the six settings that it may choose from."""

    label: str
    #: The key of a method of the book, which colors and counts it; `of` is who trains it.
    method: str
    tries: list[Setting] = field(default_factory=lambda: DECAY)
    #: Its width over that of the task; ``None``: with as many parameters as `MEMBERS` networks.
    scale: float | None = 1.0
    #: Whose settings it has, where it does not choose.
    like: str = ""
    #: How it is trained, where another package does that.
    other: str = ""


CONTESTANTS = {
    "single": Contestant(label="one network", method="single"),
    "wide": Contestant(label="one larger network", method="single", scale=None),
    "deep_ensemble": Contestant(label="deep ensemble", method="deep_ensemble"),
    "deep_ensemble_half": Contestant(
        label="deep ensemble, ½ width", method="deep_ensemble", scale=0.5, like="deep_ensemble"
    ),
    "batch_ensemble": Contestant(label="BatchEnsemble", method="batch_ensemble", tries=STARTS),
    "batch_ensemble_half": Contestant(
        label="BatchEnsemble, ½ width", method="batch_ensemble", tries=STARTS, scale=0.5,
        like="batch_ensemble",
    ),
    "batch_ensemble_double": Contestant(
        label="BatchEnsemble, 2 × width", method="batch_ensemble", tries=STARTS, scale=2.0,
        like="batch_ensemble",
    ),
    "rank1": Contestant(label="rank-1 BNN", method="rank1", tries=SPREADS),
    "rank1_half": Contestant(
        label="rank-1 BNN, ½ width", method="rank1", tries=SPREADS, scale=0.5, like="rank1"
    ),
    "rank1_double": Contestant(
        label="rank-1 BNN, 2 × width", method="rank1", tries=SPREADS, scale=2.0, like="rank1"
    ),
    "mean_field": Contestant(
        label="mean-field BNN", method="mean_field", tries=_tries("beta", (1.0, 0.1))
    ),
    "mc_dropout": Contestant(
        label="MC dropout", method="mc_dropout", tries=_tries("p", (0.02, 0.1, 0.3), RATES[1:])
    ),
    "last_layer": Contestant(label="last-layer ensemble", method="last_layer"),
    "laplace": Contestant(label="Laplace, last layer", method="single", other="laplace"),
    "ivon": Contestant(label="IVON", method="mean_field", tries=IVON, other="ivon"),
    "swag": Contestant(label="SWAG", method="single", other="swag"),
}  # fmt: skip


def scale_of(task: Task, row: Contestant) -> float:
    """Return a contestant's width over that of the task."""
    return equal_scale(task) if row.scale is None else row.scale


@functools.lru_cache
def equal_scale(task: Task) -> float:
    """Return the scale of one network that has as many parameters as the deep ensemble."""
    return task.equal_scale(MEMBERS)


def network(task: Task, row: Contestant, setting: Setting) -> nn.Module:
    """Return an untrained network of a contestant, started by Torch's own generator."""
    scale = scale_of(task, row)
    options = options_of(row.method, setting)
    size = size_option(row.method, MEMBERS) if METHODS[row.method].members else {}
    if not task.convolutions:
        return mlp(task.scaled(scale), row.method, **size, **options)
    plain = task.lenet(scale)
    if row.method == "single":
        return plain
    if METHODS[row.method].drops_units:
        return ensemble(with_dropout(plain, **options), row.method)
    if METHODS[row.method].body:
        options["head"] = str(len(plain) - 1)
    return ensemble(plain, row.method, **size, **options)


def options_of(method: str, setting: Setting) -> dict[str, Any]:
    """Return the options of a network for a setting."""
    if method == "rank1":
        std = setting["init_std"]
        return {"init_std": std, "prior": Normal(1.0, std), "posterior_std": 0.01}
    if method == "mean_field":
        return {"posterior_std": 0.01}
    if method == "batch_ensemble":
        normal = {"init_std": 0.5} if setting["init"] == "normal" else {}
        return {"init": setting["init"], **normal}
    return {"p": setting["p"]} if method == "mc_dropout" else {}


def seed(data: str, contestant: str, split: int, start: int) -> int:
    """Return the seed of a start: no other split, set of data or contestant has it."""
    numbers = [list(TASKS).index(data), list(CONTESTANTS).index(contestant), split, start]
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


class TrainedNetwork:
    """A network of this book, and how its passes become a forecast."""

    def __init__(self, task: Task, row: Contestant, net: nn.Module, seed: int) -> None:
        self.task, self.net, self.seed = task, net, seed
        method = METHODS[row.method]
        members = MEMBERS if method.members else 1
        self.passes = PASSES // members if method.stochastic else 1
        self.kept = counting.count(net).total

    def __call__(self, x: Array) -> Forecast:
        inputs = torch.from_numpy(x).float()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            out = predict(self.net, inputs, samples=self.passes, batch_size=AT_ONCE)
        return forecast(self.task, out)


def forecast(task: Task, outputs: Tensor) -> Forecast:
    """Return the forecast of outputs (S, B, k): logits, or means and raw variances."""
    found = outputs.double().numpy()
    return Classes(found) if task.classes else Numbers(*uncertainty.gaussian_heads(found))


def nll_of(task: Task) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the loss of a task, the mean over members and examples."""
    return softmax_cross_entropy if task.classes else gaussian_nll


def train(
    data: str,
    contestant: str,
    setting: Setting,
    given: TaskSplit,
    seed: int,
    epochs: int | None = None,
) -> TrainedNetwork | others.Forecaster:
    """Train a contestant on a split, with Torch's own generator seeded.

    Takes the task's epochs where none are given.
    """
    task, row = TASKS[data], CONTESTANTS[contestant]
    task = task if epochs is None else replace(task, epochs=epochs)
    x, y = (torch.from_numpy(part) for part in given.train)
    x, y = x.float(), y if task.classes else y.float()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if row.other:
            plain = functools.partial(network, task, CONTESTANTS["single"], {})
            trained = getattr(others, row.other)(task, plain, setting, x, y, seed)
            return others.Forecaster(trained, functools.partial(forecast, task), seed)
        net = network(task, row, setting)
        fit(
            net, x, y, nll_of(task), epochs=task.epochs, batch_size=task.batch_size,
            lr=setting["lr"], weight_decay=setting.get("weight_decay", 0.0),
            kl=KLWeight(setting.get("beta", 1.0)), seed=seed % 2**31,
            optimizer=functools.partial(torch.optim.AdamW, fused=True), bar=False,
        )  # fmt: skip
    return TrainedNetwork(task, row, net, seed)

"""Networks of a contestant: how wide, how trained, and how their passes become a forecast."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy import ndarray as Array
from torch import Tensor, nn
from torch.optim.lr_scheduler import CosineAnnealingLR

from ensedu import counting, uncertainty
from ensedu.contest.forecasts import ClassForecast, Forecast, NumericForecast
from ensedu.contest.jobs import Job
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal
from ensedu.torch import KLWeight, ensemble, fit, gaussian_nll, mlp, predict
from ensedu.torch.base import seeded
from ensedu.torch.losses import softmax_cross_entropy
from ensedu.torch.models import lenet5

MEMBERS = 4
#: Forward passes of what draws; of a rank-1 BNN so many by all its members together.
PASSES = 32
#: Examples that are predicted at once.
CHUNK = 1000
#: What is fixed beforehand of each method, and not searched.
DROPOUT_P, POSTERIOR_STD, RANK1_STD = 0.1, 0.01, 0.3
FILTERS = (6, 16)
#: The options of a method's network.
OPTIONS: dict[str, dict[str, Any]] = {
    "batch_ensemble": {"init": "signs"},
    "rank1": {
        "init_std": RANK1_STD, "prior": Normal(1.0, RANK1_STD), "posterior_std": POSTERIOR_STD,
    },
    "mean_field": {"posterior_std": POSTERIOR_STD},
}  # fmt: skip


def train_network(job: Job) -> "TrainedNetwork":
    """Train one network, or one ensemble, by `fit`, with a rate that falls to 0 as a cosine.

    MC dropout draws a mask for each example while it trains (Gal and Ghahramani 2016), and for
    each pass when it predicts.
    """
    if METHODS[job.contestant.method].drops_units:
        net: nn.Module = with_dropout(build_seeded(job, plain_network), DROPOUT_P)
        fit_network(job, net)
        return TrainedNetwork(job, ensemble(net, job.contestant.method))
    net = network(job)
    fit_network(job, net)
    return TrainedNetwork(job, net)


def fit_network(
    job: Job,
    net: nn.Module,
    nll: Callable[..., Tensor] | None = None,
    after_step: Callable[[], None] | None = None,
    decays: Callable[[str], bool] | None = None,
) -> None:
    """Train a network as all are, by the task's loss unless another is given.

    `after_step` is called after each step of the optimizer; `decays` says of a parameter's name
    whether weight decay pulls it to 0, where `fit` does not know.
    """
    x, y = training_data(job)

    def optimizer(groups: Any, lr: float) -> torch.optim.Optimizer:
        if decays is not None:
            for group, wanted in zip(groups[:2], (True, False), strict=True):
                named = net.named_parameters()
                group["params"] = [one for name, one in named if decays(name) is wanted]
        found = torch.optim.AdamW(groups, lr=lr, fused=True)
        if after_step is not None:
            found.register_step_post_hook(lambda *_: after_step())
        return found

    fit(
        net, x, y, nll or loss_of(job), epochs=job.epochs, batch_size=job.batch_size,
        lr=job.setting["lr"], weight_decay=job.setting.get("weight_decay", 0.0),
        kl=KLWeight(job.setting.get("kl_weight", 1.0)), seed=job.seed, optimizer=optimizer,
        scheduler=functools.partial(CosineAnnealingLR, T_max=job.steps), bar=False,
    )  # fmt: skip


class TrainedNetwork:
    """A network, and how its passes become a forecast: the same at each call. It holds no row."""

    def __init__(self, job: Job, net: Any) -> None:
        self.net, self.seed = net, job.seed
        self.label, self.classes = job.contestant.label, job.task.num_classes
        method = METHODS[job.contestant.method]
        members = MEMBERS if method.has_members else 1
        self.passes = PASSES // members if method.stochastic else 1
        self.num_stored = counting.count(net).total

    def outputs(self, x: Tensor) -> Tensor:
        """Return what passes give, (S, B, k): logits, or means and raw variances."""
        return predict(self.net, x, samples=self.passes, batch_size=CHUNK)

    def __call__(self, x: Array) -> Forecast:
        with seeded(self.seed):
            found = self.outputs(as_inputs(x)).double().numpy()
        if not np.isfinite(found).all():
            raise FloatingPointError(f"{self.label}: its outputs are not finite")
        if self.classes:
            return ClassForecast(found)
        return NumericForecast(*uncertainty.gaussian_heads(found))


def loss_of(job: Job) -> Callable[..., Tensor]:
    """Return the loss of a task, the mean over members and examples."""
    return softmax_cross_entropy if job.task.num_classes else gaussian_nll


def as_inputs(x: Array) -> Tensor:
    """Return inputs as networks take them."""
    return torch.from_numpy(x).float()


def training_data(job: Job) -> tuple[Tensor, Tensor]:
    """Return inputs and targets of the rows to fit on."""
    x, y = job.data.fit
    return as_inputs(x), torch.from_numpy(y) if job.task.num_classes else as_inputs(y)


def network(job: Job) -> nn.Module:
    """Return an untrained network of a job's method and size, started by its seed."""
    name = job.contestant.method
    method, options = METHODS[name], dict(OPTIONS.get(name, {}))
    size = size_option(name, MEMBERS) if method.has_members else {}

    def build(job: Job) -> nn.Module:
        if not job.task.is_convolutional:
            return mlp(mlp_sizes(job), name, **size, **options)
        plain = plain_network(job)
        if name == "single":
            return plain
        if method.body:
            options["head"] = str(len(plain) - 1)
        return ensemble(plain, name, **size, **options)

    return build_seeded(job, build)


def build_seeded(job: Job, build: Callable[[Job], Any]) -> Any:
    """Call a function of a job with Torch's own generator seeded by it."""
    with seeded(job.seed):
        return build(job)


def plain_network(job: Job) -> nn.Sequential:
    """Return one network of a job's size, by Torch's own generator."""
    if job.task.is_convolutional:
        return lenet5(job.task.num_classes, scale_sizes(FILTERS, width_scale(job)))
    return mlp(mlp_sizes(job), "single")


def mlp_sizes(job: Job, scale: float | None = None) -> tuple[int, ...]:
    """Return all sizes of an MLP whose hidden layers are `scale` times as wide as the task's."""
    hidden = scale_sizes(job.task.hidden, width_scale(job) if scale is None else scale)
    return (job.data.fit[0].shape[1], *hidden, job.task.num_classes or 2)


def scale_sizes(sizes: Sequence[Any], scale: float) -> tuple[Any, ...]:
    """Return sizes times a factor, at least 1."""
    return tuple(max(1, round(scale * size)) for size in sizes)


def width_scale(job: Job) -> float:
    """Return its width over the task's; of None that with the parameters of `MEMBERS`, to 1 %."""
    if job.contestant.width_scale is not None:
        return job.contestant.width_scale

    def total(scale: float) -> int:
        if job.task.is_convolutional:
            return counting.count(lenet5(job.task.num_classes, scale_sizes(FILTERS, scale))).total
        return counting.mlp(mlp_sizes(job, scale), "single").total

    wanted = MEMBERS * total(1.0)
    scales = np.arange(1.0, MEMBERS + 1.0, 0.01).tolist()
    return min(scales, key=lambda scale: abs(total(scale) - wanted))


def with_dropout(model: nn.Sequential, p: float) -> nn.Sequential:
    """Put dropout behind each ReLU of a chain, of whole channels after a convolution."""
    parts: list[nn.Module] = []
    flat = not any(isinstance(part, nn.Conv2d) for part in model)
    for part in model:
        flat = flat or isinstance(part, nn.Flatten)
        parts.append(part)
        if isinstance(part, nn.ReLU):
            parts.append(nn.Dropout(p) if flat else nn.Dropout2d(p))
    return nn.Sequential(*parts)

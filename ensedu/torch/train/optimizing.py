"""What is trained at which rate: groups of parameters, the optimizer and its schedule."""

import warnings
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from ensedu.common import checks
from ensedu.methods import METHODS
from ensedu.torch.base import NORMALIZATIONS, WeightLayer
from ensedu.torch.network import parameters_of_members

#: The learning rate where none is given.
LR = 1e-3


def parameter_groups(
    net: nn.Module, *, weight_decay: float, fast_lr: float | None = None
) -> list[dict[str, Any]]:
    """Return groups for an optimizer: weights, which decay, and all else, which does not.

    Weights are matrices and kernels: shared ones, a member's own, and those of plain modules. Fast
    weights r and s do not decay: they multiply, and at 0 nothing is left. Nor does what has a
    distribution, which its KL pulls to the prior, nor biases and normalization. Frozen parameters
    are left out.

    Parameters
    ----------
    net
        Any module: a layer, `mlp`, what `ensemble` returns, or a plain model.
    weight_decay
        Of the first group, 0 or more.
    fast_lr
        Learning rate of the fast weights r and s, means and ρ alike, above 0; they are then a third
        group. By default they learn as all else does.

    Raises
    ------
    TypeError, ValueError
        For a `net` that is no module, and for another `weight_decay` or `fast_lr`.

    Examples
    --------
    >>> import torch
    >>> from ensedu.torch import mlp
    >>> net = mlp([5, 7, 2], "batch_ensemble", 3)
    >>> groups = parameter_groups(net, weight_decay=1e-4)
    >>> [sum(p.numel() for p in group["params"]) for group in groups]
    [49, 90]
    >>> optimizer = torch.optim.AdamW(groups, lr=1e-3)
    """
    if not isinstance(net, nn.Module):
        raise TypeError(f"net must be a torch.nn.Module, got {type(net).__name__}")
    decay = checks.not_negative("weight_decay", weight_decay)
    if fast_lr is not None:
        fast_lr = checks.real("fast_lr", fast_lr, low=0.0)
    kinds: dict[int, str] = {}
    for layer in net.modules():
        if isinstance(layer, WeightLayer):
            for array in METHODS[layer.method].arrays:
                fast = array.shape in ("M m", "M n") and array.role != "biases"
                kind = "weights" if array.name == "weight" else "fast" if fast else "rest"
                kinds[id(getattr(layer, array.name))] = kind
        elif isinstance(layer, NORMALIZATIONS):
            kinds |= {id(parameter): "rest" for parameter in layer.parameters(recurse=False)}
    groups: dict[str, list[Any]] = {"weights": [], "fast": [], "rest": []}
    for parameter in net.parameters():
        if parameter.requires_grad:
            kind = kinds.get(id(parameter), "weights" if parameter.ndim > 1 else "rest")
            groups["rest" if kind == "fast" and fast_lr is None else kind].append(parameter)
    found: list[dict[str, Any]] = [
        {"params": groups["weights"], "weight_decay": decay},
        {"params": groups["rest"], "weight_decay": 0.0},
    ]
    if fast_lr is not None:
        found.append({"params": groups["fast"], "weight_decay": 0.0, "lr": fast_lr})
    return found


def build_optimizer(
    net: nn.Module, optimizer: Any, lr: Any, fast_lr_factor: float, weight_decay: float
) -> Optimizer:
    """Return the optimizer itself, or what it makes of the groups of a net."""
    if isinstance(optimizer, Optimizer):
        if lr != LR or fast_lr_factor != 1 or weight_decay:
            raise ValueError(
                "lr, fast_lr_factor and weight_decay must be left out beside an optimizer that has "
                f"its own, got {lr}, {fast_lr_factor} and {weight_decay}"
            )
        theirs = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if not theirs <= {id(p) for p in net.parameters()}:
            raise ValueError("optimizer must have parameters of net alone, got some of another")
        return optimizer
    lr = checks.real("lr", lr, low=0.0)
    factor = checks.real("fast_lr_factor", fast_lr_factor, low=0.0)
    groups = parameter_groups(net, weight_decay=weight_decay, fast_lr=factor * lr)
    if factor != 1 and not groups[-1]["params"]:
        raise ValueError(
            f"fast_lr_factor must be 1 for a net that trains no fast weights r and s, got {factor}"
        )
    made = checks.function("optimizer", optimizer, "optimizer(groups, lr=lr)")(groups, lr=lr)
    if not isinstance(made, Optimizer):
        raise TypeError(
            f"optimizer must return a torch.optim.Optimizer, got {checks.describe(made)}"
        )
    return made


def build_scheduler(optimizer: Optimizer, scheduler: Any) -> LRScheduler | None:
    """Return what a scheduler makes of an optimizer."""
    if scheduler is None:
        return None
    made = checks.function("scheduler", scheduler, "scheduler(optimizer)")(optimizer)
    if not isinstance(made, LRScheduler) or isinstance(made, ReduceLROnPlateau):
        raise TypeError(
            "scheduler must return a torch.optim.lr_scheduler.LRScheduler whose step() needs no "
            f"metric, got {checks.describe(made)}"
        )
    return made


def member_factor(net: nn.Module, optimizer: Optimizer, factor: Any) -> float:
    """Return by what gradients of one member's parameters are multiplied."""
    if factor is not None:
        return checks.real("member_gradient_factor", factor, low=0.0)
    if isinstance(optimizer, torch.optim.SGD) and parameters_of_members(net):
        warnings.warn(
            "with SGD and the mean over M members, what belongs to one member learns at lr / M: "
            "member_gradient_factor=M lets each learn as if alone, and 1 is as it is now",
            stacklevel=3,
        )
    return 1.0

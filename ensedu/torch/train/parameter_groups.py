"""Which parameters weight decay may pull to 0, and which learn at a rate of their own."""

from typing import Any

from torch import nn

from ensedu.common import checks
from ensedu.methods import METHODS
from ensedu.torch.base import NORMALIZATIONS, WeightLayer
from ensedu.torch.whole.copies import MemberCopies

__all__ = ["of_members", "parameter_groups"]


def of_members(net: nn.Module) -> list[nn.Parameter]:
    """Return the parameters of which each member has its own; none where there are no members."""
    found: dict[int, nn.Parameter] = {}
    for part in net.modules():
        if isinstance(part, WeightLayer):
            arrays = [array.name for array in METHODS[part.method].arrays if "M" in array.shape]
            own = [getattr(part, name) for name in arrays]
        elif isinstance(part, MemberCopies):
            own = [
                p for name, p in part.named_parameters()
                if part.role_inside(name, "shared") == "per_member"
            ]  # fmt: skip
        else:
            continue
        found |= {id(p): p for p in own if p is not None}
    return [*found.values()]


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

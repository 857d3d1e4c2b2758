"""Which parameters weight decay may pull to 0."""

from typing import Any

from torch import nn

from ensedu import checks
from ensedu.methods import METHODS
from ensedu.torch.base import WeightLayer
from ensedu.torch.refuse import NORMS


def parameter_groups(net: nn.Module, *, weight_decay: float) -> list[dict[str, Any]]:
    """Return two groups for an optimizer: weights, which decay, and all else, which does not.

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

    Raises
    ------
    TypeError, ValueError
        For a `net` that is no module, and for another `weight_decay`.

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
    decay = checks.real("weight_decay", weight_decay)
    if decay < 0:
        raise ValueError(f"weight_decay must be 0 or more, got {weight_decay!r}")
    own = {
        id(getattr(layer, array.name)): array.name == "weight"
        for layer in net.modules()
        if isinstance(layer, WeightLayer)
        for array in METHODS[layer.method].arrays
    }
    for module in net.modules():
        if isinstance(module, NORMS):
            own |= {id(parameter): False for parameter in module.parameters(recurse=False)}
    groups: tuple[list[Any], list[Any]] = ([], [])
    for parameter in net.parameters():
        if parameter.requires_grad:
            decays = own.get(id(parameter), parameter.ndim > 1)
            groups[0 if decays else 1].append(parameter)
    return [
        {"params": groups[0], "weight_decay": decay},
        {"params": groups[1], "weight_decay": 0.0},
    ]

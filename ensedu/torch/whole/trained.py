"""Warn where an ensemble would begin without what its model has learned."""

import warnings
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from ensedu.methods import METHODS
from ensedu.torch.whole.roles import is_within
from ensedu.torch.whole.weights import layer_options

# Of each option that chooses how members start: what becomes of a trained model without it, the
# start that keeps what it has learned, and the one that is usual.
ANEW = {
    "initialize": (
        "each member starts anew",
        "initialize=networks.pop, of a list of M networks that you trained",
        "initialize=lambda: Net()",
    ),
    "init": (
        "fast weights start as random signs, which undo it",
        'init="normal", init_std=0.03',
        'init="signs"',
    ),
    "init_std": ("each member has a new head", "init_std=0.03", "init_std=None"),
}


def start_option(method: str) -> str:
    """Name the option without which members of a method start anew, or return ""."""
    row = METHODS[method]
    if row.apart or row.body:
        return "init_std" if row.body else "initialize"
    signs = not row.drops_units and layer_options(method).get("init") == "signs"
    return "init" if signs else ""


def warn_of_training_lost(
    model: nn.Module, method: str, shared: tuple[str, ...], options: dict[str, Any]
) -> None:
    """Warn of a start that a trained model does not survive, unless `options` choose it."""
    option = start_option(method)
    if not option or option in options:
        return
    what, near, anew = ANEW[option]
    trained = trained_part(model, shared)
    new_head = METHODS[method].body and trained and _is_new(model.get_submodule(options["head"]))
    if trained and not new_head:
        warnings.warn(
            f"model looks trained ({trained} holds what no usual initialization gives), but {what}."
            f" What it has learned is kept by {near}; {anew} says that a new start is meant",
            stacklevel=3,
        )


def trained_part(model: nn.Module, shared: tuple[str, ...]) -> str:
    """Name a bias, or a scale or shift of normalization, that training has moved, or return "".

    New ones are constant, as are those of normalization, or within ±1/√fan_in, where Torch starts
    biases. Training leaves many of them elsewhere, and no two equal. Weights tell less: every
    initialization has a distribution of its own.
    """
    for path, owner in model.named_modules():
        for key, value in owner.named_parameters(recurse=False):
            name = f"{path}.{key}".lstrip(".")
            known = value.ndim == 1 and (key == "weight" or "bias" in key)
            known &= value.is_floating_point() and not value.is_meta
            if known and not is_within(name, shared):
                value = value.detach()
                if len(value[_is_outside(value, owner)].unique()) > 1:
                    return name
    return ""


def _is_new(head: Any) -> bool:
    """Whether the last layer of a trained model is as some initialization left it."""
    zeros = head.bias is not None and not head.bias.any()
    return zeros or not _is_outside(head.weight, head).any()


def _is_outside(value: Tensor, owner: Any) -> Tensor:
    """Where a parameter is beyond what Torch itself draws for its owner, or not 0."""
    if isinstance(owner, (nn.RNNBase, nn.RNNCellBase)):
        fan_in = owner.hidden_size
    else:
        axes = slice(1, None if isinstance(owner, _ConvNd) else 2)
        sizes = [prod(one.shape[axes]) for one in owner.parameters() if one.ndim > 1]
        fan_in = max(sizes, default=0)
    bound = (1 + torch.finfo(value.dtype).eps) * fan_in**-0.5 if fan_in else 0.0
    return value.abs() > bound

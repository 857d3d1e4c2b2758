"""Models of which no ensemble is made, or one that would lose something, as is seen at once.

What a plan finds out, such as a matrix of the model's own, is refused where it is found.
"""

import functools
import inspect
import types
import warnings
from collections.abc import Iterator
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from ensedu.methods import METHODS
from ensedu.torch.base import Ensemble
from ensedu.torch.dropout import DROPOUT_MODULES
from ensedu.torch.ensembling.member_weights import options_of
from ensedu.torch.ensembling.parameter_plan import is_within
from ensedu.torch.tensor_checks import class_path

# Of each option, with its default, by which members start anew: what becomes of a trained model,
# the start that keeps what it has learned, and the usual one.
FRESH_STARTS = {
    ("initialize", None): (
        "each member starts anew",
        "initialize=networks.pop, of a list of M networks that you trained",
        "initialize=lambda: Net()",
    ),
    ("init", "signs"): (
        "fast weights start as random signs, which undo it",
        'init="normal", init_std=0.03',
        'init="signs"',
    ),
    ("init_std", None): ("each member has a new head", "init_std=0.03", "init_std=None"),
}


def check_model(model: nn.Module) -> None:
    """Refuse models of which no ensemble is made, by any method, and name what none converts.

    Compiled modules would run the original's code; no copy of a parameter has its hooks.
    """
    for name, module in model.named_modules():
        if hasattr(module, "_orig_mod"):
            raise ValueError(
                f"{name or 'model'} is compiled ({class_path(module)}); accepted is the model "
                "itself, whose ensemble can be compiled"
            )
        if isinstance(module, Ensemble):
            raise ValueError(
                f"{name or 'model'} is an ensemble already ({class_path(module)}); accepted is a "
                "model of one network"
            )
    named = dict(model.named_parameters())
    if lazy := [name for name, p in named.items() if nn.parameter.is_lazy(p)]:
        raise ValueError(
            f"model has lazy parameters without a shape, {', '.join(lazy)}; accepted is a model "
            "that has seen an input"
        )
    if watched := [
        name for name, p in named.items() if p._backward_hooks or p._post_accumulate_grad_hooks
    ]:
        raise ValueError(
            f"model has hooks of parameters, {', '.join(watched)}, which an ensemble would lose; "
            "accepted are hooks of the ensemble's own parameters"
        )
    _refuse_captured(model)
    _warn_of_unregistered(model)


def _refuse_captured(model: nn.Module) -> None:
    """Refuse functions kept on modules that hold a module: a copy would still run the original."""
    own = {id(module) for module in model.modules()}
    for path, module in model.named_modules():
        for key, value in vars(module).items():
            for inner in _captured_modules(value, set()):
                if id(inner) in own:
                    raise ValueError(
                        f"{f'{path}.{key}'.lstrip('.')} is a function that holds a "
                        f"{class_path(inner)} of the model itself, which a copy would go on using; "
                        "accepted is a method of the class, or a module"
                    )


def _captured_modules(value: Any, seen: set[int]) -> Iterator[nn.Module]:
    """Yield the modules that functions in `value` hold: in closures, defaults and globals."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (list, tuple, set)):
        inner: list[Any] = list(value)
    elif isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, functools.partial):
        inner = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, types.FunctionType):
        seen_by = inspect.getclosurevars(value)
        inner = [*seen_by.nonlocals.values(), *seen_by.globals.values()]
        inner += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        # A method is copied with its object, but not inside a function.
        inner += [part.__self__ for part in inner if isinstance(part, types.MethodType)]
        yield from (part for part in inner if isinstance(part, nn.Module))
        inner = [part for part in inner if not isinstance(part, (dict, type, types.ModuleType))]
    else:
        return
    for part in inner:
        yield from _captured_modules(part, seen)


def _warn_of_unregistered(model: nn.Module) -> None:
    """Name modules with something to convert in plain lists, tuples and dicts of Python."""
    registered, of_torch = set(model.modules()), vars(nn.Module())
    unregistered = [
        f"{name} ({class_path(part)})"
        for path, module in model.named_modules()
        for key, value in vars(module).items()
        if key not in of_torch
        for name, part in _modules_in(value, f"{path}.{key}".lstrip("."), set())
        if part not in registered
        if [*part.parameters(), *part.buffers()]
        or any(isinstance(inner, DROPOUT_MODULES) for inner in part.modules())
    ]
    if unregistered:
        warnings.warn(
            f"model keeps modules in plain lists, tuples or dicts, {', '.join(unregistered)}, "
            "which nothing converts, and whose parameters are not in model.parameters(); "
            "nn.ModuleList and nn.ModuleDict make them parts of the model",
            stacklevel=4,
        )


def _modules_in(value: Any, name: str, seen: set[int]) -> Iterator[tuple[str, nn.Module]]:
    """Yield the modules in lists, tuples and dicts, however nested, with their names."""
    if isinstance(value, nn.Module):
        yield name, value
    elif isinstance(value, (list, tuple, dict)) and id(value) not in seen:
        seen.add(id(value))
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            yield from _modules_in(part, f"{name}[{key!r}]", seen)


class StartWarning(UserWarning):
    """Of where members start, which changes values alone."""


def start_option(method: str) -> str:
    """Name the option without which members of a method start anew, or return ""."""
    return next((pair[0] for pair in options_of(method).items() if pair in FRESH_STARTS), "")


def warn_of_training_lost(
    model: nn.Module, method: str, shared: tuple[str, ...], options: dict[str, Any]
) -> None:
    """Warn of a start that a trained model does not survive, unless `options` choose it."""
    option = start_option(method)
    if not option or option in options:
        return
    what, near, anew = FRESH_STARTS[option, options_of(method)[option]]
    trained = trained_part(model, shared)
    new_head = METHODS[method].body and trained and _is_new(model.get_submodule(options["head"]))
    if trained and not new_head:
        warnings.warn(
            f"model looks trained ({trained} holds what no usual initialization gives), but {what}."
            f" What it has learned is kept by {near}; {anew} says that a new start is meant",
            StartWarning,
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
        sizes = [prod(weight.shape[axes]) for weight in owner.parameters() if weight.ndim > 1]
        fan_in = max(sizes, default=0)
    bound = (1 + torch.finfo(value.dtype).eps) * fan_in**-0.5 if fan_in else 0.0
    return value.abs() > bound

"""Models that no ensemble can be made of, and what in a model nothing converts."""

import functools
import inspect
import types
import warnings
from collections.abc import Iterator
from typing import Any

from torch import nn

from ensedu.torch.base import Ensemble
from ensedu.torch.dropout import DROPOUT_MODULES
from ensedu.torch.tensor_checks import class_path


def refuse_modules(model: nn.Module) -> None:
    """Refuse modules that are compiled, which would run the original's code, and ensembles."""
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


def refuse_parameters(model: nn.Module) -> None:
    """Refuse parameters that have no shape yet, or hooks, which no copy of a parameter has."""
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


def refuse_captured(model: nn.Module) -> None:
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


def warn_of_unregistered(model: nn.Module) -> None:
    """Name modules with something to convert in plain lists, tuples and dicts of Python."""
    registered, of_torch = set(model.modules()), vars(nn.Module())
    unregistered = [
        f"{name} ({class_path(part)})"
        for path, module in model.named_modules()
        for key, value in vars(module).items()
        if key not in of_torch
        for name, part in _modules_in(value, f"{path}.{key}".lstrip("."), set())
        if part not in registered and _holds_something(part)
    ]
    if unregistered:
        warnings.warn(
            f"model keeps modules in plain lists, tuples or dicts, {', '.join(unregistered)}, "
            "which nothing converts, and whose parameters are not in model.parameters(); "
            "nn.ModuleList and nn.ModuleDict make them parts of the model",
            stacklevel=3,
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


def _holds_something(module: nn.Module) -> bool:
    drops = any(isinstance(part, DROPOUT_MODULES) for part in module.modules())
    return drops or any(True for _ in (*module.parameters(), *module.buffers()))

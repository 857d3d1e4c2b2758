"""Refuse what keeps a model from becoming an ensemble: each refusal by name, and what to do."""

import functools
import types
import warnings
from collections.abc import Iterator
from typing import Any

from torch import nn

from ensedu.torch.base import class_path
from ensedu.torch.dropout import DROPOUT_MODULES
from ensedu.torch.whole.roles import is_within


def refuse_lazy(model: nn.Module) -> None:
    """Refuse parameters that have no shape yet."""
    names = [name for name, p in model.named_parameters() if nn.parameter.is_lazy(p)]
    if names:
        raise ValueError(
            f"model has lazy parameters without a shape, {', '.join(names)}; accepted is a model "
            "that has seen an input"
        )


def refuse_watched(model: nn.Module) -> None:
    """Refuse hooks of parameters, which no copy of a parameter has."""
    names = [
        name
        for name, parameter in model.named_parameters()
        if parameter._backward_hooks or parameter._post_accumulate_grad_hooks
    ]
    if names:
        raise ValueError(
            f"model has hooks of parameters, {', '.join(names)}, which an ensemble would lose; "
            "accepted are hooks of the ensemble's own parameters"
        )


def refuse_frozen(model: nn.Module, shared: tuple[str, ...]) -> None:
    """Refuse frozen parameters that new members would draw anew."""
    names = [
        name
        for name, parameter in model.named_parameters()
        if not parameter.requires_grad and not is_within(name, shared)
    ]
    if names:
        raise ValueError(
            f"model has frozen parameters, {', '.join(names)}, which new members would draw "
            "anew; accepted are trained ones, and frozen ones that are listed in shared"
        )


def refuse_compiled(model: nn.Module) -> None:
    """Refuse a model that a compiler has wrapped: it would run the original's code."""
    for name, module in model.named_modules():
        if hasattr(module, "_orig_mod"):
            raise ValueError(
                f"{name or 'model'} is compiled ({class_path(module)}); accepted is the model "
                "itself, whose ensemble can be compiled"
            )


def refuse_ensembles(model: nn.Module) -> None:
    """Refuse what `ensedu.torch.ensemble` has returned, in the model or as the model."""
    for name, module in model.named_modules():
        if hasattr(module, "leading") and hasattr(module, "member"):
            raise ValueError(
                f"{name or 'model'} is an ensemble already ({class_path(module)}); accepted is a "
                "model of one network"
            )


def refuse_captured(model: nn.Module) -> None:
    """Refuse functions kept on modules that hold a module: a copy would still run the original."""
    own = {id(module) for module in model.modules()}
    for path, module in model.named_modules():
        for key, value in vars(module).items():
            for kept in _captured_modules(value, set()):
                if id(kept) in own:
                    raise ValueError(
                        f"{f'{path}.{key}'.lstrip('.')} is a function that holds a "
                        f"{class_path(kept)} of the model itself, which a copy would go on using; "
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
        inner = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        inner += [value.__globals__.get(name) for name in value.__code__.co_names]
        inner += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        # A method is copied with its object, but not inside a function.
        inner += [part.__self__ for part in inner if isinstance(part, types.MethodType)]
        yield from (part for part in inner if isinstance(part, nn.Module))
        inner = [part for part in inner if not isinstance(part, (dict, type, types.ModuleType))]
    else:
        return
    for part in inner:
        yield from _captured_modules(part, seen)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def warn_of_unregistered(model: nn.Module) -> None:
    """Name modules with something to convert in plain lists, tuples and dicts of Python."""
    registered, of_torch = set(model.modules()), vars(nn.Module())
    found = [
        f"{name} ({class_path(part)})"
        for path, module in model.named_modules()
        for key, value in vars(module).items()
        if key not in of_torch
        for name, part in _modules_in(value, f"{path}.{key}".lstrip("."), set())
        if part not in registered and _holds_something(part)
    ]
    if found:
        warnings.warn(
            f"model keeps modules in plain lists, tuples or dicts, {', '.join(found)}, which "
            "nothing converts, and whose parameters are not in model.parameters(); nn.ModuleList "
            "and nn.ModuleDict make them parts of the model",
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


def refuse_undroppable(found: dict[str, nn.Module], known: tuple[type, ...]) -> None:
    """Refuse a model without dropout that draws masks, and kinds of dropout that shift values."""
    other = [
        f"{name} ({class_path(part)})" for name, part in found.items() if type(part) not in known
    ]
    accepted = f"accepted are {', '.join(kind.__name__ for kind in known)}"
    if other:
        raise ValueError(f"model has dropout of another kind, {', '.join(other)}; {accepted}")
    dead = [f"{name} with p={part.p}" for name, part in found.items() if not 0 < part.p < 1]
    if not found or len(dead) == len(found) or any(part.p >= 1 for part in found.values()):
        raise ValueError(
            f"model has no dropout to keep active, got {', '.join(dead) or 'none'}; {accepted} "
            "modules with 0 < p < 1 (a call of torch.nn.functional.dropout is none)"
        )

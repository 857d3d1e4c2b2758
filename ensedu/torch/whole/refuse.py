"""Name everything that keeps a model from becoming an ensemble, with what to do about it."""

import functools
import types
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from ensedu.common import checks
from ensedu.torch.whole.tree import class_path

# One copy for all members, as in the published counts.
NORMS = (
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d,
    nn.LayerNorm, nn.GroupNorm, nn.RMSNorm,
)  # fmt: skip
KEPT = (*NORMS, nn.Embedding)


def unswappable(model: nn.Module, swapped: dict[str, nn.Module], shared: tuple[str, ...]) -> None:
    """Name everything that keeps `model` from being swapped, with what to do about it."""
    problems = {}
    for name, owner in own_parameters(model, shared):
        path, _, key = name.rpartition(".")
        if isinstance(owner, KEPT) or (path in swapped and key in ("weight", "bias")):
            continue
        if any(path.startswith(f"{outer}.") for outer in problems):
            continue  # goes with the module that it is a part of
        if isinstance(owner, nn.MultiheadAttention):
            problems[path] = (
                f"{path or 'model'} (MultiheadAttention keeps three projections in one parameter: "
                "write them as nn.Linear modules and call scaled_dot_product_attention, or list it "
                "as shared)"
            )
        elif isinstance(owner, nn.RNNBase):
            problems[path] = (
                f"{path or 'model'} ({class_path(owner)} keeps its weights for fused kernels: "
                "list it as shared, or make a deep ensemble)"
            )
        elif isinstance(owner, (nn.Linear, nn.Conv2d)):
            problems[path] = (
                f"{path or 'model'} ({class_path(owner)} does more than the product of its class: "
                "list it as shared)"
            )
        elif type(owner).__module__.startswith("torch.nn"):
            problems[path] = f"{path or 'model'} ({class_path(owner)}: list it as shared)"
        else:
            problems[name] = f"{name} (a parameter of {class_path(owner)}: list it as shared)"
    for path, module in swapped.items():
        if any(_hooks(part) for part in (module, *module.parameters())):
            problems[path] = (
                f"{path or 'model'} (its hooks would be lost: remove them, or list it as shared)"
            )
        for key in ("weight", "bias"):
            name = f"{path}.{key}".lstrip(".")
            if name in shared:
                problems[name] = f"{name} (list its module as shared, or none of it)"
    for path, module in model.named_modules():
        if hasattr(module, "leading") and hasattr(module, "member"):
            problems[path] = f"{path or 'model'} (an ensemble already)"
        elif "forward" in vars(module) and not inside(path, shared):
            problems[path] = (
                f"{path or 'model'} (a forward set on the object itself runs the plain layers: "
                "define it in the class)"
            )
    owners: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        owners.setdefault(id(parameter), []).append(name)
    for names in owners.values():
        paths = [name.rpartition(".")[0] for name in names]
        tied = [path for path in paths if path in swapped]
        # One module of several names is no tie.
        if tied and len({id(model.get_submodule(path)) for path in paths}) > 1:
            what = ", ".join(tied)
            problems[names[0]] = f"{' = '.join(names)} (tied weights: list {what} as shared)"
    if problems:
        raise ValueError(
            "model has weights that cannot be swapped: "
            + "; ".join(problems.values())
            + ". Accepted are nn.Linear and nn.Conv2d, which are swapped, normalization and "
            "embeddings, which stay, and what is listed in shared"
        )
    if not swapped:
        raise ValueError(
            "model has no layer to swap; accepted is a model with an nn.Linear or nn.Conv2d that "
            "is not listed in shared"
        )


def _hooks(part: nn.Module | nn.Parameter) -> bool:
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return any(getattr(part, name, None) for name in names)


def lazy(model: nn.Module) -> None:
    """Refuse parameters that have no shape yet."""
    names = [name for name, p in model.named_parameters() if nn.parameter.is_lazy(p)]
    if names:
        raise ValueError(
            f"model has lazy parameters without a shape, {', '.join(names)}; accepted is a model "
            "that has seen an input"
        )


def frozen(model: nn.Module, shared: tuple[str, ...]) -> None:
    """Refuse frozen parameters that new members would draw anew."""
    names = [
        name
        for name, parameter in model.named_parameters()
        if not parameter.requires_grad and not inside(name, shared)
    ]
    if names:
        raise ValueError(
            f"model has frozen parameters, {', '.join(names)}, which new members would draw "
            "anew; accepted are trained ones, and frozen ones that are listed in shared"
        )


def compiled(model: nn.Module) -> None:
    """Refuse a model that a compiler has wrapped: it would run the original's code."""
    for name, module in model.named_modules():
        if hasattr(module, "_orig_mod"):
            raise ValueError(
                f"{name or 'model'} is compiled ({class_path(module)}); accepted is the model "
                "itself, whose ensemble can be compiled"
            )


def captured(model: nn.Module) -> None:
    """Refuse functions kept on modules that hold a module: a copy would still run the original."""
    own = {id(module) for module in model.modules()}
    for path, module in model.named_modules():
        for key, value in vars(module).items():
            for kept in _captures(value, set()):
                if id(kept) in own:
                    raise ValueError(
                        f"{f'{path}.{key}'.lstrip('.')} is a function that holds a "
                        f"{class_path(kept)} of the model itself, which a copy would go on using; "
                        "accepted is a method of the class, or a module"
                    )


def _captures(value: Any, seen: set[int]) -> Iterator[nn.Module]:
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
        inner = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        inner += [value.__globals__.get(name) for name in value.__code__.co_names]
        inner += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        # A method is copied with its object, but not inside a function.
        inner += [part.__self__ for part in inner if isinstance(part, types.MethodType)]
        yield from (part for part in inner if isinstance(part, nn.Module))
        inner = [part for part in inner if not isinstance(part, (dict, type, types.ModuleType))]
    else:
        return
    for part in inner:
        yield from _captures(part, seen)


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def undroppable(found: dict[str, nn.Module], known: tuple[type, ...]) -> None:
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


def head(swappable: dict[str, nn.Module], name: Any) -> dict[str, nn.Module]:
    """Return the one layer that each member has."""
    if not isinstance(name, str) or name not in swappable:
        error = ValueError if isinstance(name, str) else TypeError
        raise error(
            f"head must be the name of an nn.Linear or nn.Conv2d of the model, got {name!r}; it "
            f"has {', '.join(list(swappable)[-20:]) or 'none'}"
        )
    return {name: swappable[name]}


def known_names(model: nn.Module, shared: Any) -> tuple[str, ...]:
    """Return the names of all that `shared` means, by name, pattern or type."""
    if isinstance(shared, str) or not isinstance(shared, Sequence):
        raise TypeError(
            "shared must be a sequence of names, patterns such as '*.attn' and types, got "
            f"{checks.given(shared)}"
        )
    known = dict(parts(model))
    found: dict[str, None] = {}
    for given in shared:
        if isinstance(given, type):
            names = [name for name, part in known.items() if isinstance(part, given)]
        elif isinstance(given, str):
            names = [name for name in known if name == given or fnmatchcase(name, given)]
        else:
            raise TypeError(
                f"shared must hold names, patterns and types, got {checks.given(given)}"
            )
        if not names:
            raise ValueError(
                "shared must hold names of modules or parameters of the model, patterns of such, "
                f"or types of modules, got {given!r}; "
                f"it has {', '.join(sorted(known)[:20])}{', ...' if len(known) > 20 else ''}"
            )
        found |= dict.fromkeys(names)
    meant = {id(known[name]) for name in found}  # by other names, too
    return tuple(name for name, part in known.items() if id(part) in meant)


def parts(model: nn.Module) -> Iterator[tuple[str, nn.Module | nn.Parameter]]:
    """Yield every module but the model itself, and every parameter, with its name."""
    for name, module in model.named_modules(remove_duplicate=False):
        if name:
            yield name, module
    yield from model.named_parameters(remove_duplicate=False)


def tensors(part: nn.Module | nn.Parameter) -> list[torch.Tensor]:
    """Return the parameters and buffers of a part."""
    return [part] if isinstance(part, nn.Parameter) else [*part.parameters(), *part.buffers()]


def own_parameters(model: nn.Module, shared: tuple[str, ...]) -> Iterator[tuple[str, nn.Module]]:
    """Yield each parameter's name, and the module that owns it, if it is not shared."""
    for path, module in model.named_modules():
        for name, _ in module.named_parameters(prefix=path, recurse=False):
            if not inside(name, shared):
                yield name, module


def inside(name: str, shared: tuple[str, ...]) -> bool:
    """Whether a name is one of `shared` or stands below one; "" is the whole model."""
    return any(part in ("", name) or name.startswith(f"{part}.") for part in shared)

"""Name everything that keeps a model from becoming an ensemble, with what to do about it."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn

from ensedu.torch.flatten import FlatEnsemble, MemberCopies

# One copy for all members, as in the published counts.
KEPT = (
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d,
    nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.Embedding,
)  # fmt: skip


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
                f"{path} (MultiheadAttention keeps three projections in one parameter: write them "
                "as nn.Linear modules and call scaled_dot_product_attention, or list it as shared)"
            )
        elif isinstance(owner, nn.RNNBase):
            problems[path] = (
                f"{path} ({type(owner).__name__} keeps its weights for fused kernels: list it as "
                'shared, or use "deep_ensemble")'
            )
        elif type(owner).__module__.startswith("torch.nn"):
            problems[path] = f"{path or 'model'} ({type(owner).__name__}: list it as shared)"
        else:
            problems[name] = f"{name} (a parameter of {type(owner).__name__}: list it as shared)"
    for path, module in swapped.items():
        if any(_hooks(part) for part in (module, *module.parameters())):
            problems[path] = f"{path} (its hooks would be lost: remove them, or list it as shared)"
        for key in ("weight", "bias"):
            name = f"{path}.{key}".lstrip(".")
            if name in shared:
                problems[name] = f"{name} (list its module as shared, or none of it)"
    for path, module in model.named_modules():
        if isinstance(module, FlatEnsemble | MemberCopies):
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
        if len(names) > 1 and any(name.rpartition(".")[0] in swapped for name in names):
            problems[names[0]] = f"{' = '.join(names)} (tied weights: list them as shared)"
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


def undroppable(found: dict[str, nn.Module], known: tuple[type, ...]) -> None:
    """Refuse a model without dropout that draws masks, and kinds of dropout that shift values."""
    other = [
        f"{name} ({type(part).__name__})" for name, part in found.items() if type(part) not in known
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
    """Return the names in `shared`, all of modules or parameters of `model`."""
    if isinstance(shared, str) or not isinstance(shared, Sequence):
        raise TypeError(
            f"shared must be a sequence of names, got {shared!r} ({type(shared).__name__})"
        )
    known = {name for name, _ in parts(model)}
    for name in shared:
        if name not in known:
            raise ValueError(
                f"shared must hold names of modules or parameters of the model, got {name!r}; "
                f"it has {', '.join(sorted(known)[:20])}{', ...' if len(known) > 20 else ''}"
            )
    return tuple(shared)


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

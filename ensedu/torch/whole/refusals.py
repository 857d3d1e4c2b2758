"""Refuse what keeps a model from becoming an ensemble: each refusal by name, and what to do."""

import functools
import types
import warnings
from collections.abc import Iterator
from typing import Any

from torch import nn

from ensedu.torch.base import NORMALIZATIONS, class_path
from ensedu.torch.dropout import DROPOUT_MODULES
from ensedu.torch.whole.shared_names import is_within, unshared_parameters

# One copy for all members, as in the published counts.
KEPT = (*NORMALIZATIONS, nn.Embedding)

# By the name of what is refused, and in the order of the error.
Problems = dict[str, str]


def refuse_unswappable(
    model: nn.Module, swapped: dict[str, nn.Module], shared: tuple[str, ...]
) -> None:
    """Refuse a model with weights that are neither swapped, nor kept, nor shared, and name all."""
    problems = _parameter_problems(model, swapped, shared)
    for path, layer in swapped.items():
        for problem in LAYER_PROBLEMS:
            problems |= problem(path, layer, shared)
    for path, module in model.named_modules():
        problems |= next(filter(None, (find(path, module, shared) for find in MODULE_PROBLEMS)), {})
    problems |= tied_weights(model, swapped)
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


def _parameter_problems(
    model: nn.Module, swapped: dict[str, nn.Module], shared: tuple[str, ...]
) -> Problems:
    """Name every parameter that nothing swaps, or the module that keeps it."""
    problems: Problems = {}
    for name, owner in unshared_parameters(model, shared):
        path, _, key = name.rpartition(".")
        if isinstance(owner, KEPT) or (path in swapped and key in ("weight", "bias")):
            continue
        if any(path.startswith(f"{outer}.") for outer in problems):
            continue  # goes with the module that it is a part of
        problems |= next(filter(None, (find(name, path, owner) for find in PARAMETER_PROBLEMS)))
    return problems


def attention(name: str, path: str, owner: nn.Module) -> Problems:
    """Refuse ``nn.MultiheadAttention``."""
    if not isinstance(owner, nn.MultiheadAttention):
        return {}
    return {
        path: f"{path or 'model'} (MultiheadAttention keeps three projections in one parameter: "
        "write them as nn.Linear modules and call scaled_dot_product_attention, or list it as "
        "shared)"
    }


def recurrent_layer(name: str, path: str, owner: nn.Module) -> Problems:
    """Refuse RNNs, whose weights no layer of a method holds."""
    if not isinstance(owner, nn.RNNBase):
        return {}
    return {
        path: f"{path or 'model'} ({class_path(owner)} keeps its weights for fused kernels: "
        "list it as shared, or make a deep ensemble)"
    }


def more_than_a_product(name: str, path: str, owner: nn.Module) -> Problems:
    """Refuse subclasses of ``nn.Linear`` and ``nn.Conv2d`` that compute something else."""
    if not isinstance(owner, (nn.Linear, nn.Conv2d)):
        return {}
    return {
        path: f"{path or 'model'} ({class_path(owner)} does more than the product of its class: "
        "list it as shared)"
    }


def other_layer_of_torch(name: str, path: str, owner: nn.Module) -> Problems:
    """Refuse all other modules of Torch with parameters."""
    if not type(owner).__module__.startswith("torch.nn"):
        return {}
    return {path: f"{path or 'model'} ({class_path(owner)}: list it as shared)"}


def parameter_of_the_model(name: str, path: str, owner: nn.Module) -> Problems:
    """Refuse a parameter that a module of the model has made itself."""
    return {name: f"{name} (a parameter of {class_path(owner)}: list it as shared)"}


def hooks(path: str, layer: nn.Module, shared: tuple[str, ...]) -> Problems:
    """Refuse a layer to swap whose hooks, or whose parameters' hooks, would be lost."""
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    if not any(getattr(x, name, None) for x in (layer, *layer.parameters()) for name in names):
        return {}
    return {path: f"{path or 'model'} (its hooks would be lost: remove them, or list it as shared)"}


def half_shared(path: str, layer: nn.Module, shared: tuple[str, ...]) -> Problems:
    """Refuse a layer to swap of which the weight or the bias is listed as shared."""
    names = [f"{path}.{key}".lstrip(".") for key in ("weight", "bias")]
    return {
        name: f"{name} (list its module as shared, or none of it)"
        for name in names
        if name in shared
    }


def ensemble_inside(path: str, module: nn.Module, shared: tuple[str, ...]) -> Problems:
    """Refuse what `ensedu.torch.ensemble` has returned, in the model or as the model."""
    if not (hasattr(module, "leading") and hasattr(module, "member")):
        return {}
    return {path: f"{path or 'model'} (an ensemble already)"}


def forward_on_the_object(path: str, module: nn.Module, shared: tuple[str, ...]) -> Problems:
    """Refuse a forward pass set on a module, which a copy of the module would share."""
    if "forward" not in vars(module) or is_within(path, shared):
        return {}
    return {
        path: f"{path or 'model'} (a forward set on the object itself runs the plain layers: "
        "define it in the class)"
    }


def tied_weights(model: nn.Module, swapped: dict[str, nn.Module]) -> Problems:
    """Refuse a parameter of several modules of which one would be swapped."""
    names_of: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names_of.setdefault(id(parameter), []).append(name)
    problems = {}
    for names in names_of.values():
        paths = [name.rpartition(".")[0] for name in names]
        tied = [path for path in paths if path in swapped]
        # One module of several names is no tie.
        if tied and len({id(model.get_submodule(path)) for path in paths}) > 1:
            problems[names[0]] = (
                f"{' = '.join(names)} (tied weights: list {', '.join(tied)} as shared)"
            )
    return problems


#: Of a parameter that nothing swaps the first says why.
PARAMETER_PROBLEMS = (
    attention, recurrent_layer, more_than_a_product, other_layer_of_torch, parameter_of_the_model,
)  # fmt: skip
#: Of a layer to swap each may say something.
LAYER_PROBLEMS = (hooks, half_shared)
#: Of any module the first that has something to say.
MODULE_PROBLEMS = (ensemble_inside, forward_on_the_object)


def refuse_lazy(model: nn.Module) -> None:
    """Refuse parameters that have no shape yet."""
    names = [name for name, p in model.named_parameters() if nn.parameter.is_lazy(p)]
    if names:
        raise ValueError(
            f"model has lazy parameters without a shape, {', '.join(names)}; accepted is a model "
            "that has seen an input"
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


def only_head(swappable: dict[str, nn.Module], name: Any) -> dict[str, nn.Module]:
    """Return the one layer that each member has."""
    if not isinstance(name, str) or name not in swappable:
        error = ValueError if isinstance(name, str) else TypeError
        raise error(
            f"head must be the name of an nn.Linear or nn.Conv2d of the model, got {name!r}; it "
            f"has {', '.join(list(swappable)[-20:]) or 'none'}"
        )
    return {name: swappable[name]}

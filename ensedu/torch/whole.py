"""Turn any model into an ensemble: what is refused, how members start, and the arrays they get."""

import copy
import functools
import inspect
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from ensedu.common import checks
from ensedu.methods import METHODS, checked_sizes
from ensedu.torch.base import class_path
from ensedu.torch.dropout import DROPOUT_MODULES
from ensedu.torch.members import (
    HOOKS,
    MemberCopies,
    ModelEnsemble,
    copied,
    detached_tensors,
    without_values,
)
from ensedu.torch.roles import (
    Plan,
    Use,
    is_within,
    layer_like,
    layer_options,
    multiplier,
    named_parts,
    names_of,
    plan,
    start_near,
    tensors_of,
    weight_like,
)
from ensedu.torch.running import DROPOUT_AXES

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
# Tensors of fewer entries say too little about the distribution that they were drawn from.
FEWEST_ENTRIES = 16
# By so much may the sizes of two draws of many entries differ without a word.
MOST_APART = 1.5


def ensemble(
    model: nn.Module,
    method: str,
    ensemble_size: int | None = None,
    *,
    samples: int | None = None,
    shared: Sequence[str | type] = (),
    modulated: Sequence[str | type] = (),
    **options: Any,
) -> Any:
    """Turn a model into an ensemble: what it returns gets an axis of members, (B, …) to (M, B, …).

    Member i is the model itself with weights of its own, so members cannot mix, whatever the model
    does. `model` is not changed.

    - ``"deep_ensemble"``: M copies of everything; ``initialize=lambda: Net()``, a function that
      returns a new model, starts each as the model itself starts, and ``initialize=networks.pop``
      at a network of a list, each of which you trained.
    - ``"batch_ensemble"``: weights ``W ∘ r_i s_iᵀ`` for linear layers, convolutions, attention and
      recurrent layers, and a bias a member; ``"rank1"`` draws r and s. W starts at the model's own.
      A BatchEnsemble of random signs starts anew all the same; ``init="normal", init_std=0.03``
      keeps what a model has learned.
    - ``"mean_field"``: a distribution of each weight and bias, around the model's own.
    - ``"mc_dropout"``: the model's ``nn.Dropout`` modules stay active, in eval mode too, with one
      mask a sample (not what attention and RNN modules drop by a number of their own, nor
      functional dropout).
    - ``"last_layer"``: each member has a `head` of its own on one body, which runs once. Heads are
      new, or with ``init_std=0.03`` the model's own, each weight times N(1, init_std²).

    Normalization, embeddings, vectors, and arrays whose first axis is 1 stay, one copy for all
    members (`ensedu.torch.roles`). Running statistics, and what else a model keeps in
    floating-point buffers, are a member's with BatchEnsemble and rank-1; with mean-field and MC
    dropout they move by the mean over samples. In training mode members are independent, too: each
    has its own statistics of a batch, and its own masks of dropout. The body of a last-layer
    ensemble runs once, with one of both.

    All run at once under ``torch.func.vmap``; where it has no rule for what a model does, in turn:
    exact, and slower; a warning names the operation. A layer with distributions draws once a pass;
    with ``per_example=True``, and estimators other than ``"weights"``, at each call.

    Parameters
    ----------
    model
        Any module, whose outputs are tensors, alone or in tuples, lists, dicts and dataclasses.
    method
        A key of `ensedu.methods.METHODS` but ``"single"``.
    ensemble_size
        Number of members M, for a method that has them.
    samples
        Number of samples S, for a method that draws: the output is (S, B, …), or (S, M, B, …)
        for a method with members. Without members it is 1 by default. ``net.samples = 30`` changes
        it.
    shared
        Names of modules and parameters of which all members use one copy, unchanged; patterns of
        names, ``"*.attn"``; and types of modules, ``nn.MultiheadAttention``.
    modulated
        Names, patterns and types of what has matrices of the model's own, to be scaled as weights
        are. As in ``nn.Linear``, the first axis is that of outputs, which s scales, and the second
        that of inputs, for r.
    options
        Further arguments of the method's layers (``init``, ``prior``, …). For ``"deep_ensemble"``
        ``initialize``, a function without arguments that returns a new model, or one that
        initializes one member in place; by default each module's ``reset_parameters()`` is called,
        inner modules first. For ``"last_layer"`` ``head``, the name of the module that each member
        has, and ``init_std``.

    Returns
    -------
    ModelEnsemble or MemberCopies
        Both have ``member(index, noise=None)``, one member as a plain module, ``leading``, the axes
        in front of the batch, and ``ensemble_size``; the first also ``samples``, ``noise`` and
        ``in_turn``.

    Raises
    ------
    TypeError
        For a `model` that is no module, and for an option that the method does not have.
    ValueError
        For members or samples that the method does not have; for matrices of the model's own that
        are neither `shared` nor `modulated`; for a weight of members that is tied to what they
        share; for lazy parameters, parameters with hooks, functions that hold modules of the model,
        compiled models, ensembles inside, and a model with nothing to convert; for a deep ensemble,
        for parameters that are frozen or that no ``reset_parameters()`` fills. All are named.

    Warns
    -----
    UserWarning
        Where a model looks trained, by its biases and normalization, and members would start anew
        by default; the start that keeps the model is named. Where a deep ensemble's members start
        by ``reset_parameters()``, and that is not how the model started. Where modules stand in
        plain lists, tuples or dicts of Python, which nothing converts; they are named. In the first
        pass where members must run in turn.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> net = ensemble(nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2)), "rank1", 3)
    >>> net(torch.zeros(11, 5)).shape
    torch.Size([3, 11, 2])
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    row = METHODS[
        checks.one_of(
            "method", method, [k for k, r in METHODS.items() if r.members or r.stochastic]
        )
    ]
    M, S = checked_sizes(method, ensemble_size, samples)
    if row.apart:
        known = ["initialize"]
    else:
        known = [] if row.drops_units else [*layer_options(method)]
        known += ["head", "init_std"] if row.body else []
    for option in options:
        if option not in known:
            raise TypeError(
                f"options of {method!r} are {', '.join(known) or 'none'}, got {option!r}"
            )
    _refuse_modules(model)
    names = names_of(model, shared, "shared")
    scaled = names_of(model, modulated, "modulated")
    _refuse_parameters(model)
    _refuse_captured(model)
    _warn_of_unregistered(model)
    if row.apart:
        _warn_of_training_lost(model, method, names, options)
        return _copies(model, M, names, options.get("initialize"))
    sizes = (S, M if row.members else None)
    if row.drops_units:
        found = _dropouts(model, names)
        model = _unfused(model)
        return ModelEnsemble(
            without_values(model), copied(model), Plan((), {}), sizes, dropouts=found
        )
    if row.body:
        plans = _plan_of_head(model, options.get("head"))
    else:
        plans = plan(model, names, scaled)
        if not plans.sources:
            raise ValueError(
                "model has no layer to swap; accepted is a model with a weight, such as that of an "
                "nn.Linear or nn.Conv2d, that is not listed in shared"
            )
    _warn_of_training_lost(model, method, names, options)
    members = {"ensemble_size": M} if row.members else {}
    stored = _with_arrays(model, plans, method, members, {} if row.body else options)
    if row.body and options.get("init_std") is not None:
        head = options["head"]
        start_near(stored.get_submodule(head), model.get_submodule(head), options["init_std"])
    if row.members and not row.body:
        _give_buffers(stored, M)
    return ModelEnsemble(without_values(model), stored, plans, sizes, has_body=bool(row.body))


def _plan_of_head(model: nn.Module, head: Any) -> Plan:
    """Plan for one layer that each member has."""
    products = {
        name: module
        for name, module in model.named_modules()
        if type(module) in (nn.Linear, nn.Conv2d)
    }
    if not isinstance(head, str) or head not in products:
        error = ValueError if isinstance(head, str) else TypeError
        raise error(
            f"head must be the name of an nn.Linear or nn.Conv2d of the model, got {head!r}; it "
            f"has {', '.join(list(products)[-20:]) or 'none'}"
        )
    others = (
        [name for name, _ in model.named_parameters() if not is_within(name, (head,))]
        if head
        else []
    )
    return plan(model, tuple(others), ())


def _dropouts(model: nn.Module, shared: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, Any] = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, DROPOUT_MODULES) and not is_within(name, shared)
    }
    known = tuple(DROPOUT_AXES)
    accepted = f"accepted are {', '.join(kind.__name__ for kind in known)}"
    other = [f"{name} ({class_path(x)})" for name, x in found.items() if type(x) not in known]
    if other:
        raise ValueError(f"model has dropout of another kind, {', '.join(other)}; {accepted}")
    dead = [f"{name} with p={part.p}" for name, part in found.items() if not 0 < part.p < 1]
    if len(dead) == len(found) or any(part.p >= 1 for part in found.values()):
        raise ValueError(
            f"model has no dropout to keep active, got {', '.join(dead) or 'none'}; {accepted} "
            "modules with 0 < p < 1 (a call of torch.nn.functional.dropout is none)"
        )
    return tuple(found)


def _unfused(model: nn.Module) -> nn.Module:
    """Return a copy whose transformer layers call their parts, dropout among them."""
    model = copied(model)
    for module in model.modules():
        if isinstance(module, nn.TransformerEncoderLayer):
            module.activation_relu_or_gelu = 0
        elif isinstance(module, nn.TransformerEncoder):
            module.enable_nested_tensor = module.use_nested_tensor = False
    return model


def _with_arrays(
    model: nn.Module, plans: Plan, method: str, members: dict[str, int], options: dict[str, Any]
) -> nn.Module:
    """Return a copy of a model with the method's arrays in place of parameters."""
    stored = copied(model)
    modules, biases = dict(model.named_modules()), plans.weights
    placed: set[str] = set()
    for name, (path, kind) in plans.sources.items():
        owner_path, _, key = name.rpartition(".")
        if path in plans.layers:
            if path not in placed:
                layer = layer_like(model.get_submodule(path), method, members, options)
                stored = _replaced(stored, model, path, layer)
            placed.add(path)
            continue
        owner = stored.get_submodule(owner_path)
        if kind == "bias":
            owner._parameters[key] = None
            continue
        if path not in placed:
            use = Use(owner_path, model.get_submodule(owner_path), key)
            values = {
                "weight": model.get_parameter(name),
                "bias": model.get_parameter(biases[path]) if biases[path] else None,
            }
            placed.add(path)
            _, plain, of = multiplier(use, modules)
            layer = weight_like(plain, of, values, method, members, options)
        del owner._parameters[key]
        owner._modules[key] = layer
    return stored


def _replaced(stored: nn.Module, model: nn.Module, path: str, layer: nn.Module) -> nn.Module:
    """Return `stored` with `layer` wherever the model has the module of this path."""
    plain = vars(stored.get_submodule(path))
    vars(layer).update((key, plain[key]) for key in (*HOOKS, "_is_full_backward_hook"))
    if not path:
        return layer
    module = model.get_submodule(path)
    for name, other in model.named_modules(remove_duplicate=False):
        if other is module:
            owner, _, key = name.rpartition(".")
            stored.get_submodule(owner)._modules[key] = layer
    return stored


def _give_buffers(stored: nn.Module, members: int) -> None:
    """Give each member running statistics, and all else that floating-point buffers hold."""
    known: dict[int, Any] = {}
    for module in stored.modules():
        for key, value in module._buffers.items():
            if value is not None and value.is_floating_point():
                rows = value.expand(members, *value.shape).clone()
                module._buffers[key] = known.setdefault(id(value), rows)


def _refuse_modules(model: nn.Module) -> None:
    """Refuse modules that are compiled, which would run the original's code, and ensembles."""
    for name, module in model.named_modules():
        if hasattr(module, "_orig_mod"):
            raise ValueError(
                f"{name or 'model'} is compiled ({class_path(module)}); accepted is the model "
                "itself, whose ensemble can be compiled"
            )
        if hasattr(module, "leading") and hasattr(module, "member"):
            raise ValueError(
                f"{name or 'model'} is an ensemble already ({class_path(module)}); accepted is a "
                "model of one network"
            )


def _refuse_parameters(model: nn.Module) -> None:
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


def _refuse_captured(model: nn.Module) -> None:
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


def start_option(method: str) -> str:
    """Name the option without which members of a method start anew, or return ""."""
    row = METHODS[method]
    if row.apart or row.body:
        return "init_std" if row.body else "initialize"
    signs = not row.drops_units and layer_options(method).get("init") == "signs"
    return "init" if signs else ""


def _warn_of_training_lost(
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


def _copies(
    model: nn.Module, M: int, shared: tuple[str, ...], initialize: Callable[..., Any] | None
) -> MemberCopies:
    """Return M copies of `model` that start anew, but for what is `shared`."""
    if initialize is not None and not callable(initialize):
        raise TypeError(
            "initialize must be a function that returns a new model, or one of a module, got "
            f"{initialize!r}"
        )
    frozen = [
        name
        for name, parameter in model.named_parameters()
        if not parameter.requires_grad and not is_within(name, shared)
    ]
    if frozen:
        raise ValueError(
            f"model has frozen parameters, {', '.join(frozen)}, which new members would draw "
            "anew; accepted are trained ones, and frozen ones that are listed in shared"
        )
    memo = detached_tensors(model)
    kept = [copy.deepcopy(part, memo) for name, part in named_parts(model) if name in shared]
    tensors = [tensor for part in kept for tensor in tensors_of(part)]
    values = [tensor.detach().clone() for tensor in tensors]
    members = []
    for _ in range(M):
        # What deepcopy finds in its memo it does not copy.
        member = copy.deepcopy(model, dict(memo))
        if initialize is None:
            _reset_all(member, shared)
        elif _takes_no_argument(initialize):
            _copy_arrays(member, initialize())
        else:
            initialize(member)
        with torch.no_grad():  # an outer module may have initialized shared parts on its way
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)
        members.append(member)
    if initialize is None:
        _warn_of_another_start(model, members[0], shared)
    elif M > 1 and _start_equal(*members[:2]):
        warnings.warn(
            "members 1 and 2 start equal, and will stay so: initialize draws nothing", stacklevel=4
        )
    return MemberCopies(members, shared)


def _start_equal(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(_named_arrays(one).values(), _named_arrays(other).values(), strict=True)
    return all(not a.is_meta and torch.equal(a, b) for a, b in pairs)


def _takes_no_argument(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some of those written in C tell nothing
        return False
    return all(
        p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters
    )


def _copy_arrays(member: nn.Module, new: Any) -> None:
    """Give `member` the values of a new model of the same arrays."""
    if not isinstance(new, nn.Module):
        raise TypeError(f"initialize() must return a model, got {type(new).__name__}")
    mine, theirs = _named_arrays(member), _named_arrays(new)
    one = {name: tuple(value.shape) for name, value in mine.items()}
    other = {name: tuple(value.shape) for name, value in theirs.items()}
    differ = sorted(name for name in one | other if one.get(name) != other.get(name))
    if differ:
        name = differ[0]
        raise ValueError(
            f"initialize() must return a model of the same arrays, got {name} "
            f"{other.get(name, 'missing')}, accepted is {one.get(name, 'none')}"
        )
    with torch.no_grad():
        for name, value in mine.items():
            value.copy_(theirs[name])


def _named_arrays(model: nn.Module) -> dict[str, Tensor]:
    return dict(model.named_parameters()) | dict(model.named_buffers())


def _reset_all(member: nn.Module, shared: tuple[str, ...]) -> None:
    """Call every module's own method, inner modules first, and check that it fills everything."""
    own = {
        name: parameter
        for name, parameter in member.named_parameters(remove_duplicate=False)
        if not is_within(name, shared)
    }
    with torch.no_grad():
        for parameter in own.values():
            parameter.fill_(float("nan"))
    for name, module in reversed(list(member.named_modules())):
        reset = _reset_method(module)
        if not is_within(name, shared) and reset is not None:
            reset()
    fixed = [
        f"{name} ({class_path(owner)})"
        for path, owner in member.named_modules()
        for name, value in owner.named_parameters(prefix=path, recurse=False)
        if name in own
        # On the meta device there are no values to look at.
        and (_reset_method(owner) is None if value.is_meta else bool(value.isnan().any()))
    ]
    if fixed:
        raise ValueError(
            f"model has parameters that nothing initializes anew: {', '.join(fixed)}; accepted are "
            "initialize=, a function that returns a new model or initializes one in place, modules "
            "with a reset_parameters() method, and names listed in shared"
        )


def _reset_method(module: nn.Module) -> Callable[[], Any] | None:
    """The method that initializes a module's own parameters; two of Torch's have it in private."""
    return getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)


def _warn_of_another_start(model: nn.Module, member: nn.Module, shared: tuple[str, ...]) -> None:
    """Say where ``reset_parameters()`` is not how the model itself starts."""
    if trained_part(model, shared):
        return  # no start gives its values
    found = []
    for name, value in model.named_parameters():
        if value.is_meta or value.numel() < FEWEST_ENTRIES or is_within(name, shared):
            continue
        old, new = (_root_mean_square(part) for part in (value, member.get_parameter(name)))
        # The size of few entries varies by itself.
        alike = MOST_APART * (1 + 2 / value.numel() ** 0.5)
        if max(old, new) > alike * min(old, new):
            found.append(f"{name} {old:.3g} -> {new:.3g}")
    if found:
        warnings.warn(
            "members start by each module's reset_parameters(), and that is not how this model "
            "started: the root mean square of "
            f"{', '.join(found[:5])}{', ...' if len(found) > 5 else ''}. Members start as the "
            "model does with initialize=lambda: Net(), a function that returns a new model",
            stacklevel=4,
        )


def _root_mean_square(x: Tensor) -> float:
    return float(x.detach().double().square().mean().sqrt())

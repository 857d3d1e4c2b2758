"""Turn any model into an ensemble: find what can be swapped, name what cannot."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from ensedu import _checks
from ensedu.torch.base import WeightLayer
from ensedu.torch.batch_ensemble import BatchEnsembleConv2d, BatchEnsembleLinear
from ensedu.torch.bayes import BayesConv2d, BayesLinear
from ensedu.torch.fold import Batch, Folded, FoldedEnsemble, MemberCopies
from ensedu.torch.rank1 import Rank1Conv2d, Rank1Linear

# What stands in for nn.Linear and for nn.Conv2d, and the options that it takes.
_LAYERS: dict[str, tuple[type, type]] = {
    "batch_ensemble": (BatchEnsembleLinear, BatchEnsembleConv2d),
    "rank1": (Rank1Linear, Rank1Conv2d),
    "mean_field": (BayesLinear, BayesConv2d),
}
_OPTIONS: dict[str, tuple[str, ...]] = {
    "deep_ensemble": ("initialize",),
    "batch_ensemble": ("init", "init_std", "memory_saving"),
    "rank1": ("prior", "init", "init_std", "init_scale", "per_example"),
    "mean_field": ("prior", "init_scale", "local_reparameterization"),
}
_GEOMETRY = ("stride", "padding", "dilation", "groups", "padding_mode")
# One copy for all members, as in the published counts.
_KEPT = (
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d,
    nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.Embedding,
)  # fmt: skip


def ensemble(
    model: nn.Module,
    method: str,
    ensemble_size: int,
    *,
    shared: Sequence[str] = (),
    **options: Any,
) -> nn.Module:
    """Turn a model that maps (B, …) to (B, …) into an ensemble that maps (B, …) to (M, B, …).

    ``"deep_ensemble"`` makes M copies of everything and initializes each anew. The other methods
    swap each ``nn.Linear`` and ``nn.Conv2d`` for the method's layer, which starts at the model's
    own weight (a mean, for mean-field) and gives each member the model's own bias; normalization
    and embeddings stay, one copy for all members. `model` itself is not changed.

    Inside, the batch is repeated, member after member. So, except for ``"deep_ensemble"``:

    - The batch must stay the first axis wherever a swapped layer is called, with the examples in
      their order. A first axis of another length is an error, unless it is a multiple, as where
      the axes of a sequence are flattened into the batch.
    - What looks across examples sees those of all members. ``nn.BatchNorm2d`` does in training
      mode, so that a member's output depends on the others'; a model's own ``x - x.mean(0)`` does
      always, and so does an input that indexes the batch.
    - A layer with distributions draws each time it is called, twice if it is called twice, and
      with ``per_example=True`` for each row that it gets.
    - One pass runs at a time: threads need a copy each.

    Parameters
    ----------
    model
        Any module whose inputs are tensors with the batch as first axis, alone or in tuples,
        lists and dicts, and whose outputs are such too.
    method
        ``"deep_ensemble"``, ``"batch_ensemble"``, ``"rank1"`` or ``"mean_field"``; for the last,
        the members are samples of the weights.
    ensemble_size
        Number of members M, or of samples.
    shared
        Names of modules and parameters of which all members use one copy, unchanged.
    options
        Further arguments of the method's layers (``init``, ``prior``, …). For ``"deep_ensemble"``
        ``initialize``, a function that initializes one member in place; by default each module's
        ``reset_parameters()`` is called, inner modules first.

    Raises
    ------
    TypeError
        For a `model` that is no module, and for an option that the method does not have.
    ValueError
        For parameters that are neither swapped, nor kept, nor listed as `shared` (those of
        ``nn.MultiheadAttention``, of an RNN, a model's own ``nn.Parameter``, tied weights), for
        lazy parameters, layers with hooks, ensembles inside, and a model with nothing to swap; for
        a deep ensemble, for parameters that are frozen or that no ``reset_parameters()`` fills.
        Every module in question is named. In the forward pass, for a batch axis that got lost on
        the way.

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
    _checks.one_of("method", method, tuple(_OPTIONS))
    M = _checks.positive_int("ensemble_size", ensemble_size)
    for option in options:
        if option not in _OPTIONS[method]:
            raise TypeError(
                f"options of {method!r} are {', '.join(_OPTIONS[method])}, got {option!r}"
            )
    shared = _names(model, shared)
    lazy = [name for name, p in model.named_parameters() if nn.parameter.is_lazy(p)]
    if lazy:
        raise ValueError(
            f"model has lazy parameters without a shape, {', '.join(lazy)}; accepted is a model "
            "that has seen an input"
        )
    if method == "deep_ensemble":
        return _copies(model, M, shared, options.get("initialize"))
    return _folded(model, method, M, shared, options)


def _copies(
    model: nn.Module, M: int, shared: tuple[str, ...], initialize: Callable[[nn.Module], Any] | None
) -> MemberCopies:
    if initialize is not None and not callable(initialize):
        raise TypeError(f"initialize must be a function of a module, got {initialize!r}")
    frozen = [
        name
        for name, parameter in model.named_parameters()
        if not parameter.requires_grad and not _inside(name, shared)
    ]
    if frozen:
        raise ValueError(
            f"model has frozen parameters, {', '.join(frozen)}, which new members would draw "
            "anew; accepted are trained ones, and frozen ones that are listed in shared"
        )
    memo: dict[int, Any] = {}
    kept = [copy.deepcopy(part, memo) for name, part in _parts(model) if name in shared]
    tensors = [tensor for part in kept for tensor in _tensors(part)]
    values = [tensor.detach().clone() for tensor in tensors]
    members = []
    for _ in range(M):
        # What deepcopy finds in its memo it does not copy.
        member = copy.deepcopy(model, dict(memo))
        if initialize is not None:
            initialize(member)
        else:
            _initialize(member, shared)
        with torch.no_grad():  # an outer module may have initialized shared parts on its way
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)
        members.append(member)
    return MemberCopies(members, shared)


def _initialize(member: nn.Module, shared: tuple[str, ...]) -> None:
    """Call every module's own method, inner modules first, and check that it fills everything."""
    own = {
        name: parameter
        for name, parameter in member.named_parameters(remove_duplicate=False)
        if not _inside(name, shared)
    }
    with torch.no_grad():
        for parameter in own.values():
            parameter.fill_(float("nan"))
    for name, module in reversed(list(member.named_modules())):
        if not _inside(name, shared) and _reset(module) is not None:
            _reset(module)()
    fixed = [
        f"{name} ({type(owner).__name__})"
        for name, owner in _own_parameters(member, shared)
        # On the meta device there are no values to look at.
        if (_reset(owner) is None if own[name].is_meta else bool(own[name].isnan().any()))
    ]
    if fixed:
        raise ValueError(
            f"model has parameters that nothing initializes anew: {', '.join(fixed)}; accepted "
            "are modules with a reset_parameters() method, names listed in shared, or "
            "initialize, a function that initializes one member in place"
        )


def _folded(
    model: nn.Module, method: str, M: int, shared: tuple[str, ...], options: dict[str, Any]
) -> FoldedEnsemble:
    swapped = {
        name: module
        for name, module in model.named_modules()
        if type(module) in (nn.Linear, nn.Conv2d) and not _inside(name, shared)
    }
    _check_swap(model, swapped, shared)
    batch = Batch(M)
    # deepcopy puts a folded layer wherever it meets the plain one, in a list of Python's too.
    folded = {
        id(module): Folded(_swap(module, method, M, options), batch, name)
        for name, module in swapped.items()
    }
    return FoldedEnsemble(copy.deepcopy(model, folded), batch)


def _swap(
    module: nn.Linear | nn.Conv2d, method: str, M: int, options: dict[str, Any]
) -> WeightLayer:
    """Return the method's layer with the weight and the bias of `module`."""
    linear, conv = _LAYERS[method]
    members = () if method == "mean_field" else (M,)
    if isinstance(module, nn.Linear):
        build, sizes, geometry = linear, (module.in_features, module.out_features), {}
    else:
        build, sizes = conv, (module.in_channels, module.out_channels, module.kernel_size)
        geometry = {name: getattr(module, name) for name in _GEOMETRY}
    weight, bias = module.weight, module.bias
    layer = build(
        *sizes, *members, bias=bias is not None, device=weight.device, dtype=weight.dtype,
        **geometry, **options,
    )  # fmt: skip
    suffix = "_mean" if method == "mean_field" else ""
    with torch.no_grad():
        for name, value in (("weight", weight), ("bias", bias)):
            if value is not None:
                getattr(layer, name + suffix).copy_(value).requires_grad_(value.requires_grad)
    return layer.train(module.training)


def _check_swap(model: nn.Module, swapped: dict[str, nn.Module], shared: tuple[str, ...]) -> None:
    """Name everything that keeps `model` from being swapped, with what to do about it."""
    problems = {}
    for name, owner in _own_parameters(model, shared):
        path, _, key = name.rpartition(".")
        if isinstance(owner, _KEPT) or (path in swapped and key in ("weight", "bias")):
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
        if isinstance(module, FoldedEnsemble | MemberCopies):
            problems[path] = f"{path or 'model'} (an ensemble already)"
        elif "forward" in vars(module) and not _inside(path, shared):
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


def _names(model: nn.Module, shared: Any) -> tuple[str, ...]:
    """Return the names in `shared`, all of modules or parameters of `model`."""
    if isinstance(shared, str) or not isinstance(shared, Sequence):
        raise TypeError(
            f"shared must be a sequence of names, got {shared!r} ({type(shared).__name__})"
        )
    known = {name for name, _ in _parts(model)}
    for name in shared:
        if name not in known:
            raise ValueError(
                f"shared must hold names of modules or parameters of the model, got {name!r}; "
                f"it has {', '.join(sorted(known)[:20])}{', ...' if len(known) > 20 else ''}"
            )
    return tuple(shared)


def _parts(model: nn.Module) -> Iterator[tuple[str, nn.Module | nn.Parameter]]:
    """Yield every module but the model itself, and every parameter, with its name."""
    for name, module in model.named_modules(remove_duplicate=False):
        if name:
            yield name, module
    yield from model.named_parameters(remove_duplicate=False)


def _tensors(part: nn.Module | nn.Parameter) -> list[torch.Tensor]:
    return [part] if isinstance(part, nn.Parameter) else [*part.parameters(), *part.buffers()]


def _own_parameters(model: nn.Module, shared: tuple[str, ...]) -> Iterator[tuple[str, nn.Module]]:
    """Yield each parameter's name, and the module that owns it, if it is not shared."""
    for path, module in model.named_modules():
        for name, _ in module.named_parameters(prefix=path, recurse=False):
            if not _inside(name, shared):
                yield name, module


def _inside(name: str, shared: tuple[str, ...]) -> bool:
    return any(name == part or name.startswith(f"{part}.") for part in shared)


def _reset(module: nn.Module) -> Callable[[], Any] | None:
    """The method that initializes a module's own parameters; two of Torch's have it in private."""
    return getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)

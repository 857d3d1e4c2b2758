"""Turn any model into an ensemble: swap its layers, or copy it."""

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

import ensedu.torch
from ensedu import checks
from ensedu.methods import METHODS, Method, passes
from ensedu.torch import refuse
from ensedu.torch.base import WeightLayer
from ensedu.torch.dropout import KINDS
from ensedu.torch.flatten import FlatDropout, FlatEnsemble, FlatLayer, MemberCopies, Pass

GEOMETRY = ("stride", "padding", "dilation", "groups", "padding_mode")
# What an array of a layer is given by the model, by its name.
FROM_MODEL = {"weight": "weight", "weight_mean": "weight", "bias": "bias", "bias_mean": "bias"}
# How many axes behind the batch a dropout drops on their own; None for all.
DROPS = {nn.Dropout: None, nn.Dropout1d: 1, nn.Dropout2d: 1, nn.Dropout3d: 1}


def ensemble(
    model: nn.Module,
    method: str,
    ensemble_size: int | None = None,
    *,
    samples: int | None = None,
    shared: Sequence[str] = (),
    **options: Any,
) -> nn.Module:
    """Turn a model that maps (B, …) to (B, …) into an ensemble that maps (B, …) to (M, B, …).

    ``"deep_ensemble"`` makes M copies of everything and initializes each anew. ``"mc_dropout"``
    keeps the model's own ``nn.Dropout`` modules active, in eval mode too, with one mask a sample
    (not what attention and RNN modules drop by a number of their own, nor functional dropout).
    ``"last_layer"`` gives each member a new `head`. The other methods swap each ``nn.Linear`` and
    ``nn.Conv2d`` for the method's layer, which starts at the model's own weight (a mean, for
    mean-field) and gives each member the model's own bias; normalization and embeddings stay, one
    copy for all members. `model` itself is not changed.

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
        A key of `ensedu.methods.METHODS` but ``"single"``.
    ensemble_size
        Number of members M, for a method that has them.
    samples
        Number of samples S, for a method that draws: the output is (S, B, …), or (S, M, B, …)
        for a method with members. Without members it is 1 by default.
    shared
        Names of modules and parameters of which all members use one copy, unchanged.
    options
        Further arguments of the method's layers (``init``, ``prior``, …). For ``"deep_ensemble"``
        ``initialize``, a function that initializes one member in place; by default each module's
        ``reset_parameters()`` is called, inner modules first. For ``"last_layer"`` ``head``, the
        name of the module that each member has.

    Raises
    ------
    TypeError
        For a `model` that is no module, and for an option that the method does not have.
    ValueError
        For members or samples that the method does not have; for parameters that are neither
        swapped, nor kept, nor listed as `shared` (those of ``nn.MultiheadAttention``, of an RNN, a
        model's own ``nn.Parameter``, tied weights), for lazy parameters, layers with hooks,
        ensembles inside, and a model with nothing to swap or drop; for a deep ensemble, for
        parameters that are frozen or that no ``reset_parameters()`` fills. Every module in
        question is named. In the forward pass, for a batch axis that got lost on the way.

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
    M, S = passes(method, ensemble_size, samples)
    copies = row.members and not row.body and "shared" not in row.roles.values()
    known = ("initialize",) if copies else (*(["head"] if row.body else []), *_options(row))
    for option in options:
        if option not in known:
            raise TypeError(
                f"options of {method!r} are {', '.join(known) or 'none'}, got {option!r}"
            )
    shared = refuse.known_names(model, shared)
    refuse.lazy(model)
    if copies:
        return _copies(model, M, shared, options.get("initialize"))
    shared_pass = Pass((*(() if S is None else (S,)), *((M,) if row.members else ())))
    if row.drops_units:
        return _dropping(model, shared_pass, shared)
    return _swapped(model, row, shared_pass, shared, options)


def _copies(
    model: nn.Module, M: int, shared: tuple[str, ...], initialize: Callable[[nn.Module], Any] | None
) -> MemberCopies:
    if initialize is not None and not callable(initialize):
        raise TypeError(f"initialize must be a function of a module, got {initialize!r}")
    refuse.frozen(model, shared)
    memo: dict[int, Any] = {}
    kept = [copy.deepcopy(part, memo) for name, part in refuse.parts(model) if name in shared]
    tensors = [tensor for part in kept for tensor in refuse.tensors(part)]
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
        if not refuse.inside(name, shared)
    }
    with torch.no_grad():
        for parameter in own.values():
            parameter.fill_(float("nan"))
    for name, module in reversed(list(member.named_modules())):
        if not refuse.inside(name, shared) and _reset(module) is not None:
            _reset(module)()
    fixed = [
        f"{name} ({type(owner).__name__})"
        for name, owner in refuse.own_parameters(member, shared)
        # On the meta device there are no values to look at.
        if (_reset(owner) is None if own[name].is_meta else bool(own[name].isnan().any()))
    ]
    if fixed:
        raise ValueError(
            f"model has parameters that nothing initializes anew: {', '.join(fixed)}; accepted "
            "are modules with a reset_parameters() method, names listed in shared, or "
            "initialize, a function that initializes one member in place"
        )


def _reset(module: nn.Module) -> Callable[[], Any] | None:
    """The method that initializes a module's own parameters; two of Torch's have it in private."""
    return getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)


def _dropping(model: nn.Module, shared_pass: Pass, shared: tuple[str, ...]) -> FlatEnsemble:
    found = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, KINDS) and not refuse.inside(name, shared)
    }
    refuse.undroppable(found, tuple(DROPS))
    replaced = {
        id(module): FlatDropout(module.p, shared_pass, name, DROPS[type(module)])
        for name, module in found.items()
    }
    return FlatEnsemble(copy.deepcopy(model, replaced), shared_pass)


def _swapped(
    model: nn.Module,
    row: Method,
    shared_pass: Pass,
    shared: tuple[str, ...],
    options: dict[str, Any],
) -> FlatEnsemble:
    swapped = {
        name: module
        for name, module in model.named_modules()
        if type(module) in (nn.Linear, nn.Conv2d) and not refuse.inside(name, shared)
    }
    if row.body:
        swapped = refuse.head(swapped, options.pop("head", None))
        body = (name for name, _ in model.named_parameters())
        shared = (*shared, *(name for name in body if not refuse.inside(name, tuple(swapped))))
    refuse.unswappable(model, swapped, shared)
    # deepcopy puts a flattened layer wherever it meets the plain one, in a list of Python's too.
    flat = {
        id(module): FlatLayer(_swap(module, row, shared_pass.leading, options), shared_pass, name)
        for name, module in swapped.items()
    }
    return FlatEnsemble(copy.deepcopy(model, flat), shared_pass)


def _swap(
    module: nn.Linear | nn.Conv2d, row: Method, leading: tuple[int, ...], options: dict[str, Any]
) -> WeightLayer:
    """Return the method's layer, with weight and bias of `module` unless members own weights."""
    linear = isinstance(module, nn.Linear)
    if linear:
        sizes, geometry = (module.in_features, module.out_features), {}
    else:
        sizes = (module.in_channels, module.out_channels, module.kernel_size)
        geometry = {name: getattr(module, name) for name in GEOMETRY}
    like = {"device": module.weight.device, "dtype": module.weight.dtype}
    layer = _kind(row, "Linear" if linear else "Conv2d")(
        *sizes, *(leading[-1:] if row.members else ()),
        bias=module.bias is not None, **like, **geometry, **options,
    )  # fmt: skip
    if "per_member" != row.roles.get("weight"):
        with torch.no_grad():
            for name, parameter in layer.named_parameters():
                if name in FROM_MODEL:
                    value = getattr(module, FROM_MODEL[name])
                    parameter.copy_(value).requires_grad_(value.requires_grad)
    return layer.train(module.training)


def _kind(row: Method, product: str) -> type:
    return getattr(ensedu.torch, row.layer + product)


def _options(row: Method) -> tuple[str, ...]:
    """The arguments of a method's layer that are neither sizes nor taken from the model."""
    if row.drops_units:
        return ()
    return tuple(
        name
        for name in inspect.signature(_kind(row, "Linear")).parameters
        if name not in ("in_features", "out_features", "ensemble_size", "bias", "device", "dtype")
    )

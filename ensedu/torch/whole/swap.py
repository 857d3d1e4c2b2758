"""Turn any model into an ensemble: swap its layers, or copy it."""

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.methods import METHODS, Method, checked_sizes
from ensedu.torch.base import WeightLayer
from ensedu.torch.dropout import DROPOUT_MODULES
from ensedu.torch.layer_classes import layer_class
from ensedu.torch.whole.compare import Originals, check_members
from ensedu.torch.whole.copies import MemberCopies, copy_model
from ensedu.torch.whole.flat_parts import FlatDropout, FlatLayer
from ensedu.torch.whole.flatten import FlatEnsemble
from ensedu.torch.whole.inputs import as_arguments
from ensedu.torch.whole.one_member import detached_tensors
from ensedu.torch.whole.passes import Passes
from ensedu.torch.whole.refusals import (
    only_head,
    refuse_captured,
    refuse_compiled,
    refuse_lazy,
    refuse_undroppable,
    refuse_unswappable,
    warn_of_unregistered,
)
from ensedu.torch.whole.shared_names import is_within, names_of_shared
from ensedu.torch.whole.subclasses import as_product

GEOMETRY = ("stride", "padding", "dilation", "groups", "padding_mode")
# What an array of a layer is given by the model, by its name.
FROM_MODEL = {"weight": "weight", "weight_mean": "weight", "bias": "bias", "bias_mean": "bias"}
# What is frozen with it: a distribution around a fixed mean has a fixed spread.
FROZEN_WITH = FROM_MODEL | {"weight_rho": "weight", "bias_rho": "bias"}
# How many axes behind the batch a dropout drops on their own; None for all.
DROPOUT_AXES = {nn.Dropout: None, nn.Dropout1d: 1, nn.Dropout2d: 1, nn.Dropout3d: 1}


def ensemble(
    model: nn.Module,
    method: str,
    ensemble_size: int | None = None,
    *,
    samples: int | None = None,
    shared: Sequence[str | type] = (),
    example: Tensor | tuple[Any, ...] | dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Turn a model that maps (B, …) to (B, …) into an ensemble that maps (B, …) to (M, B, …).

    ``"deep_ensemble"`` makes M copies of everything; ``initialize=lambda: Net()``, a function that
    returns a new model, starts each as the model itself starts. ``"mc_dropout"`` keeps the model's
    own ``nn.Dropout`` modules active, in eval mode too, with one mask a sample (not what attention
    and RNN modules drop by a number of their own, nor functional dropout). ``"last_layer"`` gives
    each member a new `head`. The other methods swap each ``nn.Linear`` and ``nn.Conv2d`` for the
    method's layer, which starts at the model's own weight (a mean, for mean-field) and gives each
    member the model's own bias; normalization and embeddings stay, one copy for all members. To
    start near a trained model, start r and s near 1, ``init="normal", init_std=0.1``, and
    distributions narrow, ``posterior_std``. `model` itself is not changed.

    Inside, the batch is repeated, member after member. So, except for ``"deep_ensemble"``:

    - The batch must stay the first axis, with the examples in their order, wherever a swapped
      layer is called, and no example may look at another. Of each kind of forward pass (which
      inputs there are, and which axes are of 1) the numbers 1, 2, 4, 8, … are compared with passes
      of the members alone in eval mode, and so is `example`: a mix-up is an error. What differs in
      training mode alone, and what the values of inputs steer in the passes between, no comparison
      sees.
    - ``nn.BatchNorm2d`` sees the examples of all members in training mode.
    - A layer with distributions draws each time it is called, twice if it is called twice, and
      with ``per_example=True`` for each row that it gets.
    - ``"last_layer"`` runs its body once for all members where a comparison shows that they are
      then what they are alone: not where something goes around the head, or the body has not been
      compared. In training mode such a body has one mask of its dropout for all members, and the
      statistics of one batch. ``net.runs_body_once`` tells; set it to ``False`` to repeat the body.
    - Threads may run one ensemble at once, each with a pass of its own. Parameters, modes and
      Torch's own generators are the same for all.

    Parameters
    ----------
    model
        Any module whose inputs are tensors with the batch as first axis, alone or in tuples,
        lists, dicts and dataclasses, and whose outputs are such too. Tensors without axes, or with
        1 in place of the batch, are given to all members as they are.
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
    example
        Inputs to compare at once, see `check_members`: a tensor, a tuple of arguments, or a dict
        of named ones. The first forward passes are compared all the same, with real data;
        ``net.comparing = False`` skips that.
    options
        Further arguments of the method's layers (``init``, ``prior``, …). For ``"deep_ensemble"``
        ``initialize``, a function without arguments that returns a new model, or one that
        initializes one member in place; by default each module's ``reset_parameters()`` is called,
        inner modules first. For ``"last_layer"`` ``head``, the name of the module that each member
        has.

    Returns
    -------
    FlatEnsemble or MemberCopies
        Both have ``member(index, noise=None)``, one member as a plain module, ``leading``, the axes
        in front of the batch, and ``ensemble_size``; the first also ``samples`` and ``noise``.

    Raises
    ------
    TypeError
        For a `model` that is no module, and for an option that the method does not have.
    ValueError
        For members or samples that the method does not have; for parameters that are neither
        swapped, nor kept, nor listed as `shared` (those of ``nn.MultiheadAttention``, of an RNN, a
        model's own ``nn.Parameter``, tied weights, subclasses that do more than the product), for
        lazy parameters, layers with hooks, functions that hold modules of the model, compiled
        models, ensembles inside, and a model with nothing to swap or drop; for a deep ensemble, for
        parameters that are frozen or that no ``reset_parameters()`` fills. Every module in
        question is named. In the forward pass, for a batch axis that got lost on the way.

    Warns
    -----
    UserWarning
        Where a deep ensemble's members start by ``reset_parameters()``, and that is not how the
        model started, or it has been trained. Where modules stand in plain lists, tuples or dicts
        of Python, which nothing converts; they are named.

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
    known = (
        ("initialize",) if row.apart else (*(["head"] if row.body else []), *_layer_options(row))
    )
    for option in options:
        if option not in known:
            raise TypeError(
                f"options of {method!r} are {', '.join(known) or 'none'}, got {option!r}"
            )
    if not isinstance(example, (Tensor, tuple, dict, type(None))):
        raise TypeError(
            "example must be a tensor, a tuple of arguments or a dict of named ones, got "
            f"{type(example).__name__}"
        )
    refuse_compiled(model)
    names = names_of_shared(model, shared)
    refuse_lazy(model)
    refuse_captured(model)
    warn_of_unregistered(model)
    passes = Passes(M if row.members else None, S)
    if row.apart:
        net = copy_model(model, M, names, options.get("initialize"))
    elif row.drops_units:
        net = _dropout_ensemble(model, passes, names)
    else:
        net = _swapped_ensemble(model, row, passes, names, options)
    net.originals = Originals(model)
    if example is not None:
        _compare_on_example(net, example)
    return net


def _compare_on_example(net: FlatEnsemble | MemberCopies, example: Any) -> None:
    args, kwargs = as_arguments(example)
    try:
        check_members(net, *args, **kwargs)
    except (TypeError, ValueError) as error:
        raise type(error)(f"example: {error}") from error


def _dropout_ensemble(model: nn.Module, passes: Passes, shared: tuple[str, ...]) -> FlatEnsemble:
    found = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, DROPOUT_MODULES) and not is_within(name, shared)
    }
    refuse_undroppable(found, tuple(DROPOUT_AXES))
    replaced = {
        id(module): FlatDropout(module.p, passes, name, DROPOUT_AXES[type(module)]).train(
            module.training
        )
        for name, module in found.items()
    }
    return FlatEnsemble(copy.deepcopy(model, replaced | detached_tensors(model)), passes)


def _swapped_ensemble(
    model: nn.Module,
    row: Method,
    passes: Passes,
    shared: tuple[str, ...],
    options: dict[str, Any],
) -> FlatEnsemble:
    products = {
        name: (module, as_product(module))
        for name, module in model.named_modules()
        if not is_within(name, shared)
    }
    swapped = {name: module for name, (module, (plain, _)) in products.items() if plain}
    if row.body:
        swapped = only_head(swapped, options.pop("head", None))
        body = (name for name, _ in model.named_parameters())
        shared = (*shared, *(name for name in body if not is_within(name, tuple(swapped))))
    refuse_unswappable(model, swapped, shared)
    # deepcopy puts a flattened layer wherever it meets the plain one, in a list of Python's too.
    flat = {
        id(module): FlatLayer(
            _layer_for(module, row, passes, options),
            passes,
            name,
            # What deepcopy finds in its memo it does not copy.
            copy.deepcopy(module, {id(value): None for value in module.parameters()}),
            products[name][1][1],
        ).train(module.training)
        for name, module in swapped.items()
    }
    inside = copy.deepcopy(model, flat | detached_tensors(model))
    return FlatEnsemble(inside, passes, has_body=bool(row.body))


def _layer_for(
    module: nn.Module, row: Method, passes: Passes, options: dict[str, Any]
) -> WeightLayer:
    """Return the method's layer, with weight and bias of `module` unless members own weights."""
    linear = isinstance(module, nn.Linear)
    if linear:
        sizes, geometry = (module.in_features, module.out_features), {}
    else:
        sizes = (module.in_channels, module.out_channels, module.kernel_size)
        geometry = {name: getattr(module, name) for name in GEOMETRY}
    like = {"device": module.weight.device, "dtype": module.weight.dtype}
    layer = layer_class(row.key, "Linear" if linear else "Conv2d")(
        *sizes, *([passes.ensemble_size] if row.members else []),
        bias=module.bias is not None, **like, **geometry, **options,
    )  # fmt: skip
    if "per_member" != row.roles.get("weight"):
        with torch.no_grad():
            for name, parameter in layer.named_parameters():
                if name in FROM_MODEL:
                    parameter.copy_(getattr(module, FROM_MODEL[name]))
                if name in FROZEN_WITH:
                    parameter.requires_grad_(getattr(module, FROZEN_WITH[name]).requires_grad)
    return layer.train(module.training)


def _layer_options(row: Method) -> tuple[str, ...]:
    """The arguments of a method's layer that are neither sizes nor taken from the model."""
    if row.drops_units:
        return ()
    return tuple(
        name
        for name in inspect.signature(layer_class(row.key, "Linear")).parameters
        if name not in ("in_features", "out_features", "ensemble_size", "bias", "device", "dtype")
    )

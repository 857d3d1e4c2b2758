"""Turn any model into an ensemble."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from ensedu.common import checks
from ensedu.methods import METHODS, checked_sizes
from ensedu.torch.base import Ensemble
from ensedu.torch.dropout import DROPOUT_MODULES
from ensedu.torch.ensembling.member_copies import deep_ensemble
from ensedu.torch.ensembling.member_weights import (
    options_of,
    stack_buffers,
    start_heads,
    stored_model,
)
from ensedu.torch.ensembling.model_checks import check_model, warn_of_training_lost
from ensedu.torch.ensembling.model_copies import copy_model
from ensedu.torch.ensembling.model_ensemble import ModelEnsemble
from ensedu.torch.ensembling.module_rules import DROPOUT_AXES
from ensedu.torch.ensembling.parameter_plan import is_within, make_plan, select_names
from ensedu.torch.tensor_checks import class_path


def ensemble(
    model: nn.Module,
    method: str,
    ensemble_size: int | None = None,
    *,
    samples: int | None = None,
    shared: Sequence[str | type] = (),
    modulated: Sequence[str | type] = (),
    **options: Any,
) -> Ensemble:
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
    members (`ensedu.torch.ensembling.parameter_plan`). Running statistics, and what else a model
    keeps in floating-point buffers, are a member's with BatchEnsemble and rank-1; with mean-field
    and MC dropout they move by the mean over samples. In training mode members are independent,
    too: each has its own statistics of a batch, and its own masks of dropout. The body of a
    last-layer ensemble runs once, with one of both.

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
        An `ensedu.torch.base.Ensemble`, which has ``member(index, noise=None)``, one member as a
        plain module, ``leading``, the axes in front of the batch, ``ensemble_size`` and
        ``samples``; the first of them also ``noise`` and ``in_turn``.

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
        kind = type(model).__name__
        if isinstance(model, type):
            kind = f"the class {model.__name__}; call it, {model.__name__}()"
        raise TypeError(f"model must be a torch.nn.Module, got {kind}")
    accepted = [key for key, row in METHODS.items() if row.has_members or row.stochastic]
    row = METHODS[checks.one_of("method", method, accepted)]
    M, S = checked_sizes(method, ensemble_size, samples)
    known = options_of(method)
    for option in options:
        if option not in known:
            raise TypeError(
                f"options of {method!r} are {', '.join(known) or 'none'}, got {option!r}"
            )
    check_model(model)
    shared_names = select_names(model, shared, "shared")
    modulated_names = select_names(model, modulated, "modulated")
    if row.drops_units:
        dropouts, unfused = _dropouts(model, shared_names), _unfused(model)
        return ModelEnsemble(unfused, unfused, (), samples=S, dropouts=dropouts)
    if row.shares_nothing:
        warn_of_training_lost(model, method, shared_names, options)
        return deep_ensemble(model, M, shared_names, options.get("initialize"))
    head, std = options.get("head"), options.get("init_std")
    plan = make_plan(model, _all_but(model, head) if row.body else shared_names, modulated_names)
    warn_of_training_lost(model, method, shared_names, options)
    members = {"ensemble_size": M} if row.has_members else {}
    stored = stored_model(model, plan, method, members, {} if row.body else options)
    if not row.body and row.has_members:
        stack_buffers(stored, M)
    elif row.body and std is not None:
        start_heads(stored.get_submodule(str(head)), model.get_submodule(str(head)), std)
    return ModelEnsemble(model, stored, plan, **members, samples=S, has_body=bool(row.body))


def _all_but(model: nn.Module, head: Any) -> tuple[str, ...]:
    """Return the names of all parameters but those of the layer that each member has."""
    products = {
        name: module
        for name, module in model.named_modules()
        if type(module) in (nn.Linear, nn.Conv2d)
    }
    if not isinstance(head, str) or head not in products:
        error = ValueError if isinstance(head, str) else TypeError
        last = next(reversed(dict(model.named_modules())))
        raise error(
            f"head must be the name of an nn.Linear or nn.Conv2d of the model, got {head!r}; it "
            f"has {', '.join(list(products)[-20:]) or 'none'}"
            + f", of which the last is head={last!r}"
            * (last in products)
        )
    return tuple(name for name, _ in model.named_parameters() if not is_within(name, (head,)))


def _dropouts(model: nn.Module, shared: tuple[str, ...]) -> tuple[str, ...]:
    dropouts: dict[str, Any] = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, DROPOUT_MODULES) and not is_within(name, shared)
    }
    known = tuple(DROPOUT_AXES)
    accepted = f"accepted are {', '.join(kind.__name__ for kind in known)}"
    other = [f"{name} ({class_path(x)})" for name, x in dropouts.items() if type(x) not in known]
    if other:
        raise ValueError(f"model has dropout of another kind, {', '.join(other)}; {accepted}")
    dead = [f"{name} with p={part.p}" for name, part in dropouts.items() if not 0 < part.p < 1]
    if len(dead) == len(dropouts) or any(part.p >= 1 for part in dropouts.values()):
        raise ValueError(
            f"model has no dropout to keep active, got {', '.join(dead) or 'none'}; {accepted} "
            "modules with 0 < p < 1 (a call of torch.nn.functional.dropout is none)"
        )
    return tuple(dropouts)


def _unfused(model: nn.Module) -> nn.Module:
    """Return a copy whose transformer layers call their parts, dropout among them."""
    model = copy_model(model)
    for module in model.modules():
        if isinstance(module, nn.TransformerEncoderLayer):
            module.activation_relu_or_gelu = 0
        elif isinstance(module, nn.TransformerEncoder):
            module.enable_nested_tensor = module.use_nested_tensor = False
    return model

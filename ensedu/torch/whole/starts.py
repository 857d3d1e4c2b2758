"""Where members start: anew, or near what the model has learned; and what is said of it."""

import copy
import inspect
import warnings
from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from ensedu.common import checks
from ensedu.methods import METHODS
from ensedu.torch.tensor_checks import class_path
from ensedu.torch.whole.arrays import options_of
from ensedu.torch.whole.copies import MemberCopies, detached_tensors
from ensedu.torch.whole.roles import is_within, named_parts, tensors_of

# Of each option, with its default, by which members start anew: what becomes of a trained model,
# the start that keeps what it has learned, and the usual one.
ANEW = {
    ("initialize", None): (
        "each member starts anew",
        "initialize=networks.pop, of a list of M networks that you trained",
        "initialize=lambda: Net()",
    ),
    ("init", "signs"): (
        "fast weights start as random signs, which undo it",
        'init="normal", init_std=0.03',
        'init="signs"',
    ),
    ("init_std", None): ("each member has a new head", "init_std=0.03", "init_std=None"),
}
# Tensors of fewer entries say too little about the distribution that they were drawn from.
FEWEST_ENTRIES = 16
# By so much may the sizes of two draws of many entries differ without a word.
MOST_APART = 1.5


class StartWarning(UserWarning):
    """Of where members start, which changes values alone."""


def start_option(method: str) -> str:
    """Name the option without which members of a method start anew, or return ""."""
    return next((pair[0] for pair in options_of(method).items() if pair in ANEW), "")


def warn_of_training_lost(
    model: nn.Module, method: str, shared: tuple[str, ...], options: dict[str, Any]
) -> None:
    """Warn of a start that a trained model does not survive, unless `options` choose it."""
    option = start_option(method)
    if not option or option in options:
        return
    what, near, anew = ANEW[option, options_of(method)[option]]
    trained = trained_part(model, shared)
    new_head = METHODS[method].body and trained and _is_new(model.get_submodule(options["head"]))
    if trained and not new_head:
        warnings.warn(
            f"model looks trained ({trained} holds what no usual initialization gives), but {what}."
            f" What it has learned is kept by {near}; {anew} says that a new start is meant",
            StartWarning,
            stacklevel=4,
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
        sizes = [prod(weight.shape[axes]) for weight in owner.parameters() if weight.ndim > 1]
        fan_in = max(sizes, default=0)
    bound = (1 + torch.finfo(value.dtype).eps) * fan_in**-0.5 if fan_in else 0.0
    return value.abs() > bound


@torch.no_grad()
def start_near(heads: Any, head: Any, std: Any) -> None:
    """Start the layer of each member at the model's, its weights times N(1, std²)."""
    std = checks.real("init_std", std, low=0.0)
    heads.weight.normal_(1.0, std).mul_(head.weight)
    if head.bias is not None:
        heads.bias.copy_(head.bias)


def member_copies(
    model: nn.Module, method: str, M: int, shared: tuple[str, ...], options: dict[str, Any]
) -> MemberCopies:
    """Return M copies of `model` that start anew, but for what is `shared`."""
    warn_of_training_lost(model, method, shared, options)
    initialize = options.get("initialize")
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
    parts = [copy.deepcopy(part, memo) for name, part in named_parts(model) if name in shared]
    tensors = [tensor for part in parts for tensor in tensors_of(part)]
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
            "members 1 and 2 start equal, and will stay so: initialize draws nothing",
            StartWarning,
            stacklevel=3,
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
    wanted, got = (
        {name: tuple(value.shape) for name, value in arrays.items()} for arrays in (mine, theirs)
    )
    differ = sorted(name for name in wanted | got if wanted.get(name) != got.get(name))
    if differ:
        name = differ[0]
        raise ValueError(
            f"initialize() must return a model of the same arrays, got {name} "
            f"{got.get(name, 'missing')}, accepted is {wanted.get(name, 'none')}"
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
    differ = []
    for name, value in model.named_parameters():
        if value.is_meta or value.numel() < FEWEST_ENTRIES or is_within(name, shared):
            continue
        old, new = (_root_mean_square(part) for part in (value, member.get_parameter(name)))
        # The size of few entries varies by itself.
        alike = MOST_APART * (1 + 2 / value.numel() ** 0.5)
        if max(old, new) > alike * min(old, new):
            differ.append(f"{name} {old:.3g} -> {new:.3g}")
    if differ:
        warnings.warn(
            "members start by each module's reset_parameters(), and that is not how this model "
            "started: the root mean square of "
            f"{', '.join(differ[:5])}{', ...' if len(differ) > 5 else ''}. Members start as the "
            "model does with initialize=lambda: Net(), a function that returns a new model",
            StartWarning,
            stacklevel=4,
        )


def _root_mean_square(x: Tensor) -> float:
    return float(x.detach().double().square().mean().sqrt())

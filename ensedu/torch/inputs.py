"""What models take: one tensor, a tuple of arguments or a dict of named ones, with a batch axis."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ensedu.common import checks
from ensedu.torch.tensor_checks import check_dense, not_dense
from ensedu.torch.trees import map_tensors, named_tensors

#: A tensor, a tuple of arguments, or a dict of named ones.
Inputs = Tensor | tuple[Any, ...] | dict[str, Any]


def as_arguments(x: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return inputs as what a call takes, arguments by place and by name."""
    if isinstance(x, dict):
        return (), x
    return (x if type(x) is tuple else (x,)), {}


def call(net: Any, x: Inputs, **more: Any) -> Any:
    """Return ``net(x)``, ``net(*x)`` or ``net(**x)``; raises ``TypeError`` for other arguments."""
    if isinstance(x, Tensor):
        return net(x, **more)
    args, kwargs = as_arguments(x)
    try:
        inspect.signature(getattr(net, "forward", net)).bind(*args, **kwargs, **more)
    except TypeError as error:
        raise TypeError(f"x must hold the arguments of a {type(net).__name__}: {error}") from error
    return net(*args, **kwargs, **more)


def number_of_examples(name: str, x: Any) -> int:
    """Return how many examples inputs hold.

    Tensors without axes, and with a first axis of 1 beside longer ones, have no batch axis. Raises
    ``TypeError`` or ``ValueError``, which name the inputs by `name`, for what holds none.
    """
    if isinstance(x, Tensor):
        if not_dense(x):
            raise TypeError(f"{name} must be a dense torch.Tensor, got {checks.describe_array(x)}")
        if x.ndim < 1 or not len(x):
            raise ValueError(
                f"{name} must hold at least one example on its first axis, got shape "
                f"{tuple(x.shape)}"
            )
        return len(x)
    if type(x) is not tuple and not isinstance(x, dict):
        raise TypeError(
            f"{name} must be a dense torch.Tensor, a tuple of arguments or a dict of named ones, "
            f"got {checks.describe_array(x)}"
        )
    if isinstance(x, dict) and not all(isinstance(key, str) for key in x):
        raise TypeError(f"{name} must have strings for names, got {checks.short_repr([*x])}")
    try:
        shapes = {key: tuple(own.shape) for key, own in named_tensors(x, name)}
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from error
    sizes = [shape[0] for shape in shapes.values() if shape]
    examples = next((size for size in sizes if size != 1), 1)
    if not sizes or set(sizes) - {examples, 1}:
        raise ValueError(
            f"{name} has tensors of shapes {shapes}, accepted is at least one tensor, all with one "
            "first axis, the batch, or with 1 there; what has another is a constant of the model"
        )
    if not examples:
        raise ValueError(f"{name} must hold at least one example, got none")
    return examples


def check_own_batches(members: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check that the tensors among inputs are (members, B, …), a batch for each member."""
    tensors = named_tensors((args, kwargs), "input")
    for key, x in tensors:
        check_dense(key, x)
    shapes = {key: tuple(x.shape) for key, x in tensors}
    first = next((shape[:2] for shape in shapes.values()), ())
    if len(first) < 2 or first[0] != members or any(s[:2] != first for s in shapes.values()):
        raise ValueError(
            f"the inputs of the model have shapes {shapes}, accepted with own_batches is "
            f"({members}, B, ...): a batch for each member"
        )


def map_examples(function: Callable[[Tensor], Tensor], x: Inputs, examples: int) -> Any:
    """Return inputs with ``function(tensor)`` in place of each tensor with a row an example."""
    if isinstance(x, Tensor):
        return function(x)
    return map_tensors(
        lambda _, own: function(own) if own.ndim and len(own) == examples else own, x, "input"
    )


def to_device(x: Inputs, device: torch.device | None) -> Any:
    """Return inputs with each tensor on a device."""
    if isinstance(x, Tensor):
        return x.to(device)
    return map_tensors(lambda _, own: own.to(device), x, "input")

"""What models take and return: tensors, alone or in tuples, lists, dicts and dataclasses."""

import dataclasses
import enum
import inspect
import numbers
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ensedu.common import checks
from ensedu.torch.tensor_checks import check_dense, class_path, not_dense

#: What is no tensor and holds none.
CONSTANTS = (
    str, bytes, numbers.Number, enum.Enum, slice, range, type(None), torch.dtype, torch.device,
)  # fmt: skip


def map_tensors(
    function: Callable[[str, Tensor], Any], tree: Any, name: str, *, strict: bool = True
) -> Any:
    """Return `tree` with ``function(name, tensor)`` in place of each tensor.

    Tuples (named ones too), lists, dicts and dataclasses, such as transformers' ``ModelOutput``,
    are walked, numbers, strings and ``None`` are kept; anything else could hide tensors, and is a
    ``TypeError``, or kept where that is not `strict`.
    """
    if isinstance(tree, Tensor):
        return function(name, tree)
    # What is most often walked is asked first: abstract classes, as of numbers, take their time.
    if type(tree) not in (tuple, dict) and isinstance(tree, CONSTANTS):
        return tree
    parts = branches(tree)
    if parts is None and not strict:
        return tree
    if parts is None:
        raise TypeError(
            f"{name} of the model is a {class_path(tree)}, accepted are tensors, numbers, strings "
            "and None, in tuples, lists, dicts and dataclasses (a model of transformers leaves its "
            "cache out with use_cache=False)"
        )
    values = [map_tensors(function, part, name + path, strict=strict) for _, path, part in parts]
    kind: Any = type(tree)
    if dataclasses.is_dataclass(tree):
        return kind(**{key: x for (key, _, _), x in zip(parts, values, strict=True)})
    if isinstance(tree, dict):
        return kind((key, x) for (key, _, _), x in zip(parts, values, strict=True))
    return kind(*values) if hasattr(tree, "_fields") else kind(values)


def branches(tree: Any) -> list[tuple[Any, str, Any]] | None:
    """List what a tree holds, as key, path and value, or return ``None`` for what is no tree."""
    if type(tree) in (tuple, list, torch.Size):
        return [(i, f"[{i}]", x) for i, x in enumerate(tree)]
    if type(tree) in (dict, OrderedDict):
        return [(key, f"[{key!r}]", x) for key, x in tree.items()]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(key, f".{key}", x) for key, x in zip(tree._fields, tree, strict=True)]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree) if field.init]
        return [(name, f".{name}", getattr(tree, name)) for name in names]
    return None


def named_tensors(tree: Any, name: str = "") -> list[tuple[str, Tensor]]:
    """List all tensors of a tree with their names."""
    pairs: list[tuple[str, Tensor]] = []

    def keep(name: str, x: Tensor) -> Tensor:
        pairs.append((name, x))
        return x

    map_tensors(keep, tree, name)
    return pairs


def stack_nested(trees: Sequence[Any], name: str) -> Any:
    """Return one tree of the shape of all `trees`, with their tensors stacked along a first axis.

    Their structure, the shapes of their tensors and all that is no tensor must be equal.
    """
    tensors = [dict(named_tensors(tree, name)) for tree in trees]  # or its error
    forms = [list(_structure(tree, name)) for tree in trees]
    for i, form in enumerate(forms):
        if form != forms[0]:
            raise ValueError(
                f"{name} of the model must be the same for all members but for the values in "
                f"tensors, got {forms[0]} for member 1 and {form} for member {i + 1}; accepted is "
                "to call each member by itself, net.member(i)"
            )
    return map_tensors(lambda path, _: torch.stack([x[path] for x in tensors]), trees[0], name)


def join_nested(trees: Sequence[Any], name: str, axis: int) -> Any:
    """Return one tree of the shape of all `trees`, their tensors joined along an axis.

    All that is no tensor must be equal.
    """
    tensors = [dict(named_tensors(tree, name)) for tree in trees]
    forms = [
        [(path, x if isinstance(x, CONSTANTS) else "tensor") for path, x in _structure(tree, name)]
        for tree in trees
    ]
    for form in forms:
        if form != forms[0]:
            raise ValueError(f"{name} must have one form in all passes, got {forms[0]} and {form}")
    return map_tensors(lambda path, _: torch.cat([x[path] for x in tensors], axis), trees[0], name)


def _structure(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield what must be equal, with paths that tell tuples, lists and dicts apart."""
    if isinstance(tree, Tensor):
        if tree.is_nested:
            raise TypeError(
                f"{path} of the model is {not_dense(tree)}, accepted are dense ones; what else "
                "members return, each gives by itself, net.member(i)"
            )
        yield path, ("tensor", tuple(tree.shape))
    elif isinstance(tree, CONSTANTS):
        yield path, tree
    else:
        yield path, type(tree).__name__
        for _, key, part in branches(tree) or ():
            yield from _structure(part, path + key)


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
            raise TypeError(f"{name} must be a dense torch.Tensor, got {checks.given_array(x)}")
        if x.ndim < 1 or not len(x):
            raise ValueError(
                f"{name} must hold at least one example on its first axis, got shape "
                f"{tuple(x.shape)}"
            )
        return len(x)
    if type(x) is not tuple and not isinstance(x, dict):
        raise TypeError(
            f"{name} must be a dense torch.Tensor, a tuple of arguments or a dict of named ones, "
            f"got {checks.given_array(x)}"
        )
    if isinstance(x, dict) and not all(isinstance(key, str) for key in x):
        raise TypeError(f"{name} must have strings for names, got {checks.shown([*x])}")
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

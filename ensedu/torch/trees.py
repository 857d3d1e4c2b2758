"""Trees of tensors, as models take and return them: tuples, lists, dicts and dataclasses."""

import dataclasses
import enum
import numbers
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ensedu.torch.tensor_checks import class_path, not_dense

#: What is no tensor and holds none.
PLAIN_TYPES = (
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
    if type(tree) not in (tuple, dict) and isinstance(tree, PLAIN_TYPES):
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


def stack_trees(trees: Sequence[Any], name: str) -> Any:
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


def join_trees(trees: Sequence[Any], name: str, axis: int) -> Any:
    """Return one tree of the shape of all `trees`, their tensors joined along an axis.

    All that is no tensor must be equal.
    """
    tensors = [dict(named_tensors(tree, name)) for tree in trees]
    forms = [
        [(path, x if isinstance(x, PLAIN_TYPES) else "tensor") for path, x in pairs]
        for pairs in (_structure(tree, name) for tree in trees)
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
    elif isinstance(tree, PLAIN_TYPES):
        yield path, tree
    else:
        yield path, type(tree).__name__
        for _, key, part in branches(tree) or ():
            yield from _structure(part, path + key)

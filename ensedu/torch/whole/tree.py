"""Tensors inside tuples, lists, dicts and dataclasses: what models take and return."""

import dataclasses
import enum
import numbers
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

PLAIN = (
    str, bytes, numbers.Number, enum.Enum, slice, range, type(None), torch.dtype, torch.device,
)  # fmt: skip


def tree_map(function: Callable[[str, Tensor], Any], tree: Any, name: str) -> Any:
    """Return `tree` with ``function(name, tensor)`` in place of each tensor.

    Tuples (named ones too), lists, dicts and dataclasses, such as transformers' ``ModelOutput``,
    are walked, numbers, strings and ``None`` are kept; anything else could hide tensors, and is a
    ``TypeError``.
    """
    if isinstance(tree, Tensor):
        return function(name, tree)
    if isinstance(tree, PLAIN):
        return tree
    parts = _parts(tree)
    if parts is None:
        raise TypeError(
            f"{name} of the model is a {class_path(tree)}, accepted are tensors, numbers, strings "
            "and None, in tuples, lists, dicts and dataclasses (a model of transformers leaves its "
            "cache out with use_cache=False)"
        )
    values = [tree_map(function, part, name + path) for _, path, part in parts]
    if dataclasses.is_dataclass(tree):
        return type(tree)(**{key: x for (key, _, _), x in zip(parts, values, strict=True)})
    if isinstance(tree, dict):
        return type(tree)((key, x) for (key, _, _), x in zip(parts, values, strict=True))
    return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)


def _parts(tree: Any) -> list[tuple[Any, str, Any]] | None:
    """List what a tree holds, as key, path and value, or return ``None`` for what is no tree."""
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree) if field.init]
        return [(name, f".{name}", getattr(tree, name)) for name in names]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(key, f".{key}", x) for key, x in zip(tree._fields, tree, strict=True)]
    if type(tree) in (tuple, list, torch.Size):
        return [(i, f"[{i}]", x) for i, x in enumerate(tree)]
    if type(tree) in (dict, OrderedDict):
        return [(key, f"[{key!r}]", x) for key, x in tree.items()]
    return None


def leaves(tree: Any, name: str = "") -> list[tuple[str, Tensor]]:
    """List all tensors of a tree with their names."""
    found: list[tuple[str, Tensor]] = []

    def keep(name: str, x: Tensor) -> Tensor:
        found.append((name, x))
        return x

    tree_map(keep, tree, name)
    return found


def plain_leaves(tree: Any, name: str = "") -> list[tuple[str, Any]]:
    """List all of a tree that is no tensor, with its names."""
    if isinstance(tree, PLAIN):
        return [(name, tree)]
    return [
        leaf for _, path, part in _parts(tree) or () for leaf in plain_leaves(part, name + path)
    ]


def tree_stack(trees: Sequence[Any], name: str) -> Any:
    """Return one tree of the shape of all `trees`, with their tensors stacked along a first axis.

    Their structure, the shapes of their tensors and all that is no tensor must be equal.
    """
    for tree in trees:
        leaves(tree, name)  # for its error
    walks = [list(_walk(tree, name)) for tree in trees]
    for i, walk in enumerate(walks):
        if walk != walks[0]:
            raise ValueError(
                f"{name} of the model must be the same for all members but for the values in "
                f"tensors, got {walks[0]} for member 1 and {walk} for member {i + 1}; accepted is "
                "to call each of net.members by itself"
            )
    stacks = {
        parts[0][0]: torch.stack([x for _, x in parts])
        for parts in zip(*(leaves(tree, name) for tree in trees), strict=True)
    }
    return tree_map(lambda path, _: stacks[path], trees[0], name)


def _walk(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield what must be equal, with paths that tell tuples, lists and dicts apart."""
    if isinstance(tree, Tensor):
        yield path, ("tensor", tuple(tree.shape))
    elif isinstance(tree, PLAIN):
        yield path, tree
    else:
        yield path, type(tree).__name__
        for _, key, part in _parts(tree) or ():
            yield from _walk(part, path + key)


def batch_size(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the length of the first axis that the tensors among a model's inputs share.

    Tensors without axes, and with a first axis of 1 beside longer ones, have no batch axis.
    """
    shapes: list[tuple[str, tuple[int, ...]]] = []
    for name, tree in (("input", args), *kwargs.items()):
        _refuse_images(tree, name)
        for key, x in leaves(tree, name):
            if x.layout is not torch.strided:
                raise TypeError(f"{key} has layout {x.layout}, accepted is {torch.strided}")
            shapes.append((key, tuple(x.shape)))
    sizes = [shape[0] for _, shape in shapes if shape]
    # Comparisons and no set: while a graph is exported, a length may be a symbol.
    batch = next((size for size in sizes if size != 1), 1)
    if not sizes or not all(size == batch or size == 1 for size in sizes):
        raise ValueError(
            f"the inputs of the model have shapes {dict(shapes)}, accepted is at least one "
            "tensor, all with one first axis, the batch, or with 1 there; what has another is a "
            "constant of the model"
        )
    return batch


def own_batch_size(members: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return B of inputs (M, B, …) that hold a batch for each of so many members."""
    found = [*leaves(args, "input"), *(leaf for k, v in kwargs.items() for leaf in leaves(v, k))]
    shapes = {key: tuple(x.shape) for key, x in found}
    first = next((shape[:2] for shape in shapes.values()), ())
    if len(first) < 2 or first[0] != members or any(s[:2] != first for s in shapes.values()):
        raise ValueError(
            f"the inputs of the model have shapes {shapes}, accepted with own_batches is "
            f"({members}, B, ...): a batch for each member"
        )
    return first[1]


def _refuse_images(tree: Any, name: str) -> None:
    """Refuse a list of images (C, H, W): their first axis would pass for a batch."""
    if type(tree) is list and tree and all(isinstance(x, Tensor) and x.ndim == 3 for x in tree):
        if all(x.shape[0] in (1, 3) for x in tree):
            raise ValueError(
                f"{name} is a list of tensors of shapes {[tuple(x.shape) for x in tree]}, which "
                "look like images (C, H, W); accepted are images stacked to (B, C, H, W), for "
                "tensors with a batch axis a tuple, and lists of images for a deep ensemble"
            )
    for _, path, part in _parts(tree) or ():
        _refuse_images(part, name + path)


def class_path(value: Any) -> str:
    """Say of which class something is, so that one finds it; Torch's own as everybody writes it."""
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__.startswith("torch.nn.modules"):
        return f"nn.{kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"

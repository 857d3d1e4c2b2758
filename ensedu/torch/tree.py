"""Tensors inside tuples, lists and dicts: what models take and return."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

PLAIN = (str, bytes, bool, int, float, complex, type(None), torch.dtype, torch.device)


def tree_map(function: Callable[[str, Tensor], Any], tree: Any, name: str) -> Any:
    """Return `tree` with ``function(name, tensor)`` in place of each tensor.

    Tuples (named ones too), lists and dicts are walked, numbers, strings and ``None`` are kept;
    anything else could hide tensors, and is a ``TypeError``.
    """
    if isinstance(tree, Tensor):
        return function(name, tree)
    if isinstance(tree, PLAIN):
        return tree
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        fields = zip(tree._fields, tree, strict=True)
        return type(tree)(*(tree_map(function, part, f"{name}.{key}") for key, part in fields))
    if type(tree) in (tuple, list):
        return type(tree)(tree_map(function, x, f"{name}[{i}]") for i, x in enumerate(tree))
    if type(tree) in (dict, OrderedDict):
        pairs = ((key, tree_map(function, x, f"{name}[{key!r}]")) for key, x in tree.items())
        return type(tree)(pairs)
    raise TypeError(
        f"{name} of the model is a {type(tree).__name__}, accepted are tensors, numbers, strings "
        "and None, in tuples, lists and dicts"
    )


def tree_stack(trees: Sequence[Any], name: str) -> Any:
    """Return one tree of the shape of all `trees`, with their tensors stacked along a first axis.

    Their structure, the shapes of their tensors and all that is no tensor must be equal.
    """
    for tree in trees:
        tree_map(lambda _, x: x, tree, name)  # for its error
    walks = [_walk(tree, name) for tree in trees]
    for i, walk in enumerate(walks):
        if len(walk) != len(walks[0]) or not all(map(_alike, walk, walks[0])):
            first, this = ([(path, _told(x)) for path, x in w] for w in (walks[0], walk))
            raise ValueError(
                f"{name} of the model must be the same for all members but for the values in "
                f"tensors, got {first} for member 1 and {this} for member {i + 1}"
            )
    stacks = {
        parts[0][0]: torch.stack([x for _, x in parts])
        for parts in zip(*walks, strict=True)
        if isinstance(parts[0][1], Tensor)
    }
    return tree_map(lambda path, _: stacks[path], trees[0], name)


def _walk(tree: Any, path: str) -> list[tuple[str, Any]]:
    """List all leaves of a tree with their paths, which tell tuples, lists and dicts apart."""
    if isinstance(tree, (tuple, list)):
        names = getattr(tree, "_fields", None)
        keys = [f".{key}" for key in names] if names else [f"[{i}]" for i in range(len(tree))]
        parts = zip(keys, tree, strict=True)
    elif isinstance(tree, dict):
        parts = ((f"[{key!r}]", x) for key, x in tree.items())
    else:
        return [(path, tree)]
    kind = type(tree).__name__
    return [(path, kind), *(leaf for key, x in parts for leaf in _walk(x, path + key))]


def _alike(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    return one[0] == other[0] and _told(one[1]) == _told(other[1])


def _told(leaf: Any) -> Any:
    return ("tensor", tuple(leaf.shape)) if isinstance(leaf, Tensor) else leaf


def batch_size(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the length of the first axis that all tensors among a model's inputs share."""
    shapes: list[tuple[str, tuple[int, ...]]] = []
    for name, tree in (("input", args), *kwargs.items()):
        tree_map(lambda key, x: shapes.append((key, tuple(x.shape))), tree, name)
    # A comparison and no set: while a graph is exported, a length may be a symbol.
    first = shapes[0][1] if shapes else ()
    if not first or not all(shape and shape[0] == first[0] for _, shape in shapes):
        raise ValueError(
            f"the inputs of the model have shapes {dict(shapes)}, accepted is at least one tensor, "
            "all with the same first axis, the batch; what has no batch axis belongs into the model"
        )
    return first[0]

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

    What is no tensor must be equal in all of them.
    """
    leaves: list[dict[str, Any]] = []
    for tree in trees:
        leaves.append({})
        tree_map(leaves[-1].__setitem__, tree, name)
    for i, found in enumerate(leaves):
        shapes = [{key: tuple(x.shape) for key, x in part.items()} for part in (leaves[0], found)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"{name} of the model must have the same shapes for all members, got {shapes[0]} "
                f"for member 1 and {shapes[1]} for member {i + 1}"
            )
    return tree_map(lambda key, _: torch.stack([part[key] for part in leaves]), trees[0], name)


def batch_size(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the length of the first axis that all tensors among a model's inputs share."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, tree in {"input": args, **kwargs}.items():
        tree_map(lambda key, x: shapes.__setitem__(key, tuple(x.shape)), tree, name)
    lengths = {shape[:1] for shape in shapes.values()}
    if len(lengths) != 1 or () in lengths:
        raise ValueError(
            f"the inputs of the model have shapes {shapes}, accepted is at least one tensor, all "
            "with the same first axis, the batch; what has no batch axis belongs into the model"
        )
    return lengths.pop()[0]

"""How many examples the inputs of a model hold, and whether all hold as many."""

from typing import Any

from ensedu.torch.base import check_dense
from ensedu.torch.whole.nested_tensors import named_tensors


def shared_batch_size(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the length of the first axis that the tensors among a model's inputs share.

    Tensors without axes, and with a first axis of 1 beside longer ones, have no batch axis.
    """
    shapes: list[tuple[str, tuple[int, ...]]] = []
    for name, tree in (("input", args), *kwargs.items()):
        for key, x in named_tensors(tree, name):
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


def batch_size_of_each_member(members: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return B of inputs (M, B, …) that hold a batch for each of so many members."""
    found = [
        *named_tensors(args, "input"),
        *(leaf for k, v in kwargs.items() for leaf in named_tensors(v, k)),
    ]
    for key, x in found:
        check_dense(key, x)
    shapes = {key: tuple(x.shape) for key, x in found}
    first = next((shape[:2] for shape in shapes.values()), ())
    if len(first) < 2 or first[0] != members or any(s[:2] != first for s in shapes.values()):
        raise ValueError(
            f"the inputs of the model have shapes {shapes}, accepted with own_batches is "
            f"({members}, B, ...): a batch for each member"
        )
    return first[1]

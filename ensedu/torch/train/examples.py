"""What a training loop is given: examples that are checked, shuffled and dealt out."""

import hashlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.common.training_checks import check_same_rows, members_to_split
from ensedu.torch.base import MemberLayer, not_dense
from ensedu.torch.network import Tile
from ensedu.torch.train.pieces import first_not_finite, pieces
from ensedu.torch.whole.inputs import Inputs, map_examples, number_of_examples
from ensedu.torch.whole.nested_tensors import named_tensors


def minibatches(
    x: Inputs, y: Tensor, batch_size: int, members: int | None = None, drop_last: bool = False
) -> Iterator[tuple[Inputs, Tensor]]:
    """Shuffle examples by Torch's generator and deal them out; to M `members` (M, B / M, …) each.

    The last minibatch may be smaller, or is left out with `drop_last`; what M does not divide is.
    """
    deals = list(torch.randperm(len(y)).split(batch_size))
    if drop_last:
        deals = [d for d in deals if len(d) == batch_size]
    if members is not None:
        deals = [d[: len(d) // members * members].view(members, -1) for d in deals]
        y = with_axis_of_outputs(y)
    for rows in deals:
        if rows.numel():
            yield rows_of(x, rows, len(y)), y[rows].detach()


def rows_of(x: Inputs, rows: Tensor | slice, examples: int) -> Inputs:
    """Return some rows of all inputs with a row for each of so many examples."""
    return map_examples(lambda own: own[rows].detach(), x, examples)


def with_axis_of_outputs(y: Tensor) -> Tensor:
    """Return targets (B,) as (B, 1): a loss tells (M, B) from (B, k) by the axis k."""
    return y[:, None] if y.ndim == 1 and y.is_floating_point() else y


def check_net(net: nn.Module) -> torch.device:
    """Check that a net can be trained, and return its device."""
    if not isinstance(net, nn.Module):
        raise TypeError(f"net must be a torch.nn.Module, got {checks.given(net)}")
    if lazy := [name for name, p in net.named_parameters() if nn.parameter.is_lazy(p)]:
        raise ValueError(f"net must have seen an input, got parameters without a shape: {lazy}")
    devices = {p.device for p in net.parameters() if p.requires_grad}
    if len(devices) != 1 or devices == {torch.device("meta")}:
        raise ValueError(
            "net must have parameters to train, on one device, got "
            f"{', '.join(sorted(map(str, devices))) or 'none'}"
        )
    return devices.pop()


def check_examples(net: nn.Module, first: str, x: Any, second: str, y: Any) -> int:
    """Check inputs and targets, which are called so, and return how many examples they hold."""
    dtypes = {p.dtype for p in net.parameters() if p.is_floating_point()}
    if isinstance(x, Tensor):
        _check_tensor(first, x, dtypes)
    examples = number_of_examples(first, x)
    for name, leaf in [] if isinstance(x, Tensor) else named_tensors(x, first):
        if leaf.ndim:
            _check_tensor(name, leaf, dtypes)
    _check_tensor(second, y, dtypes)
    check_same_rows(first, examples, second, len(y))
    return examples


def _check_tensor(name: str, value: Any, dtypes: set[torch.dtype]) -> None:
    if not isinstance(value, Tensor) or not_dense(value):
        raise TypeError(f"{name} must be a dense torch.Tensor, got {checks.given_array(value)}")
    if value.is_meta or value.ndim == 0 or value.numel() == 0:
        raise ValueError(
            f"{name} must hold at least one example, got shape {tuple(value.shape)} on "
            f"{value.device}"
        )
    if value.is_complex() or (value.is_floating_point() and value.dtype not in dtypes):
        known = ", ".join(sorted(map(str, dtypes)))
        raise TypeError(f"{name} has dtype {value.dtype}, accepted is that of the net, {known}")
    if (place := first_not_finite(value)) is not None:
        raise ValueError(f"{name} must hold finite numbers, got {value[place].item()} at {place}")


def has_members(net: nn.Module) -> bool:
    """Return whether a net has members, each of which may have examples of its own."""
    return any(
        isinstance(part, MemberLayer) or getattr(part, "ensemble_size", None) is not None
        for part in net.modules()
    )


def number_of_members(net: Any) -> int:
    """Return how many members a net has, to deal examples out to."""
    parts = list(net.modules())  # a converted model knows it as a whole
    those = [
        part for part in parts if isinstance(part, MemberLayer) or hasattr(part, "own_batches")
    ]
    sizes = {part.ensemble_size for part in those} - {None}
    return members_to_split(net, sizes, any(isinstance(part, Tile) for part in parts))


def fingerprint(*tensors: Tensor) -> str:
    """Return a short hash of all numbers, to tell whether data are the same."""
    digest = hashlib.sha256()
    for x in tensors:
        digest.update(f"{tuple(x.shape)} {x.dtype} ".encode())
        for _, piece in pieces(x.detach()):
            whole = piece.cpu().clone(memory_format=torch.contiguous_format)
            digest.update(whole.flatten().view(torch.uint8).numpy())
    return digest.hexdigest()[:16]

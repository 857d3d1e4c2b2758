"""What a training loop is given: examples that are checked, shuffled and dealt out."""

import hashlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.common.training_checks import check_same_rows, members_to_split, named_pairs
from ensedu.torch.base import MemberLayer
from ensedu.torch.network import Tile
from ensedu.torch.train.pieces import first_not_finite, pieces


def minibatches(
    x: Tensor, y: Tensor, batch_size: int, members: int | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Shuffle examples by Torch's generator and deal them out; to M `members` (M, B / M, …) each.

    The last minibatch may be smaller; what M does not divide is left out.
    """
    deals = list(torch.randperm(len(x)).split(batch_size))
    if members is not None:
        deals = [d[: len(d) // members * members].view(members, -1) for d in deals]
        # A loss tells (M, B) from (B, k) by the axis k.
        y = y[:, None] if y.ndim == 1 and y.is_floating_point() else y
    return ((x[rows].detach(), y[rows].detach()) for rows in deals if rows.numel())


def check_training(net: nn.Module, x: Any, y: Any, validation: Any) -> torch.device:
    """Check a net and its examples, and return the device of the net."""
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
    dtypes = {p.dtype for p in net.parameters() if p.is_floating_point()}
    for first, inputs, second, targets in named_pairs(x, y, validation):
        _check_tensor(first, inputs, dtypes)
        _check_tensor(second, targets, dtypes)
        check_same_rows(first, len(inputs), second, len(targets))
    return devices.pop()


def _check_tensor(name: str, value: Any, dtypes: set[torch.dtype]) -> None:
    if not isinstance(value, Tensor) or value.layout is not torch.strided:
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

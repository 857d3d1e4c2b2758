"""A model as each method, without values: what `ensedu.torch.ensemble` makes of it."""

import copy
import warnings
from collections.abc import Sequence
from typing import Any

from ensedu.methods import METHODS, size_option

__all__ = ["converted", "without_values"]


def without_values(model: Any) -> Any:
    """Return a copy whose tensors have shapes alone; what is tied stays tied."""
    import torch

    memo: dict[int, Any] = {}
    for value in (*model.parameters(), *model.buffers()):
        like = torch.empty_like(value, device="meta")
        if isinstance(value, torch.nn.Parameter):
            like = torch.nn.Parameter(like, requires_grad=value.requires_grad)
        memo[id(value)] = like
    # What deepcopy finds in its memo it does not copy.
    return copy.deepcopy(model, memo)


def converted(
    model: Any,
    method: str,
    number: int,
    *,
    head: str | None = None,
    shared: Sequence[Any] = (),
    modulated: Sequence[Any] = (),
) -> Any:
    """Return a model as an ensemble of so many members or samples, to be counted.

    Raises what `ensedu.torch.ensemble` raises, and warns of nothing that is about values.
    """
    from ensedu.torch import ensemble

    if method == "single":
        return model
    more: dict[str, Any] = {"head": head} if METHODS[method].body else {}
    if METHODS[method].apart:
        more["initialize"] = _leave_as_copied
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "members 1 and 2 start equal|model looks trained")
        return ensemble(
            model, method, **size_option(method, number),
            shared=shared, modulated=modulated, **more,
        )  # fmt: skip


def _leave_as_copied(member: Any) -> None:
    """Leave a member as it was copied."""

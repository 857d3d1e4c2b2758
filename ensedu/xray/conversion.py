"""A model as each method, without values: what `ensedu.torch.ensemble` makes of it."""

import warnings
from collections.abc import Sequence
from typing import Any

from ensedu.methods import METHODS, size_option

__all__ = ["converted"]


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

"""Checks of what a training is given: examples, and members that share them; for both backends."""

from collections.abc import Collection
from typing import Any

from ensedu.common import checks

__all__ = ["check_same_rows", "members_to_split", "named_pairs"]


def named_pairs(x: Any, y: Any, validation: Any) -> list[tuple[str, Any, str, Any]]:
    """Return inputs and targets with their names, those of validation too if there are any."""
    if validation is None:
        return [("x", x, "y", y)]
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise TypeError(f"validation must be a pair (x, y) or None, got {checks.given(validation)}")
    return [("x", x, "y", y), ("validation[0]", validation[0], "validation[1]", validation[1])]


def check_same_rows(first: str, rows: int, second: str, other: int) -> None:
    """Check that there are as many targets as inputs."""
    if rows != other:
        raise ValueError(f"{second} must have a row for each of {rows} in {first}, got {other}")


def members_to_split(net: Any, sizes: Collection[int], repeats: bool) -> int:
    """Return how many members share out a minibatch, where all layers have so many."""
    if repeats:
        raise ValueError(
            "split must be False for a net that repeats its input for samples, got True for a "
            f"{type(net).__name__}; accepted is one without samples"
        )
    if len(sizes) != 1:
        numbers = ", ".join(map(str, sorted(sizes))) or "none"
        raise ValueError(
            "split must be False for a net without one number of members, got True for a "
            f"{type(net).__name__} with {numbers}"
        )
    return next(iter(sizes))

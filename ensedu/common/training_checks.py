"""Checks of what a training is given, and what functions are called; for both backends."""

from collections.abc import Collection
from functools import partial
from typing import Any

__all__ = ["check_same_rows", "function_name", "members_to_split"]


def check_same_rows(first: str, rows: int, second: str, other: int) -> None:
    """Check that there are as many targets as inputs."""
    if rows != other:
        raise ValueError(f"{second} must have a row for each of {rows} in {first}, got {other}")


def function_name(value: Any) -> str:
    """Return what a function is called, with the arguments that `functools.partial` has given."""
    if isinstance(value, partial):
        named = (f"{key}={own!r}" for key, own in value.keywords.items())
        return f"{function_name(value.func)}({', '.join([*map(repr, value.args), *named])})"
    return getattr(value, "__qualname__", type(value).__qualname__)


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

"""Of how many examples minibatches are, how many there are, and who shares one out."""

from collections.abc import Collection
from typing import Any

from ensedu.common import checks


def checked_batch_size(batch_size: Any, examples: int, members: int | None) -> int:
    """Return how many examples a step takes: 32 by default, and all where they are fewer.

    Where `members` split a minibatch it is a multiple of their number.
    """
    if batch_size is None:
        batch_size = min(32, examples) // (members or 1) * (members or 1) or examples
    size = checks.positive_int("batch_size", batch_size)
    if size > examples:
        raise ValueError(
            f"batch_size must be at most the number of examples, {examples}, got {size}"
        )
    if members is not None and size % members:
        raise ValueError(
            f"batch_size must be a multiple of the {members} members that split it, got {size}"
        )
    return size


def number_of_steps(examples: int, batch_size: int, members: int | None) -> int:
    """Return how many minibatches an epoch has; one too small to be split is none."""
    full, rest = divmod(examples, batch_size)
    return full + (rest >= (members or 1))


def check_same_rows(first: str, rows: int, second: str, other: int) -> None:
    """Check that there are as many targets as inputs."""
    if rows != other:
        raise ValueError(f"{second} must have a row for each of {rows} in {first}, got {other}")


def members_to_split(
    net: Any, sizes: Collection[int], repeats: bool, otherwise: str = "split must be False"
) -> int:
    """Return how many members share out a minibatch, where all layers have so many."""
    kind = type(net).__name__
    if repeats:
        raise ValueError(
            f"{otherwise} for a net that repeats its input for samples, got a {kind}; accepted is "
            "one without samples"
        )
    if len(sizes) != 1:
        numbers = ", ".join(map(str, sorted(sizes))) or "none"
        raise ValueError(
            f"{otherwise} for a net without one number of members, got a {kind} with {numbers}"
        )
    return next(iter(sizes))

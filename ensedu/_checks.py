"""Checks of arguments, shared by both backends; standard library only.

Every message names the argument, what was given, and what is accepted.
"""

import math
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

METHODS = ("single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout")


def positive_int(name: str, value: Any) -> int:
    """Return `value` as an ``int``; NumPy integers pass, bools and floats do not."""
    return _integer(name, value, 1, "a positive integer")


def pair(name: str, value: Any, *, low: int = 1) -> tuple[int, int]:
    """Return an integer, or a pair of integers, each at least `low` (0 or 1), as a pair."""
    one = "a positive integer" if low == 1 else "an integer from 0 up"
    if not isinstance(value, (tuple, list)):
        number = _integer(name, value, low, f"{one} or a pair of them")
        return number, number
    if len(value) != 2:
        raise ValueError(f"{name} must be {one} or a pair of them, got {value!r}")
    first, second = (_integer(f"{name}[{i}]", v, low, one) for i, v in enumerate(value))
    return first, second


def natural_int(name: str, value: Any) -> int:
    """Return `value` as an ``int`` of at least 0."""
    return _integer(name, value, 0, "an integer from 0 up")


def _integer(name: str, value: Any, low: int, accepted: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be {accepted}, got {value!r} ({type(value).__name__})")
    try:
        number = operator.index(value)
    except TypeError:  # an array of several integers has __index__, and refuses to use it
        raise TypeError(
            f"{name} must be {accepted}, got {value!r} ({type(value).__name__})"
        ) from None
    if number < low:
        raise ValueError(f"{name} must be {accepted}, got {number}")
    return number


def real(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a finite ``float`` strictly between `low` and `high`."""
    accepted = "a finite number"
    if low > -math.inf:
        accepted += f" above {low:g}"
    if high < math.inf:
        accepted += f"{' and' if low > -math.inf else ''} below {high:g}"
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be {accepted}, got {value!r} ({type(value).__name__})")
    number = float(value)
    if not math.isfinite(number) or not low < number < high:
        raise ValueError(f"{name} must be {accepted}, got {number!r}")
    return number


def fraction(name: str, value: Any) -> float:
    """Return `value` as a ``float`` with 0 <= value < 1."""
    accepted = "a number from 0 to below 1"
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be {accepted}, got {value!r} ({type(value).__name__})")
    number = float(value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be {accepted}, got {number!r}")
    return number


def one_of(name: str, value: Any, accepted: Collection[str]) -> str:
    """Return `value` if it is one of the `accepted` strings."""
    if not isinstance(value, str):
        raise TypeError(
            f"{name} must be one of {', '.join(map(repr, accepted))}, "
            f"got {value!r} ({type(value).__name__})"
        )
    if value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, accepted))}, got {value!r}")
    return value


def boolean(name: str, value: Any) -> bool:
    """Return `value` if it is a ``bool``."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r} ({type(value).__name__})")
    return value


def layer_sizes(name: str, value: Any) -> tuple[int, ...]:
    """Return `value` as a tuple of at least two positive integers."""
    accepted = "a sequence of at least two positive integers"
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be {accepted}, got {value!r} ({type(value).__name__})")
    if len(value) < 2:
        raise ValueError(f"{name} must be {accepted}, got {value!r}")
    return tuple(positive_int(f"{name}[{i}]", size) for i, size in enumerate(value))


def batch(
    layer: str, shape: tuple[int, ...], features: int | None = None, members: int | None = None
) -> None:
    """Check that an input is ``(B, features)`` or has one leading axis more.

    With `members` given, that leading axis is the member axis and must have this length.
    """
    fits = len(shape) in (2, 3) and features in (None, shape[-1])
    if not fits or (len(shape) == 3 and members not in (None, shape[0])):
        last = "features" if features is None else features
        leading = "S" if members is None else members
        raise ValueError(
            f"{layer}: input x has shape {tuple(shape)}, "
            f"accepted are (B, {last}) and ({leading}, B, {last})"
        )


def images(layer: str, shape: tuple[int, ...], channels: int, members: int | None = None) -> None:
    """Check that an input is ``(B, channels, H, W)`` or has one leading axis more."""
    fits = len(shape) in (4, 5) and shape[-3] == channels
    if not fits or (len(shape) == 5 and members not in (None, shape[0])):
        leading = "S" if members is None else members
        raise ValueError(
            f"{layer}: input x has shape {tuple(shape)}, "
            f"accepted are (B, {channels}, H, W) and ({leading}, B, {channels}, H, W)"
        )


def sample(
    value: Any, shapes: dict[str, tuple[int, ...]], check: Callable[[str, Any], None]
) -> None:
    """Check that a sample has just the arrays named in `shapes`, of those shapes.

    `check(name, array)` is the backend's own check of type and dtype.
    """
    if not isinstance(value, dict):
        raise TypeError(
            f"sample must be a dict with keys {sorted(shapes)}, got {type(value).__name__}"
        )
    if value.keys() != shapes.keys():
        raise ValueError(
            f"sample must be a dict with keys {sorted(shapes)}, got keys {sorted(value)}"
        )
    for name, shape in shapes.items():
        check(f"sample[{name!r}]", value[name])
        if tuple(value[name].shape) != shape:
            raise ValueError(
                f"sample[{name!r}] has shape {tuple(value[name].shape)}, accepted is {shape}"
            )


def mask(sample: Any, shape: tuple[int, ...]) -> Any:
    """Return the mask of a sample for an input of this shape: one a batch, or one an example."""
    array = sample.get("mask") if isinstance(sample, dict) else None
    if str(getattr(array, "dtype", "")) not in ("bool", "torch.bool"):
        raise TypeError(f'sample must be a dict {{"mask": array of bools}}, got {sample!r}')
    accepted = (*shape[:-2], 1, shape[-1]), tuple(shape)
    if tuple(array.shape) not in accepted:
        raise ValueError(
            f"sample['mask'] has shape {tuple(array.shape)}, "
            f"accepted is {accepted[0]} or {accepted[1]}"
        )
    return array

"""Checks of arguments, shared by both backends; standard library only.

Every message names the argument, what was given, and what is accepted.
"""

import math
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any


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
    # A tensor of one bool has __index__ too.
    truth = isinstance(value, bool) or "bool" in str(getattr(value, "dtype", ""))
    try:
        number = operator.index(None if truth else value)
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
    number = _float(name, value, accepted)
    if not math.isfinite(number) or not low < number < high:
        raise ValueError(f"{name} must be {accepted}, got {number!r}")
    return number


def fraction(name: str, value: Any) -> float:
    """Return `value` as a ``float`` with 0 <= value < 1."""
    accepted = "a number from 0 to below 1"
    number = _float(name, value, accepted)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be {accepted}, got {number!r}")
    return number


def _float(name: str, value: Any, accepted: str) -> float:
    wrong = isinstance(value, (bool, str, complex)) or not hasattr(value, "__float__")
    try:
        return float("one number" if wrong else value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # an array, 10**400, a tensor
        raise TypeError(
            f"{name} must be {accepted}, got {value!r} ({type(value).__name__})"
        ) from None


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
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be {accepted}, got {value!r} ({type(value).__name__})")
    if len(value) < 2:
        raise ValueError(f"{name} must be {accepted}, got {value!r}")
    return tuple(positive_int(f"{name}[{i}]", size) for i, size in enumerate(value))


def batch(
    layer: str, shape: tuple[int, ...], example: tuple[int | str, ...], members: int | None = None
) -> None:
    """Check an input's shape: (B, *example), behind members or samples if there are any.

    A letter in `example` fits any size. A layer with `members` M also takes (M, B, …) and
    (S, M, B, …), one without takes (S, B, …).
    """
    leading = tuple(shape)[: -len(example) - 1]
    fits = len(shape) > len(example) and all(
        isinstance(want, str) or size == want
        for want, size in zip(reversed(example), reversed(shape), strict=False)
    )
    if members is None:
        fits, accepted = fits and len(leading) <= 1, ((), ("S",))
    else:
        fits = fits and len(leading) <= 2 and leading[-1:] in ((), (members,))
        accepted = (), (members,), ("S", members)
    if not fits:
        words = [f"({', '.join(map(str, (*axes, 'B', *example)))})" for axes in accepted]
        raise ValueError(
            f"{layer}: input x has shape {tuple(shape)}, "
            f"accepted are {', '.join(words[:-1])} and {words[-1]}"
        )


def noise(
    value: Any, shapes: dict[str, tuple[int, ...]], check: Callable[[str, Any], None]
) -> None:
    """Check that noise has just the arrays named in `shapes`, of those shapes.

    `check(name, array)` is the backend's own check of type and dtype.
    """
    if not isinstance(value, dict):
        raise TypeError(
            f"noise must be a dict with keys {sorted(shapes)}, got {type(value).__name__}"
        )
    if value.keys() != shapes.keys():
        raise ValueError(
            f"noise must be a dict with keys {sorted(shapes)}, got keys {sorted(value)}"
        )
    for name, shape in shapes.items():
        check(f"noise[{name!r}]", value[name])
        if tuple(value[name].shape) != shape:
            raise ValueError(
                f"noise[{name!r}] has shape {tuple(value[name].shape)}, accepted is {shape}"
            )


def split_noise(noise: Any, names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the noise of a network, ``{"2.r": …}``, by layer: ``{"2": {"r": …}}``.

    Raises for anything but a dict, and for a key of no such layer.
    """
    if not isinstance(noise, dict):
        raise TypeError(
            f"noise must be a dict of arrays, as net.noise() returns it, got {type(noise).__name__}"
        )
    parts: dict[str, dict[str, Any]] = {name: {} for name in names}
    for key, value in noise.items():
        layer, _, own = str(key).partition(".")
        if layer not in parts or not own:
            raise ValueError(
                f"noise has the key {key!r}, accepted are those of layers that draw, "
                f"{', '.join(names) or 'none'}, as net.noise() returns them"
            )
        parts[layer][own] = value
    return parts


def dropout_input(name: str, shape: Any, feature_axes: int) -> list[int]:
    """Return the shape of an input of dropout as a list: any leading axes, (B, features)."""
    features = ", ".join(["features"] if feature_axes == 1 else ["·"] * feature_axes)
    if shape is None or len(shape) <= feature_axes:
        given = "is None" if shape is None else f"has shape {tuple(shape)}"
        raise ValueError(f"{name} {given}, accepted are (B, {features}) and (S, B, {features})")
    return list(shape)


def mask(noise: Any, shape: tuple[int, ...], feature_axes: int) -> Any:
    """Return the mask for an input of this shape: one a batch, or one an example."""
    array = noise.get("mask") if isinstance(noise, dict) else None
    if str(getattr(array, "dtype", "")) not in ("bool", "torch.bool"):
        raise TypeError(f'noise must be a dict {{"mask": array of bools}}, got {noise!r}')
    batch = len(shape) - feature_axes - 1
    accepted = (*shape[:batch], 1, *shape[batch + 1 :]), tuple(shape)
    if tuple(array.shape) not in accepted:
        raise ValueError(
            f"noise['mask'] has shape {tuple(array.shape)}, "
            f"accepted is {accepted[0]} or {accepted[1]}"
        )
    return array

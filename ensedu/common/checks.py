"""Checks of arguments, shared by both backends; standard library only.

Every message names the argument, what was given, and what is accepted.
"""

import math
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

# No array has a size that fits no 64-bit integer, and Python writes no integer of 4,300 digits.
_SIZES = (2**63, "2**63")
_COUNTS = (10**4000, "10**4000")


def shown(value: Any) -> str:
    """Return the repr of a value, cut where it is long."""
    try:
        words = repr(value)
    except Exception:  # Python writes no integer of more than 4,300 digits
        return "a value that cannot be shown"
    return words if len(words) <= 200 else f"{words[:120]} … {words[-40:]}"


def given(value: Any) -> str:
    """Return in words what was given: a value and its type."""
    return f"{shown(value)} ({type(value).__name__})"


def kind(value: Any) -> str:
    """Return in words what kind of thing was given, of an array its shape and dtype."""
    if isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "dtype"):
        words = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
        hint = "; torch.tensor(x) makes one" if words == "numpy.ndarray" else ""
        return f"a {words} of shape {tuple(value.shape)} and dtype {value.dtype}{hint}"
    return given(value)


def positive_int(name: str, value: Any) -> int:
    """Return `value` as an ``int`` below 2**63; NumPy integers pass, bools and floats do not."""
    return _integer(name, value, 1, "a positive integer")


def pair(name: str, value: Any, *, low: int = 1) -> tuple[int, int]:
    """Return an integer, or a pair of integers, each at least `low` (0 or 1), as a pair."""
    one = "a positive integer" if low == 1 else "an integer from 0 up"
    if not isinstance(value, (tuple, list)):
        number = _integer(name, value, low, f"{one} or a pair of them")
        return number, number
    if len(value) != 2:
        raise ValueError(f"{name} must be {one} or a pair of them, got {given(value)}")
    first, second = (_integer(f"{name}[{i}]", v, low, one) for i, v in enumerate(value))
    return first, second


def natural_int(name: str, value: Any) -> int:
    """Return `value` as an ``int`` of at least 0, below 10**4000."""
    return _integer(name, value, 0, "an integer from 0 up", _COUNTS)


def _integer(name: str, value: Any, low: int, accepted: str, most: tuple[int, str] = _SIZES) -> int:
    try:
        if not _is_number(value):
            raise TypeError
        number = operator.index(value)
    except (TypeError, RuntimeError):  # a float, or a tensor without data
        raise TypeError(f"{name} must be {accepted}, got {given(value)}") from None
    if number < low:
        raise ValueError(f"{name} must be {accepted}, got {given(number)}")
    if number >= most[0]:
        raise ValueError(f"{name} must be {accepted} below {most[1]}, got {given(number)}")
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


def not_negative(name: str, value: Any) -> float:
    """Return `value` as a finite ``float`` of at least 0."""
    number = real(name, value)
    if number < 0:
        raise ValueError(f"{name} must be 0 or more, got {value!r}")
    return number


def fraction(name: str, value: Any) -> float:
    """Return `value` as a ``float`` with 0 <= value < 1."""
    accepted = "a number from 0 to below 1"
    number = _float(name, value, accepted)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be {accepted}, got {number!r}")
    return number


def _float(name: str, value: Any, accepted: str) -> float:
    try:
        if not _is_number(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # 10**400, a tensor without data
        raise TypeError(f"{name} must be {accepted}, got {given(value)}") from None


def _is_number(value: Any) -> bool:
    """Whether `value` may be one real number: ``float`` takes strings, bools and arrays too."""
    kind = str(getattr(value, "dtype", "float")).removeprefix("torch.")
    return (
        not isinstance(value, (bool, str, complex, type))
        and hasattr(value, "__float__")
        and kind.startswith(("float", "bfloat", "int", "uint"))
        and getattr(value, "ndim", 0) == 0
    )


def one_of(name: str, value: Any, accepted: Collection[str]) -> str:
    """Return `value` if it is one of the `accepted` strings."""
    words = ", ".join(map(repr, accepted))
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {words}, got {given(value)}")
    if value not in accepted:
        raise ValueError(f"{name} must be one of {words}, got {given(value)}")
    return value


def boolean(name: str, value: Any) -> bool:
    """Return `value` if it is a ``bool``."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {given(value)}")
    return value


def text(name: str, value: Any) -> str:
    """Return `value` if it is a string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {given(value)}")
    return value


def layer_sizes(name: str, value: Any) -> tuple[int, ...]:
    """Return `value` as a tuple of at least two positive integers."""
    accepted = "a sequence of at least two positive integers"
    if isinstance(value, (str, bytes, bytearray, memoryview)) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be {accepted}, got {given(value)}")
    if len(value) < 2:
        raise ValueError(f"{name} must be {accepted}, got {given(value)}")
    return tuple(positive_int(f"{name}[{i}]", size) for i, size in enumerate(value))


def array_shape(name: str, value: Any) -> tuple[int, ...]:
    """Return `value` as a tuple of integers from 0 up, the shape of an array."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{name} must be a tuple of integers, got {given(value)}")
    if type(value).__name__ == "Size":  # a tensor's own: under a compiler its sizes are symbols
        return tuple(value)
    return tuple(natural_int(f"{name}[{i}]", size) for i, size in enumerate(value))


def batch(
    layer: str,
    shape: tuple[int, ...],
    example: tuple[int | str, ...],
    members: int | None = None,
    what: str = "input x has shape",
) -> None:
    """Check an input's shape: (B, *example), behind members or samples if there are any.

    A letter in `example` fits any size. A layer with `members` M also takes (M, B, …) and
    (S, M, B, …), one without takes (S, B, …). `what` begins the message.
    """
    leading = tuple(shape)[: -len(example) - 1]
    fits = len(shape) > len(example) and all(
        isinstance(want, str) or size == want
        for want, size in zip(reversed(example), reversed(shape), strict=False)
    )
    accepted: tuple[tuple[int | str, ...], ...]
    if members is None:
        fits, accepted = fits and len(leading) <= 1, ((), ("S",))
    else:
        fits = fits and len(leading) <= 2 and leading[-1:] in ((), (members,))
        accepted = (), (members,), ("S", members)
    if not fits:
        words = [f"({', '.join(map(str, (*axes, 'B', *example)))})" for axes in accepted]
        raise ValueError(
            f"{layer}: {what} {tuple(shape)}, accepted are {', '.join(words[:-1])} and {words[-1]}"
        )


def targets(outputs: tuple[int, ...], value: tuple[int, ...], heads: int) -> None:
    """Check the shape of numbers to predict against that of the outputs.

    They are (B, k), (B,) for k = 1, or (M, B, k) where each member has examples of its own. The
    outputs have so many numbers for each target as there are `heads`, the names of which are shown.
    """
    columns = (*value, 1) if len(value) == 1 else tuple(value)
    fits = len(outputs) >= max(2, len(columns)) and len(columns) >= 2
    wanted = (*columns[:-1], heads * columns[-1]) if columns else ()
    if not fits or tuple(outputs[-len(columns) :]) != wanted:
        k = "k" if heads == 1 else f"{heads}k"
        raise ValueError(
            f"outputs have shape {tuple(outputs)} and targets {tuple(value)}, accepted are "
            f"(M, B, {k}) or (B, {k}) with (B, k), or (B,) for k = 1, and (M, B, {k}) with "
            "(M, B, k)"
        )


def labels(outputs: tuple[int, ...], value: tuple[int, ...]) -> None:
    """Check the shape of labels, (B,) or (M, B), against that of the outputs."""
    axes = len(value)
    if not 1 <= axes < len(outputs) or tuple(outputs[-axes - 1 : -1]) != tuple(value):
        raise ValueError(
            f"outputs have shape {tuple(outputs)} and targets {tuple(value)}, accepted are "
            "(M, B, k) or (B, k) with (B,), and (M, B, k) with (M, B)"
        )


def in_range(low: int, high: int, classes: int) -> None:
    """Check that labels from `low` to `high` are of so many `classes`."""
    if not 0 <= low <= high < classes:
        raise ValueError(
            f"targets hold labels from {low} to {high}, accepted are 0 to {classes - 1}"
        )


def nll_weight(beta: Any, reduction: Any) -> float:
    """Return the exponent of a β-NLL, which has no mixture, as a ``float``."""
    number = real("beta", beta)
    if not 0 <= number <= 1:
        raise ValueError(f"beta must be from 0 to 1, got {beta!r}")
    if number and isinstance(reduction, str) and reduction == "mixture":
        raise ValueError(f"beta must be 0 for the reduction 'mixture', of densities, got {beta!r}")
    return number


def function(name: str, value: Any, call: str) -> Callable[..., Any]:
    """Return a function that was given; its errors say in which `call` they arose."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, called as {call}, got {given(value)}")

    def named(*args: Any, **kwargs: Any) -> Any:
        try:
            return value(*args, **kwargs)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"in {call}: {error}") from error

    return named


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
            f"noise must be a dict with keys {sorted(shapes)}, got keys {sorted(map(str, value))}"
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
    sizes = () if shape is None else array_shape(name, shape)
    if len(sizes) <= feature_axes:
        words = "is None" if shape is None else f"has shape {sizes}"
        accepted = f"{example(feature_axes)} and {example(feature_axes, 'S')}"
        raise ValueError(f"{name} {words}, accepted are {accepted}")
    return list(sizes)


def example(feature_axes: int, *leading: str) -> str:
    """Return the axes of a batch in words, an example having so many of its own."""
    features = ["features"] if feature_axes == 1 else ["·"] * feature_axes
    return f"({', '.join([*leading, 'B', *features])})"


def mask(noise: Any, shape: tuple[int, ...], feature_axes: int, array_type: Any = object) -> Any:
    """Return the mask for an input of this shape: one a batch, or one an example."""
    array: Any = noise.get("mask") if isinstance(noise, dict) else None
    kind = str(getattr(array, "dtype", ""))
    if not isinstance(array, array_type) or kind not in ("bool", "torch.bool"):
        raise TypeError(f'noise must be a dict {{"mask": array of bools}}, got {given(noise)}')
    batch = len(shape) - feature_axes - 1
    accepted = (*shape[:batch], 1, *shape[batch + 1 :]), tuple(shape)
    if tuple(array.shape) not in accepted:
        raise ValueError(
            f"noise['mask'] has shape {tuple(array.shape)}, "
            f"accepted is {accepted[0]} or {accepted[1]}"
        )
    return array

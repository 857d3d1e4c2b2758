"""Checks of values, shared by all; standard library only.

Every message names the argument, what was given, and what is accepted.
"""

import importlib
import math
import operator
from collections.abc import Callable, Collection, Sequence
from types import ModuleType
from typing import Any

# No array has a size that fits no 64-bit integer, and Python writes no integer of 4,300 digits.
_SIZES = (2**63, "2**63")
_COUNTS = (10**4000, "10**4000")


def short_repr(value: Any) -> str:
    """Return the repr of a value, cut where it is long."""
    try:
        words = repr(value)
    except Exception:  # Python writes no integer of more than 4,300 digits
        return "a value that cannot be shown"
    return words if len(words) <= 200 else f"{words[:120]} … {words[-40:]}"


def describe(value: Any) -> str:
    """Return in words what was given: a value and its type."""
    return f"{short_repr(value)} ({type(value).__name__})"


def describe_array(value: Any) -> str:
    """Return in words what kind of thing was given, of an array its shape and dtype."""
    if getattr(value, "is_nested", False):  # which may have no shape at all
        return "a nested tensor"
    if isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "dtype"):
        words = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
        hint = "; torch.tensor(x) makes one" if words == "numpy.ndarray" else ""
        layout = str(getattr(value, "layout", "torch.strided"))
        kind = "" if layout == "torch.strided" else f", of layout {layout}"
        return f"a {words} of shape {tuple(value.shape)} and dtype {value.dtype}{kind}{hint}"
    return describe(value)


def positive_int(name: str, value: Any) -> int:
    """Return `value` as an ``int`` below 2**63; NumPy integers pass, bools and floats do not."""
    return _integer(name, value, 1, "a positive integer")


def pair(name: str, value: Any, *, low: int = 1) -> tuple[int, int]:
    """Return an integer, or a pair of integers, each at least `low` (0 or 1), as a pair."""
    accepted = "a positive integer" if low == 1 else "an integer from 0 up"
    if not isinstance(value, (tuple, list)):
        number = _integer(name, value, low, f"{accepted} or a pair of them")
        return number, number
    if len(value) != 2:
        raise ValueError(f"{name} must be {accepted} or a pair of them, got {describe(value)}")
    first, second = (_integer(f"{name}[{i}]", v, low, accepted) for i, v in enumerate(value))
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
        raise TypeError(f"{name} must be {accepted}, got {describe(value)}") from None
    if number < low:
        raise ValueError(f"{name} must be {accepted}, got {describe(number)}")
    if number >= most[0]:
        raise ValueError(f"{name} must be {accepted} below {most[1]}, got {describe(number)}")
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
        raise TypeError(f"{name} must be {accepted}, got {describe(value)}") from None


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
        raise TypeError(f"{name} must be one of {words}, got {describe(value)}")
    if value not in accepted:
        raise ValueError(f"{name} must be one of {words}, got {describe(value)}")
    return value


def boolean(name: str, value: Any) -> bool:
    """Return `value` if it is a ``bool``."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {describe(value)}")
    return value


def text(name: str, value: Any) -> str:
    """Return `value` if it is a string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {describe(value)}")
    return value


def layer_sizes(name: str, value: Any) -> tuple[int, ...]:
    """Return `value` as a tuple of at least two positive integers."""
    accepted = "a sequence of at least two positive integers"
    if isinstance(value, (str, bytes, bytearray, memoryview)) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be {accepted}, got {describe(value)}")
    if len(value) < 2:
        raise ValueError(f"{name} must be {accepted}, got {describe(value)}")
    return tuple(positive_int(f"{name}[{i}]", size) for i, size in enumerate(value))


def array_shape(name: str, value: Any) -> tuple[int, ...]:
    """Return `value` as a tuple of integers from 0 up, the shape of an array."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{name} must be a tuple of integers, got {describe(value)}")
    if type(value).__name__ == "Size":  # a tensor's own: under a compiler its sizes are symbols
        return tuple(value)
    return tuple(natural_int(f"{name}[{i}]", size) for i, size in enumerate(value))


def function(name: str, value: Any, call: str) -> Callable[..., Any]:
    """Return a function that was given; its errors say in which `call` they arose."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, called as {call}, got {describe(value)}")

    def named(*args: Any, **kwargs: Any) -> Any:
        try:
            return value(*args, **kwargs)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"in {call}: {error}") from error

    return named


#: Packages whose name is not that of their module.
PIP_NAMES = {
    "sklearn": "scikit-learn", "PIL": "pillow", "laplace": "laplace-torch", "ivon": "ivon-opt",
}  # fmt: skip


def optional(package: str, extra: str | None) -> ModuleType:
    """Return a module, such as ``"scipy.stats"``, that comes with an extra of ensedu, or with none.

    ``ImportError`` where its package is not installed, with the command that installs it.
    """
    root = package.partition(".")[0]
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if (error.name or root).partition(".")[0] != root:
            raise  # the package is there, and what it needs in turn is not
        named = PIP_NAMES.get(root, root)
        what = f'"ensedu[{extra}]"' if extra else named
        raise ImportError(
            f"{named} is needed here, and is not installed: pip install {what}", name=root
        ) from error

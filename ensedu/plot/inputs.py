"""Checks of what the figures are given: arrays, Counts, series of numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensedu import checks
from ensedu.counting import Count

Numbers = Sequence[int] | Sequence[float] | np.ndarray


def array(name: str, value: Any, shape: tuple[int | str, ...]) -> np.ndarray:
    """Return `value` if it is an array of finite numbers of this shape; a letter fits any size."""
    words = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array {words}, got {type(value).__name__}")
    if value.dtype.kind != "f":
        raise TypeError(f"{name} must hold floats, got dtype {value.dtype}")
    fits = value.ndim == len(shape) and all(
        size > 0 and (isinstance(want, str) or size == want)
        for size, want in zip(value.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} has shape {value.shape}, accepted is {words} with no size 0")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} must hold finite numbers, got nan or inf")
    return value


def mapping(name: str, value: Any, what: str) -> dict[str, Any]:
    """Return `value` as a dict if it is a mapping, not empty, whose keys are strings."""
    accepted = f"a mapping of names to {what}"
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be {accepted}, got {value!r} ({type(value).__name__})")
    if not value:
        raise ValueError(f"{name} must be {accepted} with at least one entry, got {value!r}")
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"{name} must be {accepted}, got the key {key!r}")
    return dict(value)


def optional_mapping(name: str, value: Any, what: str) -> dict[str, Any]:
    """Return `value` as `mapping` does; none and an empty one are both an empty dict."""
    if value is None or (isinstance(value, Mapping) and not value):
        return {}
    return mapping(name, value, what)


def counts(name: str, value: Any) -> dict[str, Count]:
    """Return `value` as a dict of names to Counts."""
    result = mapping(name, value, "Counts")
    for key, item in result.items():
        if not isinstance(item, Count):
            raise TypeError(
                f"{name}[{key!r}] must be a Count, got {item!r} ({type(item).__name__})"
            )
    return result


def series(name: str, value: Any, length: int | None = None) -> np.ndarray:
    """Return `value` as a float array (length,) of at least two finite numbers."""
    accepted = f"a sequence of {length or 'at least two'} finite numbers"
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be {accepted}, got {value!r} ({type(value).__name__})")
    shape = getattr(value, "shape", (len(value),))
    if len(shape) != 1 or shape[0] < 2 or length not in (None, shape[0]):
        raise ValueError(f"{name} must be {accepted}, got shape {shape}")
    # One by one: NumPy reads "1" as a number, and True.
    return np.array([checks.real(f"{name}[{i}]", number) for i, number in enumerate(value)])


def text(name: str, value: Any) -> str:
    """Return `value` if it is a string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r} ({type(value).__name__})")
    return value

"""Checks of what the figures are given: arrays, Counts, series of numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import cbook
from matplotlib.mathtext import MathTextParser

from ensedu.common import arrays, checks
from ensedu.common.arrays import MOST as MOST
from ensedu.counting import Count

Numbers = Sequence[int] | Sequence[float] | np.ndarray


def array(name: str, value: Any, shape: arrays.Shape, like: str = "") -> np.ndarray:
    """Return `value` if it is an array of finite numbers of this shape; a letter fits any size.

    The sizes that are given are those of `like`.
    """
    arrays.check_array(name, value, "f", "floats", shape, like=like)
    arrays.check_finite(name, value)
    return value


def color_range(name: str, value: Any) -> float:
    """Return `value` as the end of a color scale."""
    return checks.real(name, value, low=1 / MOST, high=MOST)


def mapping(name: str, value: Any, what: str) -> dict[str, Any]:
    """Return `value` as a dict if it is a mapping, not empty, whose keys are strings."""
    accepted = f"a mapping of names to {what}"
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be {accepted}, got {checks.given(value)}")
    if not value:
        raise ValueError(f"{name} must be {accepted} with at least one entry, got {value!r}")
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"{name} must be {accepted}, got the key {checks.shown(key)}")
        text(f"{name}: a name", key)
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
            raise TypeError(f"{name}[{key!r}] must be a Count, got {checks.given(item)}")
        if item.total >= MOST:
            raise ValueError(
                f"{name}[{key!r}] must have a total below {MOST:g}, got {checks.given(item.total)}"
            )
    return result


def series(name: str, value: Any, length: int | None = None, least: int = 2) -> np.ndarray:
    """Return `value` as a float array (length,) of finite numbers, at least so many."""
    accepted = (
        f"a sequence of {length or ('at least one', 'at least two')[least - 1]} finite numbers"
    )
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be {accepted}, got {checks.given(value)}")
    shape = value.shape if isinstance(value, np.ndarray) else (len(value),)
    if len(shape) != 1 or shape[0] < least or length not in (None, shape[0]):
        raise ValueError(f"{name} must be {accepted}, got shape {shape}")
    # One by one: NumPy reads "1" as a number, and True.
    finite = {"low": -MOST, "high": MOST}
    return np.array(
        [checks.real(f"{name}[{i}]", number, **finite) for i, number in enumerate(value)]
    )


def interval(name: str, value: object) -> np.ndarray:
    """Return `value` as a float array (low, mean, high) that does not fall."""
    found = series(name, value, 3)
    if (np.diff(found) < 0).any():
        raise ValueError(f"{name} must rise, got {checks.given(value)}")
    return found


def text(name: str, value: Any) -> str:
    """Return `value` if it is a string that Matplotlib can draw: it reads $…$ as a formula."""
    checks.text(name, value)
    if cbook.is_math_text(value):
        try:
            MathTextParser("path").parse(value)
        except ValueError:
            raise ValueError(
                f"{name} must be text in which each $…$ is a formula that Matplotlib can draw, "
                f"got {checks.given(value)}"
            ) from None
    return value

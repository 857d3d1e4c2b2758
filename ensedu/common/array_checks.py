"""Checks of NumPy arrays and generators, of layers, data, scores and figures alike."""

from typing import Any

import numpy as np
from numpy.random import Generator

#: What is given is squared, multiplied, divided by: from here on that leaves the floats.
LARGEST = 1e100

#: Of each axis the size, or a letter, which fits any.
Shape = tuple[int | str, ...]


def check_array(
    name: str, value: Any, kinds: str, what: str, *shapes: Shape, like: str = ""
) -> None:
    """Check that `value` is an array of these kinds of dtype that has one of the shapes, none 0.

    The sizes in `shapes` are those of `like`; `what` says what it must hold.
    """
    words = " or ".join(
        f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})" for shape in shapes
    )
    if type(value) is not np.ndarray:
        hint = "; of a tensor, pass .numpy()" if hasattr(value, "numpy") else ""
        raise TypeError(
            f"{name} must be a plain NumPy array {words}, got {type(value).__name__}{hint}"
        )
    if value.dtype.kind not in kinds:
        raise TypeError(f"{name} must hold {what}, got dtype {value.dtype}")
    if not any(_fits(value.shape, shape) for shape in shapes):
        fit = f", to fit {like}" if like else ""
        raise ValueError(f"{name} has shape {value.shape}, accepted is {words} with no size 0{fit}")


def check_finite(name: str, value: np.ndarray) -> None:
    """Check that an array holds finite numbers below `LARGEST`."""
    if not np.isfinite(value).all():
        raise ValueError(f"{name} must hold finite numbers, got nan or inf")
    if (greatest := float(np.abs(value).max())) >= LARGEST:
        raise ValueError(f"{name} must hold numbers below {LARGEST:g}, got {greatest:g}")


def check_floats(name: str, value: Any, *shapes: Shape, like: str = "") -> None:
    """Check that `value` is an array of finite floats that has one of the shapes, none 0."""
    check_array(name, value, "f", "floats", *shapes, like=like)
    check_finite(name, value)


def check_float64(name: str, value: Any) -> None:
    """Check that `value` is a NumPy array of float64, and no matrix or masked array."""
    if type(value) is not np.ndarray:
        raise TypeError(f"{name} must be a plain NumPy array, got {type(value).__name__}")
    if value.dtype != np.float64:
        raise TypeError(f"{name} has dtype {value.dtype}, accepted is float64")


def check_rng(name: str, rng: Any) -> Generator:
    """Return `rng` if it is a ``numpy.random.Generator``."""
    if not isinstance(rng, Generator):
        raise TypeError(
            f"{name} must be a numpy.random.Generator (numpy.random.default_rng(seed)), "
            f"got {type(rng).__name__}"
        )
    return rng


def _fits(sizes: tuple[int, ...], shape: Shape) -> bool:
    return len(sizes) == len(shape) and all(
        size > 0 and (isinstance(want, str) or size == want)
        for size, want in zip(sizes, shape, strict=True)
    )

"""Checks of what is given: arrays of a table, index arrays, images."""

from typing import Any

import numpy as np
from numpy import ndarray as Array

from ensedu.common.arrays import MOST, check_float64

__all__ = ["check_features", "check_images", "check_indices", "check_targets"]


def check_features(name: str, value: Any) -> Array:
    """Return `value` if it is a float64 array (N, m), neither axis empty, of finite numbers."""
    check_float64(name, value)
    if value.ndim != 2 or not value.size:
        raise ValueError(f"{name} has shape {value.shape}, accepted is (N, m), N and m at least 1")
    if not (np.abs(value) < MOST).all():
        row, column = np.argwhere(~(np.abs(value) < MOST))[0]
        raise ValueError(
            f"{name} must hold finite numbers below {MOST:g}, "
            f"got {value[row, column]} in {name}[{row}, {column}]"
        )
    return value


def check_targets(name: str, value: Any, rows: int) -> Array:
    """Return `value` if it is (N, k) in float64, as `check_features`, or labels (N,), integers."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = _check_integers(name, value, "labels")
    else:
        check_features(name, value)
    if len(value) != rows:
        raise ValueError(f"{name} has {len(value):,} rows, accepted are the {rows:,} of x")
    return value


def check_indices(name: str, value: Any, rows: int) -> Array:
    """Return `value` if it holds different numbers of rows, at least one, from 0 to `rows` - 1."""
    value = _check_integers(name, value, "row indices")
    if value.ndim != 1 or not value.size:
        raise ValueError(f"{name} has shape {value.shape}, accepted is (N,), N at least 1")
    if (low := value.min()) < 0 or (high := value.max()) >= rows:
        got = low if low < 0 else high
        raise ValueError(f"{name} must hold row indices from 0 to {rows - 1}, got {got}")
    found, times = np.unique(value, return_counts=True)
    if len(found) < len(value):
        raise ValueError(f"{name} must hold each row once, got {found[times > 1][0]} repeatedly")
    return value


def check_images(name: str, value: Any, *, stacked: bool = False) -> Array:
    """Return `value` if it is a float64 array of numbers from 0 to 1; (N, H, W) if `stacked`."""
    check_float64(name, value)
    if stacked and (value.ndim != 3 or not value.size):
        raise ValueError(f"{name} has shape {value.shape}, accepted is (N, H, W), none of them 0")
    if not ((value >= 0) & (value <= 1)).all():
        raise ValueError(
            f"{name} must hold numbers from 0 to 1, got {value.min():g} to {value.max():g}"
        )
    return value


def _check_integers(name: str, value: Any, what: str) -> Array:
    if type(value) is not np.ndarray:
        raise TypeError(f"{name} must be a plain NumPy array, got {type(value).__name__}")
    if value.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {value.dtype}, accepted are integers, for {what}")
    return value

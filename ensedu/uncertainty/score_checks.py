"""Checks of what is scored: predictions, probabilities, variances, targets, labels.

Each takes what `array` takes, and returns floats in float64, which holds every float16 and float32
as it is. Of forecasts that are combined already, (B, …), it makes those of one member, (1, B, …).
"""

import sys
from fractions import Fraction
from typing import Any

import numpy as np
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import Shape, check_array, check_finite

#: Scores divide by variances.
LEAST_VARIANCE = 1e-100
#: Probabilities in float32 sum to 1 only to about 1e-6, and an average of them no better.
SUM_TOLERANCE = 1e-4


def array(value: Any) -> Any:
    """Return a tensor of any device, or a column or frame of pandas, as an array."""
    torch, pandas = sys.modules.get("torch"), sys.modules.get("pandas")
    if torch is not None and isinstance(value, torch.Tensor):
        try:
            value = value.detach().cpu()
            return (value.double() if value.is_floating_point() else value).numpy(force=True)
        except (RuntimeError, TypeError):  # sparse, nested, quantized, or without data
            return value
    known = pandas is not None and isinstance(value, (pandas.Series, pandas.DataFrame))
    return value.to_numpy() if known else value


def floats(name: str, value: Any, *shapes: Shape, like: str = "") -> Array:
    """Return `value` in float64 if it is an array of finite floats that has one of the shapes.

    The sizes in `shapes` are those of `like`.
    """
    result = _floats(name, value, shapes, like)
    check_finite(name, result)
    return result


def integers(name: str, value: Any, shape: Shape, like: str = "") -> Array:
    """Return `value` if it is an array of this shape of integers from 0 up."""
    value = array(value)
    check_array(name, value, "iu", "integers", shape, like=like)
    if value.min() < 0:
        raise ValueError(f"{name} must hold labels from 0 up, got {value.min()}")
    return value


def predictions(name: str, value: Any) -> Array:
    """Return predictions of members, (M, B, k)."""
    return _members(floats(name, value, ("M", "B", "k"), ("B", "k")))


def gaussians(mean: Any, variance: Any) -> tuple[Array, Array]:
    """Return means and variances of members, both (M, B, k)."""
    mean = floats("mean", mean, ("M", "B", "k"), ("B", "k"))
    variance = floats("variance", variance, mean.shape, like="mean")
    if (least := variance.min()) < LEAST_VARIANCE:
        raise ValueError(
            f"variance must hold positive numbers from {LEAST_VARIANCE:g} up, got {least:g}"
        )
    return _members(mean), _members(variance)


def forecast(mean: Any, variance: Any, value: Any) -> tuple[Array, Array, Array]:
    """Return means and variances of members, (M, B, k), and their targets, (B, k)."""
    mean, variance = gaussians(mean, variance)
    return mean, variance, targets(value, mean, "mean")


def members(name: str, value: Any) -> Array:
    """Return the probabilities of members, (M, B, k)."""
    return _members(probabilities(name, value, ("M", "B", "k"), ("B", "k")))


def averaged(name: str, value: Any) -> Array:
    """Return probabilities, those of members averaged, as (B, k)."""
    return members(name, value).mean(axis=0)


def labeled_probabilities(values: Any, value: Any) -> tuple[Array, Array]:
    """Return probabilities, those of members averaged, (B, k), and their labels, (B,)."""
    mean = averaged("probabilities", values)
    return mean, labels(value, mean, "probabilities")


def probabilities(name: str, value: Any, *shapes: Shape) -> Array:
    """Return probabilities, of which those of the last axis sum to 1."""
    result = floats(name, value, *shapes)
    if (least := result.min()) < 0:
        raise ValueError(f"{name} must hold probabilities from 0 up, got {least:g}")
    sums = result.sum(axis=-1).ravel()
    worst = sums[np.abs(sums - 1).argmax()]
    if abs(worst - 1) > SUM_TOLERANCE:
        raise ValueError(
            f"{name} must hold probabilities that sum to 1 over the last axis, within "
            f"{SUM_TOLERANCE:g}, got the sum {worst:g}"
        )
    return result


def targets(value: Any, like: Array, name: str) -> Array:
    """Return targets as (B, k) for predictions of that name; (B,) is accepted for k = 1."""
    examples, outputs = like.shape[-2:]
    one_output: tuple[Shape, ...] = ((examples,),) if outputs == 1 else ()
    result = floats("targets", value, (examples, outputs), *one_output, like=name)
    return result.reshape(examples, outputs)


def labels(value: Any, like: Array, name: str) -> Array:
    """Return labels (B,), for logits or probabilities of that name, (…, B, k)."""
    examples, classes = like.shape[-2:]
    result = integers("labels", value, (examples,), like=name)
    if (greatest := result.max()) >= classes:
        raise ValueError(f"labels must be from 0 to {classes - 1}, to fit {name}, got {greatest}")
    return result


def stds(value: Any, shape: Shape) -> Array:
    """Return the standard deviations of predictions of this shape."""
    result = floats("std", value, shape, like="prediction")
    if (least := result.min()) < LEAST_VARIANCE**0.5:
        raise ValueError(
            f"std must hold positive numbers from {LEAST_VARIANCE**0.5:g} up, got {least:g}"
        )
    return result


def given_as_to_fit(name: str, value: Any, was_fitted: bool) -> None:
    """Check that what is optional is given if, and only if, it was to ``fit``."""
    if was_fitted and value is None:
        raise ValueError(f"{name} must be given, as it was to fit, got None")
    if not was_fitted and value is not None:
        raise ValueError(
            f"{name} must be left out, as it was from fit, got {checks.describe_array(value)}"
        )


def interval_ends(low: Any, high: Any) -> tuple[Array, Array]:
    """Return both ends of intervals, (B, k), of which the low one may be -inf, the high one inf."""
    low = _floats("low", low, (("B", "k"),))
    high = _floats("high", high, (low.shape,), like="low")
    wrong = ~((low <= high) & (low < np.inf) & (high > -np.inf))
    if wrong.any():
        b, j = np.argwhere(wrong)[0]
        raise ValueError(
            "low must hold numbers or -inf, and high numbers or inf that are no less, got "
            f"low[{b}, {j}] = {low[b, j]:g} and high[{b}, {j}] = {high[b, j]:g}"
        )
    return low, high


def nll(value: Any) -> Array:
    """Return the NLL of members and examples, (M, B), which may be inf."""
    result = _floats("nll", value, (("M", "B"), ("B",)))
    if not (result > -np.inf).all():
        raise ValueError("nll must hold numbers, or inf for a density of 0, got nan or -inf")
    return np.atleast_2d(result)


def at_least_two(name: str, value: Array) -> None:
    """Check that there are two members, from which a pair can be taken."""
    if len(value) < 2:
        raise ValueError(
            f"{name} must hold at least two members, to compare, got shape {value.shape}"
        )


def level(value: Any) -> float:
    """Return the probability of an interval, strictly between 0 and 1."""
    return checks.real("level", value, low=0.0, high=1.0)


def exact_fraction(name: str, value: Any) -> Fraction:
    """Return a probability, between 0 and 1, as the decimal that was written: 0.55 · 100 is 55."""
    return Fraction(str(checks.real(name, value, low=0.0, high=1.0)))


def _floats(name: str, value: Any, shapes: tuple[Shape, ...], like: str = "") -> Array:
    value = array(value)
    check_array(name, value, "f", "floats", *shapes, like=like)
    if value.dtype.itemsize > 8:
        raise TypeError(f"{name} must hold floats of up to 64 bits, got dtype {value.dtype}")
    return value.astype(np.float64)


def _members(value: Array) -> Array:
    return value if value.ndim > 2 else value[None]

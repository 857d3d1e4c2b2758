"""Pruning: which weights can be set to 0, by a score of each; of all arrays of a network together.

Arrays come and go by name, of any shapes, NumPy alone; of a tensor, pass ``.detach().numpy()``. A
score says how much a weight is worth keeping: its size, or, where it has a distribution, how far
from 0 its mean is in standard deviations. The masks that come back are True where a weight stays::

    mean, std = np.array([[0.5, -0.1], [0.0, 2.0]]), np.full((2, 2), 0.1)
    scores = signal_to_noise({"weight": mean}, {"weight": std})
    pruned = smallest(scores, fraction=0.75)
    kept = mean * pruned.masks["weight"]  # a quarter of all weights, pruned.left of pruned.total

A weight that is pruned is 0 for certain: of a distribution, the mean and the standard deviation.
All raise ``TypeError`` or ``ValueError`` for anything but dicts of arrays of finite floats: scores
are 0 or more, standard deviations above 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import check_finite, check_floats

__all__ = ["Pruned", "below", "magnitude", "signal_to_noise", "smallest"]


@dataclass(frozen=True, eq=False)
class Pruned:
    """What pruning leaves."""

    #: By name, of the shapes given, True where a weight stays.
    masks: dict[str, Bool[Array, "..."]]
    #: How many weights stay, and how many there are, of all arrays together.
    left: int
    total: int


def magnitude(weights: Mapping[str, Float[Array, "..."]]) -> dict[str, Float[Array, "..."]]:
    """Return ``|w|`` of each weight: the score of a network that has no distributions."""
    return {name: np.abs(array) for name, array in _checked_arrays("weights", weights).items()}


def signal_to_noise(
    mean: Mapping[str, Float[Array, "..."]], std: Mapping[str, Float[Array, "..."]]
) -> dict[str, Float[Array, "..."]]:
    """Return ``|μ| / σ`` of each weight (Blundell et al. 2015, sec. 5.1)."""
    _checked_arrays("mean", mean)
    _checked_arrays("std", std)
    if mean.keys() != std.keys():
        raise ValueError(f"std must have the names of mean, {list(mean)}, got {list(std)}")
    scores = {}
    for name, array in mean.items():
        if std[name].shape != array.shape:
            raise ValueError(
                f"std[{name!r}] has shape {std[name].shape}, accepted is that of the mean, "
                f"{array.shape}"
            )
        if (least := float(std[name].min())) <= 0:
            raise ValueError(f"std[{name!r}] must be above 0, got {least:g}")
        with np.errstate(over="ignore"):
            scores[name] = np.abs(array) / std[name]
        check_finite(f"mean[{name!r}] / std[{name!r}]", scores[name])
    return scores


def smallest(scores: Mapping[str, Float[Array, "..."]], *, fraction: float) -> Pruned:
    """Drop the ``round(fraction · total)`` weights with the smallest scores, exactly so many.

    All arrays are ranked together. Of equal scores those go first that come first: in the order of
    the names, and in the order of an array's last axis first. A half is rounded to the even number,
    as Python's ``round`` does. A `fraction` is from 0 to below 1.
    """
    row = _in_one_row(scores)
    number = round(checks.fraction("fraction", fraction) * len(row))
    keep = np.ones(len(row), dtype=bool)
    keep[np.argsort(row, kind="stable")[:number]] = False
    return _as_masks(scores, keep)


def below(scores: Mapping[str, Float[Array, "..."]], *, threshold: float) -> Pruned:
    """Drop the weights with scores below the threshold; those that equal it stay.

    With `magnitude` it is pruning by an L1 threshold (Shridhar et al. 2019).
    """
    return _as_masks(scores, _in_one_row(scores) >= checks.not_negative("threshold", threshold))


def _checked_arrays(
    argument: str, value: Mapping[str, Float[Array, "..."]]
) -> Mapping[str, Float[Array, "..."]]:
    """Return a dict of arrays of finite floats."""
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{argument} must be a dict of arrays by name, got {checks.describe(value)}"
        )
    if not value:
        raise ValueError(f"{argument} must be a dict of arrays by name, at least one, got none")
    for name, array in value.items():
        if not isinstance(name, str):
            raise TypeError(f"{argument} must have strings as names, got {checks.describe(name)}")
        # Any number of axes is a shape.
        shape = tuple("abcdefghijklmnopqrstuvwxyz"[: getattr(array, "ndim", 0)])
        check_floats(f"{argument}[{name!r}]", array, shape)
    return value


def _in_one_row(scores: Mapping[str, Float[Array, "..."]]) -> Float[Array, " total"]:
    """Return all scores in one row."""
    for name, array in _checked_arrays("scores", scores).items():
        if (least := float(array.min())) < 0:
            raise ValueError(f"scores[{name!r}] must be 0 or more, got {least:g}; see magnitude")
    return np.concatenate([array.ravel() for array in scores.values()])


def _as_masks(scores: Mapping[str, Float[Array, "..."]], keep: Bool[Array, " total"]) -> Pruned:
    """Cut one row of what stays into arrays of the shapes of the scores."""
    ends = np.cumsum([array.size for array in scores.values()])[:-1]
    pairs = zip(scores.items(), np.split(keep, ends), strict=True)
    masks = {name: part.reshape(array.shape) for (name, array), part in pairs}
    return Pruned(masks, int(keep.sum()), len(keep))

"""Where the targets should be: quantiles, intervals and sets of a forecast, and a score."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from ensedu.common.checks import optional
from ensedu.uncertainty import score_checks

#: A quantile is known when what is left to search is so short, in its own size or in the least σ.
PRECISION = 2.0**-50


def quantile(
    mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"] | None, probability: float
) -> Float[Array, "B k"]:
    """Return the y at which the mixture's distribution function ``F(y)`` reaches a probability.

    It is the root of the mixture's own F, to the precision of floats, and not of the one Gaussian
    with the same mean and variance. Of samples, with None for their variance, it is the least one
    that at least that part of them does not exceed. Needs SciPy, for samples NumPy alone.

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = np.array([[[1.0]], [[3.0]]]), np.array([[[0.5]], [[0.5]]])
    >>> quantile(mean, variance, 0.9).round(4)
    array([[3.5954]])
    >>> quantile(mean, None, 0.9)
    array([[3.]])
    """
    mean, variance = _forecast(mean, variance)
    exact = score_checks.exact_fraction("probability", probability)
    if variance is None or 2 * exact <= 1:
        return _quantile(mean, variance, exact)
    return -_quantile(-mean, variance, 1 - exact)


def interval(
    mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"] | None, level: float = 0.95
) -> tuple[Float[Array, "B k"], Float[Array, "B k"]]:
    """Return both ends of the mixture's central interval: as much lies below it as above.

    The ends are quantiles of ``(1 - level) / 2`` and ``(1 + level) / 2``. Of samples, with None for
    their variance, each end is one of them, so that at least the level lies inside. That is what
    the mixture believes; for intervals that hold their level whatever it believes, see
    `ConformalIntervals`. Needs SciPy, for samples NumPy alone.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = interval(np.array([[[1.0]], [[3.0]]]), np.full((2, 1, 1), 0.5), level=0.8)
    >>> low.round(4), high.round(4)
    (array([[0.4046]]), array([[3.5954]]))
    """
    mean, variance = _forecast(mean, variance)
    tail = (1 - score_checks.exact_fraction("level", level)) / 2
    return _quantile(mean, variance, tail), -_quantile(-mean, variance, tail)


def smallest_set(probabilities: Float[Any, "*M B k"], level: float = 0.95) -> Bool[Array, "B k"]:
    """Return which classes are in the smallest sets whose probabilities reach a level.

    That is what the forecast believes; for sets that hold their level whatever it believes, see
    `ConformalSets`.

    Examples
    --------
    >>> import numpy as np
    >>> smallest_set(np.array([[0.25, 0.125, 0.625], [0.0, 1.0, 0.0]]), level=0.75)
    array([[ True, False,  True],
           [False,  True, False]])
    """
    probabilities = score_checks.averaged("probabilities", probabilities)
    return likelier_mass(probabilities) < score_checks.level(level)


def likelier_mass(probabilities: Float[Array, "*K B k"]) -> Float[Array, "*K B k"]:
    """Return of each class the probability of all likelier ones; of equal ones the first is."""
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    sums = np.cumsum(np.take_along_axis(probabilities, order, axis=-1), axis=-1)
    result = np.zeros_like(sums)
    np.put_along_axis(result, order[..., 1:], sums[..., :-1], axis=-1)
    return result


def interval_score(
    low: Float[Any, "B k"],
    high: Float[Any, "B k"],
    targets: Float[Any, "B *k"],
    level: float = 0.95,
) -> Float[Array, "B k"]:
    """``(u - l) + 2/α · ((l - y)⁺ + (y - u)⁺)``, with α = 1 - level.

    The width, and a fine for a target outside (Gneiting and Raftery 2007, eq. 43); in the units of
    the targets. On average the central interval of the true distribution has the least. The ends
    may be -inf and inf, and the low one not above the high one.

    Examples
    --------
    >>> import numpy as np
    >>> interval_score(np.zeros((2, 1)), np.ones((2, 1)), np.array([0.5, 1.5]), level=0.75)
    array([[1.],
           [5.]])
    """
    low, high = score_checks.interval_ends(low, high)
    targets = score_checks.targets(targets, low, "low")
    outside = np.maximum(low - targets, 0) + np.maximum(targets - high, 0)
    return (high - low) + 2 / (1 - score_checks.level(level)) * outside


def _forecast(
    mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"] | None
) -> tuple[Float[Array, "M B k"], Float[Array, "M B k"] | None]:
    if variance is None:
        return score_checks.predictions("mean", mean), None
    return score_checks.gaussians(mean, variance)


def _quantile(
    mean: Float[Array, "M B k"], variance: Float[Array, "M B k"] | None, probability: Fraction
) -> Float[Array, "B k"]:
    if variance is None:
        return np.sort(mean, axis=0)[math.ceil(len(mean) * probability) - 1]
    special, std, p = optional("scipy.special", "scores"), np.sqrt(variance), float(probability)
    # The quantile of a mixture lies between those of its members.
    of_members = mean + std * special.ndtri(p)
    low, high = of_members.min(axis=0), of_members.max(axis=0)
    while True:
        middle = low + (high - low) / 2
        if (high - low <= PRECISION * np.maximum(np.abs(middle), std.min(axis=0))).all():
            return middle
        below = special.ndtr((middle - mean) / std).mean(axis=0) < p
        low, high = np.where(below, middle, low), np.where(below, high, middle)

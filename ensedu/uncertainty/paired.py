"""How sure a difference of two methods is: the interval of the mean of paired differences."""

import math
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.optional import optional
from ensedu.uncertainty import inputs

__all__ = ["Interval", "paired"]


@dataclass(frozen=True)
class Interval:
    """The mean of `n` differences, and the interval from `low` to `high` around it."""

    mean: float
    low: float
    high: float
    n: int


def paired(differences: Float[Array, "n *initial"], level: float = 0.95) -> Interval:
    """Student's t interval of the mean of n paired differences: ``mean ± t s / √n``.

    One difference is that of two methods on the same data with the same seed. The interval has its
    level only for independent differences, near enough to normal. Overlapping splits of one data
    set are not independent: it comes out too narrow (Nadeau and Bengio 2003). Neither are several
    initial seeds on one data seed: with an axis for each, the mean over initial seeds comes first,
    and the interval is over data seeds, which are then the n. Needs SciPy.

    Parameters
    ----------
    differences
        (n,), or (n, initial seeds), with n of at least 2.
    level
        The probability with which the interval covers the mean, between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        For another array or level, or fewer than two differences.
    ImportError
        If SciPy is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> found = paired(np.array([1.0, 2.0, 3.0]))
    >>> found.mean, round(found.low, 3), round(found.high, 3), found.n
    (2.0, -0.484, 4.484, 3)
    """
    differences = inputs.floats("differences", differences, ("n",), ("n", "initial seeds"))
    level = inputs.level(level)
    if len(differences) < 2:
        raise ValueError(
            f"differences must be at least two, got shape {differences.shape}, with n first"
        )
    each = differences.reshape(len(differences), -1).mean(axis=1)
    n = len(each)
    t = optional("scipy.stats", "scores").t.isf((1 - level) / 2, n - 1)
    half = float(t * each.std(ddof=1)) / math.sqrt(n)
    mean = float(each.mean())
    return Interval(mean, mean - half, mean + half, n)

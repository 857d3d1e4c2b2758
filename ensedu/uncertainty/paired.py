"""How sure a difference of two methods is: intervals of the mean of differences, and p-values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.checks import optional
from ensedu.uncertainty import score_checks


@dataclass(frozen=True)
class MeanDifference:
    """The mean of `n` differences, and the interval from `low` to `high` around it."""

    mean: float
    low: float
    high: float
    n: int
    #: The two-sided p-value of a mean of 0; 0 or 1 where all differences are equal.
    p: float


def paired(differences: Float[Any, "n *initial"], level: float = 0.95) -> MeanDifference:
    """Student's t interval of the mean of n paired differences: ``mean ± t s / √n``.

    One difference is that of two methods on the same data with the same seed. The interval has its
    level only for independent differences, near enough to normal. Overlapping splits of one data
    set are not independent, see `corrected_t`. Neither are several initial seeds on one data seed:
    from (n, initial seeds) the mean over initial seeds comes first, and the interval is over data
    seeds, which are then the n, of which there must be two. Needs SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> found = paired(np.array([1.0, 2.0, 3.0]))
    >>> found.mean, round(found.low, 3), round(found.high, 3), found.n, round(found.p, 3)
    (2.0, -0.484, 4.484, 3, 0.074)
    """
    return _t_test(differences, level, 0.0)


def corrected_t(
    differences: Float[Any, "n *initial"], *, train: int, test: int, level: float = 0.95
) -> MeanDifference:
    """The corrected resampled t interval, for differences over random splits of one data set.

    The training sets of such splits overlap, so their differences move together and Student's
    interval is too narrow. This one widens it: ``mean ± t s √(1 / n + test / train)`` (Nadeau and
    Bengio 2003, sec. 4). That is an approximation, which supposes that two splits correlate as
    ``test / (test + train)``, the numbers of examples that each trains and tests on. Needs SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> found = corrected_t(np.array([1.0, 2.0, 3.0]), train=90, test=10)
    >>> found.mean, round(found.low, 3), round(found.high, 3)
    (2.0, -0.868, 4.868)
    """
    overlap = checks.positive_int("test", test) / checks.positive_int("train", train)
    return _t_test(differences, level, overlap)


def holm(p_values: Sequence[float] | Float[Any, " K"]) -> Float[Array, " K"]:
    """Holm's adjusted p-values of K tests: below .05, a difference counts among all of them.

    In rising order the k-th, counted from 0, is multiplied by K - k, and is no less than those
    before it (Holm 1979). Then the chance of one or more false finds among all tests is at most the
    level, whatever the tests have in common.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p: Any = p_values
    if isinstance(p, (list, tuple)):
        p = np.array([checks.real(f"p_values[{i}]", value) for i, value in enumerate(p)])
    p = score_checks.floats("p_values", p, ("K",))
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"p_values must be from 0 to 1, got {p.min():g} to {p.max():g}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1.0)


def _t_test(differences: Float[Any, "n *initial"], level: float, overlap: float) -> MeanDifference:
    """Return the interval of n differences whose correlation adds `overlap` to 1 / n."""
    differences = score_checks.floats("differences", differences, ("n",), ("n", "initial seeds"))
    level = score_checks.level(level)
    if len(differences) < 2:
        raise ValueError(
            f"differences must be at least two, got shape {differences.shape}, with n first"
        )
    each = differences.reshape(len(differences), -1).mean(axis=1)
    n = len(each)
    special = optional("scipy.special", "scores")  # scipy.stats says the same, far more slowly
    error = float(each.std(ddof=1)) * math.sqrt(1 / n + overlap)
    mean = float(each.mean())
    half = -float(special.stdtrit(n - 1, (1 - level) / 2)) * error
    p = 2 * float(special.stdtr(n - 1, -abs(mean) / error)) if error else float(mean == 0)
    return MeanDifference(mean, mean - half, mean + half, n, p)

"""The quantile of conformal prediction, and what is promised of it, by exchangeability alone."""

import math
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.uncertainty import score_checks

__all__ = ["conformal_quantile", "conformal_rank", "guarantee"]


def conformal_quantile(scores: Float[Array, " n"], level: float) -> float:
    """Return the ⌈(n + 1) level⌉-th smallest of n scores; inf, with a warning, where n is less.

    One more score, exchangeable with these, is at most that with a probability from ``level`` to
    ``level + 1 / (n + 1)``, the latter if no two are equal (Lei et al. 2018, thm. 2.2). n is enough
    from ``⌈1 / (1 - level)⌉ - 1`` on. The level is the decimal that is written: 0.55 of 100 is 55.

    Parameters
    ----------
    scores
        (n,), of rows that nothing was fitted on.
    level
        Between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        For another array or level.

    Examples
    --------
    >>> import numpy as np
    >>> conformal_quantile(np.arange(1.0, 20.0), 0.9)
    18.0
    """
    scores = score_checks.floats("scores", scores, ("n",))
    rank = conformal_rank(level, len(scores))
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


def conformal_rank(level: Any, n: int) -> int:
    """Return ⌈(n + 1) level⌉ of n rows; warn where that is more than n."""
    exact = score_checks.exact("level", level)
    rank, needed = math.ceil((n + 1) * exact), math.ceil(1 / (1 - exact)) - 1
    if n < needed:
        warnings.warn(
            f"level {level} needs at least {needed} calibration rows, got {n}: intervals are "
            "infinite, and sets hold all classes",
            stacklevel=3,
        )
    return rank


def guarantee(level: Any, n: int, folds: Any) -> float:
    """Return the least coverage of a level: of split conformal prediction, of CV+ with `folds`."""
    if folds is None:
        return score_checks.level(level)
    return max(0.0, 2 * cv_plus_level(level) - 1 - math.sqrt(2 / n))


def cv_plus_level(level: Any) -> float:
    """Return a level of which CV+ can promise something: above 1/2."""
    return checks.real("level", level, low=0.5, high=1.0)

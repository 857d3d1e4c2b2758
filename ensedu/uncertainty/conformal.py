"""What conformal prediction rests on: the rank of one more score among n exchangeable ones."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.uncertainty import score_checks

__all__ = ["Conformal", "conformal_quantile"]


def conformal_quantile(scores: Float[Any, " n"], level: float) -> float:
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
    rank = _rank(level, len(scores))
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


@dataclass(frozen=True, eq=False)
class Conformal:
    """What `ConformalIntervals` and `ConformalSets` share: n scores, and what these can promise."""

    #: Of each row that calibrates; of intervals (n, k), of sets (n,).
    scores: Float[Array, "n *k"]
    #: For CV+ the fold of each row, from 0 to K - 1.
    folds: Integer[Array, " n"] | None = None

    def guarantee(self, level: float) -> float:
        """Return with which probability, at least, what is inside holds the target.

        Raises ``TypeError`` or ``ValueError`` for another level, for CV+ also for one up to 1/2.
        """
        if self.folds is None:
            return score_checks.level(level)
        return max(0.0, 2 * self._level(level) - 1 - math.sqrt(2 / len(self.scores)))

    def _level(self, level: float) -> float:
        """Return a level that can be promised something: for CV+ it must be above 1/2."""
        return checks.real("level", level, low=0.0 if self.folds is None else 0.5, high=1.0)

    def _rank(self, level: float) -> int:
        return _rank(self._level(level), len(self.scores))

    def _shape(self, *sizes: int | str) -> tuple[int | str, ...]:
        """Return the shape of forecasts, which CV+ has of each of K networks."""
        return sizes if self.folds is None else (int(self.folds.max()) + 1, *sizes)


def rank_among(level: float, n: int) -> int:
    """Return ⌈(n + 1) level⌉, of the score among n sorted ones that a level promises."""
    return math.ceil((n + 1) * score_checks.exact("level", level))


def _rank(level: float, n: int) -> int:
    """Return `rank_among`; warn where that is more than n."""
    rank, needed = rank_among(level, n), math.ceil(1 / (1 - score_checks.exact("level", level))) - 1
    if n < needed:
        warnings.warn(
            f"level {level} needs at least {needed} calibration rows, got {n}: intervals are "
            "infinite, and sets hold all classes",
            stacklevel=3,
        )
    return rank

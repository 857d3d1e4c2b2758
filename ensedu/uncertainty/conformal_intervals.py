"""Conformal intervals: they hold their level on average, whatever the network believes."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray as Array

from ensedu.uncertainty import score_checks
from ensedu.uncertainty.conformal import Conformal, conformal_quantile

__all__ = ["ConformalIntervals"]

#: So many numbers, of n rows times new ones, stand in memory at a time.
CELLS = 2**22


@dataclass(frozen=True, eq=False)
class ConformalIntervals(Conformal):
    """Intervals of numbers from n rows that their network has not seen, each output on its own.

    Without `folds` it is split conformal prediction (Lei et al. 2018, alg. 2): ``prediction ± q``,
    q the `conformal_quantile` of the residuals ``|y - prediction|``; with a std it is
    ``prediction ± q · std``, and residuals are divided by it (sec. 5.2). **Promise**: an interval
    holds the target of a new row with a probability from ``level`` to ``level + 1 / (n + 1)``, the
    latter if no residuals are equal.

    With `folds` it is CV+ (Barber et al. 2021, sec. 3), which keeps no row from training: each row
    is scored by the one of K networks that was trained without its fold. Around what these predict
    for a new row stand n intervals; its ends are the ⌊(n + 1) (1 - level)⌋-th smallest of their low
    ends, and the ⌈(n + 1) level⌉-th of their high ones. **Promise**: a probability of at least
    ``1 - 2 (1 - level) - √(2 / n)`` (thm. 4, for folds of one size), and **not** ``level``, near
    which it comes where the K networks are much alike.

    **Condition**: the n rows and the new one are exchangeable, and training does not depend on the
    order of rows. The promise is a mean over training sets and rows, and not for each kind of row.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(1.0, 20.0)  # 19 residuals, of which the 18th is q
    >>> ConformalIntervals.fit(np.zeros((19, 1)), rows).interval(np.array([[100.0]]), level=0.9)
    (array([[82.]]), array([[118.]]))
    """

    #: Whether scores are in units of a std.
    scaled: bool = False

    @classmethod
    def fit(
        cls,
        prediction: Float[Array, "n k"],
        targets: Float[Array, "n *k"],
        std: Float[Array, "n k"] | None = None,
        folds: Integer[Array, " n"] | None = None,
    ) -> "ConformalIntervals":
        """Score n rows; targets are (n, k), or (n,) for k = 1.

        Raises ``TypeError`` or ``ValueError`` for other arrays, or a std that is not positive.
        """
        prediction = score_checks.floats("prediction", prediction, ("n", "k"))
        scores = np.abs(score_checks.targets(targets, prediction, "prediction") - prediction)
        if std is not None:
            scores = scores / score_checks.stds(std, prediction.shape)
        if folds is not None:
            folds = score_checks.integers("folds", folds, (len(scores),), like="prediction")
        return cls(scores, folds, std is not None)

    def interval(
        self,
        prediction: Float[Array, "*K B k"],
        std: Float[Array, "*K B k"] | None = None,
        *,
        level: float,
    ) -> tuple[Float[Array, "B k"], Float[Array, "B k"]]:
        """Return both ends of B new rows, whose predictions are (B, k), for CV+ (K, B, k).

        Infinite, with a warning, where n is less than ``⌈1 / (1 - level)⌉ - 1``. Raises
        ``TypeError`` or ``ValueError`` for other arrays, a level as `guarantee` does, a `std` where
        `fit` had none, and none where it had one.
        """
        score_checks.as_fitted("std", std, self.scaled)
        n, k = self.scores.shape
        prediction = score_checks.floats("prediction", prediction, self._shape("B", k), like="fit")
        unit = 1.0 if std is None else score_checks.stds(std, prediction.shape)
        if self.folds is None:
            half = unit * np.array([conformal_quantile(each, level) for each in self.scores.T])
            return prediction - half, prediction + half
        rank, low = self._rank(level), np.full(prediction.shape[1:], -math.inf)
        high, units, fold = -low, unit * np.ones_like(prediction), self.folds[:, None]
        if rank <= n:
            for rows in np.array_split(np.arange(len(low)), math.ceil(n * low.size / CELLS)):
                center, reach = prediction[fold, rows], self.scores[:, None] * units[fold, rows]
                low[rows] = np.partition(center - reach, n - rank, axis=0)[n - rank]
                high[rows] = np.partition(center + reach, rank - 1, axis=0)[rank - 1]
        return low, high

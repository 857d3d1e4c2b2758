"""Conformal sets of classes: they hold the label as often as was asked, on average."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Integer
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common.arrays import check_rng
from ensedu.uncertainty import score_checks
from ensedu.uncertainty.conformal import Conformal
from ensedu.uncertainty.intervals import of_likelier

__all__ = ["ConformalSets"]


@dataclass(frozen=True, eq=False)
class ConformalSets(Conformal):
    """Adaptive prediction sets (APS, Romano et al. 2020) from n rows that no network has seen.

    The score of a label is the probability of all classes at least as likely. A set takes the
    likeliest classes until their probabilities reach the `conformal_quantile` of the scores
    (alg. 1). With an `rng` the last class counts in part, ``1 - U`` of it with U uniform on 0 to 1,
    where it is scored and where it is taken. **Promise**: a set holds the label of a new row with a
    probability of at least ``level``, with an `rng` of at most ``level + 1 / (n + 1)``, too
    (thm. 1). So sets are much smaller with an `rng`, and may be empty; with None, which draws
    nothing, nearly all classes may be in sets of a network that is unsure.

    With `folds` it is CV+ (alg. 2): a class is in the set unless ⌈(n + 1) level⌉ rows or more, each
    scored by the one of K networks that was trained without its fold, score less than the class
    does by that network. **Promise**: at least ``1 - 2 (1 - level) - √(2 / n)`` (thm. 2, for folds
    of one size), and **not** ``level``. The **condition** is that of `ConformalIntervals`.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.5, 0.3, 0.2]] * 9)  # label 0 scores 0.5, and label 1 scores 0.8
    >>> calibrated = ConformalSets.fit(p, np.array([0, 0, 0, 0, 0, 0, 1, 1, 1]), rng=None)
    >>> calibrated.sets(np.array([[0.9, 0.1, 0.0], [0.4, 0.35, 0.25]]), level=0.9)
    array([[ True, False, False],
           [ True,  True,  True]])
    """

    #: Whether the last class counts in part.
    randomized: bool = False

    @classmethod
    def fit(
        cls,
        probabilities: Float[Any, "*M n k"],
        labels: Integer[Any, " n"],
        rng: Generator | None,
        folds: Integer[Any, " n"] | None = None,
    ) -> "ConformalSets":
        """Score n rows, with labels from 0 to k - 1, and draws of `rng`; None draws nothing."""
        probabilities = score_checks.averaged("probabilities", probabilities)
        labels = score_checks.labels(labels, probabilities, "probabilities")
        if folds is not None:
            folds = score_checks.integers("folds", folds, labels.shape, like="probabilities")
        scores = of_likelier(probabilities) + _part(rng, len(labels)) * probabilities
        return cls(scores[np.arange(len(labels)), labels], folds, rng is not None)

    def sets(
        self, probabilities: Float[Any, "*K B k"], *, level: float, rng: Generator | None = None
    ) -> Bool[Array, "B k"]:
        """Return which classes are in the sets of B new rows.

        For CV+ the probabilities are (K, B, k), those of each network. All classes, with a warning,
        where n is less than ``⌈1 / (1 - level)⌉ - 1``. ``ValueError`` for a level as in
        `guarantee`, an `rng` where `fit` had None, and none where it had one.
        """
        score_checks.as_fitted("rng", rng, self.randomized)
        if self.folds is None:
            each = score_checks.averaged("probabilities", probabilities)[None]
        else:
            shape = self._shape("B", "k")
            each = score_checks.probabilities("probabilities", probabilities, shape)
        folds = np.zeros(len(self.scores)) if self.folds is None else self.folds
        rank, values = self._rank(level), of_likelier(each)
        if self.randomized:
            values = values + _part(rng, each.shape[1]) * each
        less = np.zeros(each.shape[1:], int)
        for fold, own in enumerate(values):
            scores = np.sort(self.scores[folds == fold])
            # Without draws a class is taken unless those before it reach the limit.
            less += np.searchsorted(scores, own, side="left" if self.randomized else "right")
        return less < rank


def _part(rng: Any, rows: int) -> Float[Array, "B one"]:
    """Return how much of itself a class counts in each row: all, or by draws ``1 - U``."""
    return np.ones((rows, 1)) if rng is None else 1 - check_rng("rng", rng).random((rows, 1))

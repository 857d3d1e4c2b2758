"""Conformal intervals and sets: they hold their level on average, whatever the network believes.

Both rest on the rank of one more score among n exchangeable ones.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Integer
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.array_checks import check_rng
from ensedu.uncertainty import score_checks
from ensedu.uncertainty.intervals import likelier_mass

#: So many numbers, of n rows times new ones, stand in memory at a time.
MOST_CELLS = 2**22


def conformal_quantile(scores: Float[Any, " n"], level: float) -> float:
    """Return the ⌈(n + 1) level⌉-th smallest of n scores; inf, with a warning, where n is less.

    One more score, exchangeable with these, is at most that with a probability from ``level`` to
    ``level + 1 / (n + 1)``, the latter if no two are equal (Lei et al. 2018, thm. 2.2). The scores
    are of rows that nothing was fitted on. n is enough from ``⌈1 / (1 - level)⌉ - 1`` on. The level
    is the decimal that is written: 0.55 of 100 is 55.

    Examples
    --------
    >>> import numpy as np
    >>> conformal_quantile(np.arange(1.0, 20.0), 0.9)
    18.0
    """
    scores = score_checks.floats("scores", scores, ("n",))
    rank = _checked_rank(level, len(scores))
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

        For CV+ a level must be above 1/2.
        """
        if self.folds is None:
            return score_checks.level(level)
        return max(0.0, 2 * self._level(level) - 1 - math.sqrt(2 / len(self.scores)))

    def _level(self, level: float) -> float:
        """Return a level that can be promised something: for CV+ it must be above 1/2."""
        return checks.real("level", level, low=0.0 if self.folds is None else 0.5, high=1.0)

    def _checked_rank(self, level: float) -> int:
        return _checked_rank(self._level(level), len(self.scores))

    def _shape(self, *sizes: int | str) -> tuple[int | str, ...]:
        """Return the shape of forecasts, which CV+ has of each of K networks."""
        return sizes if self.folds is None else (int(self.folds.max()) + 1, *sizes)


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
        """Score n rows; targets are (n, k), or (n,) for k = 1."""
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

        Infinite, with a warning, where n is less than ``⌈1 / (1 - level)⌉ - 1``. A `std` is given
        if, and only if, `fit` had one.
        """
        score_checks.given_as_to_fit("std", std, self.scaled)
        n, k = self.scores.shape
        prediction = score_checks.floats("prediction", prediction, self._shape("B", k), like="fit")
        unit = 1.0 if std is None else score_checks.stds(std, prediction.shape)
        if self.folds is None:
            half = unit * np.array([conformal_quantile(each, level) for each in self.scores.T])
            return prediction - half, prediction + half
        rank, low = self._checked_rank(level), np.full(prediction.shape[1:], -math.inf)
        high, units, fold = -low, unit * np.ones_like(prediction), self.folds[:, None]
        if rank <= n:
            for rows in np.array_split(np.arange(len(low)), math.ceil(n * low.size / MOST_CELLS)):
                center, reach = prediction[fold, rows], self.scores[:, None] * units[fold, rows]
                low[rows] = np.partition(center - reach, n - rank, axis=0)[n - rank]
                high[rows] = np.partition(center + reach, rank - 1, axis=0)[rank - 1]
        return low, high


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
        scores = likelier_mass(probabilities) + _part(rng, len(labels)) * probabilities
        return cls(scores[np.arange(len(labels)), labels], folds, rng is not None)

    def sets(
        self, probabilities: Float[Any, "*K B k"], *, level: float, rng: Generator | None = None
    ) -> Bool[Array, "B k"]:
        """Return which classes are in the sets of B new rows.

        For CV+ the probabilities are (K, B, k), those of each network. All classes, with a warning,
        where n is less than ``⌈1 / (1 - level)⌉ - 1``. An `rng` is given
        if, and only if, `fit` had one.
        """
        score_checks.given_as_to_fit("rng", rng, self.randomized)
        if self.folds is None:
            each = score_checks.averaged("probabilities", probabilities)[None]
        else:
            shape = self._shape("B", "k")
            each = score_checks.probabilities("probabilities", probabilities, shape)
        folds = np.zeros(len(self.scores)) if self.folds is None else self.folds
        rank, values = self._checked_rank(level), likelier_mass(each)
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


def conformal_rank(level: float, n: int) -> int:
    """Return ⌈(n + 1) level⌉, of the score among n sorted ones that a level promises."""
    return math.ceil((n + 1) * score_checks.exact_fraction("level", level))


def _checked_rank(level: float, n: int) -> int:
    """Return `conformal_rank`; warn where that is more than n."""
    rank, needed = (
        conformal_rank(level, n),
        math.ceil(1 / (1 - score_checks.exact_fraction("level", level))) - 1,
    )
    if n < needed:
        warnings.warn(
            f"level {level} needs at least {needed} calibration rows, got {n}: intervals are "
            "infinite, and sets hold all classes",
            stacklevel=3,
        )
    return rank

"""Classes: probabilities, and sets that hold the label as often as they promise."""

import math
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Integer, Shaped
from numpy import ndarray as Array
from numpy.random import Generator
from scipy.optimize import minimize_scalar
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from ensedu import uncertainty as un
from ensedu.sklearn.estimator import EnsembleEstimator
from ensedu.sklearn.rows import one_of_each_row
from ensedu.sklearn.scaled_network import ScaledNetwork
from ensedu.torch import softmax_cross_entropy

#: Of the logarithm of the temperature.
PRIOR_STD = 0.25
#: The score of a label that no row to train on had: above those of all others.
UNKNOWN = 2.0


class EnsembleClassifier(ClassifierMixin, EnsembleEstimator):
    """Predict one of k classes, by members whose probabilities are averaged, and calibrated sets.

    Parameters and errors are those of `EnsembleRegressor`; ``classes_`` holds the labels in order,
    and ``temperature_`` calibrates their probabilities, with the rows that calibrate sets. Few rows
    say little of it, so its logarithm has a prior around 0, of standard deviation ¼. It is 1
    without such rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> net = EnsembleClassifier(epochs=20, random_state=0).fit(X, y)
    >>> net.predict([[-2, 0], [2, 0]]).tolist(), net.predict_set([[-2, 0]], level=0.9).tolist()
    (['left', 'right'], [[True, False]])
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> "EnsembleClassifier":
        """Read, train and calibrate, on X (n, m) and labels y (n,), numbers or words.

        X and `groups` are those of `EnsembleRegressor.fit`.
        """
        X, y = self._read(X, y)
        check_classification_targets(y)
        self.temperature_ = 1.0
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._fit(X, labels, groups, len(self.classes_), softmax_cross_entropy)
        return self

    def predict_proba(self, X: Any) -> Float[Array, "B k"]:
        """Return the probability of each class, averaged over members, with a temperature."""
        return _scaled(un.averaged(np.concatenate(self._forecasts(X))), self.temperature_)

    def predict(self, X: Any) -> Shaped[Array, " B"]:
        """Return the likeliest class of each row."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def predict_set(self, X: Any, level: float = 0.9) -> Bool[Array, "B k"]:
        """Return which of ``classes_`` are in sets that have the `guarantee` of the level.

        They are adaptive and randomized, with the same draws at each call, and hold the likeliest
        class in any case. The guarantee is over all rows, not for each class: sets may hold a rare
        class less often, which ``coverage(X, y, by=y)`` counts. All classes, with a warning, if
        fewer than ``⌈1 / (1 - level)⌉ - 1`` rows calibrate. Without calibration: `smallest_set`, of
        which nothing is promised.
        """
        each = self._forecasts(X)
        average = un.averaged(np.concatenate(each))
        if self.conformal_ is None:
            return un.smallest_set(average, level)
        split, rng = self.conformal_.folds is None, np.random.default_rng(self.networks_[0].seed)
        own = average if split else np.stack([un.averaged(rows) for rows in each])
        sets = self.conformal_.sets(own, level=level, rng=rng)
        sets[np.arange(len(sets)), average.argmax(axis=1)] = True
        return sets

    def _inside(self, X: Any, y: Any, level: float) -> Bool[Array, " B"]:
        sets = self.predict_set(X, level)
        return (sets & (one_of_each_row(y, len(sets), "label")[:, None] == self.classes_)).any(
            axis=1
        )

    def _scores(self, X: Any, y: Any, rng: Generator) -> Float[Array, " B"]:
        average = un.averaged(self._forecasts(X)[0])
        same = one_of_each_row(y, len(average), "label")[:, None] == self.classes_
        scores = un.ConformalSets.fit(average, same.argmax(axis=1), rng).scores
        return np.where(same.any(axis=1), scores, UNKNOWN)

    def _members(self, net: ScaledNetwork, X: Any) -> Float[Array, "S B k"]:
        return un.softmax(net.outputs(X))

    def _calibrated(self, own: Any, y: Any, folds: Any) -> un.ConformalSets:
        average = un.averaged(own)
        self.temperature_ = _temperature(average, y)
        # Other draws than those of new rows.
        rng = np.random.default_rng(self.networks_[0].seed + 1)
        return un.ConformalSets.fit(average, y, rng, folds)


def _temperature(probabilities: Float[Array, "n k"], labels: Integer[Array, " n"]) -> float:
    """Return the temperature with the least NLL of rows, and of itself under its prior."""

    def loss(log_T: float) -> float:
        nll = un.categorical_nll(_scaled(probabilities, math.exp(log_T)), labels)
        return float(nll.sum() + 0.5 * (log_T / PRIOR_STD) ** 2)

    return math.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x)


def _scaled(probabilities: Float[Array, "B k"], temperature: float) -> Float[Array, "B k"]:
    logits = np.log(np.maximum(probabilities, np.finfo(float).tiny))
    return un.TemperatureScaling(temperature).probabilities(logits)

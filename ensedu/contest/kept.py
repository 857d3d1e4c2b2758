"""What a comparison keeps: who was trained, how columns are read, and what calibrates it."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Shaped
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import uncertainty as un
from ensedu.common.checks import optional
from ensedu.contest.jobs import Trained
from ensedu.sklearn.calibrated import Calibrated
from ensedu.sklearn.classifier import labels_of
from ensedu.sklearn.regressor import targets_of
from ensedu.uncertainty.conformal import Conformal

__all__ = ["Kept", "KeptClasses", "KeptNumbers", "keep"]


class Kept(Calibrated):
    """A contestant that was trained, as an estimator for frames of new rows, read as the table was.

    `keep` makes it. Of the table it holds no row, but the scores of those that calibrate it.
    """

    #: What divides log-probabilities, or multiplies variances.
    temperature: float = 1.0

    def __init__(self, label: str, trained: Trained, table: Any, encoder: Any, seed: int) -> None:
        self.label, self.trained, self.table, self.encoder = label, trained, table, encoder
        self._draws = seed

    def __repr__(self) -> str:
        rows = f"{len(self.conformal_.scores):,} rows calibrate it"
        return f"{type(self).__name__}({self.label!r}, {rows})"

    @property
    def _seed(self) -> int:
        return self._draws

    def _forecast(self, X: Any) -> Any:
        frame = optional("pandas", "data").DataFrame(X)
        return self.trained(self.encoder.transform(self.table.inputs(frame)))

    def _calibrate(self, X: Any, y: Any, tempered: bool) -> None:
        raise NotImplementedError


class KeptNumbers(Kept):
    """One that predicts numbers, in their own unit; intervals of a learned logarithm are positive.

    Parameters
    ----------
    center, unit
        What a standardized 0 is, and what 1 is worth.
    """

    center: float = 0.0
    unit: float = 1.0

    def predict(self, X: Any) -> Float[Array, " B"]:
        """Return the mean of each row, where logarithms were learned the median."""
        mean = self._moments(X)[0][:, 0]
        return np.exp(mean) if self.table.log else mean

    def predict_std(self, X: Any) -> Float[Array, " B"]:
        """Return the standard deviation of each row, with the temperature, or of its logarithm."""
        return np.sqrt(self.temperature) * self._moments(X)[1][:, 0]

    def predict_interval(
        self, X: Any, level: float = 0.9
    ) -> tuple[Float[Array, " B"], Float[Array, " B"]]:
        """Return both ends of intervals that have the `guarantee` of the level."""
        ends = self.conformal_.interval(*self._moments(X), level=level)
        low, high = np.exp(ends) if self.table.log else ends
        return low[:, 0], high[:, 0]

    def _moments(self, X: Any) -> tuple[Float[Array, "B 1"], Float[Array, "B 1"]]:
        mean, variance = self._forecast(X).moments
        return self.center + self.unit * mean, self.unit * np.sqrt(variance)

    def _inside(self, X: Any, y: Any, level: float | int) -> Bool[Array, " B"]:
        low, high = self.predict_interval(X, level)
        y = targets_of(y, len(low))
        return (low <= y) & (y <= high)

    def _learned(self, y: Any, rows: int) -> Float[Array, "B 1"]:
        y = targets_of(y, rows)[:, None]
        return np.log(np.maximum(y, np.finfo(float).tiny)) if self.table.log else y

    def _scores(self, X: Any, y: Any, rng: Generator) -> Float[Array, " B"]:
        mean, std = self._moments(X)
        return un.ConformalIntervals.fit(mean, self._learned(y, len(mean)), std).scores[:, 0]

    def _calibrate(self, X: Any, y: Any, tempered: bool) -> None:
        mean, std = self._moments(X)
        if tempered:
            standardized = (self._learned(y, len(X)) - self.center) / self.unit
            self.temperature = self._forecast(X).temperature(standardized)
        self.conformal_ = un.ConformalIntervals.fit(mean, self._learned(y, len(X)), std)


class KeptClasses(Kept):
    """One that predicts classes; sets hold the likeliest in any case."""

    @property
    def classes_(self) -> Shaped[Array, " k"]:
        """The classes in order, as words."""
        return np.array(self.table.classes)

    def predict_proba(self, X: Any) -> Float[Array, "B k"]:
        """Return the probability of each class, with the temperature."""
        return un.softmax(self._forecast(X).log_averaged / self.temperature)

    def predict(self, X: Any) -> Shaped[Array, " B"]:
        """Return the likeliest class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_set(self, X: Any, level: float | int = 0.9) -> Bool[Array, "B k"]:
        """Return which of ``classes_`` are in sets that have the `guarantee` of the level.

        A class is in the set unless 1 less its probability is above the `conformal_quantile` of
        those of the labels that calibrate (Sadinle et al. 2019).
        """
        p = self._forecast(X).averaged
        sets = 1.0 - p <= un.conformal_quantile(self.conformal_.scores, level)
        sets[np.arange(len(sets)), p.argmax(axis=1)] = True
        return sets

    def _inside(self, X: Any, y: Any, level: float | int) -> Bool[Array, " B"]:
        sets = self.predict_set(X, level)
        return (sets & (self._words(y, len(sets))[:, None] == self.classes_)).any(axis=1)

    def _words(self, y: Any, rows: int) -> Shaped[Array, " B"]:
        y = labels_of(y, rows)
        return np.array([f"{one:g}" if y.dtype.kind in "iuf" else str(one) for one in y])

    def _scores(self, X: Any, y: Any, rng: Generator) -> Float[Array, " B"]:
        p = self._forecast(X).averaged
        same = self._words(y, len(p))[:, None] == self.classes_
        return 1.0 - np.where(same, p, 0.0).sum(axis=1)

    def _calibrate(self, X: Any, y: Any, tempered: bool) -> None:
        self.conformal_ = Conformal(self._scores(X, y, np.random.default_rng(self._seed)))
        if tempered:
            same = self._words(y, len(X))[:, None] == self.classes_
            self.temperature = self._forecast(X).temperature(same.argmax(axis=1))


def keep(
    label: str, trained: Trained, table: Any, encoder: Any, X: Any, y: Any, *,
    temperature: bool = False, center: float | int = 0.0, unit: float | int = 1.0, seed: int = 0,
) -> Kept:  # fmt: skip
    """Return what was trained as an estimator, calibrated on rows that it has not seen.

    Parameters
    ----------
    label, trained
        A contestant's label, and what its ``train`` returned.
    table
        How new rows are read: has ``inputs(frame)``, ``classes`` and ``log``, and holds no row.
    encoder
        What made numbers of these inputs, fitted.
    X, y
        The rows to calibrate on, as they stand in the table, a frame and a column or array (n,).
    temperature
        Whether standard deviations, or probabilities, get the factor that is best on these rows.
        Intervals and sets are the same without, so that what they promise stays exact.
    center, unit
        Of standardized targets, as `ensedu.contest.Given` has them.
    seed
        All that is random follows from it.
    """
    if table.classes:
        kept: Kept = KeptClasses(label, trained, table, encoder, seed)
    else:
        numbers = KeptNumbers(label, trained, table, encoder, seed)
        numbers.center, numbers.unit = center, unit
        kept = numbers
    kept._calibrate(X, y, temperature)
    return kept

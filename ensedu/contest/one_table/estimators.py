"""What a comparison keeps: who was trained, how columns are read, and what calibrates it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Shaped
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import uncertainty as un
from ensedu.common.checks import optional
from ensedu.contest.jobs import Trained
from ensedu.sklearn.estimator import Calibrated
from ensedu.uncertainty.conformal import Conformal


class TableEstimator(Calibrated):
    """A contestant that was trained, as an estimator for frames of new rows, read as the table was.

    Of the table it holds no row, but the scores of those that calibrate it.

    Parameters
    ----------
    label, trained
        A contestant's label, and what its ``train`` returned.
    reader, encoder
        How new rows are read (`ensedu.contest.one_table.tables.RowReader`), and what makes numbers
        of them.
    X, y
        Rows that it has not seen, as they stand in the table, a frame and a column (n,). They
        calibrate intervals or sets, and a temperature, the factor of log-probabilities or variances
        that is best on them. Intervals and sets are the same without it, so that what they promise
        stays exact.
    center, unit
        Of standardized targets, as `ensedu.contest.SplitData` has them.
    seed
        All that is random follows from it.
    """

    #: Fits the temperature, or the factor of variances, to forecasts of targets.
    _temper: Callable[[Any, Any], None]

    def __init__(
        self, label: str, trained: Trained, reader: Any, encoder: Any, X: Any, y: Any, *,
        center: float = 0.0, unit: float = 1.0, seed: int = 0,
    ) -> None:  # fmt: skip
        self.label, self.trained, self.reader, self.encoder = label, trained, reader, encoder
        self.center, self.unit, self._seed = center, unit, seed
        self._temper(self._forecast(X), self._known(X, y))
        self.conformal_ = Conformal(self._scores(X, y))

    def __repr__(self) -> str:
        rows = f"{len(self.conformal_.scores):,} rows calibrate it"
        return f"{type(self).__name__}({self.label!r}, {rows})"

    def _forecast(self, X: Any) -> Any:
        frame = optional("pandas", "data").DataFrame(X)
        return self.trained(self.encoder.transform(self.reader.inputs(frame)))

    def _known(self, X: Any, y: Any) -> Any:
        """Return targets as the contest has them; -1 for a class that it does not know."""
        found = self.reader.targets(y)
        if len(found) != len(X):
            raise ValueError(f"y must have a value for each of {len(X)} rows, got {len(found)}")
        return (found - self.center) / self.unit if found.ndim > 1 else found

    def _scores(self, X: Any, y: Any, rng: Generator | None = None) -> Float[Array, " B"]:
        known = self._known(X, y)
        found = self._forecast(X).nonconformity(known)
        return np.where(known < 0, 1.0, found) if known.ndim == 1 else found

    def _limit(self, level: float) -> float:
        return un.conformal_quantile(self.conformal_.scores, level)

    def _inside(self, X: Any, y: Any, level: float) -> Bool[Array, " B"]:
        return self._scores(X, y) <= self._limit(level)


class TableRegressor(TableEstimator):
    """One that predicts numbers in their unit; intervals of a learned logarithm are positive."""

    def _temper(self, forecast: Any, known: Any) -> None:
        self.variance_factor = forecast.variance_factor(known)

    def predict(self, X: Any) -> Float[Array, " B"]:
        """Return the mean of each row, where logarithms were learned the median."""
        mean = self._moments(X)[0]
        return np.exp(mean) if self.reader.log else mean

    def predict_std(self, X: Any) -> Float[Array, " B"]:
        """Return the standard deviation of each row, with the temperature, or of its logarithm."""
        return np.sqrt(self.variance_factor) * self._moments(X)[1]

    def predict_interval(
        self, X: Any, level: float = 0.9
    ) -> tuple[Float[Array, " B"], Float[Array, " B"]]:
        """Return both ends of intervals that have the `guarantee` of the level.

        They are ``mean ± q std``, q the `conformal_quantile` of errors in standard deviations.
        """
        mean, std = self._moments(X)
        half = self._limit(level) * std
        ends = mean - half, mean + half
        return tuple(np.exp(ends)) if self.reader.log else ends

    def _moments(self, X: Any) -> tuple[Float[Array, " B"], Float[Array, " B"]]:
        mean, variance = self._forecast(X).moments
        return self.center + self.unit * mean[:, 0], self.unit * np.sqrt(variance[:, 0])


class TableClassifier(TableEstimator):
    """One that predicts classes; sets hold the likeliest in any case."""

    def _temper(self, forecast: Any, known: Any) -> None:
        self.temperature = forecast.temperature(known)

    @property
    def classes_(self) -> Shaped[Array, " k"]:
        """The classes in order, as words."""
        return np.array(self.reader.classes)

    def predict_proba(self, X: Any) -> Float[Array, "B k"]:
        """Return the probability of each class, with the temperature."""
        return un.softmax(self._forecast(X).log_averaged / self.temperature)

    def predict(self, X: Any) -> Shaped[Array, " B"]:
        """Return the likeliest class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_set(self, X: Any, level: float = 0.9) -> Bool[Array, "B k"]:
        """Return which of ``classes_`` are in sets that have the `guarantee` of the level.

        A class is in the set unless 1 less its probability is above the `conformal_quantile` of
        those of the labels that calibrate (Sadinle et al. 2019).
        """
        p = self._forecast(X).averaged
        sets = 1.0 - p <= self._limit(level)
        sets[np.arange(len(sets)), p.argmax(axis=1)] = True
        return sets

    def _inside(self, X: Any, y: Any, level: float) -> Bool[Array, " B"]:
        known = self._known(X, y)
        return (known >= 0) & self.predict_set(X, level)[np.arange(len(known)), known]

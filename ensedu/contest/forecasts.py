"""What a forecast is worth, and what a temperature or a conformal interval makes of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from ensedu import uncertainty

#: What intervals, and sets of classes, are to hold.
COVERAGE = 0.9


@dataclass(frozen=True, eq=False)
class ClassForecast:
    """Logits of each pass, (S, B, k); the forecast is the mean of their probabilities."""

    logits: Float[Array, "S B k"]

    @property
    def averaged(self) -> Float[Array, "B k"]:
        """The probabilities of the forecast."""
        return uncertainty.averaged(uncertainty.softmax(self.logits))

    @property
    def log_averaged(self) -> Float[Array, "B k"]:
        """Their logarithms, finite also where a probability is too small for a float."""
        each = self.logits - np.logaddexp.reduce(self.logits, axis=2, keepdims=True)
        return np.logaddexp.reduce(each, axis=0) - np.log(len(each))

    def scores(self, y: Int[Array, " B"], unit: float = 1.0) -> dict[str, float]:
        """Return error in percent, NLL in nats, Brier score and ECE."""
        p = self.averaged
        return {
            "error": 100.0 * (1.0 - uncertainty.accuracy(p, y)),
            "nll": -float(self.log_averaged[np.arange(len(y)), y].mean()),
            "brier": float(uncertainty.brier(p, y).mean()),
            "ece": uncertainty.ece(p, y),
        }

    @property
    def uncertainty(self) -> Float[Array, " B"]:
        """The entropy of the forecast, by which out-of-distribution inputs are told."""
        return uncertainty.entropy_parts(self.averaged[None]).total

    def tempered(self, calibration: "ClassForecast", y: Int[Array, " B"]) -> "ClassForecast":
        """Scale the averaged forecast by the temperature that is best on the calibration rows."""
        return ClassForecast(self.log_averaged[None] / calibration.temperature(y))

    def temperature(self, y: Int[Array, " B"]) -> float:
        """Return the temperature that is best for these labels."""
        try:
            return uncertainty.TemperatureScaling.fit(self.log_averaged, y).temperature
        except ValueError:
            return 1.0  # all of them right: no temperature is best

    def nonconformity(self, y: Int[Array, " B"]) -> Float[Array, " B"]:
        """Return what conformal sets compare: 1 less the probability of the label."""
        return 1.0 - self.averaged[np.arange(len(y)), y]

    def mean_size(self, limit: float) -> float:
        """Return how many classes a row's set has on average: those no stranger than the limit.

        The sets are split-conformal (Sadinle et al. 2019).
        """
        return float((1.0 - self.averaged <= limit).sum(axis=1).mean())


@dataclass(frozen=True, eq=False)
class NumericForecast:
    """Means and variances of each pass, (S, B, 1); the forecast is the mixture."""

    mean: Float[Array, "S B 1"]
    variance: Float[Array, "S B 1"]

    def scores(self, y: Float[Array, "B 1"], unit: float = 1.0) -> dict[str, float]:
        """Return RMSE, CRPS, NLL, and of the mixture's 90 % intervals coverage and mean width.

        They are in the target's own units.
        """
        each = uncertainty.gaussian_nll(self.mean, self.variance, y)
        low, high = uncertainty.interval(self.mean, self.variance, COVERAGE)
        return {
            "rmse": unit * uncertainty.rmse(self.mean.mean(axis=0), y),
            "nll": float(uncertainty.mixture_nll(each).mean() + np.log(unit)),
            "crps": unit * float(uncertainty.crps(self.mean, self.variance, y).mean()),
            "coverage": float(((low <= y) & (y <= high)).mean()),
            "width": unit * float((high - low).mean()),
        }

    @property
    def uncertainty(self) -> Float[Array, " B"]:
        """The standard deviation of the forecast, by which out-of-distribution inputs are told."""
        return np.sqrt(self.moments[1][:, 0])

    @property
    def moments(self) -> tuple[Float[Array, "B 1"], Float[Array, "B 1"]]:
        """The mean and the variance of the mixture."""
        return uncertainty.mixture(self.mean, self.variance)

    def tempered(self, calibration: "NumericForecast", y: Float[Array, "B 1"]) -> "NumericForecast":
        """Scale all variances by the factor that is best on the calibration rows."""
        mean, variance = self.moments
        return NumericForecast(mean[None], calibration.variance_factor(y) * variance[None])

    def variance_factor(self, y: Float[Array, "B 1"]) -> float:
        """Return the factor of variances that is best for these targets, of one Gaussian a row.

        That is the mean square of its standardized errors.
        """
        mean, variance = self.moments
        return float(((y - mean) ** 2 / variance).mean())

    def nonconformity(self, y: Float[Array, "B 1"]) -> Float[Array, " B"]:
        """Return what conformal intervals compare: the size of the error, in σ."""
        mean, variance = self.moments
        return (np.abs(y - mean) / np.sqrt(variance))[:, 0]

    def mean_size(self, limit: float) -> float:
        """Return the mean width of intervals mean ± limit σ (Lei et al. 2018, sec. 5.2)."""
        return float(2 * limit * self.uncertainty.mean())


Forecast = ClassForecast | NumericForecast


def conformal(forecast: Any, y: Any, calibration: Any, known: Any) -> tuple[float, float]:
    """Return which part of y split-conformal intervals or sets hold, and their mean size.

    They reach as far as nine in ten of the calibration targets are strange.
    """
    limit = uncertainty.conformal_quantile(calibration.nonconformity(known), COVERAGE)
    return float((forecast.nonconformity(y) <= limit).mean()), forecast.mean_size(limit)

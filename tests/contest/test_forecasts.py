"""How a forecast is scored: as the mixture, tempered, and with conformal intervals."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from ensedu import uncertainty
from ensedu.contest.forecasts import ClassForecast, NumericForecast, conformal


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def numbers(rng, passes=3, examples=5):
    """A forecast of numbers, and what came."""
    mean = rng.standard_normal((passes, examples, 1))
    variance = rng.uniform(0.3, 2, (passes, examples, 1))
    return NumericForecast(mean, variance), rng.standard_normal((examples, 1))


def classes(rng, passes=3, examples=200, number=7):
    """A forecast of classes that is right more often than not, and what came."""
    y = rng.integers(0, number, examples)
    logits = rng.standard_normal((passes, examples, number)) + 1.5 * np.eye(number)[y]
    return ClassForecast(logits), y


def test_a_forecast_of_numbers_is_the_mixture(rng):
    found, y = numbers(rng)
    unit = 3.7
    scored = found.scores(y, unit)
    density = scipy.stats.norm(found.mean * unit, np.sqrt(found.variance) * unit)
    assert scored["nll"] == pytest.approx(-np.log(density.pdf(y * unit).mean(axis=0)).mean())
    assert scored["rmse"] == pytest.approx(
        unit * np.sqrt(np.mean((found.mean.mean(axis=0) - y) ** 2))
    )

    def quantile(i, level):
        return scipy.optimize.brentq(lambda t: density.cdf(t)[:, i].mean() - level, -99, 99)

    low, high = (np.array([quantile(i, level) for i in range(len(y))]) for level in (0.05, 0.95))
    assert scored["width"] == pytest.approx((high - low).mean(), rel=1e-6)
    assert scored["coverage"] == np.mean((low <= y[:, 0] * unit) & (y[:, 0] * unit <= high))


def test_scaled_numbers_are_one_gaussian_whose_held_out_errors_have_the_right_size(rng):
    found, y = numbers(rng, examples=101)
    tempered = found.tempered(found, y)
    mean, variance = uncertainty.mixture(found.mean, found.variance)
    assert np.mean((y - mean) ** 2 / tempered.variance[0]) == pytest.approx(1)
    factor = tempered.variance[0] / variance
    assert np.ptp(factor) < 1e-12
    best = scipy.optimize.minimize_scalar(
        lambda log: NumericForecast(mean[None], math.exp(log) * variance[None]).scores(y)["nll"]
    )
    assert math.log(factor[0, 0]) == pytest.approx(best.x, abs=1e-4)


def test_scaled_classes_have_the_best_temperature(rng):
    found, _ = classes(rng)
    held_out, known = classes(rng)
    tempered = found.tempered(held_out, known)
    log = np.log(held_out.averaged)
    best = scipy.optimize.minimize_scalar(
        lambda by: ClassForecast(log[None] / by).scores(known)["nll"], bounds=(0.01, 20)
    )
    expected = ClassForecast(np.log(found.averaged)[None] / best.x)
    np.testing.assert_allclose(tempered.averaged, expected.averaged, atol=1e-4)
    sure = ClassForecast(100.0 * np.eye(7)[known][None])
    np.testing.assert_allclose(
        found.tempered(sure, known).averaged, found.averaged
    )  # all right: as it was


@pytest.mark.parametrize("make", [numbers, classes])
def test_conformal_intervals_hold_what_they_promise(make, rng):
    """Of 39 held-out errors the 36th is not exceeded with probability 36 / 40."""
    covered = []
    for _ in range(200):
        found, y = make(rng, examples=139)
        one, other = np.arange(39), np.arange(39, 139)
        cut = (
            (lambda rows, f=found: NumericForecast(f.mean[:, rows], f.variance[:, rows]))
            if make is numbers
            else (lambda rows, f=found: ClassForecast(f.logits[:, rows]))
        )
        covered.append(conformal(cut(other), y[other], cut(one), y[one])[0])
    assert np.mean(covered) == pytest.approx(36 / 40, abs=0.012)


def test_a_conformal_set_holds_all_classes_as_likely_as_labels_were():
    p = np.array([[0.7, 0.2, 0.1], [0.4, 0.35, 0.25], [0.05, 0.05, 0.9]])
    held_out = ClassForecast(np.log(np.tile([[0.3, 0.5, 0.2]], (9, 1)))[None])
    known = np.zeros(9, dtype=int)  # each label had .3
    inside = conformal(ClassForecast(np.log(p)[None]), np.array([0, 2, 0]), held_out, known)
    assert inside == (1 / 3, pytest.approx((1 + 2 + 1) / 3))


def test_doubt_is_entropy_or_the_standard_deviation_of_the_mixture(rng):
    found, _ = numbers(rng)
    np.testing.assert_allclose(
        found.doubt**2,
        (found.variance + found.mean**2).mean(0)[:, 0] - found.mean.mean(0)[:, 0] ** 2,
    )
    found, _ = classes(rng)
    p = found.averaged
    np.testing.assert_allclose(found.doubt, -(p * np.log(p)).sum(axis=1))


def test_probabilities_too_small_for_a_float_have_a_finite_nll():
    logits = np.array([[[0.0, -900.0], [5.0, 0.0], [0.0, 3.0]]])
    y = np.array([1, 0, 0])
    found = ClassForecast(np.concatenate([logits, logits - 7.0]))
    own = np.array([900.0, math.log1p(math.exp(-5.0)), math.log1p(math.exp(3.0))])
    assert found.scores(y)["nll"] == pytest.approx(own.mean())
    assert found.tempered(found, y).scores(y)["nll"] <= own.mean() * (1 + 1e-12)

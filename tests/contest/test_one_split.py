"""One contestant on one split: what may be seen when something is chosen, and how it scores."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from ensedu import uncertainty
from ensedu.contest import one_split
from ensedu.contest.contestants import CONTESTANTS, FURTHER
from ensedu.contest.forecasts import ClassForecast, NumericForecast, conformal
from ensedu.contest.jobs import Contestant
from ensedu.contest.tasks import split_of
from tests.contest import small
from workshop.experiments.contest import IN_TABLES

NAMES = ("single", "rank1", "swag", "boosting", "linear")


def quick(name):
    """A contestant with two of its settings."""
    return replace(CONTESTANTS[name], settings=CONTESTANTS[name].settings[1:3])


@pytest.mark.parametrize("name", NAMES)
def test_rows_to_test_and_to_calibrate_on_choose_nothing(name):
    task, row = small.task(steps=6), quick(name)
    own = split_of(task, 1)
    bad = tuple(1e3 + 0 * part for part in own.test)
    other = replace(own, test=bad, calibrate=bad, ood=bad[0], shifted={})
    assert one_split.choose(task, own, row, 5) == one_split.choose(task, other, row, 5)
    told = replace(own, select=(own.select[0], own.select[1][::-1]))
    assert one_split.choose(task, own, row, 5).nll != one_split.choose(task, told, row, 5).nll


class Constant:
    """Forecasts N(center, 1), whatever it is asked."""

    num_stored = 1

    def __init__(self, center):
        self.center = center

    def __call__(self, x):
        mean = np.full((1, len(x), 1), self.center)
        return NumericForecast(mean, np.ones_like(mean))


def scripted(centers):
    """A contestant with centers by setting and length; nothing else decides."""

    def train(job):
        lengths = job.contestant.lengths(job.task)
        return Constant(centers[int(job.setting["number"])][lengths.index(job.epochs)])

    tries = tuple({"number": float(i)} for i in range(len(centers)))
    return Contestant(label="scripted", train=train, settings=tries, epochs=lambda _: 100)


def test_the_setting_and_the_length_with_the_least_nll_are_chosen():
    task = small.task()
    own = split_of(task, 0)
    center = float(own.select[1].mean())
    centers = np.array([[3.0, 1.0, 2.0], [0.5, 0.2, 0.0], [-0.1, 4.0, 2.0]]) + center
    found = one_split.choose(task, own, scripted(centers), 0)
    assert found.lengths == [12, 35, 100] and (found.best_setting, found.length) == (1, 100)
    spread = 0.5 * (np.log(2 * np.pi) + own.select[1].var())
    np.testing.assert_allclose(found.nll, spread + 0.5 * (centers - center) ** 2)


def test_a_training_that_fails_is_not_chosen():
    def train(job):
        if job.setting["number"] == 0.0:
            raise FloatingPointError("loss is nan")
        return Constant(9.0)

    own = Contestant(
        label="x", train=train, settings=({"number": 0.0}, {"number": 1.0}), epochs=lambda _: 1
    )
    task = small.task()
    found = one_split.choose(task, split_of(task, 0), own, 0)
    assert found.best_setting == 1 and found.nll[0] == [one_split.FAILED_NLL]


def test_what_is_judged_are_trainings_of_their_own_seeds():
    task, row = small.task(steps=15), quick("mc_dropout")
    own = split_of(task, 2)
    found = one_split.choose(task, own, row, 7)
    x, y = own.select
    for number in range(2):
        for i, epochs in enumerate(found.lengths):
            job = small.job(task, row, number, one_split.seed_of(7, number, i), epochs, split=2)
            assert found.nll[number][i] == row.train(job)(x).scores(y)["nll"]


@pytest.mark.parametrize("classes", [False, True])
def test_a_row_scores_fresh_starts_of_what_was_chosen(classes):
    task, row = small.task(classes=classes), quick("deep_ensemble")
    found = one_split.run_split(task, "deep_ensemble", row, 3)
    own = split_of(task, 3)
    choice = one_split.choose(task, own, row, one_split.seed_of("small", "deep_ensemble", 3))
    assert (found["setting"], found["epochs"]) == (choice.best_setting, choice.length)
    for start in range(one_split.SCORED_STARTS):
        seed = one_split.seed_of("small", "deep_ensemble", 3, 1 + start)
        job = small.job(task, row, choice.best_setting, seed, choice.length, split=3)
        trained = row.train(job)
        forecast = trained(own.test[0])
        scores = forecast.scores(own.test[1], own.unit)
        assert found["nll"][start] == pytest.approx(scores["nll"])
        noisy = trained(own.shifted["noise"]).scores(own.test[1], own.unit)
        assert found["shifted"]["noise"]["nll"][start] == pytest.approx(noisy["nll"])
        held = trained(own.calibrate[0])
        ood, known = trained(own.ood), own.calibrate[1]
        tempered, other = forecast.tempered(held, known), ood.tempered(held, known)
        nll = tempered.scores(own.test[1], own.unit)["nll"]
        assert found["tempered"]["nll"][start] == pytest.approx(nll)
        apart = uncertainty.auroc(tempered.uncertainty, other.uncertainty)
        assert found["tempered"]["auroc"][start] == pytest.approx(apart)
        inside, size = conformal(forecast, own.test[1], held, known)
        assert found["conformal"][start] == pytest.approx([inside, own.unit * size])
        apart = uncertainty.auroc(forecast.uncertainty, ood.uncertainty)
        assert found["auroc"][start] == pytest.approx(apart)
    assert len({*found["nll"]}) == one_split.SCORED_STARTS == 4
    assert found["rows"] == [len(own.fit[0]), len(own.test[0])]


def test_what_draws_nothing_is_scored_once():
    found = one_split.run_split(small.task(), "linear", quick("linear"), 0)
    assert len(found["nll"]) == len(found["tempered"]["nll"]) == 1


def test_no_two_trainings_have_one_seed():
    names = [*IN_TABLES, *FURTHER]
    splits = list(product("abc", names, range(5)))
    own = [one_split.seed_of(*split) for split in splits]
    tried = [one_split.seed_of(seed, n, i) for seed in own for n in range(6) for i in range(4)]
    fresh = [one_split.seed_of(*split, 1 + start) for split in splits for start in range(4)]
    assert len({*tried, *fresh}) == len(tried) + len(fresh)


def test_all_have_six_settings_of_two_things():
    for name, row in (IN_TABLES | FURTHER).items():
        assert len({tuple(each.items()) for each in row.settings}) == 6, name
        assert len({tuple(each) for each in row.settings}) == 1
        if name != "linear":
            numbers = [len({each[key] for each in row.settings}) for key in row.settings[0]]
            assert sorted(numbers) == [2, 3]


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def numbers(rng, examples=5):
    """A forecast of numbers, and what came."""
    mean = rng.standard_normal((3, examples, 1))
    variance = rng.uniform(0.3, 2, (3, examples, 1))
    return NumericForecast(mean, variance), rng.standard_normal((examples, 1))


def classes(rng, examples=200):
    """A forecast of classes that is right more often than not, and what came."""
    y = rng.integers(0, 7, examples)
    logits = rng.standard_normal((3, examples, 7)) + 1.5 * np.eye(7)[y]
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
    calibration, known = classes(rng)
    tempered = found.tempered(calibration, known)
    log = np.log(calibration.averaged)
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
    calibration = ClassForecast(np.log(np.tile([[0.3, 0.5, 0.2]], (9, 1)))[None])
    known = np.zeros(9, dtype=int)  # each label had .3
    inside = conformal(ClassForecast(np.log(p)[None]), np.array([0, 2, 0]), calibration, known)
    assert inside == (1 / 3, pytest.approx((1 + 2 + 1) / 3))


def test_uncertainty_is_entropy_or_the_standard_deviation_of_the_mixture(rng):
    found, _ = numbers(rng)
    np.testing.assert_allclose(
        found.uncertainty**2,
        (found.variance + found.mean**2).mean(0)[:, 0] - found.mean.mean(0)[:, 0] ** 2,
    )
    found, _ = classes(rng)
    p = found.averaged
    np.testing.assert_allclose(found.uncertainty, -(p * np.log(p)).sum(axis=1))


def test_probabilities_too_small_for_a_float_have_a_finite_nll():
    logits = np.array([[[0.0, -900.0], [5.0, 0.0], [0.0, 3.0]]])
    y = np.array([1, 0, 0])
    found = ClassForecast(np.concatenate([logits, logits - 7.0]))
    own = np.array([900.0, math.log1p(math.exp(-5.0)), math.log1p(math.exp(3.0))])
    assert found.scores(y)["nll"] == pytest.approx(own.mean())
    assert found.tempered(found, y).scores(y)["nll"] <= own.mean() * (1 + 1e-12)

"""What intervals and sets promise, on the rows that people bring: coverage over many trainings."""

import math

import numpy as np
import pytest
from hypothesis import settings

from ensedu.sklearn import EnsembleClassifier, EnsembleRegressor

FAST = {"method": "single", "hidden": (20,), "epochs": 15, "lr": 0.01, "batch_size": 64}
#: Trainings; `make test-long` takes them all.
RUNS = 200 if settings().max_examples >= 1000 else 12
LEVEL = 0.9


def patients(rng, number, visits, noise=0.3):
    """Visits of patients: what is known of a patient, a visit's own number, targets, and patients.

    What is not known of a patient moves all their targets, so that rows of one patient tell of it.
    """
    known, unknown = rng.standard_normal((number, 3)), rng.standard_normal((number, 1))
    X = np.concatenate([np.repeat(known, visits, axis=0), rng.random((number * visits, 1))], axis=1)
    y = np.repeat(known[:, :1] + unknown, visits, axis=0)[:, 0] + X[:, 3]
    return X, y + noise * rng.standard_normal(len(y)), np.repeat(np.arange(number), visits)


def copies(rng, number, times):
    """Rows that each stand several times, with their targets."""
    X, y, _ = patients(rng, number, 1)
    order = rng.permutation(number * times)
    return np.tile(X, (times, 1))[order], np.tile(y, times)[order], None


def coverages(make, number, times, **options):
    """Return the part of new rows inside after each training, and how many scores calibrated."""
    held, scores = [], 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        X, y, of = make(rng, number, times)
        net = EnsembleRegressor(**FAST | options, random_state=seed).fit(X, y, of)
        X, y, _ = make(rng, 200, times if make is patients else 1)
        low, high = net.predict_interval(X, level=LEVEL)
        held.append(np.mean((low <= y) & (y <= high)))
        scores = len(net.conformal_.scores)
    return np.array(held), scores


def inside(held, scores):
    """Whether a mean over runs is what the rank of a new score is on average, within luck."""
    expected = math.ceil((scores + 1) * LEVEL) / (scores + 1)
    return abs(held.mean() - expected) < 3.3 * held.std(ddof=1) / math.sqrt(len(held))


@pytest.mark.hypothesis
@pytest.mark.large
@pytest.mark.parametrize(
    ("make", "number", "times", "options"),
    [
        (patients, 100, 15, {}), (copies, 200, 2, {}), (copies, 100, 3, {"patience": None}),
    ],
    ids=["new patients", "twice", "three times"],
)  # fmt: skip
def test_intervals_hold_their_level(make, number, times, options):
    held, scores = coverages(make, number, times, **options)
    assert scores == number // 5
    assert inside(held, scores)


@pytest.mark.parametrize("make", [EnsembleRegressor, EnsembleClassifier])
def test_coverage_by_a_column_is_that_of_its_rows(make):
    rng = np.random.default_rng(3)
    X, y, _ = patients(rng, 90, 1)
    y = y if make is EnsembleRegressor else np.where(y > 0, "high", "low")
    net = make(**FAST, random_state=0).fit(X[:60], y[:60])
    X, y, by = X[60:], y[60:], np.array(["b", "a", "b"] * 10)
    if make is EnsembleRegressor:
        low, high = net.predict_interval(X, 0.8)
        inside = [low[i] <= y[i] <= high[i] for i in range(30)]
    else:
        sets, labels = net.predict_set(X, 0.8), net.classes_.tolist()
        inside = [bool(sets[i, labels.index(y[i])]) for i in range(30)]
    assert net.coverage(X, y, 0.8) == pytest.approx(np.mean(inside), rel=1e-12)
    found = net.coverage(X, y, 0.8, by=by)
    for value, rows in (("a", 10), ("b", 20)):
        own = [inside[i] for i in range(30) if by[i] == value]
        assert found[value] == (pytest.approx(np.mean(own), rel=1e-12), rows)
    assert [*found] == ["a", "b"] and 0 < np.mean(inside)
    for call, words in (
        (lambda: net.coverage(X, y, by=by[:7]), r"by must have a value for each of 30 rows"),
        (lambda: net.coverage(X, y[:7]), r"y must have a .* for each of 30 rows, got \(7,\)"),
    ):
        with pytest.raises(ValueError, match=words):
            call()

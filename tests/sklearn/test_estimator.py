"""What both estimators promise: rows that calibrate, coverage, same bits, pipelines, `check`."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import settings
from sklearn.base import clone

from ensedu.sklearn import EnsembleClassifier, EnsembleRegressor
from ensedu.sklearn.estimator import unseen_groups

n, m = 61, 3
FAST = {"ensemble_size": 2, "hidden": (5,), "epochs": 2, "lr": 0.01, "random_state": 0}
BOTH = pytest.mark.parametrize("kind", [EnsembleRegressor, EnsembleClassifier])


def rows(kind, number=n, seed=0):
    """Inputs, and numbers or classes to predict."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((number, m))
    y = X[:, 0] + 0.3 * rng.standard_normal(number)
    return X, y if kind is EnsembleRegressor else np.where(y > 0, "up", "down")


def bits(network):
    """All that a network predicts from: its weights, and what standardizes its inputs."""
    arrays = [*network.net.state_dict().values(), torch.tensor(network.x_scaler.mean_)]
    return b"".join(array.numpy().tobytes() for array in arrays)


@pytest.mark.parametrize(
    ("calibration", "sizes"),
    [(0.2, [2]), (0.25, [3]), (0.01, [1]), (2, [6, 5]), (11, [1] * 11), ("cv+", [3, 2, 2, 2, 2])],
)
def test_a_part_or_each_fold_calibrates(calibration, sizes):
    order = np.random.default_rng(0).permutation(11)
    found = unseen_groups(calibration, order)
    assert list(map(len, found)) == sizes
    together = np.concatenate(found)
    assert np.array_equal(together, order[: len(together)])  # so no row is in two folds
    assert [part.tolist() for part in unseen_groups(None, order)] == [[]]


@BOTH
@pytest.mark.parametrize("calibration", [0.3, 3])
def test_rows_that_calibrate_teach_nothing_and_stop_nothing(kind, calibration):
    X, y = rows(kind)
    net = kind(**FAST, calibration=calibration, patience=1).fit(X, y)
    first, scores = list(map(bits, net.networks_)), net.conformal_.scores
    for number, unseen in enumerate(net.unseen_):
        others, values = X.copy(), y.copy()
        others[unseen], values[unseen] = 7 * X[unseen] + 3, y[unseen][::-1]
        again = clone(net).fit(others, values)
        assert bits(again.networks_[number]) == first[number]
        assert not np.array_equal(again.conformal_.scores, scores)
        # The other networks have seen them.
        seen = [bits(one) != first[i] for i, one in enumerate(again.networks_) if i != number]
        assert all(seen)


@BOTH
def test_the_guarantee_is_that_of_the_calibration(kind):
    X, y = rows(kind)
    found = [kind(**FAST, calibration=c).fit(X, y) for c in (None, 0.2, 3, "cv+")]
    assert [net.guarantee(0.95) for net in found] == [
        0, 0.95, *[pytest.approx(0.9 - np.sqrt(2 / n))] * 2
    ]  # fmt: skip
    assert found[1].guarantee() == 0.9
    assert found[0].conformal_ is None and found[1].conformal_.folds is None
    for net, K in zip(found[2:], (3, 5), strict=True):
        for fold, unseen in enumerate(net.unseen_):
            assert (net.conformal_.folds == fold).sum() == len(unseen)
        assert len({one.seed for one in net.networks_}) == len(net.unseen_) == K


@BOTH
def test_the_same_random_state_gives_the_same_bits(kind):
    X, y = rows(kind)
    before = torch.get_rng_state()
    net = kind(**FAST, method="rank1").fit(X, y)
    found = net.predict(X)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(3)
    again = clone(net).fit(X, y)
    assert bits(again.networks_[0]) == bits(net.networks_[0])
    assert np.array_equal(again.predict(X), found)
    other = clone(net).set_params(random_state=1).fit(X, y)
    assert bits(other.networks_[0]) != bits(net.networks_[0])
    assert not np.array_equal(other.unseen_[0], net.unseen_[0])


@BOTH
def test_data_frames_are_known_by_their_columns(kind):
    X, y = rows(kind)
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    net = kind(**FAST).fit(frame, pd.Series(y))
    assert net.feature_names_in_.tolist() == ["age", "height", "weight"]
    how = "predict" if kind is EnsembleRegressor else "predict_proba"
    found, expected = getattr(net, how)(frame), getattr(kind(**FAST).fit(X, y), how)(X)
    np.testing.assert_allclose(found, expected, rtol=1e-9)  # of another memory layout
    for other in (frame.rename(columns={"age": "years"}), frame[["height", "age", "weight"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            net.predict(other)


QUICK = {"method": "single", "hidden": (20,), "epochs": 15, "lr": 0.01, "batch_size": 64}
#: Trainings; `make test-long` takes them all.
RUNS = 200 if settings().max_examples >= 1000 else 12
COVERAGE = 0.9


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
        net = EnsembleRegressor(**QUICK | options, random_state=seed).fit(X, y, of)
        X, y, _ = make(rng, 200, times if make is patients else 1)
        low, high = net.predict_interval(X, level=COVERAGE)
        held.append(np.mean((low <= y) & (y <= high)))
        scores = len(net.conformal_.scores)
    return np.array(held), scores


def inside(held, scores):
    """Whether a mean over runs is what the rank of a new score is on average, within luck."""
    expected = math.ceil((scores + 1) * COVERAGE) / (scores + 1)
    return abs(held.mean() - expected) < 3.3 * held.std(ddof=1) / math.sqrt(len(held))


@pytest.mark.hypothesis
@pytest.mark.large
@pytest.mark.parametrize(
    ("make", "number", "times", "options"),
    [
        (patients, 100, 5, {}), (copies, 200, 2, {}), (copies, 100, 3, {"patience": None}),
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
    net = make(**QUICK, random_state=0).fit(X[:60], y[:60])
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


def noisy(number, seed, noise=0.3):
    """Inputs, and numbers to predict, which vary by so much more."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((number, 3))
    return X, X[:, 0] + noise * rng.standard_normal(number)


@pytest.mark.parametrize("target", ["any", "positive"])
def test_new_rows_of_the_kind_raise_no_alarm_and_others_do(target):
    def known(number, seed, noise=0.3):
        X, y = noisy(number, seed, noise)
        return X, np.exp(y) if target == "positive" else y

    net = EnsembleRegressor(**QUICK, target=target, random_state=0).fit(*known(500, 0))
    net = pickle.loads(pickle.dumps(net))
    first = net.check(*known(211, 1))
    assert first.rows == 211 and not first.alarm
    X, y = known(101, 2)
    second = net.check(X, y, after=first)
    assert second.path[:211] == first.path and second.rows == 312 and not second.alarm
    assert net.check(*known(211, 3, noise=1.5), after=second).alarm
    # The same rows give the same answer, a batch at a time or one at a time.
    halves = net.check(X[50:], y[50:], after=net.check(X[:50], y[:50], after=first))
    np.testing.assert_allclose(halves.path, second.path, rtol=0.05)  # ranks but for their draws
    if target == "positive":
        assert net.check(X, np.zeros(101)).alarm  # no price is below every interval


def test_labels_that_nobody_knew_raise_an_alarm():
    def known(number, seed):
        X, y = noisy(number, seed)
        return X, np.where(y > 0, "high", "low")

    net = EnsembleClassifier(**QUICK, random_state=0).fit(*known(400, 0))
    X, y = known(151, 1)
    assert not net.check(X, y).alarm
    assert net.check(X, np.where(np.arange(151) % 3, y, "never seen")).alarm
    assert net.check(X, np.where(y == "high", "low", "high")).alarm


@pytest.mark.bad_input
def test_what_cannot_be_checked_is_an_error():
    X, y = noisy(60, 0)
    for calibration in (None, 3):
        net = EnsembleRegressor(**QUICK, calibration=calibration, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="calibration must be a part of the rows"):
            net.check(X, y)
    net = EnsembleRegressor(**QUICK, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="after must be what check returned, got 3"):
        net.check(X, y, after=3)
    with pytest.raises(ValueError, match="y must have a number for each of 60 rows"):
        net.check(X, y[:-1])

"""Whether a promise still holds: `check` of both estimators, over several batches of new rows."""

import pickle

import numpy as np
import pytest

from ensedu.sklearn import EnsembleClassifier, EnsembleRegressor

FAST = {"method": "single", "hidden": (20,), "epochs": 15, "lr": 0.01, "batch_size": 64}


def rows(number, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((number, 3))
    return X, X[:, 0] + noise * rng.standard_normal(number)


@pytest.mark.parametrize("target", ["any", "positive"])
def test_new_rows_of_the_kind_raise_no_alarm_and_others_do(target):
    def known(number, seed, noise=0.3):
        X, y = rows(number, seed, noise)
        return X, np.exp(y) if target == "positive" else y

    net = EnsembleRegressor(**FAST, target=target, random_state=0).fit(*known(500, 0))
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
        X, y = rows(number, seed)
        return X, np.where(y > 0, "high", "low")

    net = EnsembleClassifier(**FAST, random_state=0).fit(*known(400, 0))
    X, y = known(151, 1)
    assert not net.check(X, y).alarm
    assert net.check(X, np.where(np.arange(151) % 3, y, "never seen")).alarm
    assert net.check(X, np.where(y == "high", "low", "high")).alarm


@pytest.mark.bad_input
def test_what_cannot_be_checked_is_an_error():
    X, y = rows(60, 0)
    for calibration in (None, 3):
        net = EnsembleRegressor(**FAST, calibration=calibration, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="calibration must be a part of the rows"):
            net.check(X, y)
    net = EnsembleRegressor(**FAST, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="after must be what check returned, got 3"):
        net.check(X, y, after=3)
    with pytest.raises(ValueError, match="y must have a number for each of 60 rows"):
        net.check(X, y[:-1])

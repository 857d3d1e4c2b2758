"""The regressor: a mixture, intervals by definition and in practice, and scikit-learn's checks."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from ensedu import uncertainty as un
from ensedu.sklearn import EnsembleRegressor

n, B, m = 67, 13, 2
FAST = {"ensemble_size": 3, "hidden": (5,), "epochs": 2, "lr": 0.01, "random_state": 0}


def rows(number=n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((number, m))
    return X, 40 + 10 * X[:, 0] + rng.standard_normal(number) * (1 + np.abs(X[:, 1]))


def of_members(network, X):
    """Mean and variance of each member (S, B), in units of y, and of each row of their mixture."""
    outputs = network.outputs(X)
    unit, center = network.y_scaler.scale_[0], network.y_scaler.mean_[0]
    mean = center + unit * outputs[..., 0]
    variance = unit**2 * (np.log1p(np.exp(outputs[..., 1])) + 1e-6)
    return mean, variance, mean.mean(0), (variance + mean**2).mean(0) - mean.mean(0) ** 2


@pytest.mark.parametrize("calibration", [None, 0.2, 3])
def test_mean_and_std_are_those_of_the_mixture_of_all_members(calibration):
    net, (X, _) = EnsembleRegressor(**FAST, calibration=calibration).fit(*rows()), rows(B, 1)
    own = [of_members(network, X) for network in net.networks_]
    mean, variance = (np.concatenate([part[i] for part in own]) for i in (0, 1))
    assert mean.shape == (3 * len(net.networks_), B)
    np.testing.assert_allclose(net.predict(X), mean.mean(0), rtol=1e-12)
    expected = (variance + mean**2).mean(0) - mean.mean(0) ** 2
    np.testing.assert_allclose(net.predict_std(X), np.sqrt(expected), rtol=1e-9)


def test_intervals_are_the_mean_and_so_many_std():
    X, y = rows()
    net, (new, _) = EnsembleRegressor(**FAST).fit(X, y), rows(B, 1)
    (unseen,), (network,) = net.unseen_, net.networks_
    assert len(unseen) == 13
    _, _, mean, variance = of_members(network, X[unseen])
    each = np.sort(np.abs(y[unseen] - mean) / np.sqrt(variance))
    q = each[int(np.ceil(14 * 0.8)) - 1]
    low, high = net.predict_interval(new, level=0.8)
    np.testing.assert_allclose(low, net.predict(new) - q * net.predict_std(new), rtol=1e-9)
    np.testing.assert_allclose(high, net.predict(new) + q * net.predict_std(new), rtol=1e-9)
    low, high = net.predict_interval(new)
    q = each[int(np.ceil(14 * 0.9)) - 1]  # by default
    np.testing.assert_allclose(high - low, 2 * q * net.predict_std(new), rtol=1e-9)


def test_intervals_of_folds_are_cv_plus():
    X, y = rows()
    net, (new, _) = EnsembleRegressor(**FAST, calibration=3).fit(X, y), rows(B, 1)
    below, above = [], []
    for unseen, network in zip(net.unseen_, net.networks_, strict=True):
        _, _, mean, variance = of_members(network, X[unseen])
        _, _, center, wide = of_members(network, new)
        for residual in np.abs(y[unseen] - mean) / np.sqrt(variance):
            below.append(center - residual * np.sqrt(wide))
            above.append(center + residual * np.sqrt(wide))
    low, high = net.predict_interval(new, level=0.8)
    first, last = int(np.floor(68 * 0.2)), int(np.ceil(68 * 0.8))
    np.testing.assert_allclose(low, np.sort(below, axis=0)[first - 1], rtol=1e-9)
    np.testing.assert_allclose(high, np.sort(above, axis=0)[last - 1], rtol=1e-9)


def test_without_calibration_intervals_are_the_mixtures_own():
    net, (new, _) = EnsembleRegressor(**FAST, calibration=None).fit(*rows()), rows(B, 1)
    mean, variance = (part[..., None] for part in of_members(net.networks_[0], new)[:2])
    found = net.predict_interval(new, level=0.8)
    expected = un.interval(mean, variance, 0.8)
    np.testing.assert_allclose(found, [end[:, 0] for end in expected], rtol=1e-9)


def test_ten_rows_have_infinite_intervals():
    net, (new, _) = EnsembleRegressor(**FAST).fit(*rows(10)), rows(B, 1)
    with pytest.warns(UserWarning, match="level 0.9 needs at least 9 calibration rows, got 2"):
        low, high = net.predict_interval(new, level=0.9)
    assert (low == -np.inf).all() and (high == np.inf).all() and low.shape == (B,)
    low, high = net.predict_interval(new, level=0.6)
    assert np.isfinite(high - low).all()


def test_equal_targets_are_predicted():
    X, _ = rows()
    net = EnsembleRegressor(**FAST).fit(X, np.full(n, 7.0))
    assert net.predict(X) == pytest.approx(np.full(n, 7.0), abs=1)


@pytest.mark.bad_input  # it makes estimators of no right type, which may not be refused before fit
@pytest.mark.parametrize(
    "settings",
    [{}, pytest.param({"method": "mc_dropout", "calibration": 2}, marks=pytest.mark.weekly)],
)
def test_scikit_learn_accepts_it(settings):
    fast = {"ensemble_size": 2, "hidden": (5,), "epochs": 5, "lr": 0.1, "patience": 4}
    check_estimator(EnsembleRegressor(**fast, **settings), on_skip=None)

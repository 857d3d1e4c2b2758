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


@pytest.mark.parametrize("calibration", [0.2, 3])
def test_intervals_are_conformal(calibration):
    X, y = rows()
    net, (new, _) = EnsembleRegressor(**FAST, calibration=calibration).fit(X, y), rows(B, 1)
    pairs = list(zip(net.networks_, net.unseen_, strict=True))
    mean, variance = np.hstack([of_members(one, X[unseen])[2:] for one, unseen in pairs])[..., None]
    folds = np.repeat(range(len(pairs)), list(map(len, net.unseen_)))
    known, std = y[np.concatenate(net.unseen_)][:, None], np.sqrt(variance)
    fitted = un.ConformalIntervals.fit(mean, known, std, folds if calibration == 3 else None)
    each = np.array([of_members(one, new)[2:] for one in net.networks_])[..., None]
    mean, variance = each.swapaxes(0, 1) if calibration == 3 else each[0]
    for level, asked in ((0.8, {"level": 0.8}), (0.9, {})):
        ends = fitted.interval(mean, np.sqrt(variance), level=level)
        found = net.predict_interval(new, **asked)
        np.testing.assert_allclose(found, [end[:, 0] for end in ends], rtol=1e-9)


def test_without_calibration_intervals_are_the_mixtures_own():
    net, (new, _) = EnsembleRegressor(**FAST, calibration=None).fit(*rows()), rows(B, 1)
    mean, variance = (part[..., None] for part in of_members(net.networks_[0], new)[:2])
    found = net.predict_interval(new, level=0.8)
    expected = un.interval(mean, variance, 0.8)
    np.testing.assert_allclose(found, [end[:, 0] for end in expected], rtol=1e-9)


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

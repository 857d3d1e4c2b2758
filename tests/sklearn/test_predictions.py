"""What estimators predict: members averaged, sets and intervals; and scikit-learn's checks."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from ensedu import uncertainty as un
from ensedu.sklearn import EnsembleClassifier, EnsembleRegressor

n, B, m = 67, 23, 2
FAST = {"ensemble_size": 3, "hidden": (5,), "epochs": 2, "lr": 0.01, "random_state": 0}
QUICK = {"ensemble_size": 2, "hidden": (5,), "epochs": 5, "lr": 0.1, "patience": 4}
NAMES = np.array(["ash", "fir", "oak"])


def labeled(number=n, seed=0):
    """Inputs, and labels that they tell something of."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((number, m))
    return X, NAMES[np.digitize(X[:, 0] + 0.7 * rng.standard_normal(number), [-0.5, 0.8])]


def probabilities(network, X):
    """The mean of the members' probabilities."""
    powers = np.exp(network.outputs(X))
    return (powers / powers.sum(axis=2, keepdims=True)).mean(axis=0)


@pytest.mark.parametrize("calibration", [None, 0.2, 3])
def test_probabilities_are_the_mean_over_all_members_with_a_temperature(calibration):
    net, (X, y) = EnsembleClassifier(**FAST, calibration=calibration).fit(*labeled()), labeled(B, 1)
    assert net.classes_.tolist() == NAMES.tolist()
    assert (net.temperature_ == 1) is (calibration is None)
    expected = np.mean([probabilities(one, X) for one in net.networks_], axis=0)
    expected **= 1 / net.temperature_
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(net.predict_proba(X), expected, rtol=1e-12)
    likeliest = NAMES[expected.argmax(axis=1)]
    assert net.predict(X).tolist() == likeliest.tolist()
    assert net.score(X, y) == np.mean(likeliest == y)


@pytest.mark.parametrize("calibration", [0.4, 3])
def test_no_other_temperature_is_likelier(calibration):
    """Of the rows that its networks have not seen, and of a prior of its logarithm, N(0, 1/16)."""
    net = EnsembleClassifier(**FAST | {"epochs": 30}, calibration=calibration).fit(*labeled())
    pairs = zip(net.networks_, net.unseen_, strict=True)
    p = np.concatenate([probabilities(network, labeled()[0][unseen]) for network, unseen in pairs])
    labels = np.searchsorted(NAMES, labeled()[1])[np.concatenate(net.unseen_)]

    def loss(T):
        powers = p ** (1 / T)
        of_labels = powers[np.arange(len(p)), labels] / powers.sum(axis=1)
        return 8 * np.log(T) ** 2 - np.log(of_labels).sum()

    best = net.temperature_
    assert abs(best - 1) > 0.02
    assert all(loss(best) < loss(factor * best) for factor in (0.5, 0.98, 1.02, 2, 1 / best))


@pytest.mark.parametrize(("calibration", "level"), [(0.4, 0.5), (0.4, 0.9), (3, 0.8)])
def test_sets_are_conformal_and_hold_the_likeliest_class(calibration, level):
    X, y = labeled()
    net, (new, _) = EnsembleClassifier(**FAST, calibration=calibration).fit(X, y), labeled(B, 1)
    pairs, seed = zip(net.networks_, net.unseen_, strict=True), net.networks_[0].seed
    p = np.concatenate([probabilities(network, X[unseen]) for network, unseen in pairs])
    known = np.searchsorted(NAMES, y)[np.concatenate(net.unseen_)]
    folds = np.repeat(range(len(net.unseen_)), list(map(len, net.unseen_)))
    draws = np.random.default_rng(seed + 1), folds if calibration == 3 else None
    each = np.stack([probabilities(one, new) for one in net.networks_])
    fitted, each = un.ConformalSets.fit(p, known, *draws), each if calibration == 3 else each[0]
    np.testing.assert_allclose(net.conformal_.scores, fitted.scores, rtol=1e-12)
    expected = fitted.sets(each, level=level, rng=np.random.default_rng(seed))
    expected[np.arange(B), net.predict_proba(new).argmax(axis=1)] = True
    for _ in range(2):
        assert np.array_equal(net.predict_set(new, level=level), expected)
    assert level != 0.9 or np.array_equal(net.predict_set(new), expected)


def test_without_calibration_sets_are_the_smallest():
    net, (new, _) = EnsembleClassifier(**FAST, calibration=None).fit(*labeled()), labeled(B, 1)
    expected = un.smallest_set(net.predict_proba(new), 0.8)
    assert np.array_equal(net.predict_set(new, level=0.8), expected)


def test_one_class_is_always_right():
    X, _ = labeled()
    net = EnsembleClassifier(**FAST).fit(X, np.full(n, "oak"))
    assert {*net.predict(X)} == {"oak"} and net.predict_proba(X).tolist() == [[1.0]] * n
    assert net.predict_set(X, level=0.9).tolist() == [[True]] * n


def measured(number=n, seed=0):
    """Inputs, and numbers that vary more for some of them."""
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
    net = EnsembleRegressor(**FAST, calibration=calibration).fit(*measured())
    X, _ = measured(B, 1)
    own = [of_members(network, X) for network in net.networks_]
    mean, variance = (np.concatenate([part[i] for part in own]) for i in (0, 1))
    assert mean.shape == (3 * len(net.networks_), B)
    np.testing.assert_allclose(net.predict(X), mean.mean(0), rtol=1e-12)
    expected = (variance + mean**2).mean(0) - mean.mean(0) ** 2
    np.testing.assert_allclose(net.predict_std(X), np.sqrt(expected), rtol=1e-9)


@pytest.mark.parametrize("calibration", [0.2, 3])
def test_intervals_are_conformal(calibration):
    X, y = measured()
    net, (new, _) = EnsembleRegressor(**FAST, calibration=calibration).fit(X, y), measured(B, 1)
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
    net, (new, _) = EnsembleRegressor(**FAST, calibration=None).fit(*measured()), measured(B, 1)
    mean, variance = (part[..., None] for part in of_members(net.networks_[0], new)[:2])
    found = net.predict_interval(new, level=0.8)
    expected = un.interval(mean, variance, 0.8)
    np.testing.assert_allclose(found, [end[:, 0] for end in expected], rtol=1e-9)


def test_equal_targets_are_predicted():
    X, _ = measured()
    net = EnsembleRegressor(**FAST).fit(X, np.full(n, 7.0))
    assert net.predict(X) == pytest.approx(np.full(n, 7.0), abs=1)


@pytest.mark.bad_input  # it makes estimators of no right type, which may not be refused before fit
@pytest.mark.parametrize(
    "net",
    [
        EnsembleRegressor(**QUICK),
        EnsembleClassifier(**QUICK),
        pytest.param(
            EnsembleRegressor(**QUICK, method="mc_dropout", calibration=2), marks=pytest.mark.weekly
        ),
        pytest.param(
            EnsembleClassifier(**QUICK, method="batch_ensemble", calibration=2),
            marks=pytest.mark.weekly,
        ),
    ],
)
def test_scikit_learn_accepts_it(net):
    check_estimator(net, on_skip=None)

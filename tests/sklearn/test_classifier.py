"""The classifier: averaged members, sets by definition and in practice, scikit-learn's checks."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from ensedu import uncertainty as un
from ensedu.sklearn import EnsembleClassifier

n, B, m = 67, 23, 2
FAST = {"ensemble_size": 3, "hidden": (5,), "epochs": 2, "lr": 0.01, "random_state": 0}
NAMES = np.array(["ash", "fir", "oak"])


def rows(number=n, seed=0):
    """Inputs, and labels that they tell something of."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((number, m))
    return X, NAMES[np.digitize(X[:, 0] + 0.7 * rng.standard_normal(number), [-0.5, 0.8])]


def of_network(network, X):
    """The mean of the members' probabilities."""
    powers = np.exp(network.outputs(X))
    return (powers / powers.sum(axis=2, keepdims=True)).mean(axis=0)


@pytest.mark.parametrize("calibration", [None, 0.2, 3])
def test_probabilities_are_the_mean_over_all_members_with_a_temperature(calibration):
    net, (X, y) = EnsembleClassifier(**FAST, calibration=calibration).fit(*rows()), rows(B, 1)
    assert net.classes_.tolist() == NAMES.tolist()
    assert (net.temperature_ == 1) is (calibration is None)
    expected = np.mean([of_network(one, X) for one in net.networks_], axis=0)
    expected **= 1 / net.temperature_
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(net.predict_proba(X), expected, rtol=1e-12)
    likeliest = NAMES[expected.argmax(axis=1)]
    assert net.predict(X).tolist() == likeliest.tolist()
    assert net.score(X, y) == np.mean(likeliest == y)


@pytest.mark.parametrize("calibration", [0.4, 3])
def test_no_other_temperature_is_likelier(calibration):
    """Of the rows that its networks have not seen, and of a prior of its logarithm, N(0, 1/16)."""
    net = EnsembleClassifier(**FAST | {"epochs": 30}, calibration=calibration).fit(*rows())
    pairs = zip(net.networks_, net.unseen_, strict=True)
    p = np.concatenate([of_network(network, rows()[0][unseen]) for network, unseen in pairs])
    labels = np.searchsorted(NAMES, rows()[1])[np.concatenate(net.unseen_)]

    def loss(T):
        powers = p ** (1 / T)
        of_labels = powers[np.arange(len(p)), labels] / powers.sum(axis=1)
        return 8 * np.log(T) ** 2 - np.log(of_labels).sum()

    best = net.temperature_
    assert abs(best - 1) > 0.02
    assert all(loss(best) < loss(factor * best) for factor in (0.5, 0.98, 1.02, 2, 1 / best))


@pytest.mark.parametrize(("calibration", "level"), [(0.4, 0.5), (0.4, 0.9), (3, 0.8)])
def test_sets_are_conformal_and_hold_the_likeliest_class(calibration, level):
    X, y = rows()
    net, (new, _) = EnsembleClassifier(**FAST, calibration=calibration).fit(X, y), rows(B, 1)
    pairs, seed = zip(net.networks_, net.unseen_, strict=True), net.networks_[0].seed
    p = np.concatenate([of_network(network, X[unseen]) for network, unseen in pairs])
    known = np.searchsorted(NAMES, y)[np.concatenate(net.unseen_)]
    folds = np.repeat(range(len(net.unseen_)), list(map(len, net.unseen_)))
    draws = np.random.default_rng(seed + 1), folds if calibration == 3 else None
    each = np.stack([of_network(one, new) for one in net.networks_])
    fitted, each = un.ConformalSets.fit(p, known, *draws), each if calibration == 3 else each[0]
    np.testing.assert_allclose(net.conformal_.scores, fitted.scores, rtol=1e-12)
    expected = fitted.sets(each, level=level, rng=np.random.default_rng(seed))
    expected[np.arange(B), net.predict_proba(new).argmax(axis=1)] = True
    for _ in range(2):
        assert np.array_equal(net.predict_set(new, level=level), expected)
    assert level != 0.9 or np.array_equal(net.predict_set(new), expected)


def test_without_calibration_sets_are_the_smallest():
    net, (new, _) = EnsembleClassifier(**FAST, calibration=None).fit(*rows()), rows(B, 1)
    expected = un.smallest_set(net.predict_proba(new), 0.8)
    assert np.array_equal(net.predict_set(new, level=0.8), expected)


def test_one_class_is_always_right():
    X, _ = rows()
    net = EnsembleClassifier(**FAST).fit(X, np.full(n, "oak"))
    assert {*net.predict(X)} == {"oak"} and net.predict_proba(X).tolist() == [[1.0]] * n
    assert net.predict_set(X, level=0.9).tolist() == [[True]] * n


@pytest.mark.bad_input  # it makes estimators of no right type, which may not be refused before fit
@pytest.mark.parametrize(
    "settings",
    [{}, pytest.param({"method": "batch_ensemble", "calibration": 2}, marks=pytest.mark.weekly)],
)
def test_scikit_learn_accepts_it(settings):
    fast = {"ensemble_size": 2, "hidden": (5,), "epochs": 5, "lr": 0.1, "patience": 4}
    check_estimator(EnsembleClassifier(**fast, **settings), on_skip=None)

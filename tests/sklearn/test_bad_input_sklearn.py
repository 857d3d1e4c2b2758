"""A bad parameter is named when it is used: (parameters, error, words of the message)."""

import numpy as np
import pytest

from ensedu.sklearn import EnsembleClassifier, EnsembleRegressor

pytestmark = pytest.mark.bad_input

n, m = 11, 2
X, Y = np.arange(float(n * m)).reshape(n, m), np.arange(float(n))
FAST = {"ensemble_size": 2, "hidden": (3,), "epochs": 1}

# fmt: off
PARAMETERS = [
    ({"method": "best"}, ValueError, ["method", "'single'", "'best'"]),
    ({"method": None}, TypeError, ["method", "None"]),
    ({"ensemble_size": 0}, ValueError, ["ensemble_size", "positive", "0"]),
    ({"ensemble_size": 2.0}, TypeError, ["ensemble_size", "2.0"]),
    ({"hidden": 5}, TypeError, ["hidden", "tuple of widths", "5"]),
    ({"hidden": (5, 0)}, ValueError, ["hidden[1]", "positive", "0"]),
    ({"epochs": 0}, ValueError, ["epochs", "positive", "0"]),
    ({"lr": -1.0}, ValueError, ["lr", "above 0", "-1"]),
    ({"weight_decay": -1.0}, ValueError, ["weight_decay", "0 or more", "-1"]),
    ({"batch_size": 0}, ValueError, ["batch_size", "positive", "0"]),
    ({"patience": 0}, ValueError, ["patience", "positive", "0"]),
    ({"calibration": 0.0}, ValueError, ["calibration", "between 0 and 1", "0.0"]),
    ({"calibration": 1.0}, ValueError, ["calibration", "between 0 and 1", "1.0"]),
    ({"calibration": -0.2}, ValueError, ["calibration", "between 0 and 1", "-0.2"]),
    ({"calibration": float("nan")}, ValueError, ["calibration", "between 0 and 1", "nan"]),
    ({"calibration": 0}, ValueError, ["calibration", "from 2 up", "got 0"]),
    ({"calibration": 1}, ValueError, ["calibration", "from 2 up", "got 1"]),
    ({"calibration": 12}, ValueError, ["calibration", "11 rows", "got 12"]),
    ({"calibration": 0.9}, ValueError, ["calibration", "leave 2 of 11 rows", "got 0.9"]),
    ({"calibration": "cv"}, ValueError, ["calibration", "'cv+'", "'cv'"]),
    ({"calibration": True}, TypeError, ["calibration", "None", "True"]),
    ({"calibration": [0.2]}, TypeError, ["calibration", "[0.2]"]),
    ({"calibration": np.ones(2)}, TypeError, ["calibration", "array"]),
    ({"random_state": "x"}, ValueError, ["'x'", "seed"]),
]
# fmt: on


@pytest.mark.parametrize("kind", [EnsembleRegressor, EnsembleClassifier])
@pytest.mark.parametrize(("parameters", "error", "words"), PARAMETERS)
def test_a_bad_parameter_is_named(kind, parameters, error, words):
    with pytest.raises(error) as caught:
        kind(**FAST | parameters).fit(X, Y)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda net: net.fit(X[:2], Y[:2]), ValueError, ["2 sample", "minimum of 3"]),
        (lambda net: net.fit(X, np.ones((n, 2))), ValueError,
         ["y should be a 1d array", "(11, 2)"]),
        (lambda net: net.fit(X, Y, sample_weight=Y), TypeError, ["sample_weight"]),
        (lambda net: net.predict(X), ValueError, ["not fitted"]),
        (lambda net: net.guarantee(0.9), ValueError, ["not fitted"]),
        (lambda net: net.predict_interval(X), ValueError, ["not fitted"]),
        (lambda net: net.fit(X, Y).predict(X[:, :1]), ValueError, ["1 features", "expecting 2"]),
        (lambda net: net.fit(X, Y).predict_interval(X, 90), ValueError, ["level", "below 1", "90"]),
        (lambda net: net.fit(X, Y).guarantee(90), ValueError, ["level", "below 1", "90"]),
        (lambda net: net.set_params(calibration=2).fit(X, Y).predict_interval(X, 0.5), ValueError,
         ["level", "above 0.5", "got 0.5"]),
    ],
)  # fmt: skip
def test_a_bad_call_is_named(call, error, words):
    with pytest.raises(error) as caught:
        call(EnsembleRegressor(**FAST))
    for word in words:
        assert word in str(caught.value)


def test_a_classifier_takes_no_numbers_and_no_level_of_100():
    net = EnsembleClassifier(**FAST)
    with pytest.raises(ValueError, match="continuous"):
        net.fit(X, Y + 0.5)
    with pytest.raises(ValueError, match="level must be a finite number above 0 and below 1"):
        net.fit(X, Y).predict_set(X, 100)

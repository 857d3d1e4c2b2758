"""Bad input gets a ValueError or TypeError that names the argument, what was given, and what is
accepted. One row a case: (call, error, words that the message must hold)."""

import inspect

import numpy as np
import pytest

from ensedu import uncertainty as un
from ensedu.uncertainty import ConformalIntervals as Intervals
from ensedu.uncertainty import ConformalSets as Sets
from ensedu.uncertainty import TemperatureScaling as Scaling
from tests.uncertainty.test_score_checks import arguments, call

pytestmark = pytest.mark.bad_input

M, B, k = 3, 7, 5
NAN, INF = float("nan"), float("inf")


def ones(*shape):
    return np.ones(shape)


def even(*shape):
    """Probabilities."""
    return np.full(shape, 1 / shape[-1])


def one_is(value, array):
    """The array with another value in one place."""
    array.flat[-1] = value
    return array


def rng():
    return np.random.default_rng(0)


def zeros(*shape):
    """Labels."""
    return np.zeros(shape, int)


X = ones(M, B, k)
Y = ones(B, k)
P = even(M, B, k)
Q = even(B, k)
LABELS = zeros(B)
FOLDS = np.arange(B) % 2

# fmt: off
ARRAYS = [
    (lambda: un.softmax(Y.view(np.matrix)), TypeError,
     ["logits", "plain", "matrix"]),
    (lambda: un.softmax(np.ma.masked_array(Y)), TypeError, ["logits", "plain", "MaskedArray"]),
    (lambda: un.softmax(ones(B, k).astype(complex)), TypeError, ["logits", "floats", "complex128"]),
    (lambda: un.softmax(ones(B, k).astype(np.longdouble)), TypeError, ["logits", "64 bits"]),
    (lambda: un.softmax(ones(2, M, B, k)), ValueError, ["logits", "(2, 3, 7, 5)", "(M, B, k)"]),
    (lambda: un.softmax(ones(B, 0)), ValueError, ["logits", "(7, 0)", "no size 0"]),
    (lambda: un.softmax(one_is(-1e101, ones(B, k))), ValueError, ["logits", "1e+100", "1e+101"]),
    (lambda: un.gaussian_heads(X), ValueError, ["outputs", "raw variances", "(3, 7, 5)"]),
]
GAUSSIANS = [
    (lambda: un.mixture(X, one_is(0.0, ones(M, B, k))), ValueError, ["variance", "positive", " 0"]),
    (lambda: un.mixture(X, -X), ValueError, ["variance", "positive", "-1"]),
    (lambda: un.mixture(X, 1e-101 * X), ValueError, ["variance", "1e-100", "1e-101"]),
    (lambda: un.gaussian_nll(X, X, ones(B)), ValueError, ["targets", "(7,)", "(7, 5)"]),
    (lambda: un.gaussian_nll(X[..., :1], X[..., :1], ones(B + 1)), ValueError,
     ["targets", "(8,)", "(7, 1) or (7,)"]),
    (lambda: un.gaussian_nll(X, 0 * X, Y), ValueError, ["variance", "positive"]),
    (lambda: un.crps(X, -X, Y), ValueError, ["variance", "positive", "-1"]),
    (lambda: un.coverage(X, X, Y, 95), ValueError, ["level", "above 0 and below 1", "95"]),
    (lambda: un.coverage(X, X, Y, 1.0), ValueError, ["level", "below 1", "1.0"]),
    (lambda: un.coverage(X, X, Y, "0.9"), TypeError, ["level", "'0.9'"]),
    (lambda: un.quantile(X, X, 1.0), ValueError, ["probability", "above 0 and below 1", "1.0"]),
    (lambda: un.quantile(X, X, "0.9"), TypeError, ["probability", "'0.9'"]),
    (lambda: un.quantile(X, 0 * X, 0.5), ValueError, ["variance", "positive"]),
    (lambda: un.interval(X, X, 90), ValueError, ["level", "above 0 and below 1", "90"]),
    (lambda: un.interval(X, X, 0), ValueError, ["level", "above 0", "0"]),
    (lambda: un.smallest_set(Y), ValueError, ["probabilities", "sum to 1", "5"]),
    (lambda: un.smallest_set(Q, 95), ValueError, ["level", "below 1", "95"]),
    (lambda: un.interval_score(Y, one_is(0.5, ones(B, k)), Y), ValueError,
     ["low[6, 4] = 1", "high[6, 4] = 0.5", "no less"]),
    (lambda: un.interval_score(Y, one_is(NAN, ones(B, k)), Y), ValueError, ["high[6, 4] = nan"]),
    (lambda: un.interval_score(INF * Y, INF * Y, Y), ValueError, ["low[0, 0] = inf", "-inf"]),
    (lambda: un.interval_score(-INF * Y, -INF * Y, Y), ValueError, ["high[0, 0] = -inf"]),
    (lambda: un.interval_score(Y, Y, Y, 95), ValueError, ["level", "below 1", "95"]),
]
CLASSES = [
    (lambda: un.averaged(X), ValueError, ["probabilities", "sum to 1", "0.0001", "5"]),
    (lambda: un.averaged(one_is(0.3, even(M, B, k))), ValueError, ["probabilities", "sum", "1.1"]),
    (lambda: un.averaged(np.array([[[1.5, -0.5]]])), ValueError, ["probabilities", "0 up", "-0.5"]),
    (lambda: un.averaged(np.log(P)), ValueError, ["probabilities", "0 up", "-1.6"]),
    (lambda: un.categorical_nll(P, one_is(k, zeros(B))), ValueError, ["labels", "0 to 4", "got 5"]),
    (lambda: un.categorical_nll(P, one_is(-1, zeros(B))), ValueError, ["labels", "0 up", "-1"]),
    (lambda: un.mixture_nll(one_is(-INF, ones(M, B))), ValueError, ["nll", "-inf"]),
    (lambda: un.brier(Q + 1e-3, LABELS), ValueError, ["probabilities", "sum", "1.005"]),
    (lambda: un.accuracy(Q, LABELS + k), ValueError, ["labels", "0 to 4", "5"]),
]
CALIBRATION = [
    (lambda: un.reliability(Q, LABELS, bins=0), ValueError, ["bins", "positive", "0"]),
    (lambda: un.reliability(Q, LABELS, bins=10.0), TypeError, ["bins", "integer", "10.0"]),
    (lambda: un.reliability(Q, LABELS, bins=10**6), ValueError, ["bins", "10000", "1000000"]),
    (lambda: un.ece(Q, LABELS, bins=True), TypeError, ["bins", "True"]),
    (lambda: un.ece(-Q, LABELS), ValueError, ["probabilities", "0 up", "-0.2"]),
    (lambda: Scaling.fit(Y, LABELS + k), ValueError, ["labels", "0 to 4", "fit logits"]),
    (lambda: Scaling.fit(one_is(-INF, ones(B, k)), LABELS), ValueError, ["logits", "finite"]),
    (lambda: Scaling(0.0), ValueError, ["temperature", "above 0", "0.0"]),
    (lambda: Scaling(-1), ValueError, ["temperature", "above 0", "-1"]),
    (lambda: Scaling(INF), ValueError, ["temperature", "finite", "inf"]),
    (lambda: Scaling(ones(1)), TypeError, ["temperature", "number", "array"]),
    (lambda: Scaling(1.0).probabilities(ones(k)), ValueError, ["logits", "(5,)", "(B, k)"]),
]
CONFORMAL = [
    (lambda: un.conformal_quantile(ones(B), 1), ValueError, ["level", "below 1", "1.0"]),
    (lambda: Intervals.fit(X, Y), ValueError, ["prediction", "(3, 7, 5)", "(n, k)"]),
    (lambda: Intervals.fit(Y, ones(B)), ValueError, ["targets", "(7,)", "fit prediction"]),
    (lambda: Intervals.fit(Y, Y, X), ValueError, ["std", "(3, 7, 5)", "fit prediction"]),
    (lambda: Intervals.fit(Y, Y, -Y), ValueError, ["std", "positive", "1e-50", "-1"]),
    (lambda: Intervals.fit(Y, Y, 0 * Y), ValueError, ["std", "positive", " 0"]),
    (lambda: Intervals.fit(Y, Y, folds=zeros(M)), ValueError, ["folds", "(3,)", "(7,)"]),
    (lambda: Intervals.fit(Y, Y, folds=ones(B)), TypeError, ["folds", "integers", "float64"]),
    (lambda: Intervals.fit(Y, Y, folds=zeros(B) - 1), ValueError, ["folds", "0 up", "-1"]),
    (lambda: Intervals(Y).interval(X, level=0.5), ValueError,
     ["prediction", "(3, 7, 5)", "(B, 5)", "fit"]),
    (lambda: Intervals(Y).interval(Y, Y, level=0.5), ValueError, ["std", "left out", "(7, 5)"]),
    (lambda: Intervals(Y, None, True).interval(Y, level=0.5), ValueError, ["std", "given", "None"]),
    (lambda: Intervals(Y, None, True).interval(Y, -Y, level=0.5), ValueError,
     ["std", "positive", "-1"]),
    (lambda: Intervals(Y).interval(Y, level=50), ValueError, ["level", "below 1", "50"]),
    (lambda: Intervals(Y).guarantee(50), ValueError, ["level", "below 1", "50"]),
    (lambda: Intervals(Y, FOLDS).interval(Y, level=0.6), ValueError,
     ["prediction", "(7, 5)", "(2, B, 5)"]),
    (lambda: Intervals(Y, FOLDS).interval(X, level=0.6), ValueError,
     ["prediction", "(3, 7, 5)", "(2, B, 5)"]),
    (lambda: Intervals(Y, FOLDS).interval(X[:2], level=0.5), ValueError,
     ["level", "above 0.5", "got 0.5"]),
    (lambda: Intervals(Y, FOLDS).guarantee(0.5), ValueError, ["level", "above 0.5"]),
    (lambda: Sets.fit(Y, LABELS, None), ValueError, ["probabilities", "sum to 1", "5"]),
    (lambda: Sets.fit(Q, LABELS + k, None), ValueError, ["labels", "0 to 4", "5"]),
    (lambda: Sets.fit(Q, LABELS, 0), TypeError, ["rng", "default_rng", "int"]),
    (lambda: Sets.fit(Q, LABELS, None, zeros(M)), ValueError, ["folds", "(3,)", "(7,)"]),
    (lambda: Sets(ones(B)).sets(Q, level=0), ValueError, ["level", "above 0", "0"]),
    (lambda: Sets(ones(B)).sets(Q, level=0.5, rng=rng()), ValueError, ["rng", "left out"]),
    (lambda: Sets(ones(B), None, True).sets(Q, level=0.5), ValueError, ["rng", "given", "None"]),
    (lambda: Sets(ones(B), None, True).sets(Q, level=0.5, rng=1), TypeError, ["rng", "int"]),
    (lambda: Sets(ones(B), FOLDS).sets(Q, level=0.6), ValueError,
     ["probabilities", "(7, 5)", "(2, B, k)"]),
    (lambda: Sets(ones(B), FOLDS).sets(P[:2], level=0.5), ValueError,
     ["level", "above 0.5"]),
]
PAIRS = [
    (lambda: un.disagreement(Q), ValueError, ["predictions", "two members", "(1, 7)"]),
    (lambda: un.disagreement(zeros(1, B)), ValueError, ["predictions", "two members", "(1, 7)"]),
    (lambda: un.disagreement(X), ValueError, ["predictions", "sum to 1", "5"]),
    (lambda: un.disagreement(zeros(M, B) - 1), ValueError, ["predictions", "0 up", "-1"]),
    (lambda: un.chance_disagreement(P[:1], LABELS), ValueError,
     ["probabilities", "two members", "(1, 7, 5)"]),
    (lambda: un.chance_disagreement(ones(M, B, 1), LABELS), ValueError,
     ["probabilities", "two classes", "(3, 7, 1)"]),
    (lambda: un.error_correlation(X[:1], Y), ValueError,
     ["predictions", "two members", "(1, 7, 5)"]),
    (lambda: un.error_correlation(0 * X, 0 * Y), ValueError, ["predictions", "vary", "member 0"]),
    (lambda: un.error_correlation(X, Y), ValueError, ["predictions", "vary", "member 0"]),
    (lambda: un.error_correlation(np.stack([Q**2, Y / 10 + LINE]), LINE), ValueError,
     ["predictions", "vary", "member 1", "0.1 everywhere"]),
    (lambda: un.paired(ones(1)), ValueError, ["differences", "at least two", "(1,)"]),
    (lambda: un.paired(ones(1, 7)), ValueError, ["differences", "at least two", "(1, 7)"]),
    (lambda: un.paired(ones(B), 0), ValueError, ["level", "above 0", "0"]),
    (lambda: un.paired(ones(B), NAN), ValueError, ["level", "finite", "nan"]),
    (lambda: un.resampled(ones(1), train=9, test=1), ValueError, ["differences", "at least two"]),
    (lambda: un.resampled(ones(B), train=0, test=1), ValueError, ["train", "positive", "0"]),
    (lambda: un.resampled(ones(B), train=9, test=0.1), TypeError, ["test", "0.1"]),
    (lambda: un.holm([0.5, 1.5]), ValueError, ["p_values", "0 to 1", "1.5"]),
]
# fmt: on
#: Adding these rounds, so that an error that is the same everywhere has other last digits.
LINE = np.linspace(-3, 3, B * k).reshape(B, k)
GROUPS = {
    "arrays": ARRAYS,
    "gaussians": GAUSSIANS,
    "classes": CLASSES,
    "calibration": CALIBRATION,
    "conformal": CONFORMAL,
    "pairs": PAIRS,
}
CASES = [
    pytest.param(*case, id=f"{group}-{i}")
    for group, cases in GROUPS.items()
    for i, case in enumerate(cases)
]


#: What is made of each array that a function takes, and what its error then says.
SPOILED = {
    "axes": (lambda array: array[None, None, None], ValueError, "has shape (1, 1, 1, "),
    "empty": (lambda array: array[:0], ValueError, "with no size 0"),
    "nan": (lambda array: one_is(NAN, array.astype(float)), (TypeError, ValueError), ""),
    "words": (lambda array: array.astype(str), TypeError, "got dtype <U"),
    "object": (lambda array: array.astype(object), TypeError, "got dtype object"),
    "flags": (lambda array: array > 0, TypeError, "got dtype bool"),
    "no array": (lambda array: {"array": array}, TypeError, "plain NumPy array"),
}


@pytest.mark.parametrize("spoil", SPOILED)
@pytest.mark.parametrize("name", arguments())
def test_an_array_of_another_kind_is_named(name, spoil):
    to, error, words = SPOILED[spoil]
    for i, (argument, array) in enumerate(
        zip(inspect.signature(getattr(un, name)).parameters, arguments()[name], strict=False)
    ):
        if isinstance(array, np.ndarray):
            given = [*arguments()[name][:i], to(array), *arguments()[name][i + 1 :]]
            with pytest.raises(error, match=rf"\b{argument}\b") as caught:
                call(name, given)
            assert words in str(caught.value)


@pytest.mark.parametrize("name", sorted(arguments().keys() - {"auroc"}))
def test_arrays_that_do_not_fit_each_other_are_named(name):
    first, *others = arguments()[name]
    names = list(inspect.signature(getattr(un, name)).parameters)
    for i, array in enumerate(others):
        if isinstance(array, np.ndarray):
            longer = [*others[:i], np.repeat(array, 2, axis=0), *others[i + 1 :]]
            with pytest.raises(ValueError, match=f"{names[i + 1]} has shape .* to fit {names[0]}"):
                call(name, [first, *longer])


@pytest.mark.parametrize(("bad", "error", "words"), CASES)
def test_bad_input_is_named(bad, error, words):
    with pytest.raises(error) as caught:
        bad()
    for word in words:
        assert word in str(caught.value)

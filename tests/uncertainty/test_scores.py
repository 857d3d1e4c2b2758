"""Each function of forecasts against its definition: a loop, SciPy, scikit-learn or quadrature."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, special, stats
from sklearn import metrics

from ensedu import uncertainty as un
from tests.uncertainty.cases import arguments, call, forecasts, k, numbers


def mixture(mean, variance):
    """Lakshminarayanan et al. 2017, sec. 2.4."""
    center = sum(mean) / len(mean)
    return center, sum(variance + mean**2) / len(mean) - center**2


def crps(mean, variance, y):
    """The integral of the squared distance between the distribution function and a step at y."""

    def one(mean, std, y):
        def cdf(t):
            return special.ndtr((t - mean) / std).mean()

        low, high = min((mean - 9 * std).min(), y), max((mean + 9 * std).max(), y)
        below, _ = integrate.quad(lambda t: cdf(t) ** 2, low, y, limit=200)
        above, _ = integrate.quad(lambda t: (1 - cdf(t)) ** 2, y, high, limit=200)
        return below + above

    places = list(np.ndindex(y.shape))
    std = np.sqrt(variance)
    return np.reshape([one(mean[:, *at], std[:, *at], y[at]) for at in places], y.shape)


def entropy_parts(p):
    average = sum(p) / len(p)
    entropy = [stats.entropy(one, axis=-1) for one in p]
    divergence = [special.rel_entr(one, average).sum(-1) for one in p]
    return stats.entropy(average, axis=-1), np.mean(entropy, 0), np.mean(divergence, 0)


def covariance_parts(p):
    """Of one-hot labels, whose mean is p, and of the members' p."""

    def of_labels(p):
        return np.array([np.diag(row) - np.outer(row, row) for row in p])

    between = [np.cov(p[:, b].T, bias=True) for b in range(p.shape[1])]
    return of_labels(p.mean(0)), np.mean([of_labels(one) for one in p], 0), between


def reliability(p, labels, bins=15):
    edges, rows = np.linspace(0, 1, bins + 1), []
    top, right = p.max(1), p.argmax(1) == labels
    for j in range(bins):
        own = (edges[j] <= top) & ((top < edges[j + 1]) | (j == bins - 1))
        rows.append((own.sum(), *((top[own].mean(), right[own].mean()) if own.any() else (0, 0))))
    return edges, *np.transpose(rows)


def ece(p, labels, bins=15):
    _, count, confidence, accuracy = reliability(p, labels, bins)
    return (count * abs(accuracy - confidence)).sum() / len(p)


def chance_disagreement(p, labels):
    """Two that err alone are both right, or both wrong and alike, and else they differ."""
    k, right = p.shape[-1], (p.argmax(-1) == labels).mean(-1)
    pairs = combinations(right, 2)
    return np.mean([1 - a * b - (1 - a) * (1 - b) / (k - 1) for a, b in pairs])


def paired(differences, overlap=0.0):
    """Student's t test, with its standard error √(1 + n · overlap) times as large."""
    d = differences.mean(-1)
    n, wide = len(d), math.sqrt(1 + len(d) * overlap)
    test = stats.ttest_1samp(d, 0)
    low, high = test.confidence_interval(0.95)
    half = wide * (high - low) / 2
    return (
        d.mean(),
        d.mean() - half,
        d.mean() + half,
        n,
        2 * stats.t.sf(abs(test.statistic) / wide, n - 1),
    )


def nll_of(mean, variance, y):
    return -stats.norm.logpdf(y, mean, np.sqrt(variance)).sum(-1)


#: What each function makes of its arguments, at its defaults.
DEFINITIONS = {
    "gaussian_heads": lambda out: (
        np.split(out, 2, -1)[0], np.log1p(np.exp(np.split(out, 2, -1)[1])) + 1e-6,
    ),
    "softmax": lambda logits: special.softmax(logits, -1),
    "mixture": mixture,
    "averaged": lambda p: sum(p) / len(p),
    "variance_parts": lambda mean, variance: (
        mixture(mean, variance)[1], np.mean(variance, 0), np.var(mean, 0),
    ),
    "entropy_parts": entropy_parts,
    "covariance_parts": covariance_parts,
    "ambiguity": lambda mean, y: ((mean.mean(0) - y) ** 2, ((mean - y) ** 2).mean(0), mean.var(0)),
    "gaussian_nll": nll_of,
    "categorical_nll": lambda p, labels: -np.log(p[:, np.arange(len(labels)), labels]),
    "average_nll": lambda nll: sum(nll) / len(nll),
    "mixture_nll": lambda nll: -np.log(sum(np.exp(-nll)) / len(nll)),
    "moment_matched_nll": lambda mean, variance, y: nll_of(*mixture(mean, variance), y),
    "brier": lambda p, labels: ((p - np.eye(p.shape[-1])[labels]) ** 2).sum(-1),
    "crps": crps,
    "mixture_cdf": lambda mean, variance, y: stats.norm.cdf(y, mean, np.sqrt(variance)).mean(0),
    "coverage": lambda mean, variance, y: (
        abs(stats.norm.cdf(y, mean, np.sqrt(variance)).mean(0) - 0.5) <= 0.475
    ).mean(),
    "rmse": lambda prediction, y: metrics.mean_squared_error(y, prediction) ** 0.5,
    "accuracy": lambda p, labels: metrics.accuracy_score(labels, p.argmax(1)),
    "reliability": reliability,
    "ece": ece,
    "disagreement": lambda p: np.mean([a != b for a, b in combinations(p.argmax(-1), 2)]),
    "chance_disagreement": chance_disagreement,
    "error_correlation": lambda mean, y: np.mean(
        [np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in combinations(mean - y, 2)]
    ),
    "auroc": lambda inside, outside: np.mean(
        [(a < b) + 0.5 * (a == b) for a in inside for b in outside]
    ),
    "paired": paired,
    "corrected_t": lambda differences: paired(differences, overlap=10 / 90),
    "holm": lambda p: [min(1, max(q * sum(p >= q) for q in p if q <= one)) for one in p],
}  # fmt: skip
ELSEWHERE = {"quantile", "interval", "smallest_set", "interval_score", "conformal_quantile"}


def test_every_function_has_a_definition():
    functions = {name for name in un.__all__ if not isinstance(getattr(un, name), type)}
    assert arguments().keys() == functions == DEFINITIONS.keys() | ELSEWHERE


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", DEFINITIONS)
@given(
    seed=st.integers(0, 10**6), M=st.integers(2, 4), B=st.integers(2, 5), k=st.integers(2, 4),
)  # fmt: skip
def test_a_function_is_its_definition(name, seed, M, B, k):
    assume(name != "crps" or seed % 5 == 0)
    given = arguments(seed, M, B, k)[name]
    found, expected = numbers(call(name, given)), DEFINITIONS[name](*given)
    expected = expected if isinstance(expected, tuple) else [expected]
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-7 if name == "crps" else 1e-10, atol=1e-12)


@given(seed=st.integers(0, 10**6), bins=st.integers(1, 40), level=st.floats(0.01, 0.99))
def test_bins_and_levels_are_those_that_are_asked_for(seed, bins, level):
    logits, labels = forecasts(seed)
    p = un.softmax(logits)
    for one, other in zip(
        numbers(un.reliability(p, labels, bins=bins)), reliability(p, labels, bins), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert un.ece(p, labels, bins=bins) == pytest.approx(ece(p, labels, bins), abs=1e-12)
    d = logits[:9, 0]
    found, expected = un.paired(d, level), stats.ttest_1samp(d, 0).confidence_interval(level)
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-9, abs=1e-12)
    wide = un.corrected_t(d, level=level, train=90, test=10)
    assert wide.high - wide.low == pytest.approx(2**0.5 * (found.high - found.low), rel=1e-9)
    # Labels serve as well as probabilities.
    assert un.disagreement(np.stack([labels, labels, 1 + labels])) == pytest.approx(2 / 3)


def test_a_confidence_on_an_edge_is_in_the_bin_above_and_one_in_the_last():
    p = np.array([[0.5, 0.5, 0.0], [0.75, 0.25, 0.0], [1.0, 0.0, 0.0]])
    assert un.reliability(p, np.array([0, 1, 0]), bins=4).count.tolist() == [0, 0, 1, 2]


def test_numbers_that_floats_do_not_hold_have_scores():
    heads = np.array([[[0.0, -1e99], [0.0, 1e99]]])
    assert un.gaussian_heads(heads)[1].ravel().tolist() == [1e-6, 1e99]
    nll = un.mixture_nll(np.array([[1e6, np.inf], [1e6 + 1, math.log(2)]]))
    expected = [1e6 + math.log(2) - math.log1p(math.exp(-1)), math.log(4)]
    np.testing.assert_allclose(nll, expected, rtol=1e-15)
    assert un.mixture_nll(np.full((3, 1), np.inf)).tolist() == [np.inf]
    tiny = np.zeros((3, 1, 2))
    tiny[..., 0], tiny[0, 0, 1] = 1, 5e-324  # whose average is 0
    for part in numbers(un.entropy_parts(tiny)):
        assert abs(part[0]) < 1e-300
    # Shifting does not round the variance away, as the definition would.
    mean, variance = arguments()["mixture"]
    mean = np.round(64 * mean) / 64
    shifted = un.mixture(mean + 2.0**32, variance)[1]
    np.testing.assert_allclose(shifted, un.mixture(mean, variance)[1], rtol=1e-6)


def test_what_is_certain_has_no_sign():
    sure, labels = np.eye(2)[None], np.array([0, 1])
    for zero in (un.entropy_parts(sure).total, un.categorical_nll(sure, labels)):
        assert not zero.any() and not np.signbit(zero).any()


def test_equal_differences_have_no_width():
    found = un.paired(np.full(5, 0.25), 1 - 2**-53)
    assert (found.mean, found.low, found.high, found.p) == (0.25, 0.25, 0.25, 0)
    assert un.paired(np.zeros(5)).p == 1


def best_temperature(logits, labels):
    return un.TemperatureScaling.fit(logits, labels).temperature


def scaled(logits, T):
    return un.TemperatureScaling(T).probabilities(logits)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 3.0, 1e3, 1e50]))
def test_no_other_temperature_is_better(seed, scale):
    logits, labels = forecasts(seed, scale=scale)

    def nll(T):
        return -special.log_softmax(logits / T, -1)[np.arange(len(labels)), labels].mean()

    T = best_temperature(logits, labels)
    assert all(nll(T * by) >= nll(T) - 1e-14 for by in (0.5, 0.99, 0.9999, 1.0001, 1.01, 2))


@given(gap=st.floats(1e-6, 1e6), right=st.integers(1, 40), wrong=st.integers(1, 40))
def test_two_classes_and_one_gap_have_a_formula(gap, right, wrong):
    assume(right > wrong)
    labels = np.repeat([0, 1], [right, wrong])
    logits = np.tile([gap, 0.0], (right + wrong, 1))
    assert best_temperature(logits, labels) == pytest.approx(
        gap / math.log(right / wrong), rel=1e-9
    )


@pytest.mark.parametrize("shape", [(3, 7, k), (7, k)])
@pytest.mark.parametrize("T", [1e-3, 0.7, 1.0, 30.0])
def test_scaled_is_a_softmax_of_averaged_members(shape, T):
    logits = np.random.default_rng(0).standard_normal(shape)
    one = logits if len(shape) < 3 else np.log(special.softmax(logits, -1).mean(0))
    np.testing.assert_allclose(scaled(logits, T), special.softmax(one / T, -1), atol=1e-12)
    labels = np.arange(7) % k
    assert best_temperature(logits, labels) == pytest.approx(best_temperature(one, labels))


def test_a_temperature_next_to_zero_leaves_the_greatest():
    assert scaled(np.array([[1e99, -1e99, 0.0]]), 5e-324).tolist() == [[1, 0, 0]]

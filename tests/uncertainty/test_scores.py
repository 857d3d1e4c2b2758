"""Scores against Torch, SciPy, scikit-learn, quadrature and explicit loops."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats
from sklearn import metrics

from ensedu import uncertainty as un

M, B, k = 3, 7, 5


def gaussians(seed=0, members=M, examples=B, outputs=k):
    """Means, variances and targets."""
    rng = np.random.default_rng(seed)
    shape = members, examples, outputs
    return rng.normal(0, 2, shape), rng.lognormal(0, 1, shape), rng.normal(0, 3, shape[1:])


def classes(seed=0, members=M, examples=B, outputs=k):
    """Probabilities and labels."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(outputs), (members, examples)), rng.integers(0, outputs, examples)


def in_torch(mean, variance):
    """The mixture of each output as Torch has it."""
    means, stds = (torch.tensor(np.moveaxis(a, 0, -1)) for a in (mean, variance**0.5))
    weights = torch.distributions.Categorical(torch.ones(means.shape, dtype=torch.float64))
    return torch.distributions.MixtureSameFamily(weights, torch.distributions.Normal(means, stds))


def test_gaussian_nll_is_that_of_scipy():
    mean, variance, targets = gaussians()
    found = un.gaussian_nll(mean, variance, targets)
    assert found.shape == (M, B)
    for i in range(M):
        for b in range(B):
            normal = stats.multivariate_normal(mean[i, b], np.diag(variance[i, b]))
            assert found[i, b] == pytest.approx(-normal.logpdf(targets[b]), rel=1e-12)


def test_categorical_nll_is_that_of_scikit_learn():
    probabilities, labels = classes()
    found = un.categorical_nll(probabilities, labels)
    assert found.shape == (M, B)
    for i in range(M):
        for b in range(B):
            expected = metrics.log_loss(
                labels[b : b + 1], probabilities[i, b][None], labels=range(k)
            )
            assert found[i, b] == pytest.approx(expected, rel=1e-12)


@given(seed=st.integers(0, 10**6), members=st.integers(1, 6), examples=st.integers(1, 9))
def test_mixture_is_never_above_average(seed, members, examples):
    for nll in (
        un.gaussian_nll(*gaussians(seed, members, examples)),
        un.categorical_nll(*classes(seed, members, examples)),
    ):
        average, mixture = un.average_nll(nll), un.mixture_nll(nll)
        assert average.shape == mixture.shape == (examples,)
        assert (mixture <= average + 1e-12 * np.abs(average)).all()
        if members == 1:
            np.testing.assert_allclose(mixture, average, rtol=1e-12)


def test_mixture_nll_is_that_of_the_averaged_densities():
    mean, variance, targets = gaussians()
    nll = un.gaussian_nll(mean, variance, targets)
    found, average = un.mixture_nll(nll), un.average_nll(nll)
    for b in range(B):
        densities = [
            math.prod(
                stats.norm(mean[i, b, j], variance[i, b, j] ** 0.5).pdf(targets[b, j])
                for j in range(k)
            )
            for i in range(M)
        ]
        assert found[b] == pytest.approx(-math.log(sum(densities) / M), rel=1e-12)
        assert average[b] == pytest.approx(-sum(map(math.log, densities)) / M, rel=1e-12)


def test_mixture_nll_is_that_of_the_averaged_probabilities():
    probabilities, labels = classes()
    found = un.mixture_nll(un.categorical_nll(probabilities, labels))
    expected = -np.log(un.averaged(probabilities)[np.arange(B), labels])
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    of_one = un.mixture_nll(un.gaussian_nll(*gaussians(outputs=1)))
    mean, variance, targets = gaussians(outputs=1)
    expected = -in_torch(mean, variance).log_prob(torch.tensor(targets))[:, 0]
    np.testing.assert_allclose(of_one, expected, rtol=1e-12)


def test_mixture_nll_of_densities_that_are_no_floats():
    np.testing.assert_allclose(
        un.mixture_nll(np.array([[1e6], [1e6 + 1]])),
        1e6 + math.log(2) - math.log1p(math.exp(-1)),
        rtol=1e-15,
    )


def test_a_probability_of_zero_is_an_infinite_nll_and_not_the_mixtures():
    probabilities = np.array([[[1.0, 0.0]], [[0.5, 0.5]]])
    nll = un.categorical_nll(probabilities, np.array([1]))
    assert nll[0, 0] == np.inf == un.average_nll(nll)[0]
    assert un.mixture_nll(nll)[0] == pytest.approx(math.log(4))
    assert un.mixture_nll(np.full((M, 1), np.inf))[0] == np.inf
    certain = un.categorical_nll(probabilities, np.array([0]))
    assert certain[0, 0] == 0 and not np.signbit(certain[0, 0])


def test_moment_matched_nll_is_that_of_one_gaussian():
    mean, variance, targets = gaussians()
    found = un.moment_matched_nll(mean, variance, targets)
    center, width = un.mixture(mean, variance)
    for b in range(B):
        normal = stats.multivariate_normal(center[b], np.diag(width[b]))
        assert found[b] == pytest.approx(-normal.logpdf(targets[b]), rel=1e-12)
    alone = mean[:1], variance[:1], targets
    np.testing.assert_allclose(
        un.moment_matched_nll(*alone), un.gaussian_nll(*alone)[0], rtol=1e-14
    )


def test_moment_matched_nll_may_be_above_the_average():
    mean, variance = np.array([[[-9.0]], [[9.0]]]), np.full((2, 1, 1), 0.01)
    matched = un.moment_matched_nll(mean, variance, np.array([9.0]))
    mixture = un.mixture_nll(un.gaussian_nll(mean, variance, np.array([9.0])))
    assert mixture[0] < 0 < matched[0]


def test_brier_is_that_of_scikit_learn():
    probabilities, labels = classes(examples=101)
    labels[:k] = range(k)
    found = un.brier(probabilities[0], labels)
    expected = metrics.brier_score_loss(labels, probabilities[0], scale_by_half=False)
    assert found.mean() == pytest.approx(expected, rel=1e-13)
    one_hot = np.array([[float(label == c) for c in range(k)] for label in labels])
    loop = [sum((probabilities[0, b] - one_hot[b]) ** 2) for b in range(101)]
    np.testing.assert_allclose(found, loop, rtol=1e-13)
    assert un.brier(np.eye(2), np.array([0, 0])).tolist() == [0, 2]


@pytest.mark.parametrize("members", [1, M])
def test_crps_is_the_integral(members):
    mean, variance, targets = gaussians(members=members, examples=3, outputs=2)
    found = un.crps(mean, variance, targets)
    assert found.shape == (3, 2)
    for b in range(3):
        for j in range(2):
            stds = variance[:, b, j] ** 0.5
            centers, y = mean[:, b, j], targets[b, j]

            def cdf(t, centers=centers, stds=stds):
                return stats.norm.cdf(t, centers, stds).mean()

            low, high = min((centers - 12 * stds).min(), y), max((centers + 12 * stds).max(), y)
            below, _ = integrate.quad(lambda t: cdf(t) ** 2, low, y, limit=400, epsabs=1e-11)
            above, _ = integrate.quad(lambda t: (1 - cdf(t)) ** 2, y, high, limit=400, epsabs=1e-11)
            assert found[b, j] == pytest.approx(below + above, abs=1e-9)


@given(seed=st.integers(0, 10**6), members=st.integers(1, 6), copies=st.integers(1, 4))
def test_crps_of_copies_of_members_is_the_same(seed, members, copies):
    mean, variance, targets = gaussians(seed, members)
    found = un.crps(mean, variance, targets)
    repeated = un.crps(np.repeat(mean, copies, 0), np.repeat(variance, copies, 0), targets)
    np.testing.assert_allclose(repeated, found, rtol=1e-11)
    assert (found > 0).all()
    assert (found <= np.abs(mean - targets).mean(0) + np.sqrt(variance).mean(0)).all()


def test_crps_of_certain_members_is_the_ensembles():
    rng = np.random.default_rng(0)
    mean, targets = rng.standard_normal((M, B, 1)), rng.standard_normal(B)
    found = un.crps(mean, np.full((M, B, 1), 1e-30), targets)[:, 0]
    for b in range(B):
        members = mean[:, b, 0]
        pairs = [abs(one - other) for one in members for other in members]
        expected = np.mean(np.abs(members - targets[b])) - 0.5 * np.mean(pairs)
        assert found[b] == pytest.approx(expected, rel=1e-12)


def test_cdf_is_that_of_torch():
    mean, variance, targets = gaussians()
    found = un.mixture_cdf(mean, variance, targets)
    expected = in_torch(mean, variance).cdf(torch.tensor(targets))
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_coverage_is_that_of_the_interval_between_quantiles(level):
    mean, variance, targets = gaussians(examples=53)
    inside = 0
    for b in range(53):
        for j in range(k):

            def cdf(y, b=b, j=j):
                return special.ndtr((y - mean[:, b, j]) / variance[:, b, j] ** 0.5).mean()

            low, high = (
                optimize.brentq(lambda y, q=q: cdf(y) - q, -100, 100)
                for q in ((1 - level) / 2, (1 + level) / 2)
            )
            inside += low <= targets[b, j] <= high
    assert 0 < inside < 53 * k
    assert un.coverage(mean, variance, targets, level) == inside / (53 * k)


def test_coverage_of_draws_from_the_mixture_is_the_level():
    rng = np.random.default_rng(0)
    mean, variance, _ = gaussians(examples=20_000, outputs=1)
    member = rng.integers(0, M, 20_000)
    rows = member, np.arange(20_000), 0
    targets = rng.normal(mean[rows], variance[rows] ** 0.5)
    for level in (0.5, 0.95):
        error = (level * (1 - level) / 20_000) ** 0.5
        assert abs(un.coverage(mean, variance, targets, level) - level) < 4 * error
    assert un.coverage(mean, variance, targets) == un.coverage(mean, variance, targets, 0.95)


def test_rmse_is_that_of_scikit_learn():
    _, _, targets = gaussians()
    prediction, _ = un.mixture(*gaussians(seed=1)[:2])
    expected = metrics.mean_squared_error(targets, prediction) ** 0.5
    assert un.rmse(prediction, targets) == pytest.approx(expected, rel=1e-14)
    column = un.rmse(prediction[:, :1], targets[:, 0])
    expected = metrics.root_mean_squared_error(targets[:, 0], prediction[:, 0])
    assert column == pytest.approx(expected, rel=1e-14)


def test_accuracy_is_that_of_scikit_learn():
    probabilities, labels = classes(examples=101)
    found = un.accuracy(probabilities[0], labels)
    assert found == metrics.accuracy_score(labels, probabilities[0].argmax(1))
    assert 0 < found < 1

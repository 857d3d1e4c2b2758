"""Exact linear regression: numbers that SciPy and plain inverses must repeat."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from ensedu.numpy import variational
from ensedu.priors import Normal
from ensedu.theory import conjugate
from tests.errors import check_error

N, m, n = 17, 5, 3
NOISE, PRIOR = 0.3, Normal(0.7, 1.3)
#: Sizes that no axis shares with another.
PRIMES = (2, 3, 5, 7, 11, 13)


def data(seed=0, N=N, m=m, n=n, correlation=0.8):
    """Features that have much in common, and targets."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((N, m)) + correlation * rng.standard_normal((N, 1))
    weights = rng.standard_normal((m, n))
    return features, features @ weights + NOISE * rng.standard_normal((N, n))


def exact(**k):
    return conjugate.posterior(*data(**k), noise_std=NOISE, prior=PRIOR)


def kl_to_normal(mean, std, other, covariance):
    """KL(N(mean, diag(std²)) ‖ N(other, covariance)), as textbooks have it."""
    precision, moved = np.linalg.inv(covariance), other - mean
    own, log_det = np.diag(std**2), np.linalg.slogdet(covariance)[1]
    return 0.5 * (
        np.trace(precision @ own) + moved @ precision @ moved - len(mean)
        + log_det - 2 * np.log(std).sum()
    )  # fmt: skip


@given(
    st.integers(0, 10**6), st.permutations(PRIMES), st.floats(0.05, 3.0), st.floats(0.1, 5.0),
    st.floats(-3.0, 3.0),
)  # fmt: skip
def test_the_posterior_is_the_normal_that_conditioning_gives(seed, sizes, noise, scale, loc):
    N, m, n = sizes[:3]
    features, targets = data(seed, N, m, n)
    found = conjugate.posterior(features, targets, noise_std=noise, prior=Normal(loc, scale))
    # y is normal, and so is the pair of w and y: the other way to the same posterior.
    cov_y = noise**2 * np.eye(N) + scale**2 * features @ features.T
    gain = scale**2 * features.T @ np.linalg.inv(cov_y)
    mean = loc + gain @ (targets - loc * features.sum(1, keepdims=True))
    covariance = scale**2 * (np.eye(m) - gain @ features)
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.covariance, covariance, rtol=0, atol=1e-6)
    marginal = scipy.stats.multivariate_normal(loc * features.sum(1), cov_y)
    wanted = sum(marginal.logpdf(column) for column in targets.T)
    assert found.log_evidence == pytest.approx(wanted, rel=1e-7, abs=1e-7)


def test_predictions_are_those_of_the_normal_weights():
    found, new = exact(), np.random.default_rng(1).standard_normal((7, m))
    mean, std = found.predict(new)
    np.testing.assert_allclose(mean, new @ found.mean, rtol=1e-12)
    variance = np.diag(new @ found.covariance @ new.T)
    np.testing.assert_allclose(std**2, np.stack([variance] * n, axis=1), rtol=1e-10)
    np.testing.assert_allclose(found.std**2, np.diag(found.covariance), rtol=1e-12)


@given(st.integers(0, 10**6), st.permutations(PRIMES), st.floats(0.0, 30.0))
def test_factorized_variances_are_never_larger_and_equal_where_features_share_nothing(
    seed, sizes, correlation
):
    N, m, n = sizes[:3]
    found = exact(seed=seed, N=N, m=m, n=n, correlation=correlation)
    np.testing.assert_allclose(found.mean_field_std**2, 1 / np.diag(found.precision), rtol=1e-12)
    assert (found.mean_field_std <= found.std * (1 + 1e-9)).all()
    apart = np.linalg.qr(np.random.default_rng(0).standard_normal((N, min(N, m))))[0]
    found = conjugate.posterior(apart, data(N=N, n=n)[1], noise_std=NOISE)
    np.testing.assert_allclose(found.mean_field_std, found.std, rtol=1e-12)


@given(st.integers(0, 10**6), st.permutations(PRIMES))
def test_free_energy_lies_above_the_evidence_by_the_kl(seed, sizes):
    N, m, n = sizes[:3]
    features, targets = data(seed, N, m, n)
    found = conjugate.posterior(features, targets, noise_std=NOISE, prior=PRIOR)
    rng = np.random.default_rng(seed)
    mean, rho = rng.standard_normal((2, m, n))
    value, _, _ = conjugate.free_energy(mean, rho, features, targets, noise_std=NOISE, prior=PRIOR)
    std = variational.softplus(rho)
    kl = sum(
        kl_to_normal(mean[:, k], std[:, k], found.mean[:, k], found.covariance) for k in range(n)
    )
    assert value + found.log_evidence == pytest.approx(kl, rel=1e-6, abs=1e-6)


def test_its_gradients_are_finite_differences():
    features, targets = data()
    rng = np.random.default_rng(3)
    at = rng.standard_normal((2, m, n))

    def value(at):
        return conjugate.free_energy(*at, features, targets, noise_std=NOISE, prior=PRIOR)[0]

    _, *grads = conjugate.free_energy(*at, features, targets, noise_std=NOISE, prior=PRIOR)
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = 1e-5
        slope = (value(at + step) - value(at - step)) / 2e-5
        assert grads[index[0]][index[1:]] == pytest.approx(slope, rel=1e-6, abs=1e-6)


FEATURES, TARGETS = data()


def fitted(features=FEATURES, targets=TARGETS, noise_std=NOISE, prior=PRIOR):
    return conjugate.posterior(features, targets, noise_std=noise_std, prior=prior)


def energy(mean=None, rho=None, features=FEATURES, targets=TARGETS, noise_std=NOISE, prior=PRIOR):
    mean, rho = (np.zeros((m, n)) if value is None else value for value in (mean, rho))
    return conjugate.free_energy(mean, rho, features, targets, noise_std=noise_std, prior=prior)


BAD = [
    (lambda: fitted(targets=np.full((N, n), np.nan)), ValueError, ["targets", "nan"]),
    (lambda: fitted(noise_std=1e-200), ValueError, ["noise_std", "1e-200"]),
    (lambda: fitted(prior=1.0), TypeError, ["prior", "Normal", "1.0"]),
    (lambda: fitted(np.ones((N, m)), prior=Normal(0, 1e150)), ValueError, ["prior", "1e+150"]),
    (lambda: fitted().predict(np.ones((7, m + 1))), ValueError, ["features", "(7, 6)", "(B, 5)"]),
    (lambda: energy(rho=np.full((m, n), np.inf)), ValueError, ["rho", "inf"]),
    (lambda: energy(noise_std=1e-200), ValueError, ["noise_std", "1e-200"]),
    (lambda: energy(prior=Normal(0.0, 1e-200)), ValueError, ["scale=1e-200"]),
]


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input_is_named(call, error, words):
    check_error(call, error, words)

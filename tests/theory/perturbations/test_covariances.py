"""Covariances of perturbed matrices: of all signs of r and s, entry by entry, and of draws."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.theory.perturbations import multiplicative, rank1, separable, spread_of
from tests.theory.perturbations.matrices import covariance, m, n, some_weight

#: Sizes that no axis shares with another.
PRIMES = (2, 3, 5, 7)


@given(m=st.sampled_from(PRIMES), n=st.sampled_from(PRIMES), seed=st.integers(0, 2**32 - 1))
def test_entries_are_a_loop(m, n, seed):
    W, R, S = some_weight(seed, m, n), covariance(seed, m), covariance(seed + 1, n)
    found = separable(R, S)
    scaled = spread_of(W, found).reshape(m, n, m, n)
    for a, j, b, i in np.ndindex(m, n, m, n):
        wanted = R[a, b] + S[j, i] + R[a, b] * S[j, i]
        assert found[a, j, b, i] == pytest.approx(wanted, abs=1e-12)
        assert scaled[a, j, b, i] == pytest.approx(W[a, j] * wanted * W[b, i], abs=1e-12)
    np.testing.assert_allclose(separable(R)[:, 0, :, 0], R, rtol=1e-12, atol=1e-14)


def test_it_is_the_covariance_of_a_matrix_times_random_r_and_s():
    """Exactly: r and s are roots of their covariances times all signs, each as likely."""
    W, roots = (
        some_weight(),
        [0.3 * some_weight(seed, size, size) for seed, size in ((1, m), (2, n))],
    )
    signs = np.array([*itertools.product([-1.0, 1.0], repeat=m + n)])
    r, s = 1 + signs[:, :m] @ roots[0].T, 1 + signs[:, m:] @ roots[1].T
    V = (W * r[:, :, None] * s[:, None]).reshape(len(signs), -1)
    expected = np.cov(V, rowvar=False, bias=True)
    found = spread_of(W, separable(*(root @ root.T for root in roots)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def in_errors(draws, mean, cov):
    """How far sample means and products are from theory, in standard errors, at most."""
    centered = (draws - mean).reshape(len(draws), -1)
    products = centered[:, :, None] * centered[:, None, :]
    return max(
        (np.abs(own.mean(0) - wanted) / (own.std(0) / len(draws) ** 0.5 + 1e-15)).max()
        for own, wanted in ((centered, 0), (products, cov))
    )


W, R, S = some_weight(), covariance(1, m, 0.2), covariance(2, n, 0.2)
#: A draw, its relative covariance, and how many random numbers it takes.
DRAWS = {
    "full": (lambda **k: multiplicative(W, separable(R, S), **k), separable(R, S), m * n),
    "rank-1": (lambda **k: rank1(W, R, S, **k), separable(R, S), m + n),
    "rows": (lambda **k: rank1(W, R, **k), separable(R), m),
    "full rows": (lambda **k: multiplicative(W, separable(R), **k), separable(R), m * n),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_their_moments_and_take_so_many_numbers(name):
    draw, relative, numbers = DRAWS[name]
    V = draw(rng=np.random.default_rng(3), draws=40_000)
    assert V.shape == (40_000, m, n)
    assert in_errors(V, W, spread_of(W, relative)) < 6
    # The check can fail.
    assert in_errors(V, W, spread_of(W, separable(R + S[:m, :m], S))) > 20
    rng, other = np.random.default_rng(5), np.random.default_rng(5)
    draw(rng=rng, draws=2)
    other.standard_normal(2 * numbers)
    assert rng.standard_normal() == other.standard_normal()


def test_without_a_covariance_nothing_moves():
    still = rank1(W, np.zeros((m, m)), rng=np.random.default_rng(0), draws=2)
    np.testing.assert_array_equal(still, np.stack([W, W]))

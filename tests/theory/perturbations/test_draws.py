"""Draws have the moments that they were asked for, and take so many random numbers."""

import numpy as np

from ensedu.theory.perturbations import multiplicative, rank1, separable, spread_of
from tests.theory.perturbations.matrices import covariance, m, n, some_weight


def in_errors(draws, mean, cov):
    """How far sample means and products are from theory, in standard errors, at most."""
    centered = (draws - mean).reshape(len(draws), -1)
    products = centered[:, :, None] * centered[:, None, :]
    return max(
        (np.abs(own.mean(0) - wanted) / (own.std(0) / len(draws) ** 0.5 + 1e-15)).max()
        for own, wanted in ((centered, 0), (products, cov))
    )


def test_draws_have_their_moments():
    W, R, S = some_weight(), covariance(1, m, 0.2), covariance(2, n, 0.2)
    rng, draws = np.random.default_rng(3), 40_000
    both = separable(R, S)
    for name, V, relative in (
        ("full", multiplicative(W, both, rng=rng, draws=draws), both),
        ("rank-1", rank1(W, R, S, rng=rng, draws=draws), both),
        ("rows", rank1(W, R, rng=rng, draws=draws), separable(R)),
        ("full rows", multiplicative(W, separable(R), rng=rng, draws=draws), separable(R)),
    ):
        assert V.shape == (draws, m, n)
        assert in_errors(V, W, spread_of(W, relative)) < 6, name
        # The check can fail.
        assert in_errors(V, W, spread_of(W, separable(R + S[:m, :m], S))) > 20, name


def test_what_does_not_depend_on_columns_is_rank_1_already():
    """Σ_aj,a'j' = R_aa': the full draw scales rows as a whole, whatever R is."""
    W, R = some_weight(), covariance(1, m, 0.3)
    V = multiplicative(W, separable(R), rng=np.random.default_rng(0), draws=11)
    ratios = V / W
    np.testing.assert_allclose(ratios, np.repeat(ratios[:, :, :1], n, axis=2), atol=1e-6)
    assert ratios.std() > 0.1
    # With s random too it is not: another law, of the same covariance.
    V = multiplicative(
        W, separable(R, covariance(2, n, 0.3)), rng=np.random.default_rng(0), draws=2
    )
    assert np.linalg.matrix_rank(V[0] / W) == m
    V = rank1(W, R, covariance(2, n, 0.3), rng=np.random.default_rng(0), draws=2)
    assert np.linalg.matrix_rank(V[0] / W) == 1


def test_draws_are_those_of_the_generator():
    W, R, S = some_weight(), covariance(1, m), covariance(2, n)
    for draw in (
        lambda rng, S_: rank1(W, R, S, rng=rng, draws=S_),
        lambda rng, S_: multiplicative(W, separable(R, S), rng=rng, draws=S_),
    ):
        one, other = (draw(np.random.default_rng(7), 5) for _ in range(2))
        np.testing.assert_array_equal(one, other)
        assert not np.array_equal(one, draw(np.random.default_rng(8), 5))
    still = rank1(W, np.zeros((m, m)), rng=np.random.default_rng(0), draws=2)
    np.testing.assert_array_equal(still, np.stack([W, W]))


def test_random_numbers_of_a_draw():
    """m + n for a pair, m n for a full matrix, as the generator is left."""
    W, R, S = some_weight(), covariance(1, m), covariance(2, n)
    for numbers, draw in (
        (m + n, lambda rng: rank1(W, R, S, rng=rng, draws=1)),
        (m, lambda rng: rank1(W, R, rng=rng, draws=1)),
        (m * n, lambda rng: multiplicative(W, separable(R, S), rng=rng, draws=1)),
    ):
        rng, other = np.random.default_rng(5), np.random.default_rng(5)
        draw(rng)
        other.standard_normal(numbers)
        assert rng.standard_normal() == other.standard_normal()

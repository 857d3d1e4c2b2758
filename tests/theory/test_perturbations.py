"""Perturbed matrices: covariances entry by entry, scores and Hessians against autograd."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ensedu.numpy as en
from ensedu.theory.perturbations import (
    Score,
    entry_covariance,
    first_order,
    hessian,
    multiplicative,
    rank1,
    sample_covariance,
    separable,
)

B, m, n, k = 13, 3, 5, 7
#: Sizes that no axis shares with another.
PRIMES = (2, 3, 5, 7)


def covariance(seed, size, scale=0.1):
    root = scale * np.random.default_rng(seed).standard_normal((size, size))
    return root @ root.T


def some_weight(seed=0, m=m, n=n):
    return np.random.default_rng(seed).standard_normal((m, n))


def network(seed=0, activation="tanh"):
    """A network whose middle matrix is (m, n), with examples."""
    rng = np.random.default_rng(seed)
    net = en.mlp([2, m, n, k], rng=rng, activation=activation)
    return net, rng.standard_normal((B, 2)), rng.integers(k, size=B)


@given(m=st.sampled_from(PRIMES), n=st.sampled_from(PRIMES), seed=st.integers(0, 2**32 - 1))
def test_entries_are_a_loop(m, n, seed):
    W, R, S = some_weight(seed, m, n), covariance(seed, m), covariance(seed + 1, n)
    found = separable(R, S)
    scaled = entry_covariance(W, found).reshape(m, n, m, n)
    for a, j, b, i in np.ndindex(m, n, m, n):
        wanted = R[a, b] + S[j, i] + R[a, b] * S[j, i]
        assert found[a, j, b, i] == pytest.approx(wanted, abs=1e-12)
        assert scaled[a, j, b, i] == pytest.approx(W[a, j] * wanted * W[b, i], abs=1e-12)
    np.testing.assert_allclose(separable(R)[:, 0, :, 0], R, rtol=1e-12, atol=1e-14)


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
    assert in_errors(V, W, entry_covariance(W, relative)) < 6
    # The check can fail.
    assert in_errors(V, W, entry_covariance(W, separable(R + S[:m, :m], S))) > 20
    rng, other = np.random.default_rng(5), np.random.default_rng(5)
    draw(rng=rng, draws=2)
    other.standard_normal(2 * numbers)
    assert rng.standard_normal() == other.standard_normal()


def test_without_a_covariance_nothing_moves():
    still = rank1(W, np.zeros((m, m)), rng=np.random.default_rng(0), draws=2)
    np.testing.assert_array_equal(still, np.stack([W, W]))


def loss_in_torch(net, x, y, decay):
    """The same loss as a function of the middle matrix, by autograd."""
    first, _, middle, _, last = net.layers
    fixed = {
        id(a): torch.from_numpy(a) for own in (first, middle, last) for a in own.params.values()
    }

    def of(own, name):
        return fixed[id(own.params[name])]

    def loss(V):
        h = torch.tanh(torch.from_numpy(x) @ of(first, "weight") + of(first, "bias"))
        h = torch.tanh(h @ V + of(middle, "bias"))
        out = h @ of(last, "weight") + of(last, "bias")
        nll = torch.nn.functional.cross_entropy(out, torch.from_numpy(y))
        return nll + decay / 2 * (V**2).sum()

    return loss


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_scores_are_gradients_by_torch_in_parts_too(decay, monkeypatch):
    net, x, y = network()
    score = Score(net, x, y, layer=2, decay=decay)
    V = score.weight * (1 + 0.3 * np.random.default_rng(1).standard_normal((11, m, n)))
    gradient = torch.func.grad(loss_in_torch(net, x, y, decay))
    wanted = np.stack([-gradient(torch.from_numpy(one)).numpy() for one in V])
    np.testing.assert_allclose(score(V), wanted, rtol=0, atol=1e-14)
    monkeypatch.setattr("ensedu.theory.perturbations.NUMBERS_AT_ONCE", 3 * B * n)
    np.testing.assert_allclose(score(V), wanted, rtol=0, atol=1e-14)


def test_a_score_leaves_the_network_alone():
    net, x, y = network()
    before = {name: array.copy() for name, array in net.params.items()}
    score = Score(net, x, y, layer=2)
    found = score(score.weight[None])
    assert not any(array.any() for array in net.grads.values())
    for name, array in net.params.items():
        np.testing.assert_array_equal(array, before[name])
        array += 1.0
    np.testing.assert_array_equal(score(score.weight[None]), found)


def test_scores_of_other_losses_and_without_bias():
    rng = np.random.default_rng(0)
    net = en.mlp([m, n], rng=rng, bias=False)
    x, y = rng.standard_normal((B, m)), rng.standard_normal((B, n))
    score = Score(net, x, y, layer=0, loss=en.half_squared_error, decay=0.7)
    V = rng.standard_normal((2, m, n))
    wanted = [-(x.T @ (x @ one - y) / B + 0.7 * one) for one in V]
    np.testing.assert_allclose(score(V), wanted, atol=1e-14)
    # Here the score is a straight line: its Hessian is known, and first order is all there is.
    H = np.kron(x.T @ x / B, np.eye(n)) + 0.7 * np.eye(m * n)
    np.testing.assert_allclose(hessian(score, score.weight), H, atol=1e-10)
    C = covariance(1, m * n)
    draws = score.weight + rng.multivariate_normal(np.zeros(m * n), C, 40).reshape(-1, m, n)
    exact = first_order(H, sample_covariance(draws))
    np.testing.assert_allclose(sample_covariance(score(draws)), exact, atol=1e-12)
    way = (draws[1] - draws[0]).ravel()
    np.testing.assert_allclose(sample_covariance(draws[:2]), np.outer(way, way) / 2, atol=1e-12)


def test_the_hessian_is_that_of_autograd():
    net, x, y = network()
    loss = loss_in_torch(net, x, y, 0.1)
    score = Score(net, x, y, layer=2, decay=0.1)
    second = torch.func.jacrev(torch.func.grad(loss))
    exact = second(torch.from_numpy(score.weight)).numpy().reshape(m * n, m * n)
    found = hessian(score, score.weight)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8)
    assert np.array_equal(found, found.T)

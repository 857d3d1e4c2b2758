"""Scores and Hessians against autograd, and against a loss whose score is a straight line."""

import numpy as np
import pytest
import torch

import ensedu.numpy as en
from ensedu.theory.perturbations import Score, first_order, hessian, spread
from tests.theory.perturbations.matrices import B, covariance, m, n, network


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
    monkeypatch.setattr("ensedu.theory.perturbations.AT_ONCE", 3 * B * n)
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
    exact = first_order(H, spread(draws))
    np.testing.assert_allclose(spread(score(draws)), exact, atol=1e-12)


def test_the_hessian_is_that_of_autograd():
    net, x, y = network()
    loss = loss_in_torch(net, x, y, 0.1)
    score = Score(net, x, y, layer=2, decay=0.1)
    second = torch.func.jacrev(torch.func.grad(loss))
    exact = second(torch.from_numpy(score.weight)).numpy().reshape(m * n, m * n)
    found = hessian(score, score.weight)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8)
    assert np.array_equal(found, found.T)

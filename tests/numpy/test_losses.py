"""Losses against Torch's distributions and autograd, and their reductions by definition.

`tests/torch/test_losses.py` compares the losses of Torch with these.
"""

import math

import numpy as np
import pytest
import torch

import ensedu.numpy as en

S, M, B, k = 2, 3, 7, 5
LOSSES = ["half_squared_error", "gaussian_nll", "softmax_cross_entropy"]


def nll_in_torch(name, outputs, targets):
    """Each member's and example's NLL, (M, B), by torch.distributions."""
    if name == "half_squared_error":
        normal = torch.distributions.Normal(outputs, torch.ones_like(outputs))
        return -(normal.log_prob(targets) + 0.5 * math.log(2 * math.pi)).sum(-1)
    if name == "gaussian_nll":
        mean, raw = outputs.chunk(2, -1)
        std = (torch.nn.functional.softplus(raw, threshold=40.0) + 1e-6).sqrt()
        return -torch.distributions.Normal(mean, std).log_prob(targets).sum(-1)
    categorical = torch.distributions.Categorical(logits=outputs)
    return -categorical.log_prob(targets.expand(outputs.shape[:-1]))


def batch(name, *leading, size=k):
    """Outputs with these leading axes, and targets of each member."""
    rng = np.random.default_rng(0)
    outputs = rng.normal(0, 2, (*leading, B, 2 * size if name == "gaussian_nll" else size))
    if name == "softmax_cross_entropy":
        return outputs, rng.integers(0, size, (M, B))
    return outputs, rng.standard_normal((M, B, size))


@pytest.mark.parametrize("name", LOSSES)
def test_none_is_the_nll_of_each_member_and_example(name):
    outputs, own = batch(name, M)
    for targets in (own[0], own):  # of one batch for all, or of each member's own
        nll, grad = getattr(en, name)(outputs, targets, reduction="none")
        tensor = torch.tensor(outputs, requires_grad=True)
        expected = nll_in_torch(name, tensor, torch.tensor(targets))
        np.testing.assert_allclose(nll, expected.detach(), rtol=1e-12)
        expected.sum().backward()
        np.testing.assert_allclose(grad, tensor.grad, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("leading", [(), (M,), (S, M)])
@pytest.mark.parametrize("name", LOSSES)
def test_each_reduction_is_what_its_name_says(name, leading):
    """Samples of members are members of the mixture; a sum is over members, a mean over samples."""
    loss = getattr(en, name)
    outputs, (targets, *_) = batch(name, *leading)
    nll, slopes = loss(outputs, targets, reduction="none")
    each = np.exp(-nll.reshape(-1, B))
    responsibility, members = (each / each.sum(axis=0)).reshape(nll.shape), (1, *leading)[-1]
    for reduction, value, weights in (
        ("mean", nll.mean(), np.full(nll.shape, 1 / nll.size)),
        ("sum", nll.mean() * members, np.full(nll.shape, members / nll.size)),
        ("mixture", -np.log(each.mean(axis=0)).mean(), responsibility / B),
    ):
        found, grad = loss(outputs, targets, reduction=reduction)
        assert found == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(grad, weights[..., None] * slopes, rtol=1e-9, atol=1e-14)
        again, same = en.reduce(nll, slopes, reduction)
        assert again == found
        np.testing.assert_array_equal(same, grad)
        large, grad = loss(1e3 * outputs, targets, reduction=reduction)
        assert np.isfinite(large) and np.isfinite(grad).all()


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_a_beta_nll_weighs_by_a_variance_that_it_does_not_move(beta):
    """Seitzer et al. 2022, eq. 5."""
    outputs, (targets, *_) = batch("gaussian_nll", M, size=1)
    weight = (np.logaddexp(0, outputs[..., 1]) + 1e-6) ** beta
    nll, grad = en.gaussian_nll(outputs, targets, reduction="none")
    found, slopes = en.gaussian_nll(outputs, targets, beta=beta)
    assert found == pytest.approx((weight * nll).mean(), rel=1e-12)
    np.testing.assert_allclose(slopes, weight[..., None] * grad / nll.size, rtol=1e-12)

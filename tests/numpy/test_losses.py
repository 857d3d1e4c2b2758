"""Losses against Torch's own distributions and autograd; the average against the mixture."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ensedu.numpy as en

M, B, k = 3, 7, 5


def nll_in_torch(name, outputs, targets):
    """Each member's and example's NLL, (M, B), by torch.distributions."""
    if name == "squared_error":
        normal = torch.distributions.Normal(outputs, torch.ones_like(outputs))
        return -(normal.log_prob(targets) + 0.5 * math.log(2 * math.pi)).sum(-1)
    if name == "gaussian_nll":
        mean, raw = outputs.chunk(2, -1)
        std = (torch.nn.functional.softplus(raw, threshold=40.0) + 1e-6).sqrt()
        return -torch.distributions.Normal(mean, std).log_prob(targets).sum(-1)
    categorical = torch.distributions.Categorical(logits=outputs)
    return -categorical.log_prob(targets.expand(outputs.shape[:-1]))


def batch(name, rng, members=M, examples=B):
    heads = 2 * k if name == "gaussian_nll" else k
    outputs = rng.normal(0, 2, (members, examples, heads))
    if name == "softmax_cross_entropy":
        return outputs, rng.integers(0, k, examples)
    return outputs, rng.standard_normal((examples, k))


LOSSES = ["squared_error", "gaussian_nll", "softmax_cross_entropy"]


@pytest.mark.parametrize("over_members", ["average", "mixture"])
@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradient_equal_torch(name, over_members):
    outputs, targets = batch(name, np.random.default_rng(0))
    loss, grad = getattr(en, name)(outputs, targets, over_members=over_members)
    tensor = torch.tensor(outputs, requires_grad=True)
    nll = nll_in_torch(name, tensor, torch.tensor(targets))
    if over_members == "mixture":
        expected = (math.log(M) - torch.logsumexp(-nll, 0)).mean()
    else:
        expected = nll.mean()
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    np.testing.assert_allclose(grad, tensor.grad, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@given(seed=st.integers(0, 10**6), members=st.integers(1, 6), examples=st.integers(1, 9))
def test_mixture_is_never_above_average(name, seed, members, examples):
    outputs, targets = batch(name, np.random.default_rng(seed), members, examples)
    loss = getattr(en, name)
    average, _ = loss(outputs, targets)
    mixture, _ = loss(outputs, targets, over_members="mixture")
    assert mixture <= average + 1e-12 * abs(average)
    if members == 1:
        assert mixture == pytest.approx(average, rel=1e-12, abs=1e-12)
        single, grad = loss(outputs[0], targets)
        assert single == pytest.approx(average, rel=1e-12, abs=1e-12)
        assert grad.shape == outputs[0].shape


def test_average_divides_each_members_gradient_by_the_ensemble_size():
    outputs, targets = batch("gaussian_nll", np.random.default_rng(0))
    _, grad = en.gaussian_nll(outputs, targets)
    for i in range(M):
        _, own = en.gaussian_nll(outputs[i], targets)
        np.testing.assert_allclose(grad[i] * M, own, rtol=1e-12)


def test_mixture_weighs_members_by_responsibility():
    rng = np.random.default_rng(0)
    outputs, targets = batch("softmax_cross_entropy", rng)
    _, grad = en.softmax_cross_entropy(outputs, targets, over_members="mixture")
    probabilities = np.exp(outputs) / np.exp(outputs).sum(-1, keepdims=True)
    of_target = probabilities[:, np.arange(B), targets]  # (M, B)
    responsibility = of_target / of_target.sum(axis=0)
    one_hot = np.eye(k)[targets]
    expected = responsibility[..., None] * (probabilities - one_hot) / B
    np.testing.assert_allclose(grad, expected, atol=1e-13)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("over_members", ["average", "mixture"])
def test_large_outputs_stay_finite(name, over_members):
    outputs, targets = batch(name, np.random.default_rng(0))
    loss, grad = getattr(en, name)(outputs * 1e3, targets, over_members=over_members)
    assert np.isfinite(loss)
    assert np.isfinite(grad).all()


@pytest.mark.parametrize("name", LOSSES)
def test_float32_stays_float32(name):
    outputs, targets = batch(name, np.random.default_rng(0))
    targets = targets if name == "softmax_cross_entropy" else targets.astype(np.float32)
    for over_members in ("average", "mixture"):
        _, grad = getattr(en, name)(outputs.astype(np.float32), targets, over_members=over_members)
        assert grad.dtype == np.float32

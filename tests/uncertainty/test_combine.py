"""Members combined: against Torch, quadrature, and the formula of the paper."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ensedu.numpy as en
from ensedu import uncertainty as un

M, B, k = 3, 7, 5


def gaussians(seed=0, members=M, examples=B, outputs=k):
    rng = np.random.default_rng(seed)
    shape = members, examples, outputs
    return rng.normal(0, 2, shape), rng.lognormal(0, 1, shape)


def test_heads_are_means_then_raw_variances():
    outputs = np.random.default_rng(0).normal(0, 5, (M, B, 2 * k))
    mean, variance = un.gaussian_heads(outputs)
    assert mean.shape == variance.shape == (M, B, k)
    np.testing.assert_array_equal(mean, outputs[..., :k])
    expected = torch.nn.functional.softplus(torch.tensor(outputs[..., k:]), threshold=50) + 1e-6
    np.testing.assert_allclose(variance, expected, rtol=1e-13)


def test_a_raw_variance_that_is_far_below_zero_leaves_the_floor():
    outputs = np.array([[[0.0, -1e99], [0.0, 1e99]]])
    np.testing.assert_array_equal(un.gaussian_heads(outputs)[1].ravel(), [1e-6, 1e99])


def test_heads_are_those_that_the_loss_learns():
    rng = np.random.default_rng(0)
    outputs, targets = rng.normal(0, 2, (M, B, 2 * k)), rng.standard_normal((B, k))
    nll, _ = en.gaussian_nll(outputs, targets, reduction="none")
    found = un.gaussian_nll(*un.gaussian_heads(outputs), targets)
    np.testing.assert_allclose(found, nll, rtol=1e-13)


@pytest.mark.parametrize("shape", [(M, B, k), (B, k)])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e99])
def test_softmax_equals_torch(shape, scale):
    logits = np.random.default_rng(0).standard_normal(shape) * scale
    expected = torch.softmax(torch.tensor(logits), -1)
    np.testing.assert_allclose(un.softmax(logits), expected, rtol=1e-13)


@given(seed=st.integers(0, 10**6), members=st.integers(1, 6), examples=st.integers(1, 9))
def test_mixture_is_the_formula_of_the_paper(seed, members, examples):
    mean, variance = gaussians(seed, members, examples)
    center, width = un.mixture(mean, variance)
    np.testing.assert_allclose(center, sum(mean) / members, rtol=0, atol=1e-14)
    expected = sum(variance + mean**2) / members - center**2
    np.testing.assert_allclose(width, expected, rtol=1e-12, atol=1e-12 * np.abs(mean).max() ** 2)


def test_a_large_mean_does_not_round_the_variance_away():
    mean, variance = gaussians()
    mean = np.round(mean * 64) / 64  # so that the shift itself loses nothing
    _, width = un.mixture(mean, variance)
    _, shifted = un.mixture(mean + 2.0**32, variance)
    np.testing.assert_allclose(shifted, width, rtol=1e-6)
    naive = (variance + (mean + 2.0**32) ** 2).mean(0) - (mean + 2.0**32).mean(0) ** 2
    assert np.abs(naive - width).max() > 10  # the formula as it stands would


def test_probabilities_are_averaged_over_members():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(k), (M, B))
    found = un.averaged(probabilities)
    assert found.shape == (B, k)
    for b in range(B):
        for c in range(k):
            assert found[b, c] == pytest.approx(sum(probabilities[:, b, c]) / M, rel=1e-14)

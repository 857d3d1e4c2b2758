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
    if name == "half_squared_error":
        normal = torch.distributions.Normal(outputs, torch.ones_like(outputs))
        return -(normal.log_prob(targets) + 0.5 * math.log(2 * math.pi)).sum(-1)
    if name == "gaussian_nll":
        mean, raw = outputs.chunk(2, -1)
        std = (torch.nn.functional.softplus(raw, threshold=40.0) + 1e-6).sqrt()
        return -torch.distributions.Normal(mean, std).log_prob(targets).sum(-1)
    categorical = torch.distributions.Categorical(logits=outputs)
    return -categorical.log_prob(targets.expand(outputs.shape[:-1]))


def outputs_and_targets(name, rng, members=M, examples=B):
    heads = 2 * k if name == "gaussian_nll" else k
    outputs = rng.normal(0, 2, (members, examples, heads))
    if name == "softmax_cross_entropy":
        return outputs, rng.integers(0, k, examples)
    return outputs, rng.standard_normal((examples, k))


LOSSES = ["half_squared_error", "gaussian_nll", "softmax_cross_entropy"]


@pytest.mark.parametrize("reduction", ["mean", "sum", "mixture"])
@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradient_equal_torch(name, reduction):
    outputs, targets = outputs_and_targets(name, np.random.default_rng(0))
    loss, grad = getattr(en, name)(outputs, targets, reduction=reduction)
    tensor = torch.tensor(outputs, requires_grad=True)
    nll = nll_in_torch(name, tensor, torch.tensor(targets))
    expected = {
        "mean": nll.mean(),
        "sum": nll.mean(1).sum(),
        "mixture": (math.log(M) - torch.logsumexp(-nll, 0)).mean(),
    }[reduction]
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    np.testing.assert_allclose(grad, tensor.grad, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@given(seed=st.integers(0, 10**6), members=st.integers(1, 6), examples=st.integers(1, 9))
def test_mixture_is_never_above_average(name, seed, members, examples):
    outputs, targets = outputs_and_targets(name, np.random.default_rng(seed), members, examples)
    loss = getattr(en, name)
    average, _ = loss(outputs, targets)
    mixture, _ = loss(outputs, targets, reduction="mixture")
    assert mixture <= average + 1e-12 * abs(average)
    if members == 1:
        assert mixture == pytest.approx(average, rel=1e-12, abs=1e-12)
        single, grad = loss(outputs[0], targets)
        assert single == pytest.approx(average, rel=1e-12, abs=1e-12)
        assert grad.shape == outputs[0].shape


def test_the_sum_gives_each_member_the_gradient_of_its_own_mean():
    outputs, targets = outputs_and_targets("gaussian_nll", np.random.default_rng(0))
    loss, together = en.gaussian_nll(outputs, targets, reduction="sum")
    _, averaged = en.gaussian_nll(outputs, targets)
    losses = []
    for i in range(M):
        own_loss, own = en.gaussian_nll(outputs[i], targets)
        np.testing.assert_allclose(together[i], own, rtol=1e-12)
        np.testing.assert_allclose(averaged[i] * M, own, rtol=1e-12)
        losses.append(own_loss)
    assert loss == pytest.approx(sum(losses), rel=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_none_is_the_nll_of_each_member_and_example_first(name):
    outputs, targets = outputs_and_targets(name, np.random.default_rng(0))
    nll, grad = getattr(en, name)(outputs, targets, reduction="none")
    tensor = torch.tensor(outputs, requires_grad=True)
    expected = nll_in_torch(name, tensor, torch.tensor(targets))
    np.testing.assert_allclose(nll, expected.detach(), rtol=1e-12)
    expected.sum().backward()
    np.testing.assert_allclose(grad, tensor.grad, rtol=1e-12, atol=1e-12)
    for reduction in ("mean", "sum", "mixture"):
        second = en.reduce(nll, grad, reduction)
        first = getattr(en, name)(outputs, targets, reduction=reduction)
        assert second[0] == first[0]
        np.testing.assert_array_equal(second[1], first[1])


def test_the_sum_over_members_is_a_mean_over_samples():
    rng = np.random.default_rng(0)
    outputs, targets = outputs_and_targets("gaussian_nll", rng, members=2 * M)
    stacked = outputs.reshape(2, M, B, 2 * k)
    loss, grad = en.gaussian_nll(stacked, targets, reduction="sum")
    halves = [en.gaussian_nll(half, targets, reduction="sum") for half in stacked]
    assert loss == pytest.approx(np.mean([own for own, _ in halves]), rel=1e-12)
    np.testing.assert_allclose(grad, np.stack([own for _, own in halves]) / 2, rtol=1e-12)


@pytest.mark.parametrize("name", ["half_squared_error", "gaussian_nll"])
def test_targets_may_lack_the_axis_of_one_output(name):
    rng = np.random.default_rng(0)
    outputs = rng.standard_normal((M, B, 2 if name == "gaussian_nll" else 1))
    targets = rng.standard_normal(B)
    (loss, grad), (same, same_grad) = (
        getattr(en, name)(outputs, t) for t in (targets, targets[:, None])
    )
    assert loss == same
    np.testing.assert_array_equal(grad, same_grad)


def test_samples_of_members_are_members_of_the_mixture():
    rng = np.random.default_rng(0)
    outputs, targets = outputs_and_targets("gaussian_nll", rng, members=2 * M)
    loss, grad = en.gaussian_nll(outputs, targets, reduction="mixture")
    stacked = outputs.reshape(2, M, B, 2 * k)
    same, same_grad = en.gaussian_nll(stacked, targets, reduction="mixture")
    assert same == loss
    np.testing.assert_array_equal(same_grad.reshape(grad.shape), grad)


def test_mixture_weighs_members_by_responsibility():
    rng = np.random.default_rng(0)
    outputs, targets = outputs_and_targets("softmax_cross_entropy", rng)
    _, grad = en.softmax_cross_entropy(outputs, targets, reduction="mixture")
    probabilities = np.exp(outputs) / np.exp(outputs).sum(-1, keepdims=True)
    of_target = probabilities[:, np.arange(B), targets]  # (M, B)
    responsibility = of_target / of_target.sum(axis=0)
    one_hot = np.eye(k)[targets]
    expected = responsibility[..., None] * (probabilities - one_hot) / B
    np.testing.assert_allclose(grad, expected, atol=1e-13)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "mixture"])
def test_large_outputs_stay_finite(name, reduction):
    outputs, targets = outputs_and_targets(name, np.random.default_rng(0))
    loss, grad = getattr(en, name)(outputs * 1e3, targets, reduction=reduction)
    assert np.isfinite(loss)
    assert np.isfinite(grad).all()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum", "mixture"])
@pytest.mark.parametrize("name", LOSSES)
def test_targets_of_each_member_are_a_loop_over_members(name, reduction):
    rng = np.random.default_rng(0)
    loss = getattr(en, name)
    outputs, _ = outputs_and_targets(name, rng)
    targets = np.stack([outputs_and_targets(name, rng)[1] for _ in range(M)])
    nll, grads = zip(
        *(loss(y, t, reduction="none") for y, t in zip(outputs, targets, strict=True)), strict=True
    )
    expected, grad = en.reduce(np.stack(nll), np.stack(grads), reduction)
    found = loss(outputs, targets, reduction=reduction)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    np.testing.assert_allclose(found[1], grad, rtol=1e-12, atol=1e-12)
    # Samples of members have the members' targets; the same for all of them are one batch's.
    samples = loss(np.stack([outputs, outputs]), targets, reduction="none")
    np.testing.assert_array_equal(samples[0][1], loss(outputs, targets, reduction="none")[0])
    tiled = loss(outputs, np.stack([targets[0]] * M), reduction=reduction)
    np.testing.assert_array_equal(tiled[1], loss(outputs, targets[0], reduction=reduction)[1])


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_a_beta_nll_weighs_by_a_variance_that_it_does_not_move(beta):
    """Seitzer et al. 2022, eq. 5, by differences of the loss with the weight of the start."""
    rng = np.random.default_rng(0)
    outputs, targets = rng.normal(0, 2, (M, B, 2)), rng.standard_normal((B, 1))
    _, grad = en.gaussian_nll(outputs, targets, beta=beta)
    weight = (np.logaddexp(0, outputs[..., 1]) + 1e-6) ** beta

    def weighted(outputs):
        return (weight * en.gaussian_nll(outputs, targets, reduction="none")[0]).mean()

    value, _ = en.gaussian_nll(outputs, targets, beta=beta)
    assert value == pytest.approx(weighted(outputs), rel=1e-12)
    for place in [(0, 0, 0), (1, 3, 1), (2, 6, 0), (2, 6, 1)]:
        step = np.zeros_like(outputs)
        step[place] = 1e-6
        slope = (weighted(outputs + step) - weighted(outputs - step)) / 2e-6
        assert grad[place] == pytest.approx(slope, rel=1e-6, abs=1e-9)

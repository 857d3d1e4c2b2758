"""The losses in Torch against those in NumPy, and the evidence lower bound written out by hand."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import priors
from ensedu.torch.base import Ensemble

S, M, B, k, m = 2, 3, 7, 5, 11
LOSSES = ["half_squared_error", "gaussian_nll", "softmax_cross_entropy"]
REDUCTIONS = ["none", "mean", "sum", "mixture"]


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def batch(name, leading=(M,), members=(), size=k):
    """Outputs with these leading axes, and targets: for all members, or for each its own."""
    outputs = 2 * numbers(*leading, B, 2 * size if name == "gaussian_nll" else size)
    if name == "softmax_cross_entropy":
        generator = torch.Generator().manual_seed(1)
        return outputs, torch.randint(size, (*members, B), generator=generator)
    return outputs, numbers(*members, B, size, seed=1)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradient_are_those_of_numpy(name, reduction):
    """And finite for outputs so large that their exponentials are not."""
    cases = [
        batch(name, leading, members, size)
        for leading, members in (((), ()), ((M,), ()), ((M,), (M,)), ((S, M), ()), ((S, M), (M,)))
        for size in (1, k)
    ]
    if name != "softmax_cross_entropy":  # targets (B,)
        cases += [(outputs, y[:, 0]) for outputs, y in cases if y.shape == (B, 1)]
    weighted = name == "gaussian_nll" and reduction != "mixture"
    for beta in ({}, *({"beta": part} for part in (0.5, 1.0) if weighted)):
        loss, known = (partial(getattr(e, name), reduction=reduction, **beta) for e in (et, en))
        for outputs, targets in cases:
            large, given = ((scale * outputs).requires_grad_() for scale in (1e3, 1))
            value, grad = known(outputs.numpy(), targets.numpy())
            found = loss(given, targets)
            assert found.shape == (outputs.shape[:-1] if reduction == "none" else ())
            np.testing.assert_allclose(found.detach(), value, rtol=1e-12, atol=1e-12)
            (found.sum() + loss(large, targets).sum()).backward()
            np.testing.assert_allclose(given.grad, grad, rtol=1e-12, atol=1e-12)
            assert large.grad.isfinite().all() and loss(large, targets).isfinite().all()


@pytest.mark.bad_input
def test_a_beta_nll_is_no_density_of_a_mixture():
    outputs, targets = batch("gaussian_nll")
    for loss in (
        partial(et.gaussian_nll, outputs, targets),
        partial(en.gaussian_nll, outputs.numpy(), targets.numpy()),
    ):
        for beta, reduction, error, words in (
            (0.5, "mixture", ValueError, r"beta must be 0 for .*'mixture'.* got 0\.5"),
            (-0.1, "mean", ValueError, r"beta must be from 0 to 1, got -0\.1"),
            (1.1, "mean", ValueError, r"beta must be from 0 to 1, got 1\.1"),
            *((0.5, bad, TypeError, "reduction must be one of") for bad in (np.ones(2), None, 3)),
        ):
            with pytest.raises(error, match=words):
                loss(beta=beta, reduction=reduction)
        for half in (np.float64(0.5), torch.tensor(0.5)):  # a number, of whichever package
            torch.testing.assert_close(loss(beta=half), loss(beta=0.5), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", LOSSES)
def test_a_short_dtype_stays(name, dtype):
    outputs, targets = batch(name)
    targets = targets.to(dtype) if targets.is_floating_point() else targets
    for reduction in REDUCTIONS:
        assert getattr(et, name)(outputs.to(dtype), targets, reduction=reduction).dtype is dtype


def test_labels_are_integers_of_any_size_in_range():
    outputs, targets = batch("softmax_cross_entropy")
    expected = et.softmax_cross_entropy(outputs, targets)
    for dtype in ("uint8", "int8", "uint16", "int16", "int32", "uint64"):
        other = targets.to(getattr(torch, dtype))
        assert torch.equal(et.softmax_cross_entropy(outputs, other), expected)
        found, _ = en.softmax_cross_entropy(outputs.numpy(), other.numpy())
        assert found == pytest.approx(expected.item(), rel=1e-12)
    for label in (-1, k):  # no index from the end
        targets[2] = label
        for loss, args in (
            (et.softmax_cross_entropy, (outputs, targets)),
            (en.softmax_cross_entropy, (outputs.numpy(), targets.numpy())),
        ):
            with pytest.raises(ValueError, match=rf"labels from .* accepted are 0 to {k - 1}"):
                loss(*args)


def model():
    return nn.Sequential(nn.Linear(m, 7), nn.Tanh(), nn.Linear(7, k)).double()


SPREAD = {"prior": priors.Normal(0.5, 0.7), "posterior_std": 0.3}
NETS = {
    "rank-1 layer": lambda: et.Rank1Linear(m, k, M, dtype=torch.float64, **SPREAD),
    "mean-field layer": lambda: et.MeanFieldLinear(m, k, dtype=torch.float64, **SPREAD),
    "converted": lambda: et.ensemble(model(), "rank1", M, **SPREAD),
    "converted, samples": lambda: et.ensemble(model(), "rank1", M, samples=S, **SPREAD),
}


def divergence(net):
    """The KL from parameters alone, by Torch's distributions: the mean over members."""
    prior = Normal(*torch.tensor([0.5, 0.7], dtype=torch.float64))
    named = dict(net.named_parameters())
    spreads = {name: nn.functional.softplus(rho) for name, rho in named.items() if "_rho" in name}
    parts = [
        kl_divergence(Normal(named[name.replace("_rho", "_mean")], spread), prior).sum()
        for name, spread in spreads.items()
    ]
    return sum(parts) / (1 if "weight_rho" in named else M)


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize(("beta", "N"), [(1.0, 2 * B), (0.25, 2 * B), (1.0, 1)])
def test_the_bound_of_two_minibatches_by_hand(net, beta, N):
    """With its weight annealed, and with the whole KL for each minibatch (N = 1)."""
    torch.manual_seed(0)
    net = NETS[net]()
    x, y = numbers(2 * B, m), numbers(2 * B, k, seed=1)
    drawn = torch.Generator().manual_seed(2)
    noise = net.noise(drawn, x) if isinstance(net, Ensemble) else net.noise(drawn)
    bound = partial(et.negative_elbo, net, num_examples=N, beta=beta, noise=noise)
    found = []
    for rows in (slice(0, B), slice(B, 2 * B)):
        one = bound(x[rows], y[rows], et.half_squared_error)
        nll = 0.5 * (net(x[rows], noise=noise) - y[rows]).square().sum(-1).mean()
        parts = nll + beta * divergence(net) / N, nll, divergence(net)
        for value, expected in zip(one, parts, strict=True):
            torch.testing.assert_close(value, expected, rtol=1e-12, atol=0)
        grads, wanted = (torch.autograd.grad(e, list(net.parameters())) for e in (one[0], parts[0]))
        torch.testing.assert_close(grads, wanted, rtol=1e-9, atol=1e-13)
        assert all(grad.abs().max() > 0 for grad in grads)
        found.append(one)
    # Their mean is the bound of all examples: each has its share of the KL, once and not twice.
    for value, *halves in zip(bound(x, y, et.half_squared_error), *found, strict=True):
        torch.testing.assert_close(sum(halves) / 2, value, rtol=1e-12, atol=0)


@pytest.mark.bad_input
def test_errors_of_the_function_say_in_which_call():
    net, x, y = nn.Linear(m, k), numbers(B, m).float(), numbers(B, k).float()
    for nll, beta, error, words in (
        (lambda y: 3, 1, TypeError, r"in nll\(net\(x\), y\): .* takes 1 positional"),
        (lambda outputs, y: 3.0, 1, ValueError, r"nll must return one number, .* got 3\.0"),
        (et.half_squared_error, -0.5, ValueError, r"beta must be 0 or more, got -0\.5"),
    ):
        with pytest.raises(error, match=words):
            et.negative_elbo(net, x, y, nll, num_examples=B, beta=beta)

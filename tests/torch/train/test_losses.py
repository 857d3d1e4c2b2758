"""The losses in Torch against those in NumPy, and the evidence lower bound written out by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.distributions import Normal, kl_divergence

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import priors
from ensedu.torch.train.losses import Elbo, reduce

S, M, B, k, m = 2, 3, 7, 5, 11
LOSSES = ["half_squared_error", "gaussian_nll", "softmax_cross_entropy"]
REDUCTIONS = ["none", "mean", "sum", "mixture"]
LEADING = {"one network": (), "members": (M,), "samples of members": (S, M)}


def numbers(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def batch(name, leading, own=False, size=k):
    """Outputs with these leading axes, and targets: for all members, or for each its own."""
    heads = 2 * size if name == "gaussian_nll" else size
    outputs = 2 * numbers(*leading, B, heads)
    members = leading[-1:] if own else ()
    if name == "softmax_cross_entropy":
        generator = torch.Generator().manual_seed(1)
        return outputs, torch.randint(size, (*members, B), generator=generator)
    return outputs, numbers(*members, B, size, seed=1)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradient_are_those_of_numpy(name, reduction, leading, own):
    outputs, targets = batch(name, leading, own and bool(leading))
    loss = getattr(et, name)(outputs.requires_grad_(), targets, reduction=reduction)
    value, grad = getattr(en, name)(outputs.detach().numpy(), targets.numpy(), reduction=reduction)
    assert loss.shape == ((*leading, B) if reduction == "none" else ())
    np.testing.assert_allclose(loss.detach(), value, rtol=1e-12)
    loss.sum().backward()
    np.testing.assert_allclose(outputs.grad, grad, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_the_weight_of_a_beta_nll_is_held_constant(beta, reduction):
    outputs, targets = batch("gaussian_nll", (M,))
    loss = et.gaussian_nll(outputs.requires_grad_(), targets, beta=beta, reduction=reduction)
    loss.sum().backward()
    value, grad = en.gaussian_nll(
        outputs.detach().numpy(), targets.numpy(), beta=beta, reduction=reduction
    )
    np.testing.assert_allclose(loss.detach(), value, rtol=1e-12)
    np.testing.assert_allclose(outputs.grad, grad, rtol=1e-12, atol=1e-12)
    # Seitzer et al. 2022, eq. 5, with the stop-gradient as a constant of its own.
    mean, raw = outputs.detach().clone().requires_grad_().chunk(2, -1)
    variance = nn.functional.softplus(raw) + 1e-6
    nll = -Normal(mean, variance.sqrt()).log_prob(targets)
    expected = (variance.detach().sqrt() ** (2 * beta) * nll).sum(-1)
    means = {"none": expected, "mean": expected.mean(), "sum": expected.mean(1).sum()}
    torch.testing.assert_close(loss.detach(), means[reduction].detach(), rtol=1e-12, atol=0)
    found = torch.autograd.grad(means[reduction].sum(), (mean, raw))
    torch.testing.assert_close(outputs.grad, torch.cat(found, -1), rtol=1e-12, atol=1e-12)


def test_with_beta_1_a_mean_learns_as_by_the_squared_error():
    outputs, targets = batch("gaussian_nll", (M,))
    et.gaussian_nll(outputs.requires_grad_(), targets, beta=1.0).backward()
    mean = outputs.detach()[..., :k].clone().requires_grad_()
    et.half_squared_error(mean, targets).backward()
    torch.testing.assert_close(outputs.grad[..., :k], mean.grad, rtol=1e-12, atol=1e-15)


@pytest.mark.bad_input
def test_a_beta_nll_is_no_density_of_a_mixture():
    outputs, targets = batch("gaussian_nll", (M,))
    for loss, args in (
        (et.gaussian_nll, (outputs, targets)),
        (en.gaussian_nll, (outputs.numpy(), targets.numpy())),
    ):
        with pytest.raises(ValueError, match=r"beta must be 0 for .*'mixture'.* got 0\.5"):
            loss(*args, beta=0.5, reduction="mixture")
        for beta in (-0.1, 1.1):
            with pytest.raises(ValueError, match=f"beta must be from 0 to 1, got {beta}"):
                loss(*args, beta=beta)
        for reduction in (np.ones(2), None, 3):
            with pytest.raises(TypeError, match="reduction must be one of 'none'"):
                loss(*args, beta=0.5, reduction=reduction)
        # A number is a number, of whichever package.
        expected = loss(*args, beta=0.5)
        for half in (np.float64(0.5), torch.tensor(0.5)):
            found = loss(*args, beta=half)
            first, second = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
            assert type(first[0]) is type(second[0])
            np.testing.assert_array_equal(first[-1], second[-1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_a_short_dtype_stays(name, reduction, dtype):
    outputs, targets = batch(name, (M,))
    targets = targets.to(dtype) if targets.is_floating_point() else targets
    assert getattr(et, name)(outputs.to(dtype), targets, reduction=reduction).dtype is dtype


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32", "uint64"])
def test_labels_are_integers_of_any_size(dtype):
    outputs, targets = batch("softmax_cross_entropy", (M,))
    expected = et.softmax_cross_entropy(outputs, targets)
    other = targets.to(getattr(torch, dtype))
    assert torch.equal(et.softmax_cross_entropy(outputs, other), expected)
    found, _ = en.softmax_cross_entropy(outputs.numpy(), other.numpy())
    assert found == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("size", [1, k])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_targets_of_each_member_are_a_loop_over_members(name, reduction, size):
    loss = getattr(et, name)
    outputs, targets = batch(name, (M,), own=True, size=size)
    alone = torch.stack(
        [loss(y, t, reduction="none") for y, t in zip(outputs, targets, strict=True)]
    )
    expected = {
        "none": alone,
        "mean": alone.mean(),
        "sum": alone.mean(1).sum(),
        "mixture": -torch.log(torch.exp(-alone).mean(0)).mean(),
    }[reduction]
    found = loss(outputs, targets, reduction=reduction)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    # The same examples for all of them are one batch.
    tiled = targets[:1].expand(M, *targets.shape[1:])
    one = loss(outputs, targets[0], reduction=reduction)
    torch.testing.assert_close(loss(outputs, tiled, reduction=reduction), one, rtol=0, atol=0)
    if size == 1 and name != "softmax_cross_entropy":
        flat = loss(outputs, targets[0, :, 0], reduction=reduction)
        torch.testing.assert_close(flat, one, rtol=0, atol=0)


@given(seed=st.integers(0, 10**6), M=st.integers(1, 6), B=st.integers(1, 9))
def test_the_mixture_is_never_above_the_mean(seed, M, B):
    nll = numbers(M, B, seed=seed)
    mean, mixture = reduce(nll, "mean"), reduce(nll, "mixture")
    assert mixture <= mean + 1e-12
    assert (M > 1) or torch.allclose(mixture, mean, rtol=1e-12, atol=1e-12)
    assert mixture >= nll.min(0).values.mean() - 1e-12


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_large_outputs_stay_finite(name, reduction):
    outputs, targets = batch(name, (M,))
    large = (1e3 * outputs).requires_grad_()
    loss = getattr(et, name)(large, targets, reduction=reduction)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert large.grad.isfinite().all()


# The evidence lower bound


@pytest.mark.parametrize("method", ["single", "deep_ensemble", "batch_ensemble"])
def test_without_distributions_the_bound_is_the_nll(method):
    net = et.mlp([m, k], method, None if method == "single" else M, dtype=torch.float64)
    x, y = numbers(B, m), numbers(B, k, seed=1)
    found = et.elbo(net, x, y, et.half_squared_error, num_examples=41)
    assert isinstance(found, Elbo)
    expected = et.half_squared_error(net(x), y)
    assert torch.equal(found.nll, expected)
    assert torch.equal(found.loss, expected)
    assert found.kl == 0
    assert found.numbers() == {"loss": expected.item(), "nll": expected.item(), "kl": 0.0}


def in_torch(prior):
    return Normal(*torch.tensor([prior.loc, prior.scale], dtype=torch.float64))


def layer_by_hand(method, prior):
    """A layer, and functions that return its outputs for noise, and its KL, from its parameters."""
    options = {"prior": prior, "posterior_std": 0.3, "dtype": torch.float64}
    torch.manual_seed(0)
    if method == "rank1":
        layer = et.Rank1Linear(m, k, M, **options)

        def spread(name):
            return torch.log1p(torch.exp(getattr(layer, f"{name}_rho")))

        def outputs(x, noise):
            r, s = (getattr(layer, f"{n}_mean") + spread(n) * noise[n] for n in "rs")
            rows = [((x * r[i]) @ layer.weight.T) * s[i] + layer.bias[i] for i in range(M)]
            return torch.stack(rows)

        names, members = "rs", M
    else:
        layer = et.MeanFieldLinear(m, k, **options)

        def spread(name):
            return torch.log1p(torch.exp(getattr(layer, f"{name}_rho")))

        def outputs(x, noise):
            weight = layer.weight_mean.T + spread("weight").T * noise["weight"]
            return x @ weight + layer.bias_mean + spread("bias") * noise["bias"]

        names, members = ("weight", "bias"), 1

    def divergence():
        q = [Normal(getattr(layer, f"{name}_mean"), spread(name)) for name in names]
        return sum(kl_divergence(each, in_torch(prior)).sum() for each in q) / members

    return layer, outputs, divergence


@pytest.mark.parametrize("method", ["rank1", "mean_field"])
@pytest.mark.parametrize(("beta", "N"), [(1.0, 2 * B), (0.25, 2 * B), (1.0, 1)])
def test_the_bound_of_two_minibatches_by_hand(method, beta, N):
    """With its weight annealed, and with the whole KL for each minibatch (N = 1)."""
    layer, outputs, divergence = layer_by_hand(method, priors.Normal(0.5, 0.7))
    x, y = numbers(2 * B, m), numbers(2 * B, k, seed=1)
    noise = layer.noise(torch.Generator().manual_seed(2))
    found = []
    for rows in (slice(0, B), slice(B, 2 * B)):
        one = et.elbo(
            layer, x[rows], y[rows], et.half_squared_error, num_examples=N, beta=beta, noise=noise
        )
        nll = (0.5 * (outputs(x[rows], noise) - y[rows]) ** 2).sum(-1).mean()
        expected = nll + beta * divergence() / N
        torch.testing.assert_close(one.nll, nll, rtol=1e-12, atol=0)
        torch.testing.assert_close(one.kl, divergence(), rtol=1e-12, atol=0)
        torch.testing.assert_close(one.loss, expected, rtol=1e-12, atol=0)
        wanted = torch.autograd.grad(expected, list(layer.parameters()))
        grads = torch.autograd.grad(one.loss, list(layer.parameters()))
        torch.testing.assert_close(grads, wanted, rtol=1e-10, atol=1e-14)
        found.append(one)
    # Their mean is the bound of all examples: each has its share of the KL, once and not twice.
    whole = et.elbo(layer, x, y, et.half_squared_error, num_examples=N, beta=beta, noise=noise)
    for part in ("loss", "nll", "kl"):
        mean = sum(getattr(one, part) for one in found) / 2
        torch.testing.assert_close(mean, getattr(whole, part), rtol=1e-12, atol=0)
    if N == 2 * B:  # summed over all N examples, the KL counts `beta` times
        total = N * (whole.loss - whole.nll)
        torch.testing.assert_close(total, beta * divergence(), rtol=1e-10, atol=0)


def test_the_bound_of_a_sum_over_members_takes_m_times_beta():
    net = et.mlp([m, k, k], "rank1", M, dtype=torch.float64)
    x, y = numbers(B, m), numbers(B, k, seed=1)
    noise = net.noise(torch.Generator().manual_seed(0), (B, m))

    def total(outputs, targets):
        return et.half_squared_error(outputs, targets, reduction="sum")

    one = et.elbo(net, x, y, et.half_squared_error, num_examples=41, noise=noise)
    many = et.elbo(net, x, y, total, num_examples=41, beta=float(M), noise=noise)
    torch.testing.assert_close(many.loss, M * one.loss, rtol=1e-12, atol=0)


@pytest.mark.parametrize("S", [None, 2])
def test_each_rho_of_a_converted_model_gets_the_gradient_of_the_bound(S):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(m, 7), nn.Tanh(), nn.Linear(7, k)).double()
    net = et.ensemble(model, "rank1", M, samples=S, posterior_std=0.2)
    x, y, N = numbers(B, m), torch.arange(B) % k, 41
    noise = net.noise(torch.Generator().manual_seed(3), x)
    found = et.elbo(net, x, y, et.softmax_cross_entropy, num_examples=N, beta=0.5, noise=noise)
    prior = in_torch(net.model[0].prior)
    q = [
        Normal(
            getattr(layer, f"{name}_mean"), nn.functional.softplus(getattr(layer, f"{name}_rho"))
        )
        for layer in (net.model[0], net.model[2])
        for name in "rs"
    ]
    divergence = sum(kl_divergence(each, prior).sum() for each in q) / M
    logits = net(x, noise=noise)
    rows = nn.functional.cross_entropy(logits.flatten(0, -2), y.repeat(M * (S or 1)))
    expected = rows + 0.5 * divergence / N
    torch.testing.assert_close(found.loss, expected, rtol=1e-12, atol=0)
    parameters = dict(net.named_parameters())
    grads = torch.autograd.grad(found.loss, list(parameters.values()))
    wanted = torch.autograd.grad(expected, list(parameters.values()))
    for name, grad, want in zip(parameters, grads, wanted, strict=True):
        torch.testing.assert_close(grad, want, rtol=1e-9, atol=1e-13, msg=name)
        assert grad.abs().max() > 0, name


@pytest.mark.bad_input
def test_errors_of_the_function_say_in_which_call():
    net, x, y = nn.Linear(m, k), numbers(B, m).float(), numbers(B, k).float()
    for nll, error, words in (
        (3, TypeError, r"nll must be a function, called as nll\(net\(x\), y\), got 3"),
        (lambda y: y.sum(), TypeError, r"in nll\(net\(x\), y\): .* takes 1 positional"),
        (et.softmax_cross_entropy, TypeError, r"in nll\(net\(x\), y\): targets must be .* labels"),
        (lambda outputs, targets: (outputs - targets) ** 2, ValueError, r"shape \(\), .* \(7, 5\)"),
        (lambda outputs, targets: 3.0, ValueError, r"nll must return one number, .* got 3\.0"),
    ):
        with pytest.raises(error, match=words):
            et.elbo(net, x, y, nll, num_examples=B)
    with pytest.raises(ValueError, match=r"beta must be 0 or more, got -0\.5"):
        et.elbo(net, x, y, et.half_squared_error, num_examples=B, beta=-0.5)
    with pytest.raises(TypeError, match=r"net must be a torch\.nn\.Module"):
        et.elbo(lambda x: x, x, y, et.half_squared_error, num_examples=B)


def test_a_label_out_of_range_is_no_index_from_the_end():
    outputs, targets = batch("softmax_cross_entropy", (M,))
    for label in (-1, k):
        targets[2] = label
        with pytest.raises(ValueError, match=rf"labels from .* accepted are 0 to {k - 1}"):
            et.softmax_cross_entropy(outputs, targets)
        with pytest.raises(ValueError, match=rf"labels from .* accepted are 0 to {k - 1}"):
            en.softmax_cross_entropy(outputs.numpy(), targets.numpy())


def test_the_mixture_of_two_members_by_hand():
    nll = torch.tensor([[math.log(2.0), 0.0], [math.log(4.0), 0.0]], dtype=torch.float64)
    # Densities 1/2 and 1/4 average to 3/8, and 1 and 1 to 1.
    assert float(reduce(nll, "mixture")) == pytest.approx(-math.log(3 / 8) / 2, rel=1e-15)
    assert float(reduce(nll, "sum")) == pytest.approx(math.log(8) / 2, rel=1e-15)
    assert float(reduce(nll, "mean")) == pytest.approx(math.log(8) / 4, rel=1e-15)

"""Estimators of the mean-field layers in Torch: what Flipout is, and how much each varies."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import ensedu.torch as et
from ensedu.priors import Normal
from ensedu.torch import variational
from ensedu.torch.variational import inverse_softplus, softplus
from tests.backends import B, m, n


@pytest.mark.parametrize("other", ["local", "flipout"])
@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_estimators_have_the_moments_of_drawn_weights(kind, other):
    torch.manual_seed(6)
    shape = (m,) if kind == "linear" else (m, 4, 4)
    build = {
        "linear": lambda estimator: et.MeanFieldLinear(
            m, 2, posterior_std=0.3, estimator=estimator
        ),
        "conv": lambda estimator: et.MeanFieldConv2d(
            m, 2, 3, padding=1, stride=2, posterior_std=0.3, estimator=estimator
        ),
    }[kind]
    drawn, local = build("weights"), build(other)
    local.load_state_dict(drawn.state_dict())
    draws = 20_000
    x = torch.randn(1, *shape).expand(draws, 1, *shape)
    with torch.no_grad():
        several, many = drawn(x), local(x)
    assert several.shape == many.shape
    spread = several.std(0)
    assert ((several.mean(0) - many.mean(0)).abs() < 5 * spread * (2 / draws) ** 0.5).all()
    assert ((many.std(0) / spread - 1).abs() < 5 / draws**0.5).all()


def flipped_by_hand(layer, x, noise):
    """Each example with its own weight, its deviation turned by the example's signs."""
    rows = []
    for b in range(len(x)):
        signs = torch.outer(noise["output_signs"][b], noise["input_signs"][b])
        signs = signs.reshape(*signs.shape, *[1] * (layer.weight_mean.ndim - 2))
        deviation = F.softplus(layer.weight_rho) * noise["weight"].transpose(0, 1)
        weight = layer.weight_mean + deviation * signs
        bias = F.softplus(layer.bias_rho) * noise["bias"] * noise["output_signs"][b]
        product = F.linear if x.ndim == 2 else F.conv2d
        rows.append(product(x[b : b + 1], weight, layer.bias_mean + bias)[0])
    return torch.stack(rows)


@pytest.mark.parametrize("samples", [(), (3,)])
@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_flipout_equals_a_loop_over_examples(kind, samples):
    torch.manual_seed(5)
    options = {"posterior_std": 0.3, "estimator": "flipout", "dtype": torch.float64}
    layer = (
        et.MeanFieldLinear(m, n, **options)
        if kind == "linear"
        else et.MeanFieldConv2d(m, n, 3, **options)
    )
    shape = (*samples, B, m) if kind == "linear" else (*samples, B, m, 5, 4)
    x = torch.randn(shape, dtype=torch.float64)
    noise = layer.noise(torch.Generator().manual_seed(1), tuple(shape))
    assert set(noise["input_signs"].unique().tolist()) == {-1.0, 1.0}
    y = layer(x, noise)
    if not samples:
        torch.testing.assert_close(y, flipped_by_hand(layer, x, noise), rtol=0, atol=1e-12)
        return
    for s in range(samples[0]):
        own = flipped_by_hand(layer, x[s], {k: v[s] for k, v in noise.items()})
        torch.testing.assert_close(y[s], own, rtol=0, atol=1e-12)


def test_flipout_takes_noise_of_the_weights_as_one_function():
    torch.manual_seed(5)
    layer = et.MeanFieldLinear(m, n, estimator="flipout", posterior_std=0.3)
    noise, x = layer.noise(), torch.randn(B, m)
    bias = layer.bias_mean + F.softplus(layer.bias_rho) * noise["bias"]
    torch.testing.assert_close(layer(x, noise), x @ layer.weight_matrices(noise)[0] + bias)


def test_gradients_vary_less_over_large_batches():
    """Of the mean: local from few examples on, Flipout equal at one and smaller from 32 on."""
    torch.manual_seed(8)
    inputs, targets = torch.randn(32, m), torch.randn(32, n)
    scatter = {}
    for estimator in ("weights", "local", "flipout"):
        for batch in (1, 32):
            layer = et.MeanFieldLinear(m, n, estimator=estimator, posterior_std=0.5)
            with torch.no_grad():
                layer.weight_mean.zero_()
            gradients = []
            for _ in range(400):
                y = layer(inputs[:batch])
                loss = (y - targets[:batch]).square().sum(1).mean()
                gradients.append(torch.autograd.grad(loss, layer.weight_mean)[0])
            scatter[estimator, batch] = torch.stack(gradients).var(0).sum().item()
    assert 0.8 < scatter["flipout", 1] / scatter["weights", 1] < 1.25
    for estimator in ("local", "flipout"):
        assert scatter[estimator, 32] < 0.6 * scatter["weights", 32]


@pytest.mark.parametrize("bias", [False, True])
def test_local_reparameterization_of_no_input_has_finite_gradients(bias):
    layer = et.MeanFieldLinear(m, n, bias=bias, estimator="local")
    x = torch.zeros(B, m, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert y.isfinite().all()
    for tensor in (x, *layer.parameters()):
        assert tensor.grad.isfinite().all()


def test_kl_is_never_negative():
    # A dense grid around q = p, where cancellation could turn a tiny KL negative.
    for scale in [0.1, 1.0, 0.7, 3.3]:
        rho = variational.inverse_softplus(scale)
        steps = np.concatenate([np.linspace(-1e-6, 1e-6, 20_001), np.linspace(-50, 50, 20_001)])
        for dtype in (torch.float32, torch.float64):
            rhos = torch.from_numpy(rho + steps).to(dtype)
            prior = Normal(0.0, scale)
            assert (variational.normal_kl(torch.zeros_like(rhos), rhos, prior) >= 0).all()


@pytest.mark.parametrize("rho", [-700.0, -30.0, 0.0, 3.0, 15.0, 20.5, 31.0, 39.0, 41.0, 700.0])
def test_softplus_is_exact_wherever_float64_can_tell(rho):
    exact = math.log1p(math.exp(rho)) if rho < 0 else rho + math.log1p(math.exp(-rho))
    tensor = torch.tensor(rho, dtype=torch.float64)
    assert softplus(tensor).item() == pytest.approx(exact, rel=4e-16, abs=0)


@pytest.mark.parametrize("std", [1e-9, 0.01, 1.0, 20.5, 37.0])
def test_a_standard_deviation_comes_back_from_rho(std):
    rho = torch.tensor(inverse_softplus(std), dtype=torch.float64)
    assert softplus(rho).item() == pytest.approx(std, rel=1e-15 if std > 1e-6 else 1e-13, abs=0)
    layer = et.MeanFieldLinear(m, n, posterior_std=std, dtype=torch.float64)
    one, zero = ({k: x * 0 + v for k, x in layer.noise().items()} for v in (1.0, 0.0))
    spread = layer.weight_matrices(one) - layer.weight_matrices(zero)
    torch.testing.assert_close(spread, torch.full_like(spread, std), rtol=1e-13, atol=1e-16)

"""Hand-written gradients, of every module of `ensedu.numpy`: against differences and autograd.

A class of tests is parametrized by the layers of one module, in its test file.
"""

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from tests.backends import B, M, m, n

#: By module: layers as functions of the generator. The scales of fast weights are large, so that
#: no gradient is small.
LAYERS = {
    "linear": {
        "Linear": lambda rng: en.Linear(m, n, rng=rng),
        "without bias": lambda rng: en.Linear(m, n, rng=rng, bias=False),
    },
    "deep_ensemble": {
        "DeepEnsembleLinear": lambda rng: en.DeepEnsembleLinear(m, n, M, rng=rng),
        "without bias": lambda rng: en.DeepEnsembleLinear(m, n, M, rng=rng, bias=False),
    },
    "batch_ensemble": {
        "BatchEnsembleLinear": lambda rng: en.BatchEnsembleLinear(m, n, M, rng=rng, init="normal"),
        "without bias": lambda rng: en.BatchEnsembleLinear(m, n, M, rng=rng, bias=False),
    },
    "rank1": {
        "Rank1Linear": lambda rng: en.Rank1Linear(m, n, M, rng=rng, posterior_std=0.4),
        "Rank1Linear per example": lambda rng: en.Rank1Linear(
            m, n, M, rng=rng, posterior_std=0.4, per_example=True
        ),
        "without bias": lambda rng: en.Rank1Linear(m, n, M, rng=rng, bias=False),
    },
    "mean_field": {
        "MeanFieldLinear": lambda rng: en.MeanFieldLinear(m, n, rng=rng, posterior_std=0.3),
        "without bias": lambda rng: en.MeanFieldLinear(m, n, rng=rng, bias=False),
    },
    "local_reparameterization": {
        "MeanFieldLinear": lambda rng: en.MeanFieldLinear(
            m, n, rng=rng, posterior_std=0.3, estimator="local"
        ),
        "without bias": lambda rng: en.MeanFieldLinear(
            m, n, rng=rng, posterior_std=0.3, estimator="local", bias=False
        ),
    },
    "dropout": {
        "MCDropout": lambda rng: en.MCDropout(0.3, rng=rng),
        "MCDropout per example": lambda rng: en.MCDropout(0.3, rng=rng, per_example=True),
    },
    "activations": {
        "ReLU": lambda rng: en.ReLU(),
        "Tanh": lambda rng: en.Tanh(),
        "Multiply": lambda rng: en.Multiply(0.3),
    },
    "network": {
        "Tile": lambda rng: en.Tile(M),
        "Tile of members": lambda rng: en.Tile(2, M),
    },
}
#: These take samples of members, too.
MEMBERS = ("DeepEnsembleLinear", "BatchEnsembleLinear", "Rank1Linear", "Rank1Linear per example")


def for_layers(module):
    """Parametrize a class by the layers of a module."""
    made = [pytest.param(make, id=name) for name, make in LAYERS[module].items()]
    return pytest.mark.parametrize("make", made)


def for_layers_and_inputs(*modules):
    """Parametrize a class by the layers of modules, each with the shapes that it takes."""
    cases = [
        pytest.param(make, shape, id=f"{name}-{len(shape)} axes")
        for module in modules
        for name, make in LAYERS[module].items()
        for shape in [(B, m), (M, B, m), *([(2, M, B, m)] if name in MEMBERS else [])]
        if not ("Tile" in name and len(shape) > 2)
    ]
    return pytest.mark.parametrize(("make", "shape"), cases)


class ByHand:
    """What ``backward`` computes; parametrized by `for_layers_and_inputs`."""

    @pytest.mark.large
    def test_backward_equals_finite_differences(self, make, shape):
        rng = np.random.default_rng(11)
        layer = make(rng)
        x = rng.standard_normal(shape)
        forward, _ = forward_with(layer, x, rng)
        grad = rng.standard_normal(forward(x).shape)
        grad_x = layer.backward(grad)
        grads = dict(layer.grads)
        assert grads.keys() == layer.params.keys()
        assert grad_x.shape == x.shape

        def value():
            return float((forward(x) * grad).sum())

        np.testing.assert_allclose(grad_x, central_difference(value, x), rtol=1e-6, atol=1e-7)
        for key, array in layer.params.items():
            numeric = central_difference(value, array)
            np.testing.assert_allclose(grads[key], numeric, rtol=1e-6, atol=1e-7, err_msg=key)
            assert (grads[key] != 0).all(), f"{key} has an entry that gets no gradient"

    def test_backward_remembers_what_forward_saw(self, make, shape):
        """Changing the input, the noise or the output in place changes no gradient."""
        rng = np.random.default_rng(11)
        layer = make(rng)
        x = rng.standard_normal(shape)
        noise = layer.noise(rng, x.shape) if hasattr(layer, "noise") else None
        results = []
        for spoil in (False, True):
            layer.zero_grad()
            given = x.copy()
            own = None if noise is None else {k: v.copy() for k, v in noise.items()}
            y = layer.forward(given) if noise is None else layer.forward(given, own)
            grad = np.cos(np.arange(y.size)).reshape(y.shape)
            if spoil:
                for array in (given, y, *(own or {}).values()):
                    array[...] = 1
            results.append([layer.backward(grad), *layer.grads.values()])
        for clean, spoiled in zip(*results, strict=True):
            np.testing.assert_array_equal(clean, spoiled)


class Sums:
    """How gradients add up; parametrized by `for_layers`."""

    @pytest.mark.parametrize("first", ["data", "kl"])
    def test_gradients_add_up_until_they_are_emptied(self, make, first):
        rng = np.random.default_rng(11)
        layer = make(rng)
        x = rng.standard_normal((B, m))
        forward, _ = forward_with(layer, x, rng)
        grad = rng.standard_normal(forward(x).shape)

        def data():
            layer.backward(grad)

        def kl():
            en.kl_backward(layer, 0.5)

        parts = []
        for add in (data, kl):
            layer.zero_grad()
            assert layer.grads == {}
            add()
            parts.append(dict(layer.grads))
        layer.zero_grad()
        for add in (data, kl, data) if first == "data" else (kl, data, data):
            add()
        assert layer.grads.keys() == layer.params.keys()
        for key, value in layer.grads.items():
            expected = 2 * parts[0][key] + parts[1].get(key, 0.0)
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


class Twin:
    """The Torch twin gives what NumPy gives; parametrized by `for_layers_and_inputs`."""

    def test_output_and_all_gradients_are_numpys(self, backend, make, shape):
        rng, device = np.random.default_rng(11), backend.name
        layer = make(rng)
        x = rng.standard_normal(shape)
        forward, noise = forward_with(layer, x, rng)
        y = forward(x)
        grad = rng.standard_normal(y.shape)
        grad_x = layer.backward(grad)

        module = et.from_numpy(layer, device=device)
        x_torch = torch.tensor(x, device=device, requires_grad=True)
        extra = [] if noise is None else [torch_noise(noise, device)]
        y_torch = module(x_torch, *extra)
        y_torch.backward(torch.tensor(grad, device=device))

        np.testing.assert_allclose(y_torch.detach().cpu(), y, rtol=0, atol=1e-12)
        np.testing.assert_allclose(x_torch.grad.cpu(), grad_x, rtol=0, atol=1e-12)
        parameters = dict(module.named_parameters())
        assert parameters.keys() == layer.params.keys()
        for key, parameter in parameters.items():
            np.testing.assert_allclose(
                as_book(key, parameter.grad), layer.grads[key], rtol=0, atol=1e-12, err_msg=key
            )
        if hasattr(module, "weight_matrices") and "output" not in (noise or {}):
            matrices = layer.weight_matrices(noise)
            twin = module.weight_matrices(*extra).detach().cpu()
            np.testing.assert_allclose(twin, matrices, rtol=0, atol=1e-12)


def check_kl_gradient(make):
    """Fail unless a layer's KL and its gradient are autograd's, and those of differences."""
    rng = np.random.default_rng(11)
    layer = make(rng)
    for key, array in layer.params.items():
        if key.endswith(("_mean", "_rho")):
            array[...] = rng.standard_normal(array.shape)
    layer.kl_backward(0.37)
    hand = dict(layer.grads)

    module = et.from_numpy(layer)
    (0.37 * et.kl(module)).backward()
    np.testing.assert_allclose(layer.kl(), module.kl().detach(), rtol=1e-12)
    assert en.kl(layer) == pytest.approx(et.kl(module).item(), rel=1e-12)
    assert hand.keys() == {k for k in layer.params if k.endswith(("_mean", "_rho"))}
    for key, parameter in module.named_parameters():
        if key in hand:
            auto = as_book(key, parameter.grad)
            np.testing.assert_allclose(hand[key], auto, rtol=1e-12, atol=1e-12)
            # The KL of all entries is in the thousands, so its differences lose four digits more.
            numeric = central_difference(lambda: en.kl(layer), layer.params[key], eps=1e-4)
            np.testing.assert_allclose(hand[key], 0.37 * numeric, rtol=1e-5, atol=1e-6)
        else:
            assert parameter.grad is None


def forward_with(layer, x, rng):
    """Return a function of x that repeats the layer's forward pass with one fixed noise."""
    if not hasattr(layer, "noise"):
        return layer.forward, None
    noise = layer.noise(rng, x.shape)
    return (lambda x: layer.forward(x, noise)), noise


def central_difference(f, array, eps=1e-6):
    grad = np.empty_like(array)
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + eps
        above = f()
        array[index] = kept - eps
        below = f()
        array[index] = kept
        grad[index] = (above - below) / (2 * eps)
    return grad


def torch_noise(noise, device="cpu"):
    return {k: torch.from_numpy(v).to(device) for k, v in noise.items()}


def as_book(key, tensor):
    """A Torch gradient with the axes of its NumPy twin."""
    array = tensor.detach().cpu().numpy()
    return array.swapaxes(-1, -2) if key.startswith("weight") else array

"""Hand-written gradients against finite differences and against autograd, same samples."""

import functools

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from ensedu.numpy import variational
from ensedu.priors import Normal

M, B, m, n = 3, 7, 5, 11
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
# Large fast-weight scales, so that no gradient is small.
LAYERS = {
    "Linear": lambda rng: en.Linear(m, n, rng=rng),
    "DeepEnsembleLinear": lambda rng: en.DeepEnsembleLinear(m, n, M, rng=rng),
    "BatchEnsembleLinear": lambda rng: en.BatchEnsembleLinear(m, n, M, rng=rng, init="normal"),
    "Rank1Linear": lambda rng: en.Rank1Linear(m, n, M, rng=rng, posterior_std=0.4),
    "Rank1Linear per example": lambda rng: en.Rank1Linear(
        m, n, M, rng=rng, posterior_std=0.4, per_example=True
    ),
    "MeanFieldLinear": lambda rng: en.MeanFieldLinear(m, n, rng=rng, posterior_std=0.3),
    "MeanFieldLinear, local": lambda rng: en.MeanFieldLinear(
        m, n, rng=rng, posterior_std=0.3, estimator="local"
    ),
    "Mean-field without bias, local": lambda rng: en.MeanFieldLinear(
        m, n, rng=rng, posterior_std=0.3, estimator="local", bias=False
    ),
    "MCDropout": lambda rng: en.MCDropout(0.3, rng=rng),
    "MCDropout per example": lambda rng: en.MCDropout(0.3, rng=rng, per_example=True),
    "ReLU": lambda rng: en.ReLU(),
    "Tanh": lambda rng: en.Tanh(),
    "Multiply": lambda rng: en.Multiply(0.3),
    "Tile": lambda rng: en.Tile(M),
    "Tile of members": lambda rng: en.Tile(2, M),
    "Linear without bias": lambda rng: en.Linear(m, n, rng=rng, bias=False),
    "Deep without bias": lambda rng: en.DeepEnsembleLinear(m, n, M, rng=rng, bias=False),
    "Batch without bias": lambda rng: en.BatchEnsembleLinear(m, n, M, rng=rng, bias=False),
    "Rank1 without bias": lambda rng: en.Rank1Linear(m, n, M, rng=rng, bias=False),
    "Mean-field without bias": lambda rng: en.MeanFieldLinear(m, n, rng=rng, bias=False),
}
MEMBERS = ("DeepEnsembleLinear", "BatchEnsembleLinear", "Rank1Linear", "Rank1Linear per example")
CASES = [
    (name, shape)
    for name in LAYERS
    for shape in [(B, m), (M, B, m), *([(2, M, B, m)] if name in MEMBERS else [])]
    if not ("Tile" in name and len(shape) > 2)
]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


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


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_backward_equals_finite_differences(name, shape, rng):
    layer = LAYERS[name](rng)
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


def torch_noise(noise, device):
    return {k: torch.from_numpy(v).to(device) for k, v in noise.items()}


def as_book(key, tensor):
    """A Torch gradient with the axes of its NumPy twin."""
    array = tensor.detach().cpu().numpy()
    return array.swapaxes(-1, -2) if key.startswith("weight") else array


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_numpy_equals_torch(name, shape, device, rng):
    layer = LAYERS[name](rng)
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


@pytest.mark.parametrize("name", ["Rank1Linear", "MeanFieldLinear"])
def test_kl_gradient(name, rng):
    layer = LAYERS[name](rng)
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
            kl = functools.partial(en.kl, layer)
            numeric = 0.37 * central_difference(kl, layer.params[key], eps=1e-4)
            np.testing.assert_allclose(hand[key], numeric, rtol=1e-5, atol=1e-6)
        else:
            assert parameter.grad is None


@pytest.mark.parametrize("method", METHODS)
def test_the_kl_of_a_network_is_the_sum_over_its_layers(method, rng):
    net = en.mlp([m, 13, 17, 2], method, **size_option(method, M), rng=rng)
    twin = et.from_numpy(en.Sequential(net, en.ReLU()))
    layers = [layer for layer in net.layers if hasattr(layer, "kl")]
    expected = sum(np.mean(layer.kl()) for layer in layers)
    assert len(layers) == (3 if method in ("rank1", "mean_field") else 0)
    assert len({np.mean(layer.kl()) for layer in layers}) == len(layers)
    assert en.kl(net) == en.kl(en.Sequential(net)) == pytest.approx(expected, rel=1e-12)
    assert et.kl(twin).item() == pytest.approx(expected, rel=1e-12)
    en.kl_backward(en.Sequential(net), 0.5)
    for layer in layers:
        together = dict(layer.grads)
        layer.zero_grad()
        layer.kl_backward(0.5)
        for key, value in layer.grads.items():
            np.testing.assert_array_equal(together[key], value)


@pytest.mark.parametrize("first", ["data", "kl"])
@pytest.mark.parametrize("name", LAYERS)
def test_gradients_add_up_until_they_are_emptied(name, first, rng):
    layer = LAYERS[name](rng)
    x = rng.standard_normal((B, m))
    forward, _ = forward_with(layer, x, rng)
    grad = rng.standard_normal(forward(x).shape)

    def data():
        layer.backward(grad)

    def kl():
        en.kl_backward(layer, 0.5)

    parts = []
    for one in (data, kl):
        layer.zero_grad()
        assert layer.grads == {}
        one()
        parts.append(dict(layer.grads))
    layer.zero_grad()
    for one in (data, kl, data) if first == "data" else (kl, data, data):
        one()
    assert layer.grads.keys() == layer.params.keys()
    for key, value in layer.grads.items():
        expected = 2 * parts[0][key] + parts[1].get(key, 0.0)
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_backward_remembers_what_forward_saw(name, shape, rng):
    """Changing the input, the noise or the output in place changes no gradient."""
    layer = LAYERS[name](rng)
    x = rng.standard_normal(shape)
    noise = layer.noise(rng, x.shape) if hasattr(layer, "noise") else None
    results = []
    for spoil in (False, True):
        layer.zero_grad()
        given, own = x.copy(), None if noise is None else {k: v.copy() for k, v in noise.items()}
        y = layer.forward(given) if noise is None else layer.forward(given, own)
        grad = np.cos(np.arange(y.size)).reshape(y.shape)
        if spoil:
            for array in (given, y, *(own or {}).values()):
                array[...] = 1
        results.append([layer.backward(grad), *layer.grads.values()])
    for clean, spoiled in zip(*results, strict=True):
        np.testing.assert_array_equal(clean, spoiled)


@pytest.mark.parametrize("method", METHODS)
def test_networks_agree_and_every_parameter_gets_a_gradient(method, rng):
    net = en.mlp([m, 13, 17, 2], method, **size_option(method, M), rng=rng)
    twin = et.from_numpy(net)
    x = rng.standard_normal((B, m))
    noise = net.noise(rng, x.shape)
    y, y_twin = net(x, noise), twin(torch.from_numpy(x), torch_noise(noise, "cpu"))
    np.testing.assert_allclose(y_twin.detach(), y, rtol=0, atol=1e-12)
    grad = rng.standard_normal(y.shape)
    net.backward(grad)
    y_twin.backward(torch.from_numpy(grad))
    for key, parameter in twin.named_parameters():
        name = key.split(".")[1]
        np.testing.assert_allclose(
            as_book(name, parameter.grad), net.grads[key], rtol=0, atol=1e-12
        )
    assert net.grads.keys() == net.params.keys()
    assert all(np.any(g != 0) for g in net.grads.values())


def test_kl_is_never_negative():
    # A dense grid around q = p, where cancellation could turn a tiny KL negative.
    for scale in [0.1, 1.0, 0.7, 3.3]:
        rho = variational.inverse_softplus(scale)
        steps = np.concatenate([np.linspace(-1e-6, 1e-6, 20_001), np.linspace(-50, 50, 20_001)])
        prior = Normal(0.0, scale)
        rhos = rho + steps
        assert (variational.kl(np.zeros_like(steps), rhos, prior) >= 0).all()
        for dtype in (torch.float32, torch.float64):
            tensor = torch.from_numpy(rhos).to(dtype)
            assert (et.variational.normal_kl(torch.zeros_like(tensor), tensor, prior) >= 0).all()

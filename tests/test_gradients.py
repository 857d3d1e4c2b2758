"""Hand-written gradients against finite differences and against autograd, same samples."""

import functools

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu.numpy import variational
from ensedu.priors import Normal

M, B, m, n = 3, 7, 5, 11
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
# Large fast-weight scales, so that no gradient is small.
LAYERS = {
    "Linear": lambda rng: en.Linear(m, n, rng=rng),
    "DeepEnsembleLinear": lambda rng: en.DeepEnsembleLinear(m, n, M, rng=rng),
    "BatchEnsembleLinear": lambda rng: en.BatchEnsembleLinear(m, n, M, rng=rng, init="normal"),
    "Rank1Linear": lambda rng: en.Rank1Linear(m, n, M, rng=rng, init_scale=0.4),
    "Rank1Linear per example": lambda rng: en.Rank1Linear(
        m, n, M, rng=rng, init_scale=0.4, per_example=True
    ),
    "BayesLinear": lambda rng: en.BayesLinear(m, n, rng=rng, init_scale=0.3),
    "MCDropout": lambda rng: en.MCDropout(0.3, rng=rng),
    "MCDropout per example": lambda rng: en.MCDropout(0.3, rng=rng, per_example=True),
    "ReLU": lambda rng: en.ReLU(),
    "Tanh": lambda rng: en.Tanh(),
    "Tile": lambda rng: en.Tile(M),
}
CASES = [
    (name, shape)
    for name in LAYERS
    for shape in [(B, m), (M, B, m)]
    if (name, shape) != ("Tile", (M, B, m))
]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def forward_with(layer, x, rng):
    """Return a function of x that repeats the layer's forward pass with one fixed sample."""
    if not hasattr(layer, "sample"):
        return layer.forward, None
    sample = layer.sample(rng, x.shape)
    return (lambda x: layer.forward(x, sample)), sample


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


def torch_sample(sample, device):
    return {k: torch.from_numpy(v).to(device) for k, v in sample.items()}


def as_book(key, tensor):
    """A Torch gradient with the axes of its NumPy twin."""
    array = tensor.detach().cpu().numpy()
    return array.swapaxes(-1, -2) if key in ("weight", "weight_mean", "weight_rho") else array


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_numpy_equals_torch(name, shape, device, rng):
    layer = LAYERS[name](rng)
    x = rng.standard_normal(shape)
    forward, sample = forward_with(layer, x, rng)
    y = forward(x)
    grad = rng.standard_normal(y.shape)
    grad_x = layer.backward(grad)

    module = et.from_numpy(layer, device=device)
    x_torch = torch.tensor(x, device=device, requires_grad=True)
    extra = [] if sample is None else [torch_sample(sample, device)]
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
    if hasattr(layer, "weight_matrices"):
        matrices = layer.weight_matrices(sample)
        if name != "Linear":
            twin = module.weight_matrices(*extra).detach().cpu()
            np.testing.assert_allclose(twin, matrices, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["Rank1Linear", "BayesLinear"])
@pytest.mark.parametrize("over_members", ["mean", "sum"])
def test_kl_gradient(name, over_members, rng):
    layer = LAYERS[name](rng)
    for key, array in layer.params.items():
        if key.endswith(("_mean", "_rho")):
            array[...] = rng.standard_normal(array.shape)
    options = {} if name == "BayesLinear" else {"over_members": over_members}
    layer.backward(np.zeros_like(layer.forward(np.ones((B, m)))))
    layer.kl_backward(0.37, **options)
    hand = dict(layer.grads)

    module = et.from_numpy(layer)
    (0.37 * module.kl(**options)).backward()
    assert layer.kl(**options) == pytest.approx(module.kl(**options).item(), rel=1e-12)
    for key, parameter in module.named_parameters():
        if key.endswith(("_mean", "_rho")):
            auto = as_book(key, parameter.grad)
            np.testing.assert_allclose(hand[key], auto, rtol=1e-12, atol=1e-12)
            # The KL of all entries is in the thousands, so its differences lose four digits more.
            kl = functools.partial(layer.kl, **options)
            numeric = 0.37 * central_difference(kl, layer.params[key], eps=1e-4)
            np.testing.assert_allclose(hand[key], numeric, rtol=1e-5, atol=1e-6)
        else:
            assert parameter.grad is None
            assert (hand[key] == 0).all()


def test_kl_backward_adds_to_the_gradient_of_the_data(rng):
    layer = LAYERS["BayesLinear"](rng)
    y = layer.forward(rng.standard_normal((B, m)))
    layer.backward(np.ones_like(y))
    data = {k: v.copy() for k, v in layer.grads.items()}
    layer.kl_backward(0.5)
    added = {k: layer.grads[k] - data[k] for k in data}
    layer.backward(np.zeros_like(y))
    layer.kl_backward(0.5)
    for key, value in layer.grads.items():
        np.testing.assert_allclose(added[key], value, atol=1e-12)
        assert (value != 0).all()


def test_backward_replaces_gradients(rng):
    layer = LAYERS["Linear"](rng)
    y = layer.forward(rng.standard_normal((B, m)))
    layer.backward(np.ones_like(y))
    first = layer.grads["bias"].copy()
    layer.backward(np.ones_like(y))
    np.testing.assert_array_equal(layer.grads["bias"], first)


METHODS = ["single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout"]


@pytest.mark.parametrize("method", METHODS)
def test_networks_agree_and_every_parameter_gets_a_gradient(method, rng):
    net = en.mlp([m, 13, 17, 2], method, M, rng=rng, **({"p": 0.0} if "drop" in method else {}))
    twin = et.from_numpy(net)
    # Without noise both draw the same network, sample by sample.
    for key, array in net.params.items():
        if key.endswith("_rho"):
            array[...] = -1e3
    with torch.no_grad():
        for key, parameter in twin.named_parameters():
            if key.endswith("_rho"):
                parameter.fill_(-1e3)
    x = rng.standard_normal((B, m))
    y, y_twin = net(x), twin(torch.from_numpy(x))
    np.testing.assert_allclose(y_twin.detach(), y, rtol=0, atol=1e-12)
    grad = rng.standard_normal(y.shape)
    net.backward(grad)
    y_twin.backward(torch.from_numpy(grad))
    for key, parameter in twin.named_parameters():
        name = key.split(".")[1]
        np.testing.assert_allclose(
            as_book(name, parameter.grad), net.grads[key], rtol=0, atol=1e-12
        )

    fresh = en.mlp([m, 13, 17, 2], method, M, rng=rng)
    fresh.backward(rng.standard_normal(fresh(x).shape))
    assert fresh.grads.keys() == fresh.params.keys()
    assert all(np.any(g != 0) for g in fresh.grads.values())
    module = et.mlp([m, 13, 17, 2], method, M)
    module(torch.randn(B, m)).square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in module.parameters())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kl_is_never_negative(dtype):
    # A dense grid around q = p, where cancellation could turn a tiny KL negative.
    for scale in [0.1, 1.0, 0.7, 3.3]:
        rho = variational.inverse_softplus(scale)
        steps = np.concatenate([np.linspace(-1e-6, 1e-6, 20_001), np.linspace(-50, 50, 20_001)])
        rhos = (rho + steps).astype(dtype)
        prior = Normal(0.0, scale)
        assert (variational.normal_kl(np.zeros_like(rhos), rhos, prior) >= 0).all()
        tensor = torch.from_numpy(rhos)
        assert (et.variational.normal_kl(torch.zeros_like(tensor), tensor, prior) >= 0).all()

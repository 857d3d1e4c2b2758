"""A layer's values in NumPy and in Torch."""

import numpy as np
import pytest
import torch
from torch import nn

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal
from tests.backends import DEVICES, B, InTorch, M, m, n
from tests.gradients import Twin, for_layers_and_inputs
from tests.torch.layer_cases import TORCH_LAYERS


@for_layers_and_inputs("linear")
class TestTwin(InTorch, Twin):
    """Of a plain layer, which is Torch's own."""


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "words"),
    [
        (torch.nn.Conv2d(2, 4, 3, groups=2), "groups=2, accepted is 1"),
        (torch.nn.Conv2d(2, 4, 3, dilation=2), r"dilation=\(2, 2\)"),
        (torch.nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect"), "padding_mode='reflect'"),
        (torch.nn.MaxPool2d(2, padding=1), "padding=1, accepted is 0"),
        (torch.nn.MaxPool2d(2, ceil_mode=True), "ceil_mode=True"),
        (torch.nn.Flatten(0), "start_dim=0, accepted is 1 or -3"),
        (et.MeanFieldConv2d(2, 4, 3, estimator="flipout"), "estimator='flipout'"),
    ],
)
def test_settings_that_numpy_lacks_are_refused(module, words):
    with pytest.raises(ValueError, match=words):
        et.to_numpy(module, rng=np.random.default_rng(0))


NUMPY_LAYERS = [
    lambda rng: en.Linear(m, n, rng=rng),
    lambda rng: en.Linear(m, n, rng=rng, bias=False),
    lambda rng: en.DeepEnsembleLinear(m, n, M, rng=rng),
    lambda rng: en.BatchEnsembleLinear(m, n, M, rng=rng, init="normal", init_std=0.3),
    lambda rng: en.Rank1Linear(
        m, n, M, rng=rng, prior=Normal(1.0, 0.4), init="signs", posterior_std=0.3, per_example=True
    ),
    lambda rng: en.MeanFieldLinear(
        m, n, rng=rng, prior=Normal(0.5, 2.0), posterior_std=0.2, bias=False
    ),
]


def in_torchs_order(key, value):
    """Torch keeps a weight as (n, m)."""
    return value.swapaxes(-1, -2) if key.startswith("weight") else value


@pytest.mark.parametrize("make", NUMPY_LAYERS)
@pytest.mark.parametrize("device", DEVICES)
def test_values_cross_exactly_and_share_no_memory(make, device):
    rng = np.random.default_rng(0)
    layer = make(rng)
    module = et.from_numpy(layer, device=device)
    back = et.to_numpy(module, rng=rng)
    assert type(back) is type(layer)
    settings = {key for key in vars(layer) if not key.startswith("_")} - {"params", "grads", "rng"}
    assert {k: getattr(back, k) for k in settings} == {k: getattr(layer, k) for k in settings}
    assert back.params.keys() == layer.params.keys() == dict(module.named_parameters()).keys()
    for key, value in layer.params.items():
        parameter = module.get_parameter(key)
        assert back.params[key].dtype == np.float64
        np.testing.assert_array_equal(back.params[key], value)
        kept = in_torchs_order(key, value)
        assert parameter.dtype == torch.float64 and parameter.device.type == device
        np.testing.assert_array_equal(parameter.detach().cpu().numpy(), kept)
        back.params[key][...] = 0
        assert parameter.any()
        with torch.no_grad():
            parameter.zero_()
        assert value.any()


@pytest.mark.parametrize("make", [lambda **k: nn.Linear(m, n, **k), *TORCH_LAYERS])
def test_float32_becomes_float64_without_a_rounding(make):
    module = make()
    layer = et.to_numpy(module, rng=np.random.default_rng(0))
    for key, value in layer.params.items():
        assert value.dtype == np.float64
        single = module.get_parameter(key).detach().numpy()
        assert single.dtype == np.float32
        np.testing.assert_array_equal(value, in_torchs_order(key, single).astype(np.float64))
    twin = et.from_numpy(layer)
    for key, parameter in module.named_parameters():
        assert torch.equal(twin.get_parameter(key), parameter.double())


NETWORKS = [
    {},
    {"activation": "tanh", "bias": False},
    {"parametrization": "ntk"},
]


@pytest.mark.parametrize("options", NETWORKS, ids=lambda given: " ".join(given) or "default")
@pytest.mark.parametrize("method", METHODS)
def test_networks_cross_too(method, options):
    rng = np.random.default_rng(0)
    net = en.mlp([m, n, 2], method, **size_option(method, M), rng=rng, **options)
    module = et.from_numpy(net)
    bias = options.get("bias", True)
    formula = counting.mlp([m, n, 2], method, **size_option(method, M), bias=bias)
    assert counting.count(module) == counting.count(net) == formula
    back = et.to_numpy(module, rng=rng)
    assert repr(back) == repr(net)
    for key, value in net.params.items():
        np.testing.assert_array_equal(back.params[key], value)
    # One function, given one draw.
    x = rng.standard_normal((B, m))
    noise = net.noise(np.random.default_rng(1), x.shape)
    tensors = {key: torch.from_numpy(value) for key, value in noise.items()}
    y = module(torch.from_numpy(x), tensors).detach().numpy()
    np.testing.assert_allclose(y, net(x, noise), rtol=0, atol=1e-12)


def test_networks_with_samples_of_members_and_dropout_of_images_cross_too():
    rng = np.random.default_rng(0)
    net = en.mlp([m, n, 2], "rank1", M, samples=2, rng=rng)
    back = et.to_numpy(et.from_numpy(net), rng=rng)
    assert (back.layers[0].samples, back.layers[0].ensemble_size) == (2, M)
    dropout = en.MCDropout(0.3, rng=rng, per_example=True, feature_axes=3)
    for twin in (et.from_numpy(dropout), et.to_numpy(et.from_numpy(dropout), rng=rng)):
        assert (twin.p, twin.per_example, twin.feature_axes) == (0.3, True, 3)

"""The Torch layers as modules: conversion, copies, state, devices, dtypes, compilation."""

import copy
import io
import math

import numpy as np
import pytest
import torch
from torch import nn

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal
from ensedu.torch import network
from ensedu.torch.variational import inverse_softplus, softplus

M, B, m, n = 3, 7, 5, 11
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
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
TORCH_LAYERS = [
    lambda **k: et.DeepEnsembleLinear(m, n, M, **k),
    lambda **k: et.BatchEnsembleLinear(m, n, M, **k),
    lambda **k: et.Rank1Linear(m, n, M, **k),
    lambda **k: et.MeanFieldLinear(m, n, **k),
]


def own_noise(layer, shape=None):
    """The noise of one pass as an argument, nothing for a layer that draws none."""
    if not hasattr(layer, "noise"):
        return ()
    return (layer.noise(torch.Generator().manual_seed(3), *([shape] if shape else [])),)


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


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", METHODS)
def test_copies_and_state(method, device):
    net = et.mlp([m, n, 2], method, **size_option(method, M), device=device)
    twin = copy.deepcopy(net)
    buffer = io.BytesIO()
    torch.save(net.state_dict(), buffer)
    buffer.seek(0)
    loaded = et.mlp([m, n, 2], method, **size_option(method, M), device=device)
    loaded.load_state_dict(torch.load(buffer, weights_only=True))
    x = torch.randn(B, m, device=device)
    outputs = []
    for module in (net, twin, loaded):
        torch.manual_seed(0)
        outputs.append(module(x))
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0], outputs[2])
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    assert all(p.any() for p in net.parameters())


@pytest.mark.parametrize("make", TORCH_LAYERS)
def test_no_bias(make):
    layer = make(bias=False)
    assert not [name for name, _ in layer.named_parameters() if "bias" in name]
    assert counting.count(layer).biases == 0
    zeros = torch.zeros(B, m)
    assert not layer(zeros).any()
    assert "bias=False" in repr(layer)
    assert layer.weight_matrices(*own_noise(layer)).shape[-2:] == (m, n)


@pytest.mark.parametrize("make", TORCH_LAYERS)
def test_weight_matrices_are_the_callers_own(make):
    layer = make()
    before = {name: p.detach().clone() for name, p in layer.named_parameters()}
    with torch.no_grad():
        layer.weight_matrices(*own_noise(layer)).zero_()
    for name, parameter in layer.named_parameters():
        assert torch.equal(parameter, before[name]), name
    layer.weight_matrices(*own_noise(layer)).sum().backward()
    weight = layer.weight_mean if hasattr(layer, "weight_mean") else layer.weight
    assert weight.grad.any()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("make", TORCH_LAYERS)
def test_dtype_and_device(make, dtype, device):
    layer = make(dtype=dtype, device=device)
    x = torch.randn(B, m, dtype=dtype, device=device)
    y = layer(x)
    assert y.dtype == dtype
    assert y.device.type == device
    assert layer.weight_matrices().dtype == dtype
    y.sum().backward()
    assert all(p.grad.dtype == dtype for p in layer.parameters())


@pytest.mark.parametrize("make", TORCH_LAYERS)
def test_autocast_follows_torch(make):
    layer, plain = make(), nn.Linear(m, n)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = plain(torch.randn(B, m))[:, :m].contiguous()  # bfloat16, as inside a network
        y = layer(x)
    assert x.dtype == torch.bfloat16
    assert torch.isfinite(y).all()


def compiles(net, *inputs):
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    for x in inputs:
        torch.manual_seed(0)
        expected = net(x)
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(x), expected)


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
def test_compiles_to_the_same_graph_of_operations(method):
    compiles(et.mlp([m, n, 2], method, **size_option(method, M)), torch.randn(B, m))


def test_shapes_on_the_way_are_found_once_and_again_for_another_input_or_layer(monkeypatch):
    net = et.mlp([5, 7, 11, 2], "mean_field", samples=3)
    found = []
    known = network._output_shape
    monkeypatch.setattr(network, "_output_shape", lambda *args: found.append(1) or known(*args))

    def drawn(*shape):
        return {key: value.shape for key, value in net.noise(None, shape).items()}

    first = drawn(13, 5)
    once = len(found)
    assert once == len(net) and drawn(13, 5) == first and len(found) == once
    drawn(17, 5)
    assert len(found) == 2 * once
    other = et.mlp([5, 7, 11, 2], "mc_dropout")
    assert other.noise(None, (13, 5))["3.mask"].shape == (1, 1, 7)
    other[1], other[4] = nn.Linear(5, 19), nn.Linear(19, 11)
    assert other.noise(None, (13, 5))["3.mask"].shape == (1, 1, 19)
    again = copy.deepcopy(other)
    torch.manual_seed(0)
    wanted = other.noise(None, (13, 5))
    torch.manual_seed(0)
    for key, value in again.noise(None, (13, 5)).items():
        assert torch.equal(value, wanted[key])


@pytest.mark.compiled
def test_noise_in_the_shape_of_the_input_compiles():
    net = nn.Sequential(
        et.Rank1Linear(m, n, M, posterior_std=0.3, per_example=True),
        et.MeanFieldLinear(n, 2, posterior_std=0.3, estimator="local"),
    )
    # With another number of examples, the compiler takes it for a symbol.
    compiles(net, torch.randn(M, B, m), torch.randn(M, B - 2, m))


@pytest.mark.parametrize("make", TORCH_LAYERS)
def test_reset_draws_anew(make):
    layer = make()
    before = {k: v.clone() for k, v in layer.named_parameters() if not k.endswith("rho")}
    layer.reset_parameters()
    assert all(not torch.equal(before[k], v) for k, v in layer.named_parameters() if k in before)


def test_deep_ensemble_members_are_nn_linear_layers():
    layer = et.DeepEnsembleLinear(m, n, M)
    assert layer.weight.shape == (M, n, m)
    x = torch.randn(M, B, m)
    for i in range(M):
        member = nn.Linear(m, n)
        member.load_state_dict({"weight": layer.weight[i], "bias": layer.bias[i]})
        torch.testing.assert_close(layer(x)[i], member(x[i]))


def test_a_trained_linear_loads_as_the_shared_weight():
    plain = nn.Linear(m, n)
    layer = et.BatchEnsembleLinear(m, n, M)
    with torch.no_grad():
        layer.weight.copy_(plain.weight)
        layer.bias.copy_(plain.bias.expand(M, n))
        layer.r.fill_(1)
        layer.s.fill_(1)
    x = torch.randn(B, m)
    torch.testing.assert_close(layer(x), plain(x).expand(M, B, n))


@pytest.mark.parametrize("build", [et.Rank1Linear, lambda *sizes: et.Rank1Conv2d(*sizes[:2], 2, M)])
def test_rank1_starts_at_the_standard_deviation_of_gaussian_dropout(build):
    layer = build(m, n, M)
    std = math.sqrt(0.001 / 0.999)  # α = p / (1 - p) is a variance, Srivastava et al. 2014, sec. 10
    for rho in (layer.r_rho, layer.s_rho):
        assert torch.log1p(rho.exp()).tolist() == [[pytest.approx(std, rel=1e-5)] * len(rho[0])] * M
    # Drawn, and not only stored: 6 standard errors of a standard deviation of that many numbers.
    with torch.no_grad():
        layer.r_mean.zero_(), layer.s_mean.zero_(), layer.weight.fill_(1)
        shape = (6007, M, 1, m, *[1] * (-2 - layer.batch_axis))
        noise = layer.noise(torch.Generator().manual_seed(0), shape)
        products = layer.weight_matrices(noise).flatten(1)
    assert products.std().item() == pytest.approx(std**2, rel=0.02)


@pytest.mark.parametrize("rho", [-700.0, -30.0, 0.0, 3.0, 20.5, 23.0, 31.0, 39.0, 41.0, 700.0])
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


@pytest.mark.parametrize("members", [(), (M,)])
def test_a_tiled_batch_may_be_changed_in_place(members):
    S = 2
    x = torch.randn(B, m, dtype=torch.float64)
    before = x.clone()
    activation = nn.ReLU(inplace=True)
    layers = [et.Rank1Linear(m, n, M) if members else et.MeanFieldLinear(m, n)]
    for samples in (S, 1):
        net = et.Sequential(et.Tile(samples, *members), activation, *layers).double()
        torch.manual_seed(0)
        y = net(x)
        assert torch.equal(x, before)
        torch.manual_seed(0)
        expected = layers[0](before.clamp(min=0).expand(samples, *members, B, m))
        torch.testing.assert_close(y, expected)
        assert y.shape == (samples, *members, B, n)


@pytest.mark.parametrize("per_example", [False, True])
@pytest.mark.parametrize("example", [(n,), (3, n), (2, 3, n)])
@pytest.mark.parametrize("leading", [(), (M,), (2, M)])
def test_dropout_of_any_rank_equals_a_loop(leading, example, per_example):
    layer = et.MCDropout(0.3, per_example=per_example, feature_axes=len(example)).eval()
    x = torch.randn(*leading, B, *example)
    noise = layer.noise(torch.Generator().manual_seed(1), tuple(x.shape))
    assert noise["mask"].shape == (*leading, B if per_example else 1, *example)
    y, masks = layer(x, noise), noise["mask"].expand(x.shape)
    for index in np.ndindex(*leading, B):
        expected = torch.where(masks[index], x[index] / 0.7, 0.0)
        torch.testing.assert_close(y[index], expected)
    one, other = layer(x), layer(x)
    assert not torch.equal(one, other)
    assert ((one == 0) | torch.isclose(one, x / 0.7)).all()
    rows = (one == 0).flatten(0, len(leading) - 1) if leading else (one == 0)[None]
    assert all(torch.equal(row[0], row[1]) for row in rows) is not per_example
    if leading:
        assert len({tuple(row[0].flatten().tolist()) for row in rows}) > 1


def test_one_draw_of_a_network_is_one_function_on_any_grid():
    grid = torch.linspace(-1, 1, 13 * m, dtype=torch.float64).view(13, m)
    for method, size in [("rank1", (M,)), ("mean_field", ()), ("mc_dropout", ())]:
        given = {} if size else {"samples": M}
        net = et.mlp([m, n, 2], method, *size, **given, activation="tanh", dtype=torch.float64)
        noise = net.noise(torch.Generator().manual_seed(2), (13, m))
        y = net(grid, noise)
        assert torch.equal(y, net(grid, noise))
        assert not torch.allclose(y, net(grid))
        for part in (slice(0, 7), slice(4, 13)):
            torch.testing.assert_close(net(grid[part], noise), y[:, part], rtol=0, atol=1e-13)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("noise", "error", "words"),
    [
        ([], TypeError, "noise must be a dict of arrays, as net.noise() returns it, got list"),
        ({"1.r": torch.zeros(M, m)}, ValueError, "noise has the key '1.r', accepted are those of"),
        ({"0.r": torch.zeros(M, m)}, ValueError, "noise must be a dict with keys ['r', 's']"),
        (
            {"0.r": torch.zeros(M, n), "0.s": torch.zeros(M, n)},
            ValueError,
            "noise['r'] has shape (3, 11), accepted is (3, 5)",
        ),
        (
            {"0.r": torch.zeros(M, m).double(), "0.s": torch.zeros(M, n)},
            TypeError,
            "noise['r'] has dtype torch.float64, accepted is torch.float32",
        ),
    ],
)
def test_bad_noise_of_a_network_is_named(noise, error, words):
    net = et.mlp([m, n, 2], "rank1", M)
    with pytest.raises(error) as raised:
        net(torch.zeros(B, m), noise)
    assert words in str(raised.value)

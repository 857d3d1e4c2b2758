"""The Torch layers as modules: conversion, copies, state, devices, dtypes, compilation."""

import copy
import io

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.priors import Normal

M, B, m, n = 3, 7, 5, 11
METHODS = ["single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout"]
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
NUMPY_LAYERS = [
    lambda rng, dtype: en.Linear(m, n, rng=rng, dtype=dtype),
    lambda rng, dtype: en.DeepEnsembleLinear(m, n, M, rng=rng, dtype=dtype),
    lambda rng, dtype: en.BatchEnsembleLinear(
        m, n, M, rng=rng, dtype=dtype, init="normal", init_std=0.3
    ),
    lambda rng, dtype: en.Rank1Linear(
        m, n, M, rng=rng, dtype=dtype, prior=Normal(1.0, 0.4), init="signs", per_example=True
    ),
    lambda rng, dtype: en.BayesLinear(
        m, n, rng=rng, dtype=dtype, prior=Normal(0.5, 2.0), init_scale=0.2
    ),
]
TORCH_LAYERS = [
    lambda **k: et.DeepEnsembleLinear(m, n, M, **k),
    lambda **k: et.BatchEnsembleLinear(m, n, M, **k),
    lambda **k: et.Rank1Linear(m, n, M, **k),
    lambda **k: et.BayesLinear(m, n, **k),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", NUMPY_LAYERS)
@pytest.mark.parametrize("device", DEVICES)
def test_values_cross_exactly_and_share_no_memory(make, dtype, device):
    rng = np.random.default_rng(0)
    layer = make(rng, dtype)
    module = et.from_numpy(layer, device=device)
    back = et.to_numpy(module, rng=rng)
    assert type(back) is type(layer)
    settings = vars(layer).keys() - {"params", "grads", "_cache", "rng"}
    assert {k: getattr(back, k) for k in settings} == {k: getattr(layer, k) for k in settings}
    for key, value in layer.params.items():
        assert back.params[key].dtype == dtype
        np.testing.assert_array_equal(back.params[key], value)
        back.params[key][...] = 0
        assert module.get_parameter(key).any()
        with torch.no_grad():
            module.get_parameter(key).zero_()
        assert value.any()


@pytest.mark.parametrize("method", METHODS)
def test_networks_cross_too(method):
    rng = np.random.default_rng(0)
    net = en.mlp([m, n, 2], method, M, rng=rng)
    module = et.from_numpy(net)
    assert counting.count(module) == counting.count(net) == counting.mlp([m, n, 2], method, M)
    back = et.to_numpy(module, rng=rng)
    assert repr(back) == repr(net)
    for key, value in net.params.items():
        np.testing.assert_array_equal(back.params[key], value)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", METHODS)
def test_copies_and_state(method, device):
    net = et.mlp([m, n, 2], method, M, device=device)
    twin = copy.deepcopy(net)
    buffer = io.BytesIO()
    torch.save(net.state_dict(), buffer)
    buffer.seek(0)
    loaded = et.mlp([m, n, 2], method, M, device=device)
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
    sample = layer.sample() if hasattr(layer, "sample") else None
    assert layer.weight_matrices(sample).shape[-2:] == (m, n)


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
    layer, plain = make(), torch.nn.Linear(m, n)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = plain(torch.randn(B, m))[:, :m].contiguous()  # bfloat16, as inside a network
        y = layer(x)
    assert x.dtype == torch.bfloat16
    assert torch.isfinite(y).all()


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
def test_compiles_to_the_same_graph_of_operations(method):
    net = et.mlp([m, n, 2], method, M)
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    x = torch.randn(B, m)
    torch.manual_seed(0)
    expected = net(x)
    torch.manual_seed(0)
    torch.testing.assert_close(compiled(x), expected)


@pytest.mark.parametrize("make", TORCH_LAYERS)
def test_reset_draws_anew(make):
    layer = make()
    before = {k: v.clone() for k, v in layer.named_parameters() if not k.endswith("rho")}
    layer.reset_parameters()
    assert all(not torch.equal(before[k], v) for k, v in layer.named_parameters() if k in before)


def test_deep_ensemble_members_are_nn_linear_layers():
    layer = et.DeepEnsembleLinear(m, n, M)
    x = torch.randn(M, B, m)
    for i in range(M):
        member = torch.nn.Linear(m, n)
        member.load_state_dict({"weight": layer.weight[i], "bias": layer.bias[i]})
        torch.testing.assert_close(layer(x)[i], member(x[i]))


def test_a_trained_linear_loads_as_the_shared_weight():
    plain = torch.nn.Linear(m, n)
    layer = et.BatchEnsembleLinear(m, n, M)
    with torch.no_grad():
        layer.weight.copy_(plain.weight)
        layer.bias.copy_(plain.bias.expand(M, n))
        layer.r.fill_(1)
        layer.s.fill_(1)
    x = torch.randn(B, m)
    torch.testing.assert_close(layer(x), plain(x).expand(M, B, n))

"""What every layer of every method promises as an ``nn.Module``."""

import copy
import io

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import METHODS, size_option
from tests.backends import DEVICES, B, M, m, n
from tests.torch.layer_cases import TORCH_LAYERS


def own_noise(layer, shape=None):
    """The noise of one pass as an argument, nothing for a layer that draws none."""
    if not hasattr(layer, "noise"):
        return ()
    return (layer.noise(torch.Generator().manual_seed(3), *([shape] if shape else [])),)


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


@pytest.mark.parametrize("make", TORCH_LAYERS)
def test_reset_draws_anew(make):
    layer = make()
    before = {k: v.clone() for k, v in layer.named_parameters() if not k.endswith("rho")}
    layer.reset_parameters()
    assert all(not torch.equal(before[k], v) for k, v in layer.named_parameters() if k in before)

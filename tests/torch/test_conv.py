"""The convolutions: against an explicit loop over members of ``nn.Conv2d`` with dense kernels."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import ensedu.torch as et
from ensedu.torch import conv
from tests.backends import gradients

M, S, B, H, W = 3, 5, 2, 13, 17
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
METHODS = ("deep_ensemble", "batch_ensemble", "rank1", "mean_field")
GEOMETRIES = {
    "plain": {},
    "stride": {"stride": (2, 3), "padding": (1, 2)},
    "same": {"padding": "same", "dilation": (1, 2)},
    "same, even": {"padding": "same", "padding_mode": "circular", "kernel_size": (4, 2)},
    "valid": {"padding": "valid"},
    "dilation": {"dilation": (3, 2), "padding": 3},
    "reflect": {"padding": (2, 1), "padding_mode": "reflect", "stride": 2},
    "replicate": {"padding": "same", "padding_mode": "replicate"},
    "circular": {"padding": (0, 3), "padding_mode": "circular", "dilation": 2},
}


def make(method, c_in=5, c_out=7, kernel_size=(3, 5), **options):
    """A convolution of each method, with fast weights and scales that are far from 1 and 0."""
    options = {"dtype": torch.float64, **options}
    if method == "deep_ensemble":
        return et.DeepEnsembleConv2d(c_in, c_out, kernel_size, M, **options)
    if method == "batch_ensemble":
        options = {"init": "normal"} | options
        return et.BatchEnsembleConv2d(c_in, c_out, kernel_size, M, **options)
    if method == "rank1":
        options = {"init_std": 0.5, "posterior_std": 0.3} | options
        return et.Rank1Conv2d(c_in, c_out, kernel_size, M, **options)
    return et.MeanFieldConv2d(c_in, c_out, kernel_size, **{"posterior_std": 0.3} | options)


def images(*leading, c_in=5, device="cpu"):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*leading, c_in, H, W, generator=generator, dtype=torch.float64).to(device)


def draw(layer, x, seed=3):
    """The keyword arguments of one reproducible forward pass, nothing for a layer without noise."""
    if not hasattr(layer, "noise"):
        return {}
    generator = torch.Generator(x.device).manual_seed(seed)
    return {"noise": layer.noise(generator, tuple(x.shape))}


def biases(layer, noise=None):
    """(M, C_out), or None."""
    if hasattr(layer, "bias"):
        return layer.bias
    if layer.bias_mean is None:
        return None
    return layer.bias_mean + nn.functional.softplus(layer.bias_rho) * noise["bias"]


def loop(layer, x, **noise):
    """Each member as a plain ``nn.Conv2d`` without groups, with its own dense kernels."""
    kernels, bias = layer.weight_matrices(**noise), biases(layer, **noise)
    outputs = []
    for i in range(M):
        names = ("stride", "padding", "dilation", "padding_mode")
        plain = nn.Conv2d(
            *(layer.in_channels, layer.out_channels, layer.kernel_size),
            bias=bias is not None,
            dtype=x.dtype,
            device=x.device,
            **{name: getattr(layer, name) for name in names},
        )
        values = {"weight": kernels[i].transpose(0, 1)}
        values |= {} if bias is None else {"bias": bias[i]}
        own = x if x.ndim == 4 else x[i]
        outputs.append(torch.func.functional_call(plain, values, (own,)))
    return torch.stack(outputs)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
@pytest.mark.parametrize("method", METHODS)
def test_forward_and_gradients_equal_loop_over_members(method, geometry, broadcast, device):
    layer = make(method, device=device, **geometry)
    x = images(*([B] if broadcast and method != "mean_field" else [M, B]), device=device)
    x.requires_grad_()
    noise = draw(layer, x)
    inputs = [x, *layer.parameters()]
    y, expected = layer(x, **noise), loop(layer, x, **noise)
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
    assert layer.output_size(H, W) == y.shape[-2:]
    weight = torch.randn_like(y)
    ours = torch.autograd.grad((y * weight).sum(), inputs)
    theirs = torch.autograd.grad((expected * weight).sum(), inputs)
    names = ["x", *(name for name, _ in layer.named_parameters())]
    for name, grad, reference in zip(names, ours, theirs, strict=True):
        torch.testing.assert_close(grad, reference, rtol=0, atol=1e-11, msg=name)
        assert grad.abs().max() > 1e-3, f"{name} gets no gradient"


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_groups_are_blocks_of_the_dense_kernels(method, broadcast, bias):
    layer = make(method, 6, 9, (3, 2), groups=3, stride=2, padding=1, bias=bias)
    x = images(*([B] if broadcast and method != "mean_field" else [M, B]), c_in=6)
    noise = draw(layer, x)
    kernels = layer.weight_matrices(**noise)
    assert kernels.shape == (M, 6, 9, 3, 2)
    for g in range(3):
        outside = torch.ones(6, dtype=bool)
        outside[2 * g : 2 * g + 2] = False
        block = kernels[:, :, 3 * g : 3 * g + 3]
        assert not block[:, outside].any()
        assert block[:, ~outside].all()
    torch.testing.assert_close(layer(x, **noise), loop(layer, x, **noise), rtol=0, atol=1e-12)
    start = layer.weight_mean if method == "mean_field" else layer.weight  # of 2 x 3 x 2 inputs
    assert 0.9 * 12**-0.5 < start.abs().max() <= 12**-0.5


@settings(max_examples=60)
@given(data=st.data())
def test_any_geometry_equals_loop(data):
    def pick(low, high):
        return data.draw(st.integers(low, high))

    groups = pick(1, 3)
    kernel = pick(1, 4), pick(1, 4)
    modes = st.sampled_from(["zeros", "reflect", "replicate", "circular"])
    geometry = {
        "groups": groups,
        "stride": (pick(1, 3), pick(1, 3)),
        "dilation": (pick(1, 3), pick(1, 3)),
        "padding": (pick(0, 4), pick(0, 4)),
        "padding_mode": data.draw(modes),
        "bias": data.draw(st.booleans()),
    }
    c_in, c_out = groups * pick(1, 3), groups * pick(1, 3)
    layer = make(data.draw(st.sampled_from(METHODS)), c_in, c_out, kernel, **geometry)
    x = images(M, B, c_in=c_in)
    noise = draw(layer, x)
    y = layer(x, **noise)
    torch.testing.assert_close(y, loop(layer, x, **noise), rtol=0, atol=1e-12)
    assert layer.output_size(H, W) == y.shape[-2:]


def test_rank1_per_example_equals_loop_over_examples():
    layer = make("rank1", per_example=True, padding=1)
    x = images(M, B)
    noise = draw(layer, x)["noise"]
    assert noise["r"].shape == (M, B, 5)
    assert noise["s"].shape == (M, B, 7)
    y, kernels = layer(x, noise), layer.weight_matrices(noise)
    assert kernels.shape == (M, B, 5, 7, 3, 5)
    for i in range(M):
        for j in range(B):
            own = nn.functional.conv2d(x[i, j], kernels[i, j].transpose(0, 1), padding=1)
            own = own + layer.bias[i, :, None, None]
            torch.testing.assert_close(y[i, j], own, rtol=0, atol=1e-12)
    assert not torch.allclose(kernels[0, 0], kernels[0, 1])


def test_a_mean_field_convolution_takes_one_sample_or_one_a_leading_index():
    layer = make("mean_field")
    x = images(B)
    noise = draw(layer, x)["noise"]
    kernels = layer.weight_matrices(noise)
    assert kernels.shape == (1, 5, 7, 3, 5)
    expected = nn.functional.conv2d(x, kernels[0].transpose(0, 1), biases(layer, noise))
    torch.testing.assert_close(layer(x, noise), expected, rtol=0, atol=1e-12)
    y = layer(images(B).expand(M, -1, -1, -1, -1))
    assert y.shape == (M, B, 7, 11, 13)
    assert not torch.allclose(y[0], y[1])


SAMPLED = [(method, {}) for method in METHODS] + [("rank1", {"per_example": True})]


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize(("method", "options"), SAMPLED)
def test_samples_equal_loop_over_samples(method, options, groups):
    layer = make(method, 6, 9, (3, 2), groups=groups, padding=1, **options)
    x = images(S, *(() if method == "mean_field" else (M,)), B, c_in=6)
    given = draw(layer, x)
    kernels, y = layer.weight_matrices(**given), layer(x, **given)
    for t in range(S):
        own = {key: {name: eps[t] for name, eps in noise.items()} for key, noise in given.items()}
        torch.testing.assert_close(y[t], layer(x[t], **own), rtol=0, atol=1e-12)
        if given:
            place = t if method == "rank1" else slice(t, t + 1)
            assert torch.equal(layer.weight_matrices(**own), kernels[place])
    assert not given or not torch.allclose(kernels[0], kernels[1])


def test_repr_says_what_is_not_default():
    layer = make("batch_ensemble", 6, 9, 3, stride=2, groups=3, bias=False)
    assert repr(layer) == (
        "BatchEnsembleConv2d(6, 9, kernel_size=(3, 3), stride=(2, 2), groups=3, ensemble_size=3, "
        "bias=False)"
    )


CONVOLUTIONS = {
    "batch_ensemble": lambda **k: et.BatchEnsembleConv2d(5, 7, (3, 2), M, init="normal", **k),
    "memory saving": lambda **k: et.BatchEnsembleConv2d(5, 7, (3, 2), M, memory_saving=True, **k),
    "rank1": lambda **k: et.Rank1Conv2d(5, 7, (3, 2), M, posterior_std=0.3, **k),
}


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_give_the_same_in_both_forms(monkeypatch, name, broadcast):
    torch.manual_seed(3)
    layer = CONVOLUTIONS[name](stride=(2, 1), padding=1, dtype=torch.float64)
    shape = (2, 5, 13, 11) if broadcast else (M, 2, 5, 13, 11)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    noise = [layer.noise()] if name == "rank1" else []
    results = []
    for folds in (False, True):
        monkeypatch.setattr(conv.ConvLayer, "fold_pays", lambda *a, folds=folds: folds)
        y = layer(x, *noise)
        results.append([y, *gradients(y, [x, *layer.parameters()])])
    torch.testing.assert_close(*results, rtol=0, atol=1e-11)


def test_convolutions_fold_where_pixels_outnumber_weights():
    layer = et.BatchEnsembleConv2d(5, 7, 3, M, padding=1)
    # One image of h x h: 12 h² entries scaled, 2 x 315 folded.
    assert not layer.fold_pays((1, 5, 7, 7))
    assert layer.fold_pays((1, 5, 8, 8))
    assert not et.BatchEnsembleConv2d(4, 6, 3, M, padding=1, groups=2).fold_pays((9, 4, 9, 9))

"""The convolutions: against an explicit loop over members of ``nn.Conv2d`` with dense kernels."""

import copy
import io

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import size_option
from ensedu.priors import Normal
from ensedu.torch import conv
from tests.torch.product_cases import gradients

M, S, B, H, W = 3, 5, 2, 13, 17
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
METHODS = ("deep_ensemble", "batch_ensemble", "rank1", "mean_field")
GEOMETRIES = {
    "plain": {},
    "stride": {"stride": (2, 3), "padding": (1, 2)},
    "same": {"padding": "same", "dilation": (1, 2)},
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
    torch.testing.assert_close(layer(x, **noise), loop(layer, x, **noise), rtol=0, atol=1e-12)


def test_a_layer_with_even_kernel_pads_same_as_torch():
    layer = make("batch_ensemble", kernel_size=(4, 2), padding="same", padding_mode="circular")
    x = images(B)
    assert layer(x).shape == (M, B, 7, H, W)
    torch.testing.assert_close(layer(x), loop(layer, x), rtol=0, atol=1e-12)


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


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble"])
def test_samples_of_members_equal_loop_over_samples(method, groups):
    layer = make(method, 6, 9, (3, 2), groups=groups, padding=1)
    x = images(S, M, B, c_in=6)
    expected = torch.stack([loop(layer, one) for one in x])
    torch.testing.assert_close(layer(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("per_example", [False, True])
def test_draws_of_members_equal_loop_over_draws(per_example, groups):
    layer = make("rank1", 6, 9, (3, 2), groups=groups, padding=1, per_example=per_example)
    x = images(S, M, B, c_in=6)
    noise = layer.noise(torch.Generator().manual_seed(3), tuple(x.shape))
    y, kernels = layer(x, noise), layer.weight_matrices(noise)
    assert kernels.shape == (S, M, *[B] * per_example, 6, 9, 3, 2)
    for t in range(S):
        own = {name: value[t] for name, value in noise.items()}
        assert torch.equal(layer.weight_matrices(own), kernels[t])
        expected = layer(x[t], own) if per_example else loop(layer, x[t], noise=own)
        torch.testing.assert_close(y[t], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 3])
def test_samples_equal_loop_over_samples(groups):
    layer = make("mean_field", 6, 9, (3, 2), groups=groups, padding=1)
    x = images(S, B, c_in=6)
    noise = layer.noise(torch.Generator().manual_seed(3), tuple(x.shape))
    y = layer(x, noise)
    for t in range(S):
        one = layer(x[t], {name: value[t] for name, value in noise.items()})
        torch.testing.assert_close(y[t], one, rtol=0, atol=1e-12)
    assert not torch.allclose(layer(x[0], {k: v[0] for k, v in noise.items()}), y[1])


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_weight_matrices_are_the_callers_own(method, groups):
    layer = make(method, 6, 9, (3, 2), groups=groups)
    before = {name: p.detach().clone() for name, p in layer.named_parameters()}
    with torch.no_grad():
        layer.weight_matrices(**draw(layer, images(M, B, c_in=6))).zero_()
    for name, parameter in layer.named_parameters():
        assert torch.equal(parameter, before[name]), name


@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_calls_differ_and_agree_where_they_must(method):
    layer = make(method).eval()
    x = images(M, B)
    assert not torch.allclose(layer(x), layer(x))
    assert torch.equal(layer(x, **draw(layer, x)), layer(x, **draw(layer, x)))
    assert not torch.allclose(layer(x, **draw(layer, x)), layer(x, **draw(layer, x, seed=4)))


@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_kl_equals_torch_distributions_and_is_zero_at_the_prior(method):
    prior = Normal(0.3, 0.7)
    layer = make(method, prior=prior)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.endswith(("mean", "rho")):
                parameter.normal_(0, 2)
    expected = torch.zeros(M if method == "rank1" else (), dtype=torch.float64)
    for name, mean in layer.named_parameters():
        if name.endswith("_mean"):
            scale = nn.functional.softplus(layer.get_parameter(name.replace("_mean", "_rho")))
            posterior = torch.distributions.Normal(mean, scale)
            target = torch.distributions.Normal(
                *torch.tensor([prior.loc, prior.scale], dtype=torch.float64)
            )
            kl = torch.distributions.kl_divergence(posterior, target)
            expected += kl.sum(1) if method == "rank1" else kl.sum()  # one number a member
    torch.testing.assert_close(layer.kl(), expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(
        et.kl(nn.Sequential(layer, nn.ReLU(), copy.deepcopy(layer))), 2 * expected.mean()
    )
    rho = torch.tensor(0.3, dtype=torch.float64)
    layer.prior = Normal(0.5, et.variational.softplus(rho).item())
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.endswith(("mean", "rho")):
                parameter.fill_(0.5 if name.endswith("mean") else rho)
    assert not layer.kl().any()


@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_moments_of_the_kernels(method):
    layer = make(method, 2, 3, (1, 2))
    draws = 6_007
    shape = (draws, *([M] if method == "rank1" else []), 1, 2, 1, 2)
    kernels = layer.weight_matrices(layer.noise(torch.Generator().manual_seed(5), shape)).detach()
    kernels = kernels[:, 0] if method == "rank1" else kernels
    parameters = {name: p.detach() for name, p in layer.named_parameters()}
    if method == "rank1":
        w = parameters["weight"].transpose(0, 1)
        r, s = parameters["r_mean"][0][:, None, None, None], parameters["s_mean"][0][:, None, None]
        mean, variance = w * r * s, w**2 * ((r**2 + 0.09) * (s**2 + 0.09) - r**2 * s**2)
    else:
        mean = parameters["weight_mean"].transpose(0, 1)
        variance = torch.full_like(mean, 0.09)
    assert ((kernels.mean(0) - mean).abs() < 6 * (variance / draws).sqrt()).all()
    # A product of two normals has heavier tails than a normal, hence the wider band.
    spread = (kernels.var(0) / variance - 1).abs()
    assert (spread < 10 * (2 / draws) ** 0.5).all()


def test_layers_start_where_torch_starts():
    torch.manual_seed(0)
    bound = (5 * 3 * 5) ** -0.5
    for method in METHODS:
        layer = make(method, 5, 31)
        for name, parameter in layer.named_parameters():
            if name in ("weight", "bias", "weight_mean", "bias_mean"):
                assert parameter.abs().max() <= bound
                assert parameter.abs().max() > 0.9 * bound
    grouped = make("deep_ensemble", 6, 31 * 3, groups=3)
    assert 0.9 * (2 * 15) ** -0.5 < grouped.weight.abs().max() <= (2 * 15) ** -0.5


sizes = st.integers(1, 13)


@given(
    method=st.sampled_from(METHODS),
    c_in=sizes,
    c_out=sizes,
    kernel_size=st.one_of(st.integers(1, 4), st.tuples(st.integers(1, 4), st.integers(1, 4))),
    bias=st.booleans(),
)
def test_counts_equal_the_formula(method, c_in, c_out, kernel_size, bias):
    formula = counting.layer(
        c_in, c_out, method, **size_option(method, M), kernel_size=kernel_size, bias=bias
    )
    assert counting.count(make(method, c_in, c_out, kernel_size, bias=bias)) == formula
    numbers = sum(p.numel() for p in make(method, c_in, c_out, kernel_size, bias=bias).parameters())
    assert numbers == formula.total


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("method", METHODS)
def test_dtype_state_and_copies(method, dtype, device):
    layer = make(method, dtype=dtype, device=device, padding=1)
    x = images(M, B, device=device).to(dtype)
    buffer = io.BytesIO()
    torch.save(layer.state_dict(), buffer)
    buffer.seek(0)
    loaded = make(method, dtype=dtype, device=device, padding=1)
    loaded.load_state_dict(torch.load(buffer, weights_only=True))
    outputs = [part(x, **draw(layer, x)) for part in (layer, loaded, copy.deepcopy(layer))]
    assert outputs[0].dtype == dtype
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0], outputs[2])
    outputs[0].sum().backward()
    assert all(p.grad.dtype == dtype for p in layer.parameters())


@pytest.mark.parametrize("method", METHODS)
def test_autocast_follows_torch(method):
    layer, plain = make(method, dtype=torch.float32), nn.Conv2d(5, 5, 1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = plain(images(B).float())
        y = layer(x.expand(M, *x.shape))
    assert x.dtype == torch.bfloat16
    reference = layer.double()
    if method in ("deep_ensemble", "batch_ensemble"):
        expected = reference(x.double().expand(M, *x.shape))
        torch.testing.assert_close(y.double(), expected, rtol=0.05, atol=0.05)
    assert torch.isfinite(y).all()


def test_repr_says_what_is_not_default():
    layer = make("batch_ensemble", 6, 9, 3, stride=2, groups=3, bias=False)
    assert repr(layer) == (
        "BatchEnsembleConv2d(6, 9, kernel_size=(3, 3), stride=(2, 2), groups=3, ensemble_size=3, "
        "bias=False)"
    )


@pytest.mark.parametrize("per_example", [False, True])
@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_no_two_numbers_of_a_draw_are_one(method, per_example):
    options = {"per_example": per_example} if method == "rank1" else {}
    for layer, shape in (
        (make(method, **options), (M, B, 5, H, W)),
        (
            et.Rank1Linear(5, 7, M, dtype=torch.float64, **options)
            if method == "rank1"
            else et.MeanFieldLinear(5, 7, dtype=torch.float64),
            (M, B, 5),
        ),
    ):
        for noise in layer.noise(None, shape).values():
            assert noise.unique().numel() == noise.numel()
            assert (noise != noise.float()).any()  # drawn in float64, not cast to it


def test_fast_weights_start_as_wide_as_asked():
    for std in (0.02, 0.3):
        layer = make("batch_ensemble", 2003, 1999, 1, init_std=std)
        for fast in (layer.r, layer.s):
            assert abs(fast.std().item() / std - 1) < 0.1


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
        monkeypatch.setattr(conv.ConvLayer, "folds", lambda *a, folds=folds: folds)
        y = layer(x, *noise)
        results.append([y, *gradients(y, [x, *layer.parameters()])])
    torch.testing.assert_close(*results, rtol=0, atol=1e-11)


def test_convolutions_fold_where_pixels_outnumber_weights():
    layer = et.BatchEnsembleConv2d(5, 7, 3, M, padding=1)
    # One image of h x h: 12 h² entries scaled, 2 x 315 folded.
    assert not layer.folds((1, 5, 7, 7))
    assert layer.folds((1, 5, 8, 8))
    assert not et.BatchEnsembleConv2d(4, 6, 3, M, padding=1, groups=2).folds((9, 4, 9, 9))


@given(
    size=st.tuples(st.integers(5, 12), st.integers(5, 12)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.one_of(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.just("valid")),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
)
def test_output_size_is_that_of_torch(size, kernel, stride, padding, dilation):
    geometry = {"stride": stride, "padding": padding, "dilation": dilation}
    layer = et.MeanFieldConv2d(1, 1, kernel, **geometry)
    expected = nn.Conv2d(1, 1, kernel, **geometry)(torch.zeros(1, 1, *size)).shape[2:]
    assert layer.output_size(*size) == tuple(expected)
    same = et.MeanFieldConv2d(1, 1, kernel, padding="same", dilation=dilation)
    assert same.output_size(*size) == size

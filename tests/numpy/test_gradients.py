"""Every layer and network of `ensedu.numpy` against its Torch twin, whose gradients are autograd's.

That a twin computes what the papers have is in `tests/test_layers.py` and `tests/torch`.
"""

import numpy as np
import pytest
import torch
from torch import nn

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.numpy.network import layer_class
from ensedu.priors import Cauchy, Normal, ScaleMixture
from tests.backends import DEVICES, B, M, m, n

S, C_IN, C_OUT, KERNEL = 2, 7, 11, (3, 2)
IMAGE = (C_IN, 13, 17)
ROWS, MEMBER_ROWS = [(B, m), (M, B, m)], [(B, m), (M, B, m), (S, M, B, m)]
IMAGES, MEMBER_IMAGES = [(B, *IMAGE), (S, B, *IMAGE)], [(B, *IMAGE), (M, B, *IMAGE)]
SPREAD = {"posterior_std": 0.3}


def linear(kind, *sizes, **options):
    return lambda rng: getattr(en, kind)(m, n, *sizes, rng=rng, **options)


def conv(kind, *sizes, **options):
    return lambda rng: getattr(en, kind)(C_IN, C_OUT, KERNEL, *sizes, rng=rng, **options)


def mlp(method, **options):
    sizes = size_option(method, M)
    return lambda rng: en.mlp([m, 13, 17, 2], method, rng=rng, **sizes, **options)


def lenet(method):
    options = size_option(method, M) | (SPREAD if method in ("rank1", "mean_field") else {})
    return lambda rng: en.lenet5(method, rng=rng, filters=(2, 3), classes=7, **options)


STRIDES = {"stride": (2, 3), "padding": (1, 2)}
#: A layer as a function of the generator, and the shapes of its inputs.
CASES = {
    "Linear": (linear("Linear"), MEMBER_ROWS),
    "Linear, no bias": (linear("Linear", bias=False), ROWS),
    "DeepEnsembleLinear": (linear("DeepEnsembleLinear", M), MEMBER_ROWS),
    "DeepEnsembleLinear, no bias": (linear("DeepEnsembleLinear", M, bias=False), ROWS),
    "BatchEnsembleLinear": (linear("BatchEnsembleLinear", M, init="normal"), MEMBER_ROWS),
    "BatchEnsembleLinear, no bias": (linear("BatchEnsembleLinear", M, bias=False), ROWS),
    "Rank1Linear": (linear("Rank1Linear", M, **SPREAD, prior=Normal(1.0, 0.4)), MEMBER_ROWS),
    "Rank1Linear, per example": (
        linear("Rank1Linear", M, **SPREAD, per_example=True, init="signs"), MEMBER_ROWS,
    ),
    "Rank1Linear, no bias": (linear("Rank1Linear", M, bias=False), ROWS),
    "MeanFieldLinear": (linear("MeanFieldLinear", **SPREAD, prior=Normal(0.5, 2.0)), ROWS),
    "MeanFieldLinear, no bias": (linear("MeanFieldLinear", bias=False), ROWS),
    "MeanFieldLinear, local": (linear("MeanFieldLinear", **SPREAD, estimator="local"), ROWS),
    "MeanFieldLinear, local, no bias": (
        linear("MeanFieldLinear", **SPREAD, estimator="local", bias=False), ROWS,
    ),
    "Conv2d": (conv("Conv2d"), IMAGES),
    "Conv2d, strides": (conv("Conv2d", **STRIDES), IMAGES),
    "DeepEnsembleConv2d": (conv("DeepEnsembleConv2d", M), MEMBER_IMAGES),
    "DeepEnsembleConv2d, strides": (conv("DeepEnsembleConv2d", M, **STRIDES), MEMBER_IMAGES),
    "BatchEnsembleConv2d": (
        conv("BatchEnsembleConv2d", M, init="normal"), [*MEMBER_IMAGES, (S, M, B, *IMAGE)],
    ),
    "BatchEnsembleConv2d, no bias": (conv("BatchEnsembleConv2d", M, bias=False), MEMBER_IMAGES),
    "BatchEnsembleConv2d, strides": (conv("BatchEnsembleConv2d", M, **STRIDES), MEMBER_IMAGES),
    "Rank1Conv2d": (conv("Rank1Conv2d", M, **SPREAD), [*MEMBER_IMAGES, (S, M, B, *IMAGE)]),
    "Rank1Conv2d, per example": (
        conv("Rank1Conv2d", M, **SPREAD, **STRIDES, per_example=True, prior=Cauchy(1.0, 0.1)),
        MEMBER_IMAGES,
    ),
    "MeanFieldConv2d": (
        conv("MeanFieldConv2d", **SPREAD, prior=ScaleMixture(0.25, 1.3, 0.05)), IMAGES,
    ),
    "MeanFieldConv2d, local": (
        conv("MeanFieldConv2d", **SPREAD, **STRIDES, estimator="local", prior=Cauchy(0.0, 0.1)),
        IMAGES,
    ),
    **{
        f"{kind}, {geometry}": (
            lambda rng, kind=kind, geometry=geometry: getattr(en, kind)((3, 2), **geometry),
            [IMAGE, (B, *IMAGE), (M, B, *IMAGE)],
        )
        for kind in ("MaxPool2d", "AvgPool2d") for geometry in ({}, {"stride": (2, 3)})
    },
    "Flatten": (lambda rng: en.Flatten(), [IMAGE, (B, *IMAGE), (S, M, B, *IMAGE)]),
    "MCDropout": (lambda rng: en.MCDropout(0.3, rng=rng), ROWS),
    "MCDropout, per example": (
        lambda rng: en.MCDropout(0.3, rng=rng, per_example=True, feature_axes=3), IMAGES,
    ),
    "ReLU": (lambda rng: en.ReLU(), ROWS),
    "Tanh": (lambda rng: en.Tanh(), ROWS),
    "Multiply": (lambda rng: en.Multiply(0.3), ROWS),
    "Tile": (lambda rng: en.Tile(M), ROWS[:1]),
    "Tile, members": (lambda rng: en.Tile(S, M, feature_axes=3), IMAGES[:1]),
    **{f"mlp, {method}": (mlp(method), ROWS[:1]) for method in METHODS},
    "mlp, tanh, no bias": (mlp("rank1", activation="tanh", bias=False), ROWS[:1]),
    "mlp, samples of members": (mlp("rank1", samples=S), ROWS[:1]),
    "mlp, ntk": (mlp("batch_ensemble", parametrization="ntk"), ROWS[:1]),
    **{f"lenet, {method}": (lenet(method), [(B, 1, 28, 28)]) for method in METHODS},
}  # fmt: skip


def forward_with_noise(layer, x, rng):
    """A layer's output and the noise of that pass, which is none for what draws nothing."""
    noise = layer.noise(rng, x.shape) if hasattr(layer, "noise") else None
    return (layer.forward(x, noise) if noise else layer.forward(x)), noise


def tensors(noise, device="cpu"):
    return {key: torch.from_numpy(value).to(device) for key, value in noise.items()}


def as_numpy_keeps_it(name, tensor, like):
    return (tensor.flatten(like.ndim - 1).mT if "weight" in name else tensor).cpu().numpy()


def check_arrays(found, wanted):
    """Fail unless arrays agree to 1e-12, of their largest number where that is above 1."""
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        scale = max(1.0, np.abs(value).max())
        np.testing.assert_allclose(found[key], value, rtol=0, atol=1e-12 * scale, err_msg=key)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_output_and_all_gradients_are_torchs(name, device):
    make, shapes = CASES[name]
    rng = np.random.default_rng(11)
    layer = make(rng)
    module = et.from_numpy(layer, device=device)
    for shape in shapes:
        # Of small integers a window has several largest ones, of which the first gets it all.
        x = rng.integers(0, 3, shape) * 1.0 if "Pool" in name else rng.standard_normal(shape)
        y, noise = forward_with_noise(layer, x, rng)
        assert y.shape == layer.output_shape(x.shape)
        grad = rng.standard_normal(y.shape)
        layer.zero_grad()
        found = {"y": y, "x": layer.backward(grad), **layer.grads}
        module.zero_grad()
        inputs = torch.tensor(x, device=device, requires_grad=True)
        given = [tensors(noise, device)] if noise else []
        twin = module(inputs, *given)
        twin.backward(torch.tensor(grad, device=device))
        wanted = {"y": twin.detach().cpu().numpy(), "x": inputs.grad.cpu().numpy()}
        for key, parameter in module.named_parameters():
            wanted[key] = as_numpy_keeps_it(key, parameter.grad, layer.params[key])
        check_arrays(found, wanted)
        if hasattr(layer, "weight_matrices") and "output" not in (noise or {}):
            own = hasattr(module, "weight_matrices")  # a plain layer is Torch's own
            twin = module.weight_matrices(*given) if own else module.weight.transpose(0, 1)[None]
            check_arrays({"W": layer.weight_matrices(noise)}, {"W": twin.detach().cpu().numpy()})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_values_and_settings_cross_exactly_and_share_no_memory(name, device):
    rng = np.random.default_rng(0)
    layer = CASES[name][0](rng)
    module = et.from_numpy(layer, device=device)
    back = et.to_numpy(module, rng=rng)
    assert type(back) is type(layer) and repr(back) == repr(layer)
    assert settings_of(back) == settings_of(layer)
    assert counting.count(module) == counting.count(layer) == counting.count(back)
    single = et.to_numpy(module.float(), rng=rng).params  # from float32 without a rounding
    module = et.from_numpy(layer, device=device)
    assert back.params.keys() == layer.params.keys() == dict(module.named_parameters()).keys()
    for key, value in layer.params.items():
        parameter = module.get_parameter(key)
        assert parameter.dtype == torch.float64 and parameter.device.type == device
        np.testing.assert_array_equal(back.params[key], value)
        np.testing.assert_array_equal(single[key], value.astype("f4").astype(float))
        np.testing.assert_array_equal(as_numpy_keeps_it(key, parameter.detach(), value), value)
        back.params[key][...] = 0
        assert parameter.any()
        with torch.no_grad():
            parameter.zero_()
        assert value.any()


def settings_of(layer):
    """What a layer was made with, and each layer of a network."""
    if hasattr(layer, "layers"):
        return [settings_of(part) for part in layer.layers]
    known = ("params", "grads", "rng")
    return {k: v for k, v in vars(layer).items() if k[0] != "_" and k not in known}


@pytest.mark.parametrize("name", CASES)
def test_changing_what_a_pass_saw_or_gave_changes_no_gradient(name):
    make, (shape, *_) = CASES[name]
    rng = np.random.default_rng(11)
    layer, x, results = make(rng), rng.standard_normal(shape), []
    noise = layer.noise(rng, shape) if hasattr(layer, "noise") else {}
    for spoil in (False, True):
        layer.zero_grad()
        given, own = x.copy(), {key: value.copy() for key, value in noise.items()}
        y = layer.forward(given, own) if own else layer.forward(given)
        grad = np.cos(np.arange(y.size)).reshape(y.shape)
        if spoil:
            for array in (given, y, *own.values()):
                array[...] = 1
        results.append([layer.backward(grad), *layer.grads.values()])
    for clean, spoiled in zip(*results, strict=True):
        np.testing.assert_array_equal(clean, spoiled)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_data_and_kl_add_up_until_they_are_emptied(name):
    make, (shape, *_) = CASES[name]
    rng = np.random.default_rng(11)
    layer = make(rng)
    y, _ = forward_with_noise(layer, rng.standard_normal(shape), rng)
    grad, parts = rng.standard_normal(y.shape), []
    exact = getattr(
        getattr(layer, "prior", None), "has_closed_kl", True
    )  # of others the KL is drawn
    adds = {
        "data": lambda: layer.backward(grad),
        "kl": lambda: exact and en.kl_backward(layer, 2.0),
    }
    for add in adds.values():
        layer.zero_grad()
        assert layer.grads == {}
        add()
        parts.append(dict(layer.grads))
    for order in (("data", "kl", "data"), ("kl", "data", "data")):
        layer.zero_grad()
        for part in order:
            adds[part]()
        both = {key: 2 * value + parts[1].get(key, 0) for key, value in parts[0].items()}
        check_arrays(layer.grads, both)


@pytest.mark.parametrize("samples", [(), (S,)])
@pytest.mark.parametrize("name", [name for name in CASES if "Rank1" in name or "Field" in name])
def test_the_kl_and_its_gradient_are_torchs(name, samples):
    rng = np.random.default_rng(11)
    layer = CASES[name][0](rng)
    for key, array in layer.params.items():
        if key.endswith(("_mean", "_rho")):
            array[...] = rng.standard_normal(array.shape)
    first = (slice(None), 0) if getattr(layer, "per_example", False) else ()
    shapes = {key: value[first].shape for key, value in layer.noise(rng).items()}
    noise = {key: rng.standard_normal((*samples, *shape)) for key, shape in shapes.items()}
    module = et.from_numpy(layer)
    expected = module.kl(tensors(noise))
    np.testing.assert_allclose(layer.kl(noise), expected.detach().numpy(), rtol=1e-12)
    layer.kl_backward(0.3, noise)
    layer.kl_backward(noise=noise)  # once as it is
    (1.3 * expected.mean()).backward()
    wanted = {
        key: as_numpy_keeps_it(key, parameter.grad, layer.params[key])
        for key, parameter in module.named_parameters() if parameter.grad is not None
    }  # fmt: skip
    check_arrays(layer.grads, wanted)


@pytest.mark.parametrize("std", [1e-300, 5e-324])
def test_a_tiny_standard_deviation_has_a_finite_kl(std):
    rng, prior = np.random.default_rng(0), Normal(1.0, 0.1)
    layer = en.Rank1Linear(m, n, M, rng=rng, prior=prior, posterior_std=std)
    with np.errstate(all="raise", under="ignore"):
        # -1/2 - log t of each entry, beside the means' share.
        found = layer.kl()
    means = np.concatenate([layer.params["r_mean"], layer.params["s_mean"]], axis=1)
    spread = -0.5 - np.log(std) + np.log(0.1)
    np.testing.assert_allclose(found, (spread + 50 * (means - 1) ** 2).sum(axis=1), rtol=1e-3)


@pytest.mark.parametrize("method", ["single", "deep_ensemble", "batch_ensemble", "mean_field"])
def test_a_convolution_starts_where_torchs_does(method):
    members = [M] if METHODS[method].has_members else []
    kind, rng = layer_class(method, "Conv2d"), np.random.default_rng(1)
    for key, values in kind(13, 101, (5, 3), *members, rng=rng).params.items():
        if key in ("weight", "bias", "weight_mean", "bias_mean"):
            assert 0.9 * (13 * 15) ** -0.5 < np.abs(values).max() <= (13 * 15) ** -0.5


def test_lenet_has_the_published_count():
    assert counting.count(en.lenet5(rng=np.random.default_rng(0))).total == 61_706


def to_numpy(module):
    return et.to_numpy(module, rng=np.random.default_rng(0))


def made(name):
    return CASES[name][0](np.random.default_rng(1))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: made("Conv2d").forward(np.ones((B, C_IN, 2, 9))), "at least 3 by 2 pixels"),
        (lambda: made("Conv2d").backward(np.ones(3)), "before any forward pass"),
        (lambda: made("MeanFieldConv2d").kl({"weight": np.ones(2)}), "noise must"),
        (lambda: en.Flatten().forward(np.ones((3, 4))), r"\(…, C, H, W\)"),
        (lambda: to_numpy(nn.Conv2d(2, 4, 3, groups=2)), "groups=2, accepted is 1"),
        (lambda: to_numpy(nn.Conv2d(2, 4, 3, dilation=2)), r"dilation=\(2, 2\)"),
        (lambda: to_numpy(nn.Conv2d(2, 4, 3, padding_mode="reflect")), "padding_mode='reflect'"),
        (lambda: to_numpy(nn.MaxPool2d(2, padding=1)), "padding=1, accepted is 0"),
        (lambda: to_numpy(nn.MaxPool2d(2, ceil_mode=True)), "ceil_mode=True"),
        (lambda: to_numpy(nn.Flatten(0)), "start_dim=0, accepted is 1 or -3"),
        (lambda: to_numpy(et.MeanFieldConv2d(2, 4, 3, estimator="flipout")), "estimator='flip"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()

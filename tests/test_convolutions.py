"""NumPy's convolutions: equal to loops over pixels, and to Torch with all gradients.

All sizes are distinct primes where they can be, so that a swapped axis cannot hide.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.methods import METHODS
from ensedu.numpy.windows import fold, unfold
from ensedu.priors import Cauchy, Normal

S, M, B, C_IN, C_OUT, KERNEL = 2, 3, 5, 7, 11, (3, 2)
SIZE = (13, 17)
GEOMETRIES = [{}, {"stride": (2, 3), "padding": (1, 2)}]
#: Each layer, and options that reach all of its code.
LAYERS = {
    "Conv2d": [{}],
    "DeepEnsembleConv2d": [{}],
    "BatchEnsembleConv2d": [{}, {"init": "normal"}],
    "Rank1Conv2d": [
        {"posterior_std": 0.3},
        {"posterior_std": 0.3, "per_example": True, "prior": Cauchy(1.0, 0.1)},
    ],
    "MeanFieldConv2d": [
        {"posterior_std": 0.3},
        {"posterior_std": 0.3, "estimator": "local", "prior": Cauchy(0.0, 0.1)},
    ],
}
MEMBERS = {name for name in LAYERS if "Ensemble" in name or "Rank1" in name}
DRAWS = {"Rank1Conv2d", "MeanFieldConv2d"}
CASES = [(name, options) for name, several in LAYERS.items() for options in several]


def made(name, options, **geometry):
    sizes = (C_IN, C_OUT, KERNEL, *([M] if name in MEMBERS else []))
    rng = np.random.default_rng(1)
    return getattr(en, name)(*sizes, rng=rng, **options, **geometry)


def leadings(name):
    """The axes that an input of a layer may have before C, H and W."""
    return [(B,), (M, B), (S, M, B)] if name in MEMBERS else [(B,), (S, B)]


def tensors(noise):
    return {key: torch.from_numpy(value) for key, value in noise.items()}


def in_torch(layer, x, noise, grad):
    """The output of the Torch twin, and all gradients as NumPy keeps them."""
    module = et.from_numpy(layer)
    x = torch.tensor(x, requires_grad=True)
    y = module(x, tensors(noise)) if noise else module(x)
    y.backward(torch.from_numpy(grad))
    found = {"x": x.grad.numpy()}
    for name, parameter in module.named_parameters():
        own, like = parameter.grad, layer.params[name]
        own = own.flatten(like.ndim - 1).mT if "weight" in name else own
        found[name] = own.numpy()
    return y.detach().numpy(), found


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=["plain", "strides and padding"])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_output_and_all_gradients_are_torchs(name, options, geometry):
    layer = made(name, options, **geometry)
    rng = np.random.default_rng(2)
    for leading in leadings(name):
        x = rng.standard_normal((*leading, C_IN, *SIZE))
        noise = layer.noise(rng, x.shape) if name in DRAWS else None
        y = layer.forward(x, noise) if noise else layer.forward(x)
        assert y.shape == layer.output_shape(x.shape)
        grad = rng.standard_normal(y.shape)
        expected, wanted = in_torch(layer, x, noise, grad)
        layer.zero_grad()
        found = {"x": layer.backward(grad), **layer.grads}
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12)
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            scale = max(1.0, np.abs(value).max())
            np.testing.assert_allclose(found[key], value, rtol=0, atol=1e-12 * scale, err_msg=key)


def by_pixels(x, kernels, bias, stride, padding):
    """A convolution as its definition reads: (C_in, H, W) and (C_in, C_out, kh, kw)."""
    _, channels, kh, kw = kernels.shape
    _, height, width = x.shape
    rows = (height + 2 * padding[0] - kh) // stride[0] + 1
    columns = (width + 2 * padding[1] - kw) // stride[1] + 1
    y = np.zeros((channels, rows, columns))
    for o in range(channels):
        for i in range(rows):
            for j in range(columns):
                y[o, i, j] = bias[o]
                for a in range(kh):
                    for b in range(kw):
                        row, column = i * stride[0] + a - padding[0], j * stride[1] + b - padding[1]
                        if 0 <= row < height and 0 <= column < width:
                            y[o, i, j] += x[:, row, column] @ kernels[:, o, a, b]
    return y


@pytest.mark.parametrize(("name", "options"), CASES)
def test_forward_is_a_loop_over_members_and_pixels(name, options):
    layer = made(name, options, stride=(2, 1), padding=(0, 1))
    rng = np.random.default_rng(3)
    lead = (M, 2) if name in MEMBERS else (2,)
    x = rng.standard_normal((*lead, C_IN, 6, 5))
    # Noise of the weights makes one function of a layer with "local", too.
    per_example = options.get("per_example", False)
    noise = layer.noise(rng, x.shape if per_example else None) if name in DRAWS else None
    y = layer.forward(x, noise) if noise else layer.forward(x)
    kernels = layer.weight_matrices(noise) if noise else layer.weight_matrices()
    assert kernels.shape[-4:] == (C_IN, C_OUT, *KERNEL)
    if name == "MeanFieldConv2d":
        scale = np.logaddexp(0, layer.params["bias_rho"])
        bias = layer.params["bias_mean"] + scale * noise["bias"]
    else:
        bias = layer.params["bias"]
    bias = np.broadcast_to(bias, (len(kernels), C_OUT))
    for index in np.ndindex(lead):
        member = index[0] if name in MEMBERS else 0
        own = kernels[index] if per_example else kernels[member]
        expected = by_pixels(x[index], own, bias[member], (2, 1), (0, 1))
        np.testing.assert_allclose(y[index], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] in DRAWS])
def test_kl_and_its_gradient_are_torchs(name, options):
    layer = made(name, options)
    rng = np.random.default_rng(4)
    noise = layer.noise(rng) if not options.get("per_example") else None
    if noise is None:
        shapes = {"r": (M, C_IN), "s": (M, C_OUT)}
        noise = {key: rng.standard_normal(shape) for key, shape in shapes.items()}
    module = et.from_numpy(layer)
    expected = module.kl(tensors(noise))
    np.testing.assert_allclose(layer.kl(noise), expected.detach().numpy(), rtol=1e-12)
    layer.kl_backward(0.3, noise)
    (0.3 * expected.mean()).backward()
    for key, parameter in module.named_parameters():
        if parameter.grad is not None:
            like = layer.grads[key]
            own = parameter.grad.flatten(like.ndim - 1).mT if "weight" in key else parameter.grad
            scale = max(1.0, own.abs().max().item())
            np.testing.assert_allclose(like, own.numpy(), rtol=0, atol=1e-12 * scale, err_msg=key)
        else:
            assert key not in layer.grads


@pytest.mark.parametrize("geometry", [{}, {"stride": (2, 3)}, {"stride": 1}])
@pytest.mark.parametrize("name", ["MaxPool2d", "AvgPool2d"])
def test_pooling_is_torchs(name, geometry):
    layer = getattr(en, name)((3, 2), **geometry)
    module = et.from_numpy(layer)
    rng = np.random.default_rng(5)
    for leading in [(C_IN,), (B, C_IN), (M, B, C_IN)]:
        # Small integers: windows have several largest numbers, of which the first gets it all.
        x = rng.integers(0, 3, (*leading, *SIZE)).astype(float)
        y = layer.forward(x)
        assert y.shape == layer.output_shape(x.shape)
        grad = rng.standard_normal(y.shape)
        tensor = torch.tensor(x, requires_grad=True)
        expected = module(tensor)
        expected.backward(torch.from_numpy(grad))
        np.testing.assert_allclose(y, expected.detach().numpy(), rtol=0, atol=1e-14)
        np.testing.assert_allclose(layer.backward(grad), tensor.grad.numpy(), rtol=0, atol=1e-14)


def test_flatten_is_torchs_and_its_own_way_back():
    layer, rng = en.Flatten(), np.random.default_rng(6)
    for leading in [(), (B,), (S, M, B)]:
        x = rng.standard_normal((*leading, 3, 2, 5))
        y = layer.forward(x)
        assert y.shape == layer.output_shape(x.shape) == (*leading, 30)
        np.testing.assert_array_equal(y, et.from_numpy(layer)(torch.from_numpy(x)).numpy())
        np.testing.assert_array_equal(layer.backward(y), x)


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(kernel=pairs, stride=pairs, pad=pairs, extra=pairs, channels=st.integers(1, 3))
def test_fold_is_the_transpose_of_unfold(kernel, stride, pad, extra, channels):
    rng = np.random.default_rng(7)
    height, width = kernel[0] + extra[0], kernel[1] + extra[1]
    x = rng.standard_normal((2, channels, height, width))
    windows = unfold(x, kernel, stride, pad)
    other = rng.standard_normal(windows.shape)
    back = fold(other, (height, width), stride, pad)
    assert back.shape == x.shape
    np.testing.assert_allclose((windows * other).sum(), (x * back).sum(), rtol=0, atol=1e-10)
    padded = np.pad(x, [(0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1])])
    for i, j in np.ndindex(windows.shape[1:3]):
        top, left = i * stride[0], j * stride[1]
        own = padded[:, :, top : top + kernel[0], left : left + kernel[1]]
        np.testing.assert_array_equal(windows[:, i, j], own)
    assert windows.shape[1] == (height + 2 * pad[0] - kernel[0]) // stride[0] + 1


def lenet(method):
    row, options = METHODS[method], {}
    if row.members:
        options["ensemble_size"] = M
    if method in ("rank1", "mean_field"):
        options["posterior_std"] = 0.3
    if row.stochastic:
        options["samples"] = S
    return en.lenet5(method, rng=np.random.default_rng(8), filters=(2, 3), classes=7, **options)


@pytest.mark.parametrize("method", METHODS)
def test_lenet_is_torchs_with_all_gradients(method):
    net = lenet(method)
    rng = np.random.default_rng(9)
    x = rng.standard_normal((B, 1, 28, 28))
    noise = net.noise(rng, x.shape) if METHODS[method].stochastic else None
    y = net.forward(x, noise)
    assert y.shape == net.output_shape(x.shape)
    grad = rng.standard_normal(y.shape)
    expected, wanted = in_torch(net, x, noise, grad)
    found = {"x": net.backward(grad), **net.grads}
    scale = np.abs(expected).max()
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12 * max(1.0, scale))
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        scale = max(1.0, np.abs(value).max())
        np.testing.assert_allclose(found[key], value, rtol=0, atol=1e-12 * scale, err_msg=key)
    again = et.to_numpy(et.from_numpy(net), rng=rng)
    assert all((again.params[key] == value).all() for key, value in net.params.items())


@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble", "rank1", "mean_field"])
def test_counts_are_the_formulas(method):
    name = f"{METHODS[method].layer}Conv2d"
    members = {"ensemble_size": M} if name in MEMBERS else {}
    formula = counting.mean_field if method == "mean_field" else getattr(counting, method)
    expected = formula(C_IN, C_OUT, kernel_size=KERNEL, **members)
    assert counting.count(made(name, {})).total == expected.total
    assert counting.count(en.lenet5(rng=np.random.default_rng(0))).total == 61_706


def test_backward_accumulates_and_repeats():
    layer = made("BatchEnsembleConv2d", {})
    x = np.random.default_rng(10).standard_normal((B, C_IN, *SIZE))
    grad = np.ones(layer.forward(x).shape)
    first = layer.backward(grad)
    once = dict(layer.grads)
    np.testing.assert_array_equal(layer.backward(grad), first)
    for key, value in once.items():
        np.testing.assert_allclose(layer.grads[key], 2 * value, rtol=1e-12)
    plain = made("Conv2d", {})
    grad = np.ones(plain.forward(x).shape)
    np.testing.assert_array_equal(plain.backward(grad), plain.backward(grad))


def test_what_happens_to_an_input_later_does_not_reach_backward():
    for name, options in CASES:
        layer, x = made(name, options), np.ones((B, C_IN, *SIZE))
        grad = np.ones(layer.forward(x, **({"noise": None} if name in DRAWS else {})).shape)
        layer.backward(grad)
        before = {key: value.copy() for key, value in layer.grads.items()}
        layer.zero_grad()
        x[...] = 0
        layer.backward(grad)
        for key, value in before.items():
            np.testing.assert_array_equal(layer.grads[key], value)


def test_starts_are_nn_conv2ds():
    layer = en.Conv2d(13, 101, 5, rng=np.random.default_rng(0))
    bound = (13 * 25) ** -0.5
    for values in layer.params.values():
        assert 0.9 * bound < np.abs(values).max() <= bound
    fast = made("BatchEnsembleConv2d", {}).params
    assert {k: v.shape for k, v in fast.items()} == {
        "weight": (C_IN * 6, C_OUT), "r": (M, C_IN), "s": (M, C_OUT), "bias": (M, C_OUT),
    }  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: made("Conv2d", {}).forward(np.ones((B, C_IN + 1, *SIZE))), r"Conv2d: input x"),
        (lambda: made("Conv2d", {}).forward(np.ones((B, C_IN, 2, 9))), "at least 3 by 2 pixels"),
        (lambda: made("Conv2d", {}).forward(np.ones((C_IN, *SIZE))), r"\(B, 7, H, W\)"),
        (lambda: made("Conv2d", {}).output_shape((B, 1, *SIZE)), "input_shape is"),
        (lambda: made("Conv2d", {}).backward(np.ones(3)), "before any forward pass"),
        (lambda: made("Conv2d", {}, padding="same"), "padding must be"),
        (lambda: made("DeepEnsembleConv2d", {}).forward(np.ones((2, B, C_IN, *SIZE))), r"\(3, B"),
        (lambda: made("MeanFieldConv2d", {}).forward(np.ones((B, C_IN, *SIZE)), {}), "keys"),
        (lambda: made("MeanFieldConv2d", {}).kl({"weight": np.ones(2)}), "noise must"),
        (lambda: made("Rank1Conv2d", {}).noise(None, (B, C_IN)), "accepted are"),
        (lambda: en.MaxPool2d(0), "kernel_size must be"),
        (lambda: en.MaxPool2d(3).forward(np.ones((B, 1, 2, 9))), "at least 3 by 3 pixels"),
        (lambda: en.Flatten().forward(np.ones((3, 4))), r"\(…, C, H, W\)"),
        (lambda: en.lenet5(rng=np.random.default_rng(0), filters=6), "filters must be"),
        (lambda: en.Tile(2, feature_axes=3).forward(np.ones((2, 3))), r"\(B, ·, ·, ·\)"),
        (lambda: et.MaxPool2d(2)(torch.ones(3, 3)), r"\(…, C, H, W\)"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


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


def test_tile_copies_images_for_samples_and_members():
    x = np.random.default_rng(11).standard_normal((B, 2, 3, 5))
    tile = en.Tile(S, M, feature_axes=3)
    y = tile.forward(x)
    assert y.shape == (S, M, B, 2, 3, 5)
    np.testing.assert_array_equal(y, et.from_numpy(tile)(torch.from_numpy(x)).numpy())
    np.testing.assert_allclose(tile.backward(y), S * M * x)


def test_fit_trains_images():
    rng = np.random.default_rng(12)
    y = rng.integers(0, 2, 40)
    x = rng.standard_normal((40, 1, 28, 28)) + y[:, None, None, None]
    net = en.lenet5("batch_ensemble", 2, rng=rng, filters=(2, 3), classes=2)
    nll = en.softmax_cross_entropy
    history = en.fit(net, x, y, nll, epochs=3, lr=0.01, batch_size=20, rng=rng)
    assert history[-1]["loss"] < 0.5 * history[0]["loss"]


def test_a_normal_prior_at_the_posterior_costs_nothing():
    layer = made("MeanFieldConv2d", {"prior": Normal(0.0, 0.3), "posterior_std": 0.3})
    layer.params["weight_mean"][...] = 0
    layer.params["bias_mean"][...] = 0
    assert layer.kl() == pytest.approx(0.0, abs=1e-12)

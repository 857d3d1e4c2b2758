"""What NumPy's convolutions promise: loops over pixels, and Torch with all gradients.

A class of tests is parametrized by the options of one layer, in its test file. All sizes are
distinct primes where they can be, so that a swapped axis cannot hide.
"""

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from tests.gradients import torch_noise

S, M, B, C_IN, C_OUT, KERNEL = 2, 3, 5, 7, 11, (3, 2)
SIZE = (13, 17)
GEOMETRIES = [{}, {"stride": (2, 3), "padding": (1, 2)}]


def convolution(name, options=None, **geometry):
    """Return a convolution with the sizes above, of members where it has them."""
    members = [M] if has_members(name) else []
    rng = np.random.default_rng(1)
    layer = getattr(en, name)
    return layer(C_IN, C_OUT, KERNEL, *members, rng=rng, **(options or {}), **geometry)


def has_members(name):
    return "Ensemble" in name or "Rank1" in name


def leading_axes(name):
    """The axes that an input of a layer may have before C, H and W."""
    return [(B,), (M, B), (S, M, B)] if has_members(name) else [(B,), (S, B)]


class Convolution:
    name: str

    @pytest.mark.parametrize("geometry", GEOMETRIES, ids=["plain", "strides and padding"])
    def test_output_and_all_gradients_are_torchs(self, options, geometry):
        layer = convolution(self.name, options, **geometry)
        rng = np.random.default_rng(2)
        for leading in leading_axes(self.name):
            x = rng.standard_normal((*leading, C_IN, *SIZE))
            noise = layer.noise(rng, x.shape) if hasattr(layer, "noise") else None
            y = layer.forward(x, noise) if noise else layer.forward(x)
            assert y.shape == layer.output_shape(x.shape)
            grad = rng.standard_normal(y.shape)
            expected, wanted = in_torch(layer, x, noise, grad)
            layer.zero_grad()
            found = {"x": layer.backward(grad), **layer.grads}
            np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12)
            check_gradients(found, wanted)

    def test_forward_is_a_loop_over_members_and_pixels(self, options):
        layer = convolution(self.name, options, stride=(2, 1), padding=(0, 1))
        rng = np.random.default_rng(3)
        lead = (M, 2) if has_members(self.name) else (2,)
        x = rng.standard_normal((*lead, C_IN, 6, 5))
        # Noise of the weights makes one function of a layer with "local", too.
        per_example = options.get("per_example", False)
        draws = hasattr(layer, "noise")
        noise = layer.noise(rng, x.shape if per_example else None) if draws else None
        y = layer.forward(x, noise) if noise else layer.forward(x)
        kernels = layer.weight_matrices(noise) if noise else layer.weight_matrices()
        assert kernels.shape[-4:] == (C_IN, C_OUT, *KERNEL)
        if self.name == "MeanFieldConv2d":
            scale = np.logaddexp(0, layer.params["bias_rho"])
            bias = layer.params["bias_mean"] + scale * noise["bias"]
        else:
            bias = layer.params["bias"]
        bias = np.broadcast_to(bias, (len(kernels), C_OUT))
        for index in np.ndindex(lead):
            member = index[0] if has_members(self.name) else 0
            own = kernels[index] if per_example else kernels[member]
            expected = by_pixels(x[index], own, bias[member], (2, 1), (0, 1))
            np.testing.assert_allclose(y[index], expected, rtol=0, atol=1e-12)

    def test_what_happens_to_an_input_later_does_not_reach_backward(self, options):
        layer, x = convolution(self.name, options), np.ones((B, C_IN, *SIZE))
        grad = np.ones(layer.forward(x).shape)
        layer.backward(grad)
        before = {key: value.copy() for key, value in layer.grads.items()}
        layer.zero_grad()
        x[...] = 0
        layer.backward(grad)
        for key, value in before.items():
            np.testing.assert_array_equal(layer.grads[key], value)


class DrawnConvolution(Convolution):
    def test_kl_and_its_gradient_are_torchs(self, options):
        layer = convolution(self.name, options)
        rng = np.random.default_rng(4)
        noise = layer.noise(rng)
        if options.get("per_example"):
            noise = {key: value[:, 0] for key, value in noise.items()}
        module = et.from_numpy(layer)
        expected = module.kl(torch_noise(noise))
        np.testing.assert_allclose(layer.kl(noise), expected.detach().numpy(), rtol=1e-12)
        layer.kl_backward(0.3, noise)
        (0.3 * expected.mean()).backward()
        for key, parameter in module.named_parameters():
            if parameter.grad is not None:
                own = as_numpy_keeps_it(key, parameter.grad, layer.grads[key])
                check_gradients({key: layer.grads[key]}, {key: own})
            else:
                assert key not in layer.grads


def in_torch(layer, x, noise, grad):
    """The output of the Torch twin, and all gradients as NumPy keeps them."""
    module = et.from_numpy(layer)
    x = torch.tensor(x, requires_grad=True)
    y = module(x, torch_noise(noise)) if noise else module(x)
    y.backward(torch.from_numpy(grad))
    found = {"x": x.grad.numpy()}
    for name, parameter in module.named_parameters():
        found[name] = as_numpy_keeps_it(name, parameter.grad, layer.params[name])
    return y.detach().numpy(), found


def as_numpy_keeps_it(name, tensor, like):
    return (tensor.flatten(like.ndim - 1).mT if "weight" in name else tensor).numpy()


def check_gradients(found, wanted):
    """Fail unless gradients agree to 1e-12, of their largest number where that is above 1."""
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

"""Pooling, and images laid out in a row, against Torch."""

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from tests.numpy.convolutions import C_IN, SIZE, B, M, S


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


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: en.MaxPool2d(0), "kernel_size must be"),
        (lambda: en.MaxPool2d(3).forward(np.ones((B, 1, 2, 9))), "at least 3 by 3 pixels"),
        (lambda: en.Flatten().forward(np.ones((3, 4))), r"\(…, C, H, W\)"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()

"""Windows of images; each layer that reads them has its tests in the file of its module."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.numpy.windows import fold, unfold
from tests.numpy.convolutions import C_IN, SIZE, B, convolution

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


def test_backward_accumulates_and_repeats():
    layer = convolution("BatchEnsembleConv2d")
    x = np.random.default_rng(10).standard_normal((B, C_IN, *SIZE))
    grad = np.ones(layer.forward(x).shape)
    first = layer.backward(grad)
    once = dict(layer.grads)
    np.testing.assert_array_equal(layer.backward(grad), first)
    for key, value in once.items():
        np.testing.assert_allclose(layer.grads[key], 2 * value, rtol=1e-12)
    plain = convolution("Conv2d")
    grad = np.ones(plain.forward(x).shape)
    np.testing.assert_array_equal(plain.backward(grad), plain.backward(grad))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda layer: layer.forward(np.ones((B, C_IN + 1, *SIZE))), r"Conv2d: input x"),
        (lambda layer: layer.forward(np.ones((B, C_IN, 2, 9))), "at least 3 by 2 pixels"),
        (lambda layer: layer.forward(np.ones((C_IN, *SIZE))), r"\(B, 7, H, W\)"),
        (lambda layer: layer.output_shape((B, 1, *SIZE)), "input_shape is"),
        (lambda layer: layer.backward(np.ones(3)), "before any forward pass"),
        (lambda layer: convolution("Conv2d", padding="same"), "padding must be"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call(convolution("Conv2d"))

"""The fully connected layer and its convolution in NumPy."""

import numpy as np
import pytest

import ensedu.numpy as en
from tests.backends import B, M, m, n
from tests.gradients import ByHand, Sums, for_layers, for_layers_and_inputs
from tests.numpy.convolutions import Convolution


def test_it_keeps_leading_axes():
    rng = np.random.default_rng(1)
    layer = en.Linear(m, n, rng=rng)
    for leading in [(), (B,), (M, B), (2, M, B)]:
        x = rng.standard_normal((*leading, m))
        y = layer.forward(x)
        assert y.shape == (*leading, n)
        np.testing.assert_array_equal(layer.weight_matrices(), layer.params["weight"][None])
        np.testing.assert_allclose(y, x @ layer.weight_matrices()[0] + layer.params["bias"])


@for_layers_and_inputs("linear")
class TestGradients(ByHand):
    pass


@for_layers("linear")
class TestSums(Sums):
    pass


@pytest.mark.parametrize("options", [{}])
class TestConv2d(Convolution):
    name = "Conv2d"


def test_a_convolution_starts_where_nn_conv2d_does():
    layer = en.Conv2d(13, 101, 5, rng=np.random.default_rng(0))
    bound = (13 * 25) ** -0.5
    for values in layer.params.values():
        assert 0.9 * bound < np.abs(values).max() <= bound

"""What all layers have; each layer's own tests are in the file of its module."""

import numpy as np
import pytest

from ensedu.numpy.base import sum_to
from tests.gradients import LAYERS

WEIGHTS = ("linear", "deep_ensemble", "batch_ensemble", "rank1", "mean_field")


@pytest.mark.parametrize("module", WEIGHTS)
def test_weight_matrices_are_the_callers_own(module):
    make, *_ = LAYERS[module].values()
    layer = make(np.random.default_rng(0))
    before = {key: value.copy() for key, value in layer.params.items()}
    layer.weight_matrices()[...] = 0
    for key, value in layer.params.items():
        np.testing.assert_array_equal(value, before[key])


@pytest.mark.parametrize("shape", [(3, 5, 7), (3, 1, 7), (1, 5, 1), (5, 7), (1, 7), (7,), (1,)])
def test_sum_to_adds_up_what_broadcasting_repeated(shape):
    grad = np.random.default_rng(0).standard_normal((2, 3, 5, 7))
    expected = np.zeros(shape)
    # Which entry of the smaller array each entry of the larger one is a copy of.
    places = np.broadcast_to(np.arange(expected.size).reshape(shape), grad.shape)
    for place, value in zip(places.flat, grad.flat, strict=True):
        expected.flat[place] += value
    np.testing.assert_allclose(sum_to(grad, shape), expected, rtol=0, atol=1e-12)

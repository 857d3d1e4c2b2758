"""One shared weight and two vectors a member, in NumPy."""

import pytest

from tests import layers
from tests.backends import InNumPy, M
from tests.gradients import ByHand, Sums, for_layers, for_layers_and_inputs
from tests.numpy.convolutions import C_IN, C_OUT, Convolution, convolution


class TestBatchEnsembleLinear(InNumPy, layers.BatchEnsembleLinear):
    pass


@for_layers_and_inputs("batch_ensemble")
class TestGradients(ByHand):
    pass


@for_layers("batch_ensemble")
class TestSums(Sums):
    pass


@pytest.mark.parametrize("options", [{}, {"init": "normal"}])
class TestBatchEnsembleConv2d(Convolution):
    name = "BatchEnsembleConv2d"


def test_a_convolution_has_a_factor_a_channel():
    params = convolution("BatchEnsembleConv2d").params
    assert {k: v.shape for k, v in params.items()} == {
        "weight": (C_IN * 6, C_OUT), "r": (M, C_IN), "s": (M, C_OUT), "bias": (M, C_OUT),
    }  # fmt: skip

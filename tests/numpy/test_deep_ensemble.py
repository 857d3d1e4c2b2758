"""M layers that share nothing, in NumPy."""

import numpy as np
import pytest

from tests import layers
from tests.backends import InNumPy
from tests.gradients import ByHand, Sums, for_layers, for_layers_and_inputs
from tests.numpy.convolutions import C_IN, SIZE, B, Convolution, convolution


class TestDeepEnsembleLinear(InNumPy, layers.DeepEnsembleLinear):
    pass


@for_layers_and_inputs("deep_ensemble")
class TestGradients(ByHand):
    pass


@for_layers("deep_ensemble")
class TestSums(Sums):
    pass


@pytest.mark.parametrize("options", [{}])
class TestDeepEnsembleConv2d(Convolution):
    name = "DeepEnsembleConv2d"


@pytest.mark.bad_input
def test_other_members_are_named():
    with pytest.raises((TypeError, ValueError), match=r"\(3, B"):
        convolution("DeepEnsembleConv2d").forward(np.ones((2, B, C_IN, *SIZE)))

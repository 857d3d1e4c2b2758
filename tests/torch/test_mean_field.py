"""The mean-field layer in Torch."""

from tests import layers
from tests.backends import InTorch
from tests.gradients import Twin, layers_and_inputs


class TestMeanFieldLinear(InTorch, layers.MeanFieldLinear):
    pass


@layers_and_inputs("mean_field", "local_reparameterization")
class TestTwin(InTorch, Twin):
    pass

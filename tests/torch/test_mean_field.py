"""The mean-field layer in Torch."""

from tests import layers
from tests.backends import InTorch
from tests.gradients import Twin, for_layers_and_inputs


class TestMeanFieldLinear(InTorch, layers.MeanFieldLinear):
    pass


@for_layers_and_inputs("mean_field", "local_reparameterization")
class TestTwin(InTorch, Twin):
    pass

"""One shared weight and two vectors a member, in Torch."""

from tests import layers
from tests.backends import InTorch
from tests.gradients import Twin, for_layers_and_inputs


class TestBatchEnsembleLinear(InTorch, layers.BatchEnsembleLinear):
    pass


@for_layers_and_inputs("batch_ensemble")
class TestTwin(InTorch, Twin):
    pass

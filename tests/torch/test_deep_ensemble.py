"""M layers that share nothing, in Torch."""

from tests import layers
from tests.backends import InTorch
from tests.gradients import Twin, for_layers_and_inputs


class TestDeepEnsembleLinear(InTorch, layers.DeepEnsembleLinear):
    pass


@for_layers_and_inputs("deep_ensemble")
class TestTwin(InTorch, Twin):
    pass

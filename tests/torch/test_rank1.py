"""The rank-1 Bayesian layer in Torch."""

from tests import layers
from tests.backends import InTorch
from tests.gradients import Twin, for_layers_and_inputs


class TestRank1Linear(InTorch, layers.Rank1Linear):
    pass


@for_layers_and_inputs("rank1")
class TestTwin(InTorch, Twin):
    pass

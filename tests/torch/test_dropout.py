"""Dropout that stays on, in Torch."""

from tests import layers
from tests.backends import InTorch
from tests.gradients import Twin, for_layers_and_inputs


class TestMCDropout(InTorch, layers.MCDropout):
    pass


@for_layers_and_inputs("dropout")
class TestTwin(InTorch, Twin):
    pass

"""Layers without parameters: hand-written gradients; values are those of the Torch twins."""

from tests.gradients import ByHand, Sums, for_layers, for_layers_and_inputs


@for_layers_and_inputs("activations")
class TestGradients(ByHand):
    pass


@for_layers("activations")
class TestSums(Sums):
    pass

"""Layers without parameters: hand-written gradients; values are those of the Torch twins."""

from tests.gradients import ByHand, Sums, layers, layers_and_inputs


@layers_and_inputs("activations")
class TestGradients(ByHand):
    pass


@layers("activations")
class TestSums(Sums):
    pass

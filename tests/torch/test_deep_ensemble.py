"""M layers that share nothing, in Torch."""

import torch
from torch import nn

import ensedu.torch as et
from tests import layers
from tests.backends import B, InTorch, M, m, n
from tests.gradients import Twin, for_layers_and_inputs


class TestDeepEnsembleLinear(InTorch, layers.DeepEnsembleLinear):
    pass


@for_layers_and_inputs("deep_ensemble")
class TestTwin(InTorch, Twin):
    pass


def test_deep_ensemble_members_are_nn_linear_layers():
    layer = et.DeepEnsembleLinear(m, n, M)
    assert layer.weight.shape == (M, n, m)
    x = torch.randn(M, B, m)
    for i in range(M):
        member = nn.Linear(m, n)
        member.load_state_dict({"weight": layer.weight[i], "bias": layer.bias[i]})
        torch.testing.assert_close(layer(x)[i], member(x[i]))

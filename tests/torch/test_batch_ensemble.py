"""One shared weight and two vectors a member, in Torch."""

import torch
from torch import nn

import ensedu.torch as et
from tests import layers
from tests.backends import B, InTorch, M, m, n
from tests.gradients import Twin, for_layers_and_inputs


class TestBatchEnsembleLinear(InTorch, layers.BatchEnsembleLinear):
    pass


@for_layers_and_inputs("batch_ensemble")
class TestTwin(InTorch, Twin):
    pass


def test_a_trained_linear_loads_as_the_shared_weight():
    plain = nn.Linear(m, n)
    layer = et.BatchEnsembleLinear(m, n, M)
    with torch.no_grad():
        layer.weight.copy_(plain.weight)
        layer.bias.copy_(plain.bias.expand(M, n))
        layer.r.fill_(1)
        layer.s.fill_(1)
    x = torch.randn(B, m)
    torch.testing.assert_close(layer(x), plain(x).expand(M, B, n))

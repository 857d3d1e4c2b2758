"""Layers of every method, and noise for them."""

import torch

import ensedu.torch as et
from tests.backends import M, m, n

TORCH_LAYERS = [
    lambda **k: et.DeepEnsembleLinear(m, n, M, **k),
    lambda **k: et.BatchEnsembleLinear(m, n, M, **k),
    lambda **k: et.Rank1Linear(m, n, M, **k),
    lambda **k: et.MeanFieldLinear(m, n, **k),
]


def compiles(net, *inputs):
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    for x in inputs:
        torch.manual_seed(0)
        expected = net(x)
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(x), expected)

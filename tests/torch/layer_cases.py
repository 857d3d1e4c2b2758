"""Layers of every method, and noise for them."""

import ensedu.torch as et
from tests.backends import M, m, n

TORCH_LAYERS = [
    lambda **k: et.DeepEnsembleLinear(m, n, M, **k),
    lambda **k: et.BatchEnsembleLinear(m, n, M, **k),
    lambda **k: et.Rank1Linear(m, n, M, **k),
    lambda **k: et.MeanFieldLinear(m, n, **k),
]

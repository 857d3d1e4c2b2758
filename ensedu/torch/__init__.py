"""The layers of `ensedu.numpy` as ``torch.nn.Module``, fast on a CPU and a GPU.

Names, shapes and arguments are the same; parameters are stored as ``nn.Linear`` stores its weight,
``(out_features, in_features)``. The plain layer is ``torch.nn.Linear`` itself. Each method also has
a convolution, and `ensemble` turns a whole model into an ensemble.
"""

from torch.nn import Linear as Linear

from ensedu.torch.batch_ensemble import BatchEnsembleConv2d, BatchEnsembleLinear
from ensedu.torch.bayes import BayesConv2d, BayesLinear
from ensedu.torch.convert import from_numpy, to_numpy
from ensedu.torch.deep_ensemble import DeepEnsembleConv2d, DeepEnsembleLinear
from ensedu.torch.dropout import MCDropout
from ensedu.torch.network import Tile, mlp
from ensedu.torch.rank1 import Rank1Conv2d, Rank1Linear
from ensedu.torch.swap import ensemble

__all__ = [
    "BatchEnsembleConv2d",
    "BatchEnsembleLinear",
    "BayesConv2d",
    "BayesLinear",
    "DeepEnsembleConv2d",
    "DeepEnsembleLinear",
    "MCDropout",
    "Rank1Conv2d",
    "Rank1Linear",
    "Tile",
    "ensemble",
    "from_numpy",
    "mlp",
    "to_numpy",
]

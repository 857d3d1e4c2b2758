"""The layers of `ensedu.numpy` as ``torch.nn.Module``, fast on a CPU and a GPU.

Names, shapes and arguments are the same; parameters are stored as ``nn.Linear`` stores its weight,
``(out_features, in_features)``. The plain layer is ``torch.nn.Linear`` itself.
"""

from torch.nn import Linear as Linear

from ensedu.torch.batch_ensemble import BatchEnsembleLinear
from ensedu.torch.bayes import BayesLinear
from ensedu.torch.convert import from_numpy, to_numpy
from ensedu.torch.deep_ensemble import DeepEnsembleLinear
from ensedu.torch.dropout import MCDropout
from ensedu.torch.network import Tile, mlp
from ensedu.torch.rank1 import Rank1Linear

__all__ = [
    "BatchEnsembleLinear",
    "BayesLinear",
    "DeepEnsembleLinear",
    "MCDropout",
    "Rank1Linear",
    "Tile",
    "from_numpy",
    "mlp",
    "to_numpy",
]

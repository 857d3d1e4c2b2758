"""The layers of `ensedu.numpy` as ``torch.nn.Module``, fast on a CPU and a GPU.

Names, shapes and arguments are the same. The plain layer is ``torch.nn.Linear`` itself, `Conv2d`
and the pooling layers are Torch's, with members and samples in front of the batch; every
weight is stored as ``nn.Linear`` stores its own, ``(out_features, in_features)``. Each method has
a convolution, and `ensemble` turns a whole model into an ensemble. `fit` trains any of them and
`predict` runs them (`ensedu.torch.ensembling`, `ensedu.torch.train`; models to try are in
`ensedu.torch.models`); a training step of one's own::

    loss = negative_elbo(net, x, y, softmax_cross_entropy, num_examples=N).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

from torch.nn import Linear as Linear

from ensedu.common.training_settings import KLWeight, SaveTo, Validation
from ensedu.torch.batch_ensemble import BatchEnsembleConv2d, BatchEnsembleLinear
from ensedu.torch.conv import AvgPool2d, Conv2d, MaxPool2d
from ensedu.torch.deep_ensemble import DeepEnsembleConv2d, DeepEnsembleLinear
from ensedu.torch.dropout import MCDropout
from ensedu.torch.ensembling.ensemble import ensemble
from ensedu.torch.losses import (
    gaussian_nll,
    half_squared_error,
    negative_elbo,
    softmax_cross_entropy,
)
from ensedu.torch.mean_field import MeanFieldConv2d, MeanFieldLinear
from ensedu.torch.network import Multiply, Sequential, Tile, kl, mlp
from ensedu.torch.rank1 import Rank1Conv2d, Rank1Linear
from ensedu.torch.train.fitting import fit
from ensedu.torch.train.optimizing import parameter_groups
from ensedu.torch.train.predicting import predict
from ensedu.torch.twins import from_numpy, to_numpy

__all__ = [
    "AvgPool2d",
    "BatchEnsembleConv2d",
    "BatchEnsembleLinear",
    "Conv2d",
    "DeepEnsembleConv2d",
    "DeepEnsembleLinear",
    "KLWeight",
    "MCDropout",
    "MaxPool2d",
    "MeanFieldConv2d",
    "MeanFieldLinear",
    "Multiply",
    "Rank1Conv2d",
    "Rank1Linear",
    "SaveTo",
    "Sequential",
    "Tile",
    "Validation",
    "ensemble",
    "fit",
    "from_numpy",
    "gaussian_nll",
    "half_squared_error",
    "kl",
    "mlp",
    "negative_elbo",
    "parameter_groups",
    "predict",
    "softmax_cross_entropy",
    "to_numpy",
]

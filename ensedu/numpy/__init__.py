"""Reference layers in NumPy alone, with hand-written gradients; each fits on one screen.

A layer has ``forward(x)``, ``backward(grad)``, and two dictionaries, ``params`` and ``grads``.
Activations are ``(M, B, features)``, images ``(M, B, C, H, W)``, float64; weights are stored as the
book writes them, ``(m, n)``; a convolution is a fully connected layer on windows, of which each has
m = C_in · kh · kw numbers. A training step::

    loss, grad = half_squared_error(net(x), y, reduction="sum")
    net.backward(grad)
    kl_backward(net, M / N)  # for a network with distributions, trained on N examples
    optimizer.step()

A layer with members takes (B, m) for all of them, (M, B, m), or (S, M, B, m) for S samples; one
that draws without members takes (B, m), or (S, B, m), a sample each. All raise ``TypeError`` or
``ValueError`` for a bad argument, an option that a layer does not have, and an array of another
shape or dtype.
"""

from ensedu.common.training_settings import KLWeight, Validation
from ensedu.numpy.activations import Multiply, ReLU, Tanh
from ensedu.numpy.batch_ensemble import BatchEnsembleConv2d, BatchEnsembleLinear
from ensedu.numpy.deep_ensemble import DeepEnsembleConv2d, DeepEnsembleLinear
from ensedu.numpy.dropout import MCDropout
from ensedu.numpy.linear import Linear
from ensedu.numpy.losses import gaussian_nll, half_squared_error, reduce, softmax_cross_entropy
from ensedu.numpy.mean_field import MeanFieldConv2d, MeanFieldLinear
from ensedu.numpy.network import Sequential, Tile, kl, kl_backward, lenet5, mlp
from ensedu.numpy.rank1 import Rank1Conv2d, Rank1Linear
from ensedu.numpy.training import SGD, Adam, fit
from ensedu.numpy.windows import AvgPool2d, Conv2d, Flatten, MaxPool2d

__all__ = [
    "SGD",
    "Adam",
    "AvgPool2d",
    "BatchEnsembleConv2d",
    "BatchEnsembleLinear",
    "Conv2d",
    "DeepEnsembleConv2d",
    "DeepEnsembleLinear",
    "Flatten",
    "KLWeight",
    "Linear",
    "MCDropout",
    "MaxPool2d",
    "MeanFieldConv2d",
    "MeanFieldLinear",
    "Multiply",
    "Rank1Conv2d",
    "Rank1Linear",
    "ReLU",
    "Sequential",
    "Tanh",
    "Tile",
    "Validation",
    "fit",
    "gaussian_nll",
    "half_squared_error",
    "kl",
    "kl_backward",
    "lenet5",
    "mlp",
    "reduce",
    "softmax_cross_entropy",
]

"""Reference layers in NumPy alone, with hand-written gradients; each fits on one screen.

A layer has ``forward(x)``, ``backward(grad)``, and two dictionaries, ``params`` and ``grads``.
Activations are ``(M, B, features)``; weights are stored as the book writes them, ``(m, n)``.
"""

from ensedu.numpy.activations import ReLU, Tanh
from ensedu.numpy.batch_ensemble import BatchEnsembleLinear
from ensedu.numpy.bayes import BayesLinear
from ensedu.numpy.deep_ensemble import DeepEnsembleLinear
from ensedu.numpy.dropout import MCDropout
from ensedu.numpy.linear import Linear
from ensedu.numpy.losses import gaussian_nll, softmax_cross_entropy, squared_error
from ensedu.numpy.network import Sequential, Tile, mlp
from ensedu.numpy.optimizers import SGD, Adam
from ensedu.numpy.rank1 import Rank1Linear

__all__ = [
    "SGD",
    "Adam",
    "BatchEnsembleLinear",
    "BayesLinear",
    "DeepEnsembleLinear",
    "Linear",
    "MCDropout",
    "Rank1Linear",
    "ReLU",
    "Sequential",
    "Tanh",
    "Tile",
    "gaussian_nll",
    "mlp",
    "softmax_cross_entropy",
    "squared_error",
]

"""Entrywise activations."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.numpy.base import Layer, check_array


class ReLU(Layer):
    """``max(x, 0)``, any shape; the derivative at 0 is 0, as in Torch."""

    def forward(self, x: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        check_array("ReLU: input x", x)
        self._cache = x > 0, x.shape
        return np.maximum(x, 0)

    def backward(self, grad: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        return grad * self._recall(grad)

    def __repr__(self) -> str:
        return "ReLU()"


class Tanh(Layer):
    """``tanh(x)``, any shape."""

    def forward(self, x: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        check_array("Tanh: input x", x)
        y = np.tanh(x)
        self._cache = y, x.shape
        return y

    def backward(self, grad: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        return grad * (1 - self._recall(grad) ** 2)

    def __repr__(self) -> str:
        return "Tanh()"

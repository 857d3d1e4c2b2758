"""Entrywise layers without parameters."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import check_float64
from ensedu.numpy.base import Layer


class ReLU(Layer):
    """``max(x, 0)``, any shape; the derivative at 0 is 0, as in Torch."""

    def forward(self, x: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        check_float64("ReLU: input x", x)
        self._cache = x > 0, x.shape
        return np.maximum(x, 0)

    def backward(self, grad: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        return grad * self._recall(grad)

    def __repr__(self) -> str:
        return "ReLU()"


class Tanh(Layer):
    """``tanh(x)``, any shape."""

    def forward(self, x: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        check_float64("Tanh: input x", x)
        y = np.tanh(x)
        self._cache = 1 - y**2, y.shape
        return y

    def backward(self, grad: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        return grad * self._recall(grad)

    def __repr__(self) -> str:
        return "Tanh()"


class Multiply(Layer):
    """``factor · x``, any shape: the 1/√m in front of a layer in the NTK parametrization.

    Raises ``TypeError`` or ``ValueError`` for a `factor` that is no finite number.
    """

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = checks.real("factor", factor)

    def forward(self, x: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        check_float64("Multiply: input x", x)
        self._cache = None, x.shape
        return self.factor * x

    def backward(self, grad: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        self._recall(grad)
        return self.factor * grad

    def __repr__(self) -> str:
        return f"Multiply({self.factor:g})"

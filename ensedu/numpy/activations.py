"""Entrywise layers without parameters."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import check_float64
from ensedu.numpy.base import Layer


class Entrywise(Layer):
    """Base: what becomes of each entry of an input of any shape, and its slope there."""

    def forward(self, x: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        check_float64(f"{type(self).__name__}: input x", x)
        y, slope = self._value_and_slope(x)
        self._cache = slope, y.shape
        return y

    def backward(self, grad: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        return grad * self._recall(grad)

    def _value_and_slope(self, x: Array) -> tuple[Array, Array | float]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ReLU(Entrywise):
    """``max(x, 0)``, any shape; the derivative at 0 is 0, as in Torch."""

    def _value_and_slope(self, x: Array) -> tuple[Array, Array]:
        return np.maximum(x, 0), x > 0


class Tanh(Entrywise):
    """``tanh(x)``, any shape."""

    def _value_and_slope(self, x: Array) -> tuple[Array, Array]:
        y = np.tanh(x)
        return y, 1 - y**2


class Multiply(Entrywise):
    """``factor · x``, any shape: the 1/√m in front of a layer in the NTK parametrization."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = checks.real("factor", factor)

    def _value_and_slope(self, x: Array) -> tuple[Array, float]:
        return self.factor * x, self.factor

    def __repr__(self) -> str:
        return f"Multiply({self.factor:g})"

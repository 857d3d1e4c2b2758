"""What an activation makes of two jointly normal numbers: the integrals of all infinite widths.

Of s and t, normal around 0 with variances ``a`` and ``b`` and covariance ``c``: E[φ(s) φ(t)],
E[φ′(s) φ′(t)] and E[s t φ′(s) φ′(t)]. For erf (Williams 1997) and ReLU (Cho and Saul 2009) in
closed form, for tanh by quadrature.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from scipy import special

__all__ = ["ACTIVATIONS", "Activation", "Moments"]

#: Points a side of the Gauss-Hermite rule.
POINTS = 96


@dataclass(frozen=True, eq=False)
class Moments:
    """Three expectations, of the shape of a, b and c."""

    #: E[φ(s) φ(t)]
    value: Float[Array, "..."]
    #: E[φ′(s) φ′(t)]
    slope: Float[Array, "..."]
    #: E[s t φ′(s) φ′(t)]
    scaled_slope: Float[Array, "..."]


@dataclass(frozen=True)
class Activation:
    """A function, its derivative, and `Moments` of it, called as ``moments(a, b, c)``."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    moments: Callable[[Array, Array, Array], Moments]


def relu_moments(a: Array, b: Array, c: Array) -> Moments:
    """Cho and Saul 2009, eq. 3 and 6, orders 1 and 0; ReLU has s φ′(s) = φ(s)."""
    size = np.sqrt(a * b)
    cosine = np.clip(np.divide(c, size, out=np.zeros_like(size * c), where=size > 0), -1, 1)
    angle = np.arccos(cosine)
    value = size / (2 * np.pi) * (np.sqrt(1 - cosine**2) + (np.pi - angle) * cosine)
    return Moments(value, (np.pi - angle) / (2 * np.pi), value)


def erf_moments(a: Array, b: Array, c: Array) -> Moments:
    """Williams 1997, eq. 11, and its derivatives."""
    product = (1 + 2 * a) * (1 + 2 * b)
    value = 2 / np.pi * np.arcsin(2 * c / np.sqrt(product))
    determinant = product - 4 * c**2
    slope = 4 / np.pi / np.sqrt(determinant)
    return Moments(value, slope, slope * c / determinant)


@cache
def normal_quadrature() -> tuple[Array, Array]:
    """Return where a function of a standard normal is read, and with what weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    return nodes, weights / weights.sum()


def tanh_moments(a: Array, b: Array, c: Array) -> Moments:
    """Gauss-Hermite quadrature over two independent normals."""
    nodes, weights = normal_quadrature()
    a, b, c = np.broadcast_arrays(a, b, c)
    first = np.sqrt(a)
    share = np.divide(c, first, out=np.zeros_like(first), where=first > 0)
    rest = np.sqrt(np.maximum(b - share**2, 0))
    found = np.zeros((3, *a.shape))
    for node, weight in zip(nodes, weights, strict=True):
        s = first * node
        value, slope = np.tanh(s), 1 / np.cosh(s) ** 2
        t = share[..., None] * node + rest[..., None] * nodes
        values = np.tanh(t)
        slopes = 1 - values**2
        parts = values @ weights, slopes @ weights, (t * slopes) @ weights
        found += weight * np.stack([value * parts[0], slope * parts[1], s * slope * parts[2]])
    return Moments(*found)


ACTIVATIONS = {
    "relu": Activation(lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float), relu_moments),
    "erf": Activation(special.erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2)), erf_moments),
    "tanh": Activation(np.tanh, lambda z: 1 - np.tanh(z) ** 2, tanh_moments),
}

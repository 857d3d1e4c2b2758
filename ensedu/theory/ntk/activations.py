"""Three activations, and what their averages are over normal inputs, by which kernels grow."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from scipy import special

#: How many steepnesses of erf stand for tanh.
STEEPNESSES = 24


@dataclass(frozen=True, eq=False)
class Moments:
    """Three expectations of s and t, normal around 0 with variances a and b and covariance c."""

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
def steepnesses() -> tuple[Array, Array]:
    """Return h and their weights: tanh(z) is the mean of erf(h z).

    The logistic distribution is one of normals whose standard deviation is 2 K, with K as
    Kolmogorov's statistic is distributed (Andrews and Mallows 1974); so h = 1 / (√2 K). Read at
    even steps of log K, where the density has no end to cut.
    """
    k = np.geomspace(0.2, 4.0, STEEPNESSES)
    j = np.arange(1, 31)[:, None]
    density = 8 * k * ((-1.0) ** (j - 1) * j**2 * np.exp(-2 * j**2 * k**2)).sum(axis=0)
    return 1 / (2**0.5 * k), k * density / (k @ density)


def tanh_moments(a: Array, b: Array, c: Array) -> Moments:
    """Those of erf(h s) and erf(g t), averaged over both steepnesses: to 1e-9 at any variance."""
    steep, weights = steepnesses()
    a, b, c = np.broadcast_arrays(a, b, c)
    sums = np.zeros((3, *a.shape))
    for h, weight in zip(steep, weights, strict=True):
        both = h * steep
        parts = erf_moments((h**2 * a)[..., None], steep**2 * b[..., None], both * c[..., None])
        rows = parts.value, both * parts.slope, parts.scaled_slope
        sums += weight * np.stack([row @ weights for row in rows])
    return Moments(*sums)


ACTIVATIONS = {
    "relu": Activation(lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float), relu_moments),
    "erf": Activation(special.erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2)), erf_moments),
    "tanh": Activation(np.tanh, lambda z: 1 - np.tanh(z) ** 2, tanh_moments),
}

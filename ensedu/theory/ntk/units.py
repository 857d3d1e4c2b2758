"""What a unit does: its activation, and what members multiply it by.

Of three activations, what their averages over normal inputs are, by which kernels grow; of u and v,
their distributions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator
from scipy import special

from ensedu.common import checks
from ensedu.common.array_checks import check_rng

#: How many steepnesses of erf stand for tanh.
STEEPNESSES = 24
MODULATIONS = ("ones", "signs", "normal", "bernoulli")
#: Points of the rule of a normal modulation on each side of 0, and how many standard deviations
#: from the mean they reach.
POINTS, REACH = 32, 7.0


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


@dataclass(frozen=True)
class Modulation:
    """The distribution of the entries of u or v, independent of each other and of all else.

    Examples
    --------
    >>> Modulation("signs").moments
    (0.0, 1.0)
    >>> Modulation("bernoulli", p=0.5).moments
    (1.0, 2.0)
    """

    #: ``"ones"``, no modulation; ``"signs"``, +1 or -1 with equal chance; ``"normal"``, N(mean,
    #: std²); ``"bernoulli"``, 0 with probability p and 1 / (1 - p) otherwise, as dropout has it.
    kind: str = "ones"
    #: Of ``"normal"``; `std` is above 0.
    mean: float = 1.0
    std: float = 1.0
    #: Of ``"bernoulli"``, 0 <= p < 1.
    p: float = 0.5

    def __post_init__(self) -> None:
        checks.one_of("kind", self.kind, MODULATIONS)
        checks.real("mean", self.mean)
        checks.real("std", self.std, low=0.0)
        checks.fraction("p", self.p)

    @property
    def moments(self) -> tuple[float, float]:
        """E[u] and E[u²], all of u that a limit depends on."""
        if self.kind == "normal":
            return self.mean, self.mean**2 + self.std**2
        values, chances = self.points
        return float(chances @ values), float(chances @ values**2)

    @property
    def points(self) -> tuple[Float[Array, " points"], Float[Array, " points"]]:
        """Values and their probabilities, all there are, or a rule that integrates as they do."""
        if self.kind == "normal":
            return _normal_points(self.mean, self.std)
        if self.kind == "signs":
            return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
        if self.kind == "bernoulli":
            return np.array([0.0, 1 / (1 - self.p)]), np.array([self.p, 1 - self.p])
        return np.ones(1), np.ones(1)

    def sample(self, rng: Generator, *shape: int) -> Float[Array, "..."]:
        """Draw entries of this shape."""
        check_rng("rng", rng)
        if self.kind == "normal":
            return rng.normal(self.mean, self.std, shape)
        values, chances = self.points
        return rng.choice(values, shape, p=chances)


def _normal_points(mean: float, std: float) -> tuple[Float[Array, " p"], Float[Array, " p"]]:
    """Gauss-Legendre quadrature in the cube root of v, on each side of 0.

    What is averaged has a kink at v = 0 (ReLU), or nearly a jump (the others, of large inputs):
    points are dense there, and none is beyond it.
    """
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    points, chances = [], []
    for side in (-1.0, 1.0):
        center = side * mean / std
        near, far = np.cbrt(np.maximum([center - REACH, center + REACH], 0.0))
        roots = near + (far - near) * (nodes + 1) / 2
        # d(root³) = 3 root² d(root)
        chances.append((far - near) * weights * roots**2 * np.exp(-((roots**3 - center) ** 2) / 2))
        points.append(side * std * roots**3)
    v, chance = np.concatenate(points), np.concatenate(chances)
    return v[chance > 0], chance[chance > 0] / chance.sum()


ALL_ONES, SIGNS = Modulation("ones"), Modulation("signs")


def layer_modulations(name: str, value: Any, hidden: Sequence[int]) -> list[Modulation]:
    """Return a `Modulation` for each hidden layer."""
    several = [value] * len(hidden) if isinstance(value, Modulation) else value
    if not isinstance(several, (tuple, list)) or not all(
        isinstance(one, Modulation) for one in several
    ):
        raise TypeError(
            f"{name} must be a Modulation, or one for each hidden layer, got "
            f"{checks.describe(value)}"
        )
    if len(several) != len(hidden):
        raise ValueError(
            f"{name} must be one Modulation or one for each of {len(hidden)} hidden layers, got "
            f"{len(several)}"
        )
    return list(several)

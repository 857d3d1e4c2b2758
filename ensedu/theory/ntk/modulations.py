"""What multiplies the units of an embedded ensemble: how it is drawn, and its moments."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.arrays import check_rng

KINDS = ("ones", "signs", "normal", "bernoulli")
#: Points of the Gauss-Hermite rule of a normal modulation.
POINTS = 24


@dataclass(frozen=True)
class Modulation:
    """The distribution of the entries of u or v, independent of each other and of all else.

    Attributes
    ----------
    kind
        ``"ones"``, no modulation; ``"signs"``, +1 or -1 with equal chance; ``"normal"``,
        N(mean, std²); ``"bernoulli"``, 0 with probability p and 1 / (1 - p) otherwise, as dropout
        has it.
    mean, std
        Of ``"normal"``; `std` is above 0.
    p
        Of ``"bernoulli"``, 0 <= p < 1.

    Raises
    ------
    TypeError, ValueError
        For another kind, and for a number out of its range.

    Examples
    --------
    >>> Modulation("signs").moments
    (0.0, 1.0)
    >>> Modulation("bernoulli", p=0.5).moments
    (1.0, 2.0)
    """

    kind: str = "ones"
    mean: float = 1.0
    std: float = 1.0
    p: float = 0.5

    def __post_init__(self) -> None:
        checks.one_of("kind", self.kind, KINDS)
        checks.real("mean", self.mean)
        checks.real("std", self.std, low=0.0)
        checks.fraction("p", self.p)

    @property
    def moments(self) -> tuple[float, float]:
        """E[u] and E[u²]: all of u that a limit depends on."""
        if self.kind == "normal":
            return self.mean, self.mean**2 + self.std**2
        values, chances = self.points
        return float(chances @ values), float(chances @ values**2)

    @property
    def points(self) -> tuple[Float[Array, " points"], Float[Array, " points"]]:
        """Values and their probabilities: all there are, or a rule that integrates as they do."""
        if self.kind == "normal":
            nodes, weights = np.polynomial.hermite_e.hermegauss(POINTS)
            return self.mean + self.std * nodes, weights / weights.sum()
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


ONES, SIGNS = Modulation("ones"), Modulation("signs")

"""Toy sets: curves of one input, with noise of a known size.

`gap` is the running example of the book; `cubic`, `blundell` and `between` stand in papers. Each
is a `Curve`: ``x, y = gap.sample(rng)`` draws data, ``gap.truth(x)`` is the curve itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.array_checks import check_float64, check_rng

Ends = tuple[float, float]
XY = tuple[Float[Array, "N 1"], Float[Array, "N 1"]]


@dataclass(frozen=True)
class Curve:
    """A curve to learn: ``y = function(x, ε)`` with ``ε ~ N(0, noise²)``, independent for each y.

    A variant is ``dataclasses.replace(gap, noise=0.3)``.
    """

    #: What to call it.
    name: str
    #: Takes x and ε, arrays of one shape, and returns y.
    function: Callable[..., Array]
    #: Standard deviation of ε, above 0.
    noise: float
    #: Intervals in which the inputs of training lie, from left to right, without overlap.
    regions: tuple[Ends, ...]
    #: How many points `sample` draws if it is not told.
    number: int

    def __post_init__(self) -> None:
        checks.text("name", self.name)
        if not callable(self.function) or isinstance(self.function, type):
            raise TypeError(f"function must be a function, got {checks.describe(self.function)}")
        # frozen: plain assignment is refused, and the checked value may be another type
        object.__setattr__(self, "noise", checks.real("noise", self.noise, low=0.0))
        object.__setattr__(self, "regions", _regions(self.regions))
        object.__setattr__(self, "number", checks.positive_int("number", self.number))

    @property
    def gaps(self) -> tuple[Ends, ...]:
        """The intervals between the regions, where there is no data."""
        return tuple((a[1], b[0]) for a, b in pairwise(self.regions))

    def truth(self, x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Return the curve without noise, ``function(x, 0)``, at inputs of any shape."""
        check_float64("x", x)
        return self.function(x, np.zeros_like(x))

    def sample(self, rng: Generator, number: int | None = None) -> XY:
        """Draw x and y, each (N, 1), N the `number` of points.

        The regions get equal numbers, one more for the first where it does not come out even;
        within a region x is uniform, and in no order.
        """
        check_rng("rng", rng)
        number = self.number if number is None else checks.positive_int("number", number)
        region = np.arange(number) % len(self.regions)
        low, high = np.array(self.regions)[region].T
        x = rng.uniform(low, high)[:, None]  # (N, 1)
        return x, self.function(x, self.noise * rng.standard_normal(x.shape))


def _regions(value: Any) -> tuple[Ends, ...]:
    accepted = "a tuple of intervals (low, high), from left to right"
    pairs = isinstance(value, (tuple, list)) and all(
        isinstance(region, (tuple, list)) and len(region) == 2 for region in value
    )
    if not pairs or not value:
        raise TypeError(f"regions must be {accepted}, got {checks.describe(value)}")
    ends = [checks.real(f"regions[{i}]", end) for i, region in enumerate(value) for end in region]
    if any(a >= b for a, b in pairwise(ends)):
        raise ValueError(f"regions must be {accepted}, got {checks.short_repr(value)}")
    return tuple(zip(ends[::2], ends[1::2], strict=True))


def _gap(x: Array, noise: Array) -> Array:
    return np.sin(1.5 * x) + 0.2 * x + noise


def _cubic(x: Array, noise: Array) -> Array:
    return x**3 + noise


def _blundell(x: Array, noise: Array) -> Array:
    inside = 2 * np.pi * (x + noise)
    return x + 0.3 * np.sin(inside) + 0.3 * np.sin(2 * inside) + noise


def _between(x: Array, noise: Array) -> Array:
    return np.cos(4 * x + 0.8) + noise


#: ``y = sin(1.5 x) + 0.2 x + ε``, the running example, a wave with a part of it unseen. In the gap
#: a straight line between the regions, a good guess, misses it by up to 0.66, more than six
#: standard deviations of the noise.
gap = Curve("gap", _gap, noise=0.1, regions=((-4.0, -1.0), (1.5, 4.0)), number=60)

#: ``y = x³ + ε``, ε ~ N(0, 3²), 20 points (Lakshminarayanan et al. 2017, fig. 1). That x is uniform
#: in [-4, 4] is how the set is commonly drawn, and was not checked against the paper.
cubic = Curve("cubic", _cubic, noise=3.0, regions=((-4.0, 4.0),), number=20)

#: ``y = x + 0.3 sin(2π(x + ε)) + 0.3 sin(4π(x + ε)) + ε``, x in [0, 0.5] (Blundell et al. 2015,
#: sec. 5.2). The noise acts inside the sines too, so its size differs along x, and `truth`, the
#: curve at ε = 0, is not quite the mean of y. The paper's ε ~ N(0, 0.02) does not say whether 0.02
#: is a standard deviation or a variance; here it is the former, and the other reading is
#: ``replace(blundell, noise=0.02**0.5)``. The number of points is our choice.
blundell = Curve("blundell", _blundell, noise=0.02, regions=((0.0, 0.5),), number=100)

#: ``y = cos(4x + 0.8) + ε``, ε ~ N(0, 0.1²), two clusters of 50 with nothing between them, as
#: Foong et al. use to ask for "in-between" uncertainty (2019, 2020). The numbers are those of
#: others' code for it, and were not checked against the papers.
between = Curve("between", _between, noise=0.1, regions=((-1.0, -0.7), (0.5, 1.0)), number=100)

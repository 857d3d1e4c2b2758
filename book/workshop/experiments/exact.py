"""What is not known of a curve, where it can be computed: Bayesian linear regression.

A curve is a weighted sum of features of x, 17 bumps or a straight line. Its weights have the prior
N(0, 1), the noise is known, so the posterior is normal, and in closed form.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.data import gap
from ensedu.theory.conjugate import posterior
from workshop.plot.moving import steps

#: Where a curve is drawn; two of these x are -2.5, among the points, and 0.25, in the gap.
GRID = np.linspace(-4.6, 4.6, 185)
MOST = 256
CENTERS = np.arange(-6, 6.1, 0.75)


def bumps(x: Float[Array, " B"]) -> Float[Array, "B 17"]:
    """Return how near each x is to the center of each bump."""
    return np.exp(-0.5 * ((x[:, None] - CENTERS) / 0.8) ** 2)


def line(x: Float[Array, " B"]) -> Float[Array, "B 2"]:
    """Return 1 and x."""
    return np.stack([np.ones_like(x), x], axis=1)


FEATURES = {"bumps": bumps, "line": line}
#: What `exact` takes, for sliders.
CHOICES = {
    "points": [4, 8, 16, 32, 64, 128, MOST], "noise": steps(0.05, 0.5, 0.005),
    "model": [*FEATURES],
}  # fmt: skip


def every_point() -> Float[Array, "3 N"]:
    """Return all `MOST` points: x, the curve there, and the luck of each, in units of the noise."""
    rng = np.random.default_rng(0)
    x = gap.sample(rng, MOST)[0][:, 0]
    return np.stack([x, gap.truth(x), rng.standard_normal(MOST)])


def points(number: int, noise: float) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    """Return the first of `MOST` points, x and y, the same x and the same luck for each noise."""
    x, curve, luck = every_point()[:, :number]
    return x, curve + noise * luck


@dataclass(frozen=True, eq=False)
class Exact:
    """The posterior of a curve at all x of a grid, given points."""

    #: (N,) each: the points.
    x: Float[Array, " N"]
    y: Float[Array, " N"]
    #: (B,) each: the curve's mean and its standard deviation.
    mean: Float[Array, " B"]
    unknown: Float[Array, " B"]


def exact(number: int, noise: float, model: str) -> Exact:
    """Return the posterior of a curve along `GRID`."""
    x, y = points(number, noise)
    features, rows = FEATURES[model](x), FEATURES[model](GRID)
    mean, std = posterior(features, y[:, None], noise_std=noise).predict(rows)
    return Exact(x, y, mean[:, 0], std[:, 0])

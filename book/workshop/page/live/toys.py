"""The data that a trainer starts from: the same points as in the browser, for a name and a seed.

What a set is called, how many points it has and where they lie is written here, and given to the
scripts; its curve, and where its classes lie, is a function in both languages.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks

__all__ = ["TOYS", "Random", "points"]

_MASK = 0xFFFFFFFF


class Random:
    """sfc32 (Doty-Humphrey, PractRand) in 32-bit integers, as in ``toys.js``."""

    def __init__(self, seed: int) -> None:
        checks.natural_int("seed", seed)
        self._state = [seed & _MASK, (seed ^ 0x9E3779B9) & _MASK, 0x243F6A88, 1]
        self._spare: float | None = None
        for _ in range(16):
            self.next()

    def next(self) -> int:
        """Return an integer from 0 to 2**32 - 1."""
        a, b, c, counter = self._state
        drawn = (a + b + counter) & _MASK
        turned = (c << 21 | c >> 11) & _MASK
        self._state = [
            b ^ b >> 9, (c + (c << 3)) & _MASK, (turned + drawn) & _MASK, (counter + 1) & _MASK,
        ]  # fmt: skip
        return drawn

    def uniform(self) -> float:
        """Return a number in [0, 1)."""
        return self.next() / 2**32

    def normal(self) -> float:
        """Return a draw of N(0, 1), by the method of Box and Muller, which gives two at a time."""
        if self._spare is not None:
            spare, self._spare = self._spare, None
            return spare
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        angle = 2 * math.pi * self.uniform()
        self._spare = radius * math.sin(angle)
        return radius * math.cos(angle)


MOST_NOISE = 100.0


def _evenly(x: float) -> float:
    return 1.0


@dataclass(frozen=True)
class RegressionToy:
    """Points of a regression: what it is called, where x lies, how many points, and their noise.

    `truth` is the curve that they come from; `grows` is how its noise grows along x.
    """

    label: str
    truth: Callable[[float], float]
    regions: tuple[tuple[float, float], ...]
    number: int
    noise: float = 0.1
    grows: Callable[[float], float] = _evenly
    task = "regression"

    def draw(self, random: Random, i: int, std: float) -> tuple[float, ...]:
        """Draw the point of one index, for noise of one standard deviation."""
        # Regions in turn, so that each has as many points as any other.
        low, high = self.regions[i % len(self.regions)]
        x = low + (high - low) * random.uniform()
        return x, self.truth(x) + std * self.grows(x) * random.normal()

    def described(self) -> dict[str, Any]:
        """Return all but the functions."""
        return {
            "label": self.label, "task": self.task, "regions": self.regions, "number": self.number,
            "noise": self.noise,
        }  # fmt: skip


@dataclass(frozen=True)
class ClassificationToy:
    """Points to classify: what they are called, how many classes and points, and their noise.

    `place` is where a point of a class lies, for a number in [0, 1).
    """

    label: str
    classes: int
    number: int
    noise: float
    place: Callable[[float, int], tuple[float, float]]
    task = "classification"
    truth = None

    def draw(self, random: Random, i: int, std: float) -> tuple[float, ...]:
        """Draw the point of one index, for noise of one standard deviation."""
        x, y = self.place(random.uniform(), i % self.classes)
        return x + std * random.normal(), y + std * random.normal(), float(i % self.classes)

    def described(self) -> dict[str, Any]:
        """Return all but the function."""
        return {
            "label": self.label, "task": self.task, "classes": self.classes, "number": self.number,
            "noise": self.noise,
        }  # fmt: skip


def _moon(t: float, label: int) -> tuple[float, float]:
    x, y = 2 * math.cos(math.pi * t), 2 * math.sin(math.pi * t)
    return (1.4 - x - 0.4, 0.5 - y) if label else (x - 1, y - 0.5)


def _spiral(t: float, label: int) -> tuple[float, float]:
    angle = 3 * math.pi * math.sqrt(t) + math.pi * label
    radius = 0.35 + 3 * math.sqrt(t)
    return radius * math.cos(angle), radius * math.sin(angle)


def _blob(t: float, label: int) -> tuple[float, float]:
    angle = math.pi * (0.5 + 2 * label / 3)
    return 2 * math.cos(angle), 2 * math.sin(angle)


#: Their functions are those of ``toys.js``.
TOYS = {
    "gap": RegressionToy(
        "wave with a gap", lambda x: math.sin(1.5 * x) + 0.2 * x, ((-4.0, -1.0), (1.5, 4.0)), 60
    ),
    "cubic": RegressionToy(
        "cubic with a gap", lambda x: x**3 / 25, ((-4.0, -1.5), (1.5, 4.0)), 40, 0.12
    ),
    "step": RegressionToy("step", lambda x: -1.0 if x < 0 else 1.0, ((-4.0, 4.0),), 50),
    "wave": RegressionToy(
        "wave, noise grows",
        lambda x: math.sin(1.2 * x),
        ((-4.0, 4.0),),
        80,
        grows=lambda x: 0.3 + 1.7 * (x + 4) / 4,
    ),
    "clusters": RegressionToy(
        "two clusters", lambda x: math.cos(x + 0.8), ((-3.5, -2.3), (2.0, 3.7)), 60
    ),
    "moons": ClassificationToy("two moons", 2, 100, 0.2, _moon),
    "spirals": ClassificationToy("two spirals", 2, 160, 0.08, _spiral),
    "blobs": ClassificationToy("three blobs", 3, 90, 0.5, _blob),
}


def described() -> dict[str, Any]:
    """Return all sets for the scripts, without their functions."""
    return {name: toy.described() for name, toy in TOYS.items()}


def rounded(value: float) -> float:
    """Round to 0.001, halves upwards, as the browser does."""
    return math.floor(value * 1000 + 0.5) / 1000


def points(name: str, noise: float | None = None, seed: int = 0) -> Float[Array, "N columns"]:
    """Return the points of a toy set: (N, 2), x and y, or (N, 3), two inputs and a class.

    Parameters
    ----------
    name
        A key of `TOYS`.
    noise
        Standard deviation of what is added to each point, up to 100; by default the set's own.
    seed
        Of the draws; one seed gives the points that the browser draws from it.

    Raises
    ------
    TypeError, ValueError
        For an unknown name, other noise, and a seed that is no integer from 0 up.
    """
    toy = TOYS[checks.one_of("name", name, TOYS)]
    std = toy.noise if noise is None else checks.not_negative("noise", noise)
    if std > MOST_NOISE:
        raise ValueError(f"noise must be from 0 to {MOST_NOISE:g}, got {std:g}")
    random = Random(checks.natural_int("seed", seed) * 4 + 1000003)
    drawn = (toy.draw(random, i, std) for i in range(toy.number))
    return np.array([[rounded(value) for value in point] for point in drawn])

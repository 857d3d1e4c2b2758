"""The mushroom bandit of Blundell et al. 2015, with written digits for mushrooms: odd is poisonous.

Each mushroom is eaten or left. An edible one pays 5; a poisonous one pays 5 or -35, with even
odds; one that is left pays 0. Who eats sees what that mushroom pays, who leaves it learns nothing::

    mushrooms = sample(np.random.default_rng(0), 1000)
    eaten = mushrooms.poisonous == False  # what an agent decides; this one knows
    regret(eaten, mushrooms.poisonous)  # 0, all the way

Both raise ``TypeError`` or ``ValueError`` for anything else.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.array_checks import check_array, check_rng
from ensedu.data import digits

__all__ = ["BAD", "GOOD", "Mushrooms", "regret", "sample"]

GOOD, BAD = 5.0, -35.0


@dataclass(frozen=True, eq=False)
class Mushrooms:
    """T mushrooms in the order in which they are found."""

    #: What is seen of them, (T, 64).
    x: Float[Array, "T 64"]
    #: What is not, (T,).
    poisonous: Bool[Array, " T"]
    #: What each pays who eats it, (T,).
    pays: Float[Array, " T"]


def sample(rng: Generator, number: int) -> Mushrooms:
    """Draw digits with replacement, and what each of them pays."""
    check_rng("rng", rng)
    x, labels = digits()
    rows = rng.integers(len(x), size=checks.positive_int("number", number))
    poisonous = labels[rows] % 2 == 1
    unlucky = poisonous & (rng.random(number) < 0.5)
    return Mushrooms(x[rows], poisonous, np.where(unlucky, BAD, GOOD))


def regret(eaten: Bool[Array, " T"], poisonous: Bool[Array, " T"]) -> Float[Array, " T"]:
    """Return the cumulative regret: how much less decisions have paid than the best, on average.

    An edible mushroom that is left costs 5, a poisonous one that is eaten costs 15, since it pays
    ``(5 - 35) / 2`` on average. All else costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> eaten, poisonous = np.array([True, True, False, False]), np.array([True, False] * 2)
    >>> regret(eaten, poisonous).tolist()
    [15.0, 15.0, 15.0, 20.0]
    """
    check_array("eaten", eaten, "b", "True and False", ("T",))
    check_array("poisonous", poisonous, "b", "True and False", eaten.shape, like="eaten")
    mean = np.where(poisonous, (GOOD + BAD) / 2, GOOD)  # of eating
    return np.cumsum(np.maximum(mean, 0.0) - np.where(eaten, mean, 0.0))

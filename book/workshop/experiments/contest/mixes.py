"""Six mixtures of concrete, and what contestants of the contest predict for them.

They are rows of concrete's first split that no contestant was trained on. By a rule that looks at
no prediction, three are ordinary: of the half of the test rows that lies nearest to a row to train
on, those whose strength is nearest to the 10th, 50th and 90th percentile of all test rows. Three
are unusual: of the recipes of the test rows, those that lie farthest from every row to train on,
each at the age at which it does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from ensedu.contest.forecasts import COVERAGE
from ensedu.contest.tasks import split_of
from workshop import measured
from workshop.experiments.contest.tasks import TASKS

#: The table of predictions.
TABLE = "contest/concrete-predictions"
#: What the six are called; the unusual ones by the ingredients in which they are.
NAMES: Mapping[str, tuple[str, ...]] = {
    "ordinary": ("weak", "medium", "strong"),
    "unusual": ("little water", "cement and water", "much water"),
}
PERCENTILES = 10, 50, 90


@dataclass(frozen=True)
class Mix:
    """A mixture."""

    #: What it is called.
    name: str
    #: "ordinary" or "unusual".
    kind: str
    #: Its place among the test rows of the split.
    row: int
    #: What was measured, MPa.
    strength: float
    #: How far its row lies from the nearest row to train on, by standardized columns.
    distance: float


@cache
def chosen() -> tuple[Mix, ...]:
    """Return the three ordinary mixtures, the weakest first, and then the three unusual ones."""
    data = split_of(TASKS["concrete"](), 0)
    x, y = data.test[0], data.center + data.unit * data.test[1][:, 0]
    distance = np.linalg.norm(x[:, None] - data.fit[0], axis=-1).min(axis=1)
    rows = {"ordinary": _ordinary(y, distance), "unusual": _unusual(x, distance)}
    return tuple(
        Mix(name, kind, row, float(y[row]), float(distance[row]))
        for kind, names in NAMES.items()
        for name, row in zip(names, rows[kind], strict=True)
    )


def intervals(contestant: str) -> Float[Array, "2 6"]:
    """Return the ends of a contestant's 90 % intervals for the six, MPa.

    They are those of a normal distribution with the mean and the standard deviation that it
    predicts.
    """
    found = measured.row(measured.load(TABLE)["rows"], contestant=contestant)
    rows = [mix.row for mix in chosen()]
    mean, std = (np.array(found[key])[rows] for key in ("mean", "std"))
    reach = NormalDist().inv_cdf((1 + COVERAGE) / 2) * std
    return np.stack([mean - reach, mean + reach])


def _ordinary(y: Float[Array, " B"], distance: Float[Array, " B"]) -> list[int]:
    near = np.flatnonzero(distance <= np.median(distance))
    return [
        int(near[np.abs(y[near] - strength).argmin()]) for strength in np.percentile(y, PERCENTILES)
    ]


def _unusual(x: Float[Array, "B m"], distance: Float[Array, " B"]) -> list[int]:
    _, recipe = np.unique(x[:, :-1], axis=0, return_inverse=True)  # without the age
    recipe = recipe.reshape(-1)
    found: dict[int, int] = {}
    order: Int[Array, " B"] = np.argsort(-distance, kind="stable")
    for row in order:
        found.setdefault(int(recipe[row]), int(row))
    return [*found.values()][: len(NAMES["unusual"])]

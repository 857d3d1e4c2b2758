"""Which try is the best, by the rows of a tuning."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def best_tries(
    rows: Sequence[Mapping[str, Any]],
    tries: Mapping[str, Sequence[Any]],
    *,
    who: str = "contestant",
    key: str = "lr",
    score: str = "nll",
    higher: bool = False,
) -> dict[str, int]:
    """Return the number of each contestant's try with the best mean score, the first of a tie.

    A row says `who` has which try as its `key`, and its score: a number, a list of them, or None
    where training failed. The least is the best, unless `higher`.
    """
    sign, found = -1 if higher else 1, {}
    for name, values in tries.items():
        own = [row for row in rows if row[who] == name]
        scores = [[row[score] for row in own if row[key] == value] for value in values]
        means = [np.inf if None in each else sign * np.mean(each) for each in scores]
        found[name] = int(np.argmin(np.round(means, 12)))
    return found

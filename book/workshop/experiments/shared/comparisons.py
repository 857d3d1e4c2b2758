"""What a table of contestants says: differences from one of them, over splits of one data set."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import uncertainty

LEVEL = 0.05


def compare_with_reference(
    rows: Sequence[Mapping[str, Any]],
    *,
    reference: str,
    scores: Sequence[str],
    train: int,
    test: int,
    higher: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return an entry for each contestant and score: the mean, and how it differs from one.

    Differences are those of the same split, means over initial seeds, with the corrected resampled
    t interval over splits of so many examples to train and to test on (Nadeau and Bengio 2003).
    All p-values of the table are adjusted together (Holm): only where that is below 5 % is the
    verdict ``"better"`` or ``"worse"``, and ``""`` elsewhere.

    Parameters
    ----------
    rows
        Of a table: ``contestant``, ``split``, and each score as a number or a list over initial
        seeds; a row for each contestant and split.
    reference
        The contestant from which others differ, by ``mean``, ``difference``, ``low``, ``high``,
        ``p`` and ``adjusted``; its own entries have a ``mean`` alone.
    scores
        Those to compare, better where they are lower, but for `higher`.
    train, test
        The numbers of examples of a split.
    """
    values: dict[str, dict[Any, dict[str, float]]] = {}
    for row in rows:
        own = {score: float(np.mean(row[score])) for score in scores}
        values.setdefault(row["contestant"], {})[row["split"]] = own
    splits = list(values[reference])
    found, intervals = [], []
    for name, by_split in values.items():
        for score in scores:
            own = np.array([by_split[split][score] for split in splits])
            entry = {"contestant": name, "score": score, "mean": float(own.mean())}
            found.append(entry)
            if name != reference:
                theirs = np.array([values[reference][split][score] for split in splits])
                one = uncertainty.resampled(own - theirs, train=train, test=test)
                intervals.append((entry, one))
    add_verdicts(intervals, higher=higher)
    return found


def compare_pairs(
    values: Mapping[str, Float[Array, "splits *starts"]],
    comparisons: Sequence[tuple[str, str]],
    *,
    train: int,
    test: int,
) -> list[dict[str, Any]]:
    """Return an entry for each (contestant, than) of which both have values, lower being better.

    As `compare_with_reference`, with ``than`` in place of one reference, and adjusted together.
    """
    found = [
        (
            {"contestant": name, "than": than},
            uncertainty.resampled(values[name] - values[than], train=train, test=test),
        )
        for name, than in comparisons
        if name in values and than in values
    ]
    add_verdicts(found)
    return [entry for entry, _ in found]


def add_verdicts(
    found: Sequence[tuple[dict[str, Any], uncertainty.Interval]], *, higher: Sequence[str] = ()
) -> None:
    """Add to each entry its interval, the p-value after Holm's correction of all, and a verdict.

    That is ``"better"`` or ``"worse"`` where the p-value is below `LEVEL`, else ``""``; of an entry
    whose ``"score"`` is in `higher`, more is better.
    """
    adjusted = uncertainty.holm([one.p for _, one in found])
    for (entry, one), p in zip(found, adjusted.tolist(), strict=True):
        gain = one.mean if entry.get("score") in higher else -one.mean
        verdict = "" if p >= LEVEL else "better" if gain > 0 else "worse"
        entry |= {"difference": one.mean, "low": one.low, "high": one.high, "p": one.p}
        entry |= {"adjusted": p, "verdict": verdict}

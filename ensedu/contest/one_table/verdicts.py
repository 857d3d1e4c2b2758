"""What is said of one table: words from paired splits of it, rows to settle them, coverage."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool
from numpy import ndarray as Array
from scipy.stats import betabinom

from ensedu.common.checks import optional
from ensedu.uncertainty import holm, resampled
from ensedu.uncertainty.conformal import conformal_rank
from ensedu.uncertainty.pooling import ALPHA, DELTA, TaskScores, verdict

__all__ = ["Coverage", "Verdict", "WorstGroup", "measure_coverage", "rows_to_settle", "verdicts"]

#: Fewer rows of one kind are no group; numbers are cut in so many groups of nearly one size.
LEAST_GROUP, GROUPS = 30, 4
#: More rows than this nobody has.
MOST_ROWS = 10**8


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a contestant differs from the reference on one table, in nats a row; less is better."""

    contestant: str
    #: Whether both have a temperature.
    tempered: bool
    difference: float | int
    low: float | int
    high: float | int
    #: Among all contestants.
    p: float | int
    #: Within it a difference is practically none.
    margin: float | int
    word: str
    rows_to_settle: int | None


@dataclass(frozen=True, kw_only=True)
class WorstGroup:
    """The group of rows, by one column, that would be least likely if it were like all others."""

    #: Its chance, times the number of groups that were looked at.
    p: float | int
    column: str
    value: str
    rows: int
    inside: int


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How many rows intervals of a level hold, and between which counts luck leaves 19 of 20."""

    level: float | int
    rows: int
    inside: int
    luck: tuple[float | int, float | int]
    worst: WorstGroup | None


def verdicts(
    scores: TaskScores, *, reference: str, rows: int, tempered: bool = True
) -> tuple[Verdict, ...]:
    """Return how each contestant differs from a reference on one table, the best first.

    Differences are paired by splits, each the mean over seeds, and tested by the corrected
    resampled t (Nadeau and Bengio 2003), among all contestants by Holm's steps. An interval has the
    level at which Holm tests its difference, so that it leaves out 0 where that is found. The
    margin is a quarter of `TaskScores.unit`.

    Parameters
    ----------
    scores
        Of one table alone.
    reference
        From whom the others differ.
    rows
        How many the table has, by which `rows_to_settle` says how many would settle it.
    tempered
        Whether scores are with one.
    """
    unit = scores.unit or 1.0
    base = scores.values[reference].mean(axis=1)
    others = {k: v.mean(axis=1) - base for k, v in scores.values.items() if k != reference}
    size = {"train": scores.train, "test": scores.test}
    p = [resampled(each, **size).p for each in others.values()]
    adjusted = holm(p) if p else np.array([])
    names, clear, found = [*others], (adjusted <= ALPHA).sum(), []
    for step, i in enumerate(np.argsort(p, kind="stable")):
        level = 1 - ALPHA / (len(p) - min(step, clear))
        each = resampled(others[names[i]], **size, level=level)
        one = Verdict(
            contestant=names[i], tempered=tempered, difference=each.mean, low=each.low,
            high=each.high, p=float(adjusted[i]), margin=DELTA * unit,
            word=verdict(each.low / unit, each.high / unit),
            rows_to_settle=rows_to_settle(each.low, each.high, DELTA * unit, rows),
        )  # fmt: skip
        found.append(one)
    return tuple(sorted(found, key=lambda one: one.difference))


def rows_to_settle(
    low: float | int, high: float | int, margin: float | int, rows: int
) -> int | None:
    """Return how many rows of the same kind would give a word; None where there is one.

    Supposed is that the difference stays what it is, and that the width of its interval falls as
    1 / √rows, as that of a mean does: so that many rows let the interval leave out 0, or lie within
    ± the margin, which stays as it is. A difference that more rows change breaks this.
    """
    mean, half = abs(low + high) / 2, (high - low) / 2
    if half < mean or (mean + half <= margin):
        return None
    room = max(mean, margin - mean)
    needed = rows * (half / room) ** 2 if room else math.inf
    return math.ceil(min(needed, MOST_ROWS))


def measure_coverage(
    x: Any, inside: Bool[Array, " N"], level: float, calibrated: Sequence[int]
) -> Coverage:
    """Return how many rows intervals of a level hold, and which group of them fares worst.

    What a fold's intervals hold varies with the rows that calibrated them, how many of each fold is
    `calibrated`, as a Beta's (Vovk 2012); over all folds it is taken for one Beta of all these
    rows. Groups are the different values of a column of the frame x, or quarters of its numbers or
    dates if there are more than four, of 30 rows or more; each is named by its least and largest
    value.
    """
    pandas = optional("pandas", "data")
    held = sum(conformal_rank(level, k) for k in calibrated)
    missed = max(sum(k + 1 for k in calibrated) - held, 1e-9)
    found = []
    for name, column in x.items():
        value = column
        if column.dtype.kind in "fM" and column.nunique() > GROUPS:
            value = pandas.qcut(column, GROUPS, labels=False, duplicates="drop")
        cells = pandas.DataFrame({"inside": inside, "cell": column.to_numpy()})
        for _, group in cells.groupby(value.to_numpy()):
            if (rows := len(group)) >= LEAST_GROUP:
                ends, count = group["cell"].agg(["min", "max"]), int(group["inside"].sum())
                one = WorstGroup(
                    p=float(betabinom.cdf(count, rows, held, missed)), column=name, rows=rows,
                    value=" to ".join(dict.fromkeys(map(_plain, ends))), inside=count,
                )  # fmt: skip
                found.append(one)
    worst = min(found, key=lambda one: one.p, default=None)
    low, high = betabinom.interval(0.95, len(inside), held, missed)
    return Coverage(
        level=level, rows=len(inside), inside=int(inside.sum()), luck=(float(low), float(high)),
        worst=worst and replace(worst, p=min(1.0, worst.p * len(found))),
    )  # fmt: skip


def _plain(value: Any) -> str:
    """Return a cell as one reads it: a number with four digits, of a time its day."""
    if isinstance(value, float):
        return f"{float(f'{value:.4g}'):,.15g}"
    return f"{value:%Y-%m-%d}" if hasattr(value, "year") else str(value)

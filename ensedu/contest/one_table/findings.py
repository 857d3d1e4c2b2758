"""What follows from the rows of a comparison, in numbers: verdicts, coverage, and whom to take."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

import ensedu
from ensedu.contest.contestants import REFERENCE
from ensedu.contest.forecasts import COVERAGE
from ensedu.contest.one_table.plans import ComparisonPlan
from ensedu.contest.one_table.tables import About, Understood
from ensedu.contest.one_table.verdicts import Coverage, Verdict, covered, verdicts
from ensedu.contest.statistics import TaskScores
from ensedu.contest.tasks import SPLITS, Task, rows_of_split
from ensedu.uncertainty.conformal import rank_among

__all__ = ["COSTS", "Findings", "Score", "Size", "findings"]

#: The levels of the intervals that are counted.
LEVELS = (0.5, 0.8, COVERAGE)
COSTS = ("parameters", "train_seconds", "predict_seconds")
PACKAGES = ("numpy", "pandas", "scikit-learn", "torch")


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a contestant is worth on a fold, the mean over its trainings, and what one costs."""

    contestant: str
    temperature: bool
    fold: int
    nll: float | int
    #: Of classes in percent, of numbers the RMSE.
    error: float | int
    parameters: float | int
    train_seconds: float | int
    predict_seconds: float | int
    settings: Mapping[str, float | int]


@dataclass(frozen=True, kw_only=True)
class Size:
    """The mean NLL of a contestant that is trained on so many rows."""

    rows: int
    contestant: str
    temperature: bool
    nll: float | int


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All that a report says, as numbers; ``report.json`` has it under these keys."""

    version: int = 2
    seed: int
    finished: bool
    #: How many parts are done, and of how many.
    progress: Mapping[str, int]
    table: About
    plan: ComparisonPlan
    versions: Mapping[str, str]
    #: Who could not be trained, and why.
    failed: Mapping[str, str]
    rows: tuple[Score, ...]
    verdicts: tuple[Verdict, ...] = ()
    best: str = REFERENCE
    coverage: tuple[Coverage, ...] = ()
    learning: tuple[Size, ...] = ()
    #: What `check` of the best finds of the last fold.
    check: Mapping[str, Any] | None = None
    #: The targets of the reader's rows, if asked for.
    held_out: Mapping[str, Any] | None = None

    def said(self, temperature: bool = True) -> list[Verdict]:
        """Return the verdicts with a temperature, or those without, the best first."""
        found = [one for one in self.verdicts if one.temperature is temperature]
        return sorted(found, key=lambda one: one.difference)

    def folds(self, one: Verdict) -> list[float]:
        """Return the differences of which a verdict has the mean."""
        rows = (row for row in self.rows if row.temperature is one.temperature)
        nll = {(row.contestant, row.fold): row.nll for row in rows}
        return [nll[one.contestant, fold] - nll[REFERENCE, fold] for fold in range(self.plan.folds)]

    def means(self, key: str) -> dict[str, float]:
        """Return by contestant the mean over folds of a score with a temperature, or of a cost."""
        each: dict[str, list[float]] = {}
        for row in self.rows:
            if row.temperature:
                each.setdefault(row.contestant, []).append(getattr(row, key))
        return {name: float(np.mean(own)) for name, own in each.items()}


def findings(
    table: Understood, task: Task, drawn: Int[Array, " N"], plan: ComparisonPlan,
    kept: Mapping[tuple[str, int], dict[str, Any]], seed: int, with_rows: bool,
) -> Findings:  # fmt: skip
    """Return what follows from what was kept of each contestant and fold.

    `drawn` are the rows of the table that the task has; the others are those of `compare`.
    """
    folds, n, parts = range(SPLITS), len(task.y), SPLITS * len(plan.labels)
    failed = {k: row["failed"] for (k, _), row in kept.items() if "failed" in row}
    if REFERENCE in failed:
        raise RuntimeError(f"one network cannot be trained on this table: {failed[REFERENCE]}")
    names = [k for k in plan.labels if k not in failed]
    found = Findings(
        seed=seed, finished=len(kept) == parts, progress={"done": len(kept), "of": parts},
        table=replace(table.about, rows_used=n), plan=plan, failed=failed,
        versions={
            "ensedu": ensedu.__version__, "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        rows=tuple(
            Score(
                contestant=k, temperature=bool(scaled), fold=fold, settings=row["settings"],
                **{key: float(np.mean(row[key][scaled])) for key in ("nll", "error")},
                **{key: row[key] for key in COSTS},
            )
            for k in names for fold in folds if (row := kept.get((k, fold))) for scaled in (0, 1)
        ),
    )  # fmt: skip
    if not found.finished:
        return found
    own = {k: [kept[k, fold] for fold in folds] for k in names}
    fit, test = np.mean([row["rows"] for row in own[REFERENCE]], axis=0).round()
    said: tuple[Verdict, ...] = ()
    for scaled in (1, 0):
        scores = TaskScores(
            name=task.name, source=task.name, classes=bool(task.classes), train=int(fit),
            test=int(test),
            values={k: np.array([row["nll"][scaled] for row in own[k]]) for k in names},
        )  # fmt: skip
        said += verdicts(scores, reference=REFERENCE, rows=n, temperature=bool(scaled))
    found = replace(found, verdicts=said)
    best, tested = best_of(found), [rows_of_split(task, fold)["test"] for fold in folds]
    learning = [
        Size(rows=size, contestant=k, temperature=bool(scaled), nll=float(np.mean(nll)))
        for k in names for scaled in (0, 1) if plan.subsample
        for size, nll in (
            (n // 2, [row["half"][scaled] for row in own[k]]),
            (n, [row["nll"][scaled][0] for row in own[k]]),
        )
    ]  # fmt: skip
    return replace(
        found, best=best, coverage=coverage(table, task, tested, own[best]),
        learning=tuple(learning),
        held_out=held_out(table, drawn, tested, own[best]) if with_rows else None,
    )  # fmt: skip


def best_of(found: Findings) -> str:
    """Return whom to take: the best of those that are better than one network.

    If none is, of that and those that are practically equal the one with the fewest parameters.
    """
    for one in found.said():
        if one.word.startswith("better"):
            return one.contestant
    equal = [one.contestant for one in found.said() if one.word == "practically equal"]
    return min([REFERENCE, *equal], key=found.means("parameters").__getitem__)


def coverage(
    table: Understood, task: Task, tested: list[Int[Array, "_"]], own: list[dict[str, Any]]
) -> tuple[Coverage, ...]:
    """Return what intervals or sets of each level hold, of the rows that each fold tested."""
    written = table.reader.as_written(task.x.iloc[np.concatenate(tested)])
    calibrated, found = [row["calibrated"] for row in own], []
    for level in LEVELS:
        inside = [np.array(row["below"]) < rank_among(level, row["calibrated"]) for row in own]
        found.append(covered(written, np.concatenate(inside), level, calibrated))
    return tuple(found)


def held_out(
    table: Understood, drawn: Int[Array, " N"], tested: list[Int[Array, "_"]],
    own: list[dict[str, Any]],
) -> dict[str, Any]:  # fmt: skip
    """Return the tested rows themselves: the targets, and how strange each was."""
    frame = table.frame.iloc[drawn[np.concatenate(tested)]]
    return {
        "row": frame.index.tolist(),
        "target": frame[table.about.target].astype(str).tolist(),
        "fold": np.repeat(range(SPLITS), [*map(len, tested)]).tolist(),
        "below": [value for row in own for value in row["below"]],
        "calibrated": [row["calibrated"] for row in own],
    }  # fmt: skip

"""What follows from the results of a comparison: verdicts, coverage, and whom to take."""

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
from ensedu.contest.one_table.folds import COSTS, FoldResult
from ensedu.contest.one_table.plans import ComparisonPlan
from ensedu.contest.one_table.tables import PreparedTable, TableDescription
from ensedu.contest.one_table.verdicts import Coverage, Verdict, measure_coverage, verdicts
from ensedu.contest.tasks import SPLITS, Task, rows_of_split
from ensedu.uncertainty.conformal import conformal_rank
from ensedu.uncertainty.pooling import TaskScores

__all__ = ["Findings", "LearningPoint", "Score", "analyze"]

#: The levels of the intervals that are counted.
LEVELS = (0.5, 0.8, COVERAGE)
PACKAGES = ("numpy", "pandas", "scikit-learn", "torch")


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a contestant is worth on a fold, the mean over its trainings, and what one costs."""

    contestant: str
    tempered: bool
    fold: int
    nll: float | int
    #: Of classes in percent, of numbers the RMSE.
    error: float | int
    num_stored: float | int
    train_seconds: float | int
    predict_seconds: float | int
    settings: Mapping[str, float | int]


@dataclass(frozen=True, kw_only=True)
class LearningPoint:
    """The mean NLL of a contestant that is trained on so many rows."""

    rows: int
    contestant: str
    tempered: bool
    nll: float | int


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All that a report says, as numbers; ``report.json`` has it under these keys."""

    version: int = 2
    seed: int
    finished: bool
    #: How many parts are done, and of how many.
    progress: Mapping[str, int]
    table: TableDescription
    plan: ComparisonPlan
    versions: Mapping[str, str]
    #: Who could not be trained, and why.
    failed: Mapping[str, str]
    rows: tuple[Score, ...]
    verdicts: tuple[Verdict, ...] = ()
    best: str = REFERENCE
    coverage: tuple[Coverage, ...] = ()
    learning: tuple[LearningPoint, ...] = ()
    #: What `check` of the best finds of the last fold.
    check: Mapping[str, Any] | None = None
    #: The targets of the reader's rows, if asked for.
    held_out: Mapping[str, Any] | None = None

    def ranked(self, tempered: bool = True) -> list[Verdict]:
        """Return the verdicts with a temperature, or those without, the best first."""
        verdicts = [each for each in self.verdicts if each.tempered is tempered]
        return sorted(verdicts, key=lambda each: each.difference)

    def differences(self, verdict: Verdict) -> list[float]:
        """Return the differences of which a verdict has the mean."""
        rows = (row for row in self.rows if row.tempered is verdict.tempered)
        nll = {(row.contestant, row.fold): row.nll for row in rows}
        return [
            nll[verdict.contestant, fold] - nll[REFERENCE, fold] for fold in range(self.plan.folds)
        ]

    def means(self, key: str) -> dict[str, float]:
        """Return by contestant the mean over folds of a score with a temperature, or of a cost."""
        values: dict[str, list[float]] = {}
        for row in self.rows:
            if row.tempered:
                values.setdefault(row.contestant, []).append(getattr(row, key))
        return {name: float(np.mean(each)) for name, each in values.items()}


def analyze(
    table: PreparedTable, task: Task, drawn: Int[Array, " N"], plan: ComparisonPlan,
    results: Mapping[tuple[str, int], FoldResult], seed: int, with_rows: bool,
) -> Findings:  # fmt: skip
    """Return what follows from the results, by contestant and fold, of which some may be missing.

    `drawn` are the rows of the table that the task has; the others are those of `compare`.
    """
    folds, n, parts = range(SPLITS), len(task.y), SPLITS * len(plan.labels)
    failed = {name: result.failed for (name, _), result in results.items() if result.failed}
    if REFERENCE in failed:
        raise RuntimeError(f"one network cannot be trained on this table: {failed[REFERENCE]}")
    names = [name for name in plan.labels if name not in failed]
    findings = Findings(
        seed=seed, finished=len(results) == parts, progress={"done": len(results), "of": parts},
        table=replace(table.description, rows_used=n), plan=plan, failed=failed,
        versions={
            "ensedu": ensedu.__version__, "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        rows=tuple(
            Score(
                contestant=name, tempered=bool(tempered), fold=fold, settings=result.settings,
                nll=float(np.mean(result.nll[tempered])), error=result.error[tempered],
                **{key: getattr(result, key) for key in COSTS},
            )
            for name in names for fold in folds
            if (result := results.get((name, fold))) for tempered in (0, 1)
        ),
    )  # fmt: skip
    if not findings.finished:
        return findings
    by_name = {name: [results[name, fold] for fold in folds] for name in names}
    fit, test = np.mean([result.rows for result in by_name[REFERENCE]], axis=0).round()
    words: tuple[Verdict, ...] = ()
    for tempered in (1, 0):
        scores = TaskScores(
            name=task.name, source=task.name, classes=bool(task.num_classes), train=int(fit),
            test=int(test),
            values={k: np.array([each.nll[tempered] for each in by_name[k]]) for k in names},
        )  # fmt: skip
        words += verdicts(scores, reference=REFERENCE, rows=n, tempered=bool(tempered))
    findings = replace(findings, verdicts=words)
    best, tested = best_of(findings), [rows_of_split(task, fold)["test"] for fold in folds]
    learning = [
        LearningPoint(rows=size, contestant=k, tempered=bool(tempered), nll=float(np.mean(nll)))
        for k in names for tempered in (0, 1) if plan.subsample
        for size, nll in (
            (n // 2, [each.half[tempered] for each in by_name[k]]),
            (n, [each.nll[tempered][0] for each in by_name[k]]),
        )
    ]  # fmt: skip
    return replace(
        findings, best=best, coverage=coverage(table, task, tested, by_name[best]),
        learning=tuple(learning),
        held_out=held_out(table, drawn, tested, by_name[best]) if with_rows else None,
    )  # fmt: skip


def best_of(findings: Findings) -> str:
    """Return whom to take: the best of those that are better than one network.

    If none is, of that and those that are practically equal the one with the fewest parameters.
    """
    ranked = findings.ranked()
    for verdict in ranked:
        if verdict.word.startswith("better"):
            return verdict.contestant
    equal = [each.contestant for each in ranked if each.word == "practically equal"]
    return min([REFERENCE, *equal], key=findings.means("num_stored").__getitem__)


def coverage(
    table: PreparedTable, task: Task, tested: list[Int[Array, "_"]], results: list[FoldResult]
) -> tuple[Coverage, ...]:
    """Return what intervals or sets of each level hold, of the rows that each fold tested."""
    inputs = table.reader.as_written(task.x.iloc[np.concatenate(tested)])
    calibrated, found = [result.calibrated for result in results], []
    for level in LEVELS:
        inside = [np.array(each.below) < conformal_rank(level, each.calibrated) for each in results]
        found.append(measure_coverage(inputs, np.concatenate(inside), level, calibrated))
    return tuple(found)


def held_out(
    table: PreparedTable, drawn: Int[Array, " N"], tested: list[Int[Array, "_"]],
    results: list[FoldResult],
) -> dict[str, Any]:  # fmt: skip
    """Return the tested rows themselves: the targets, and how strange each was."""
    frame = table.frame.iloc[drawn[np.concatenate(tested)]]
    return {
        "row": frame.index.tolist(),
        "target": frame[table.description.target].astype(str).tolist(),
        "fold": np.repeat(range(SPLITS), [*map(len, tested)]).tolist(),
        "below": [value for result in results for value in result.below],
        "calibrated": [result.calibrated for result in results],
    }  # fmt: skip

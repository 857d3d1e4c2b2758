"""What follows from the results of a comparison: words, rows to settle them, coverage, the best."""

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray as Array
from scipy.stats import betabinom

import ensedu
from ensedu.common.checks import optional
from ensedu.contest.contestants import REFERENCE
from ensedu.contest.forecasts import COVERAGE
from ensedu.contest.one_table.folds import COSTS, FoldResult
from ensedu.contest.one_table.plans import ComparisonPlan
from ensedu.contest.one_table.tables import PreparedTable, TableDescription
from ensedu.contest.tasks import SPLITS, Task, rows_of_split
from ensedu.uncertainty import corrected_t, holm
from ensedu.uncertainty.conformal import conformal_rank
from ensedu.uncertainty.meta_analysis import ALPHA, DELTA, TaskScores, verdict

#: The levels of the intervals that are counted.
LEVELS = (0.5, 0.8, COVERAGE)
PACKAGES = ("numpy", "pandas", "scikit-learn", "torch")
#: Fewer rows of one kind are no group; numbers are cut in so many groups of nearly one size.
LEAST_GROUP, GROUPS = 30, 4
#: More rows than this nobody has.
MOST_ROWS = 10**8


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
        own = (each for each in self.verdicts if each.tempered is tempered)
        return sorted(own, key=lambda each: each.difference)

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
    for one in ranked:
        if one.word.startswith("better"):
            return one.contestant
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


def verdicts(
    scores: TaskScores, *, reference: str, rows: int, tempered: bool = True
) -> tuple[Verdict, ...]:
    """Return how each contestant differs from a reference on one table, the best first.

    Differences are paired by splits, each the mean over seeds, and tested by the corrected
    resampled t (Nadeau and Bengio 2003), among all contestants by Holm's steps. An interval has the
    level at which Holm tests its difference, so that it leaves out 0 where that is found. The
    margin is a quarter of `TaskScores.unit`. By the rows that the table has `rows_to_settle` says
    how many would settle it.
    """
    unit = scores.unit or 1.0
    base = scores.values[reference].mean(axis=1)
    others = {k: v.mean(axis=1) - base for k, v in scores.values.items() if k != reference}
    size = {"train": scores.train, "test": scores.test}
    p = [corrected_t(each, **size).p for each in others.values()]
    adjusted = holm(p) if p else np.array([])
    names, clear, found = [*others], (adjusted <= ALPHA).sum(), []
    for step, i in enumerate(np.argsort(p, kind="stable")):
        level = 1 - ALPHA / (len(p) - min(step, clear))
        each = corrected_t(others[names[i]], **size, level=level)
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

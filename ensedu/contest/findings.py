"""What follows from the rows of a comparison: words, coverage, and whom to take."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

import ensedu
from ensedu.contest.contestants import REFERENCE
from ensedu.contest.forecasts import LEVEL
from ensedu.contest.one_table import covered, verdicts
from ensedu.contest.statistics import TaskScores
from ensedu.contest.tables import Understood
from ensedu.contest.tasks import SPLITS, Task, rows_of_split
from ensedu.contest.words import sentences, words_of_decisions
from ensedu.uncertainty.conformal import rank_among

__all__ = ["COSTS", "findings"]

#: The levels of the intervals that are counted.
LEVELS = (0.5, 0.8, LEVEL)
COSTS = ("parameters", "train_seconds", "predict_seconds")
PACKAGES = ("numpy", "pandas", "scikit-learn", "torch")


def findings(
    table: Understood, task: Task, drawn: Any, plan: Mapping[str, Any],
    kept: Mapping[tuple[str, int], dict[str, Any]], seed: int, with_rows: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return what ``report.json`` holds, by what was kept of each contestant and fold.

    `drawn` are the rows of the table that the task has; the others are those of `compare`.
    """
    folds, n, parts = range(SPLITS), len(task.y), SPLITS * len(plan["labels"])
    failed = {k: row["failed"] for (k, _), row in kept.items() if "failed" in row}
    if REFERENCE in failed:
        raise RuntimeError(f"one network cannot be trained on this table: {failed[REFERENCE]}")
    names = [k for k in plan["labels"] if k not in failed]
    rows = [
        {"contestant": k, "temperature": bool(scaled), "fold": fold}
        | {key: float(np.mean(row[key][scaled])) for key in ("nll", "error")}
        | {key: row[key] for key in (*COSTS, "settings")}
        for k in names for fold in folds if (row := kept.get((k, fold))) for scaled in (0, 1)
    ]  # fmt: skip
    data: dict[str, Any] = {
        "version": 1, "seed": seed, "finished": len(kept) == parts,
        "progress": {"done": len(kept), "of": parts}, "answer": "", "best": REFERENCE,
        "table": table.about | {"rows_used": n}, "plan": plan, "rows": rows, "verdicts": [],
        "coverage": [], "check": None, "learning": [],
        "versions": {
            "ensedu": ensedu.__version__, "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }  # fmt: skip
    data["decisions"] = words_of_decisions(data, failed)
    if data["finished"]:
        own = {k: [kept[k, fold] for fold in folds] for k in names}
        fit, test = np.mean([row["rows"] for row in own[REFERENCE]], axis=0).round()
        for scaled in (1, 0):
            scores = TaskScores(
                name=task.name, source=task.name, classes=bool(task.classes), train=int(fit),
                test=int(test),
                values={k: np.array([row["nll"][scaled] for row in own[k]]) for k in names},
            )  # fmt: skip
            data["verdicts"] += [
                {"contestant": k, "temperature": bool(scaled)} | one
                for k, one in verdicts(scores, reference=REFERENCE, rows=n).items()
            ]
        data["best"] = best_of(data)
        data |= coverage(table, task, drawn, own[data["best"]], with_rows)
        data["learning"] = [
            {"rows": size, "contestant": k, "temperature": bool(scaled), "nll": float(np.mean(nll))}
            for k in names for scaled in (0, 1) if plan["subsample"]
            for size, nll in (
                (n // 2, [row["half"][scaled] for row in own[k]]),
                (n, [row["nll"][scaled][0] for row in own[k]]),
            )
        ]  # fmt: skip
    return data | {"answer": " ".join(sentences(data))}


def best_of(data: Mapping[str, Any]) -> str:
    """Return whom to take: the best of those that are better than one network.

    If none is, of that and those that are practically equal the one with the fewest parameters.
    """
    words = [one for one in data["verdicts"] if one["temperature"]]
    if better := [one for one in words if one["word"].startswith("better")]:
        return str(min(better, key=lambda one: one["difference"])["contestant"])
    equal = {REFERENCE, *(one["contestant"] for one in words if one["word"] == "practically equal")}
    sizes = {k: sum(r["parameters"] for r in data["rows"] if r["contestant"] == k) for k in equal}
    return min(sorted(sizes, key=lambda k: k != REFERENCE), key=sizes.__getitem__)


def coverage(
    table: Understood, task: Task, drawn: Any, own: list[dict[str, Any]], with_rows: bool
) -> dict[str, Any]:
    """Return what intervals or sets of each level hold, and if asked for the rows themselves."""
    tested = [rows_of_split(task, fold)["test"] for fold in range(SPLITS)]
    order, calibrated = np.concatenate(tested), [row["calibrated"] for row in own]
    written, below = (
        table.reader.as_written(task.x.iloc[order]),
        [np.array(r["below"]) for r in own],
    )
    found: dict[str, Any] = {"coverage": []}
    for level in LEVELS:
        inside = [b < rank_among(level, k) for b, k in zip(below, calibrated, strict=True)]
        found["coverage"].append(covered(written, np.concatenate(inside), level, calibrated))
    if with_rows:
        frame = table.frame.iloc[drawn[order]]
        found["held_out"] = {
            "row": frame.index.tolist(),
            "target": frame[table.about["target"]].astype(str).tolist(),
            "fold": np.repeat(range(SPLITS), [*map(len, tested)]).tolist(),
            "below": np.concatenate(below).tolist(), "calibrated": calibrated,
        }  # fmt: skip
    return found

"""One contestant on one fold of a reader's table: what is kept of it, and how it is computed."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ensedu.contest.jobs import Contestant, Trained
from ensedu.contest.one_split import Choice, fresh_start, run_split
from ensedu.contest.tasks import SplitData, Task

__all__ = ["COSTS", "FoldResult", "run_fold"]

#: Of a result, what one training costs.
COSTS = ("num_stored", "train_seconds", "predict_seconds")


@dataclass(frozen=True, kw_only=True)
class FoldResult:
    """What a contestant is worth on a fold: a line of `ensedu.contest.one_table.ledger.Ledger`.

    Scores are pairs, without a temperature and with one.
    """

    contestant: str
    fold: int
    #: Why it could not be trained; then nothing follows.
    failed: str = ""
    #: Of each training that is scored.
    nll: tuple[tuple[float | int, ...], ...] = ()
    #: The mean over trainings, of classes in percent, of numbers the RMSE.
    error: tuple[float | int, ...] = ()
    #: The setting and the epochs that were chosen.
    settings: Mapping[str, float | int] = field(default_factory=dict)
    #: `COSTS`, the mean over trainings.
    num_stored: float | int = 0
    train_seconds: float | int = 0.0
    predict_seconds: float | int = 0.0
    #: How many rows it fits and tests on.
    rows: tuple[int, ...] = ()
    #: How many calibration scores are below that of each tested row, and how many there are.
    below: tuple[int, ...] = ()
    calibrated: int = 0
    #: The NLL of a training on half of the rows, with the setting that all of them chose.
    half: tuple[float | int, ...] = ()


def run_fold(
    task: Task, name: str, contestant: Contestant, fold: int, starts: int, curve: bool
) -> FoldResult:
    """Return what a contestant is worth on a fold; with a `curve` also on half of its rows."""

    def coverage_columns(data: SplitData, choice: Choice, trained: Trained) -> dict[str, Any]:
        (x, y), (held, known) = data.test, data.calibrate
        scores = np.sort(trained(held).nonconformity(known))
        below = np.searchsorted(scores, trained(x).nonconformity(y)).tolist()
        found: dict[str, Any] = {"below": tuple(below), "calibrated": len(scores)}
        if curve:
            n = len(data.fit[0])
            rows = np.random.default_rng(fold).permutation(n)[: n // 2]
            half = replace(data, fit=(data.fit[0][rows], data.fit[1][rows]))
            setting = contestant.settings[choice.best_setting]
            again: Any = fresh_start(task, half, name, contestant, fold, 0, setting, choice.length)
            both = again(x), again(x).tempered(again(held), known)
            found["half"] = tuple(each.scores(y, data.unit)["nll"] for each in both)
        return found

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rows to calibrate on, a solver that would go on
            row = run_split(
                task, name, contestant, fold, starts=starts, more_columns=coverage_columns
            )
    except (ValueError, FloatingPointError) as problem:
        return FoldResult(contestant=name, fold=fold, failed=str(problem))
    both, error = (row, row["tempered"]), "error" if task.num_classes else "rmse"
    return FoldResult(
        contestant=name, fold=fold, nll=tuple(tuple(each["nll"]) for each in both),
        error=tuple(float(np.mean(each[error])) for each in both),
        settings=contestant.settings[row["setting"]] | {"epochs": row["epochs"]},
        num_stored=row["num_stored"], rows=tuple(row["rows"]),
        train_seconds=float(np.mean(row["train_seconds"])),
        predict_seconds=float(np.mean(row["predict_seconds"])),
        **{key: row[key] for key in ("below", "calibrated", "half") if key in row},
    )  # fmt: skip

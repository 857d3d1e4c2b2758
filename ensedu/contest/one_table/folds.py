"""One contestant on one fold of a reader's table: computed, and kept in a folder."""

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from ensedu.contest.jobs import Contestant, Trained
from ensedu.contest.one_split import Choice, fresh_start, run_split
from ensedu.contest.one_table.plans import ComparisonPlan
from ensedu.contest.tasks import SplitData, Task

#: Of a result, what one training costs.
COSTS = ("num_stored", "train_seconds", "predict_seconds")
#: The file that has results, of a folder that keeps them.
ROWS_FILE = "rows.jsonl"


@dataclass(frozen=True, kw_only=True)
class FoldResult:
    """What a contestant is worth on a fold: a line of a `Ledger`.

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


def from_dict(kind: Any, data: Any) -> Any:
    """Return a dataclass from what `dataclasses.asdict`, or JSON, made of it."""
    if isinstance(kind, type) and is_dataclass(kind):
        hints, names = get_type_hints(kind), [each.name for each in fields(kind)]
        return kind(**{name: from_dict(hints[name], data[name]) for name in names if name in data})
    if get_origin(kind) is tuple:
        return tuple(from_dict(get_args(kind)[0], each) for each in data)
    if get_origin(kind) is UnionType and data is not None:
        return from_dict(get_args(kind)[0], data)
    return data


class Ledger:
    """A plan and results that are there, a line each of a file, on the disk before the next begins.

    Parameters
    ----------
    folder
        Where; None keeps nothing.
    asked
        Of which comparison; ``ValueError`` for a folder that keeps another one.
    """

    def __init__(self, folder: Path | None, asked: Mapping[str, Any]) -> None:
        self.folder, self.asked = folder, dict(asked)
        self.plan: ComparisonPlan | None = None
        #: By contestant and fold.
        self.results: dict[tuple[str, int], FoldResult] = {}
        if folder is None or not (path := folder / ROWS_FILE).exists():
            return
        whole = path.read_bytes()
        os.truncate(path, whole.rfind(b"\n") + 1)  # a line that was cut off is dropped
        lines = [json.loads(line) for line in whole.split(b"\n")[:-1]]
        if not lines:
            return
        self.plan = from_dict(ComparisonPlan, lines[0].pop("plan"))
        if other := [key for key in asked if lines[0].get(key) != asked[key]]:
            raise ValueError(
                f"output must be another folder: {path} keeps another comparison, of "
                f"{', '.join(other)} that differ"
            )
        results = [from_dict(FoldResult, line) for line in lines[1:]]
        self.results = {(each.contestant, each.fold): each for each in results}

    def begin(self, plan: ComparisonPlan) -> None:
        """Keep a plan."""
        self._append(self.asked | {"plan": asdict(plan)})

    def add(self, result: FoldResult) -> None:
        """Keep a result."""
        self._append(asdict(result))
        self.results[result.contestant, result.fold] = result

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder, whole: who opens it finds the old one or the new one."""
        if self.folder is not None:
            part = self.folder / f"{name}.part"
            part.write_text(text, encoding="utf-8")
            part.replace(self.folder / name)

    def _append(self, line: Mapping[str, Any]) -> None:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / ROWS_FILE).open("ab") as opened:
                opened.write(json.dumps(line).encode() + b"\n")
                opened.flush()
                os.fsync(opened.fileno())

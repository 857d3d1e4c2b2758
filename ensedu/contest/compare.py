"""Which method for a reader's own table: planned, computed, and said in one sentence."""

import hashlib
import html
import json
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

import ensedu
from ensedu.common import checks
from ensedu.common.checks import optional
from ensedu.contest.contestants import REFERENCE
from ensedu.contest.forecasts import LEVEL
from ensedu.contest.jobs import Contestant, Trained
from ensedu.contest.kept import Kept, keep
from ensedu.contest.one_table import verdicts, worst_group
from ensedu.contest.plans import ENTRANTS, as_task, in_processes, plan_of, words_of_plan
from ensedu.contest.report import answer, page
from ensedu.contest.rounds import Choice, fresh_start, run_split
from ensedu.contest.statistics import TaskScores
from ensedu.contest.tables import Understood, understand
from ensedu.contest.tasks import PARTS, SPLITS, Given, Task, given, rows_of_split
from ensedu.data import encoder
from ensedu.uncertainty.conformal import rank_among

__all__ = ["Comparison", "compare"]

#: The levels of the intervals that are counted.
LEVELS = (0.5, 0.8, LEVEL)
SCORES = ("nll", "error", "parameters", "train_seconds", "predict_seconds")
#: Where rows that are done are kept, one a line, behind one that says of which comparison.
KEPT = "rows.jsonl"


def fold_row(
    task: Task, name: str, contestant: Contestant, fold: int, starts: int, curve: bool
) -> dict[str, Any]:
    """Return what a contestant is worth on a fold, and how strange the rows are that it tests on.

    `below` counts for each row the calibration scores below its own. With a `curve`, `half` has
    the NLL of a training on half of the rows, with the setting that all of them chose.
    """

    def also(own: Given, choice: Choice, trained: Trained) -> dict[str, Any]:
        (x, y), (held, known) = own.test, own.calibrate
        test, calibrate = trained(x), trained(held)
        scores = np.sort(calibrate.strangeness(known))
        found: dict[str, Any] = {
            "below": np.searchsorted(scores, test.strangeness(y)).tolist(),
            "calibrated": len(scores),
        }
        if curve:
            rows = np.random.default_rng(fold).permutation(len(own.fit[0]))[: len(own.fit[0]) // 2]
            half = replace(own, fit=(own.fit[0][rows], own.fit[1][rows]))
            again = fresh_start(task, half, name, contestant, fold, 0, choice)
            plain, held_out = again(x), again(held)
            both = plain, plain.sharpened(held_out, known)
            found["half"] = [one.scores(y, own.unit)["nll"] for one in both]
        return found

    case = {"contestant": name, "fold": fold}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rows to calibrate on, a solver that would go on
            row = run_split(task, name, contestant, fold, starts=starts, also=also)
    except (ValueError, FloatingPointError) as error:
        return case | {"failed": str(error)}
    row["settings"] = contestant.tries[row["setting"]] | {"epochs": row["epoch"]}
    for key in ("select_nll", "shifted", "auroc", "conformal"):
        del row[key]
    return case | row


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """What `compare` found; in Jupyter it shows itself.

    Parameters
    ----------
    data
        What ``report.json`` holds, and all that a report says.
    understood, task
        The table as it was read (`ensedu.contest.tables.Understood`), and what contestants got.
    drawn
        Which rows of the table those of the task are.
    contestant
        Whom to take: the best of those that are better than one network; if none is, of that and
        those that are practically equal the one with the fewest parameters.
    row
        What it chose on the last fold.
    """

    data: dict[str, Any]
    understood: Any
    task: Task
    drawn: Int[Array, " N"]
    contestant: Contestant
    row: Mapping[str, Any]

    @property
    def table(self) -> Any:
        """A data frame: of each contestant the mean scores and costs, and its verdict."""
        pandas, data, keys = optional("pandas", "data"), self.data, ["contestant", "temperature"]
        rows = pandas.DataFrame(data["rows"])[[*keys, *SCORES]]
        found = rows.groupby(keys, sort=False).mean().reset_index().sort_values("nll")
        words = pandas.DataFrame(data["verdicts"])[[*keys, "difference", "low", "high", "word"]]
        return found.merge(words, how="left", on=keys)

    @cached_property
    def best(self) -> Kept:
        """The `contestant` as an estimator for new rows: that of the last fold, trained again.

        It is trained on the 55% of the rows on which that fold fits; others, which it was neither
        trained nor tested on, calibrate it.
        """
        fold, name = SPLITS - 1, self.data["best"]
        own, parts = given(self.task, fold), rows_of_split(self.task, fold)
        scores = [[float(i != self.row["setting"])] for i in range(len(self.contestant.tries))]
        choice = Choice(epochs=[self.row["epoch"]], nll=scores)
        trained = fresh_start(self.task, own, name, self.contestant, fold, 0, choice)
        columns = encoder(self.task.rows(parts["fit"]), unknown="ignore")
        frame = self.part("calibrate")
        return keep(
            self.contestant.label, trained, self.understood.reader,
            columns.fit(self.task.rows(parts["fit"])), frame, frame[self.data["table"]["target"]],
            temperature=True, center=own.center, unit=own.unit, seed=self.data["seed"],
        )  # fmt: skip

    def part(self, name: str) -> Any:
        """Return the rows of a part of the last fold, such as ``"test"``, as the table has them."""
        return self.understood.frame.iloc[self.drawn[rows_of_split(self.task, SPLITS - 1)[name]]]

    def report(self, path: str | Path) -> Path:
        """Write a page of one file that says all of it, and return where."""
        path = Path(path)
        path.write_text(page(self.data), encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return f"Comparison({self.data['answer']})"

    def _repr_html_(self) -> str:
        table = self.table.to_html(index=False, float_format="{:.4g}".format)
        return f"<p><strong>{html.escape(self.data['answer'])}</strong></p>{table}"


def compare(
    X: Any, y: Any = None, *, target: str = "y", task: str | None = None, minutes: float | int = 10,
    group: str | None = None, time: str | None = None, seed: int = 0, name: str = "table",
    output: str | Path | None = None, workers: int | None = None, with_rows: bool = False,
    contestants: Mapping[str, Contestant] | None = None, say: Callable[[str], Any] | None = None,
) -> Comparison:  # fmt: skip
    """Compare methods on a table, each row tested once, and say which differ from one network.

    Parameters
    ----------
    X, y
        A pandas ``DataFrame`` that has the target as a column; or inputs (N, m), a frame or an
        array, and the targets (N,).
    target
        The name of the column to predict.
    task
        ``"regression"`` or ``"classification"``; by default words, and up to ten different whole
        numbers, are classes.
    minutes
        How long it may take; the plan is made for that, and said before it starts.
    group, time
        A column whose rows stay together, such as a patient; or that orders them, so that each fold
        is later than what was trained on.
    seed
        Draws splits and trainings; with 0 they are those of `run_split`.
    name
        What the table is called.
    output
        A folder that keeps the plan and each row that is done, so that the same call goes on, and
        gets ``report.html`` and ``report.json``.
    workers
        Processes, of one thread each; by default as many as cores.
    with_rows
        Whether `Comparison.data` has the targets of the rows that were tested on.
    contestants
        By name others than those of the plan, with a ``"single"`` among them, one network.
    say
        Called with the plan as text; None says nothing.

    Raises
    ------
    ImportError
        If pandas is not installed.
    TypeError, ValueError
        For a table on which nothing can be compared, before anything is trained; for a folder that
        keeps another comparison.
    RuntimeError
        If a worker is killed, or the reference cannot be trained.
    OSError
        If a row cannot be written, as on a full disk; those before are kept.
    """
    pandas = optional("pandas", "data")
    checks.natural_int("seed", seed)
    if contestants is not None and REFERENCE not in contestants:
        raise ValueError(f"contestants must have a {REFERENCE!r}, got {[*contestants]}")
    if y is not None:
        X = pandas.DataFrame(X).rename(columns=str).assign(**{target: np.asarray(y)})
    table = understand(X, target, group=group, time=time, task=task, name=name)
    workers = checks.positive_int("workers", workers or optional("joblib", "sklearn").cpu_count())
    folder = None if output is None else Path(output)
    asked = {"ensedu": ensedu.__version__, "seed": seed, "table": fingerprint(table)}
    plan, kept = read_kept(folder, asked)
    if plan is None:
        plan = plan_of(
            table, minutes=minutes, seed=seed, workers=workers, group=group, by_time=time,
            contestants=contestants,
        )  # fmt: skip
        append(folder, asked | {"plan": plan})
    offered = contestants or ENTRANTS
    if absent := [name for name in plan["contestants"] if name not in offered]:
        raise ValueError(
            f"contestants must hold {', '.join(absent)}, too, which {folder} has begun to compare, "
            f"got {', '.join(offered)}; or output must be another folder"
        )
    entrants = {name: offered[name] for name in plan["contestants"]}
    rows = plan["subsample"]["rows"] if plan["subsample"] else len(table.y)
    own, drawn = as_task(table, seed, rows, plan["search"]["steps"])
    if say is not None:
        say(words_of_plan(table, plan))
    missing = [
        (own, k, entrants[k], fold, plan["search"]["starts"], plan["subsample"] is not None)
        for fold in range(SPLITS)
        for k in sorted(entrants, key=plan["seconds"].__getitem__, reverse=True)
        if (k, fold) not in kept
    ]
    bar = optional("tqdm", "sklearn").tqdm(
        total=sum(plan["seconds"].values()), disable=None if say else True,
        bar_format="{percentage:3.0f}%|{bar}| {elapsed}, {remaining} left",
        initial=sum(plan["seconds"][k] / SPLITS for k, _ in kept),
    )  # fmt: skip
    data = found(table, own, drawn, plan, kept, seed, with_rows)
    write(folder, data)
    with bar:
        for row in in_processes(fold_row, missing, workers):
            kept[row["contestant"], row["fold"]] = row
            append(folder, row)
            bar.update(plan["seconds"][row["contestant"]] / SPLITS)
            data = found(table, own, drawn, plan, kept, seed, with_rows)
            write(folder, data)
    comparison = Comparison(
        data=data, understood=table, task=own, drawn=drawn, contestant=entrants[data["best"]],
        row=kept[data["best"], SPLITS - 1],
    )  # fmt: skip
    last = comparison.part("test")
    if own.groups is not None:  # rows of one group are no new ones, each by itself
        rows = own.groups[rows_of_split(own, SPLITS - 1)["test"]]
        last = last.iloc[np.sort(np.unique(rows, return_index=True)[1])]
    data["check"] = comparison.best.check(last, last[target]).data()
    write(folder, data)
    return comparison


def fingerprint(table: Understood) -> str:
    """Return a hash of what contestants get."""
    pandas = optional("pandas", "data")
    found = hashlib.sha256(table.y.tobytes())
    for values in (table.groups, table.time):
        found.update(b"-" if values is None else values.tobytes())
    found.update(pandas.util.hash_pandas_object(table.x, index=False).to_numpy().tobytes())
    return found.hexdigest()[:16]


def read_kept(
    folder: Path | None, asked: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, dict[tuple[str, int], dict[str, Any]]]:
    """Return the plan and the rows that a folder keeps; a line that was cut off is dropped."""
    path = None if folder is None else folder / KEPT
    if path is None or not path.exists():
        return None, {}
    whole = path.read_bytes().rpartition(b"\n")[0]
    lines = [json.loads(line) for line in whole.splitlines()]
    if not lines:
        path.unlink()
        return None, {}
    plan = lines[0].pop("plan")
    if lines[0] != asked:
        raise ValueError(
            f"output must be another folder: {path} keeps another comparison, of "
            f"{', '.join(key for key in asked if lines[0].get(key) != asked[key])} that differ"
        )
    path.write_bytes(whole + b"\n")
    return plan, {(row["contestant"], row["fold"]): row for row in lines[1:]}


def append(folder: Path | None, line: Mapping[str, Any]) -> None:
    """Add a line, which is on the disk when this returns."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / KEPT).open("ab") as opened:
            opened.write(json.dumps(line).encode() + b"\n")
            opened.flush()
            os.fsync(opened.fileno())


def write(folder: Path | None, data: Mapping[str, Any]) -> None:
    """Write both reports, whole: who opens one finds the old one or the new one."""
    if folder is not None:
        text = json.dumps(data, indent=1, ensure_ascii=False)
        for name, content in (("report.json", text), ("report.html", page(data))):
            part = folder / f"{name}.part"
            part.write_text(content, encoding="utf-8")
            part.replace(folder / name)


def found(
    table: Understood, task: Task, drawn: Any, plan: Mapping[str, Any],
    kept: Mapping[tuple[str, int], dict[str, Any]], seed: int, with_rows: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return what ``report.json`` holds."""
    folds, n, planned = range(SPLITS), len(task.y), plan["contestants"]
    failed = {k: row["failed"] for (k, _), row in kept.items() if "failed" in row}
    if REFERENCE in failed:
        raise RuntimeError(f"one network cannot be trained on this table: {failed[REFERENCE]}")
    names = [k for k in planned if k not in failed]
    rows = [
        scores_of(k, fold, scaled, kept[k, fold], table)
        for k in names for fold in folds if (k, fold) in kept for scaled in (False, True)
    ]  # fmt: skip
    data: dict[str, Any] = {
        "version": 1, "ensedu": ensedu.__version__, "seed": seed,
        "finished": len(kept) == SPLITS * len(planned),
        "answer": "", "best": REFERENCE, "table": table.about | {"rows_used": n}, "plan": plan,
        "rows": rows,
        "verdicts": [], "coverage": [], "held_out": None, "check": None, "learning": [],
        "decisions": decisions(table.about["notes"], plan, failed),
    }  # fmt: skip
    if not data["finished"]:
        return data | {"answer": answer(data)}
    fit, test = np.mean([kept[REFERENCE, fold]["rows"] for fold in folds], axis=0).round()
    for scaled in (True, False):
        values = {
            k: np.array([each(kept[k, fold], scaled)["nll"] for fold in folds]) for k in names
        }
        scores = TaskScores(
            name=task.name, source=task.name, classes=bool(table.reader.classes), train=int(fit),
            test=int(test), values=values,
        )  # fmt: skip
        data["verdicts"] += [
            {"contestant": k, "temperature": scaled, "against": REFERENCE} | one
            for k, one in verdicts(scores, reference=REFERENCE, rows=n).items()
        ]
    words = [one for one in data["verdicts"] if one["temperature"]]
    if better := [one for one in words if one["word"].startswith("better")]:
        data["best"] = min(better, key=lambda one: one["difference"])["contestant"]
    else:
        equal = [one["contestant"] for one in words if one["word"] == "practically equal"]
        data["best"] = min(
            [REFERENCE, *equal], key=lambda k: sum(kept[k, fold]["kept"] for fold in folds)
        )
    own = [kept[data["best"], fold] for fold in folds]
    tested = [rows_of_split(task, fold)["test"] for fold in folds]
    order = np.concatenate(tested)
    written = table.reader.as_written(task.x.iloc[order])
    for level in LEVELS:
        inside = np.concatenate([
            np.array(row["below"]) < rank_among(level, row["calibrated"]) for row in own
        ])  # fmt: skip
        data["coverage"].append({
            "level": level, "rows": len(inside), "inside": int(inside.sum()),
            "worst": worst_group(written, inside, level, [row["calibrated"] for row in own]),
        })  # fmt: skip
    data["held_out"] = {
        "row": table.frame.index[drawn[order]].tolist(),
        "below": [below for row in own for below in row["below"]],
        "fold": np.repeat(folds, [len(one) for one in tested]).tolist(),
        "calibrated": [row["calibrated"] for row in own],
        **({"y": task.y[order].ravel().tolist()} if with_rows else {}),
    }  # fmt: skip
    data["learning"] = [
        {"rows": size, "contestant": k, "temperature": scaled, "nll": float(np.mean(nll))}
        for k in names for scaled in (False, True) if plan["subsample"]
        for size, nll in (
            (n // 2, [kept[k, fold]["half"][scaled] for fold in folds]),
            (n, [each(kept[k, fold], scaled)["nll"][0] for fold in folds]),
        )
    ]  # fmt: skip
    return data | {"answer": answer(data)}


def each(row: Mapping[str, Any], scaled: bool) -> dict[str, Any]:
    """Return the scores of a row, with a temperature or without."""
    return row["scaled"] if scaled else row


def scores_of(
    name: str, fold: int, scaled: bool, row: Mapping[str, Any], table: Understood
) -> dict[str, Any]:
    """Return a row as a report has it, means over its trainings."""
    own = each(row, scaled)
    values = own["nll"], own["error" if table.reader.classes else "rmse"], row["kept"]
    values = *values, row["train_seconds"], row["predict_seconds"]
    scores = {key: float(np.mean(value)) for key, value in zip(SCORES, values, strict=True)}
    who = {"contestant": name, "temperature": scaled, "fold": fold}
    return who | scores | {"settings": row["settings"]}


def decisions(notes: list[str], plan: Mapping[str, Any], failed: Mapping[str, str]) -> list[str]:
    """Return what was decided, in sentences."""
    cut = {
        "random": "at random", "group": f"that keep rows of one {plan['group']} together",
        "time": f"in the order of {plan['time']}",
    }[plan["splits"]]  # fmt: skip
    fit, select, calibrate = (f"{PARTS[key]:.0%}" for key in ("fit", "select", "calibrate"))
    found = [
        *notes,
        "How columns are read, and which are logarithms, is decided by all rows; means, medians "
        "and words are those of the rows that are trained on.",
        f"{plan['folds']} folds {cut}; each row is tested on at most once. In each fold {fit} of "
        f"the rows are trained on. Settings and lengths are chosen by the NLL on {select}, and "
        "what is chosen is trained anew.",
        f"On other {calibrate} a temperature is fitted, and intervals are calibrated, by conformal "
        "prediction.",
        "Folds are paired and tested by the corrected resampled t (Nadeau and Bengio 2003), with "
        "Holm's steps over all methods: by design at most about one table in 20 gets a wrong word "
        "with a temperature. Words without one are beside the answer, and err as often once more. "
        "An interval belongs to its test, and leaves out 0 where that finds a difference: several "
        "together hold less often than each.",
        "Practically equal are differences within a quarter of the standard deviation, over folds "
        "and trainings, of differences of two methods, the median of all pairs of them.",
        "The rows that would settle a difference suppose that it stays, and that its interval "
        "narrows with the root of the rows.",
        "The best was chosen by these folds, so its own score flatters it a little.",
        "What is saved is the best of those that are better; where none is, of one network and "
        "those that are practically equal the one with the fewest parameters.",
        f"It is the training of the last fold, on {fit} of the rows (in order of time, "
        "of those before the last fold): trained on all, it may predict a little better, but "
        "nothing would calibrate it.",
    ]
    return found + [f"{plan['labels'][k]} is left out: {why}" for k, why in failed.items()]

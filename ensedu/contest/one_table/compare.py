"""Which method for a reader's own table: planned, computed, and said in one sentence."""

import hashlib
import html
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

import ensedu
from ensedu.common import checks
from ensedu.common.checks import optional
from ensedu.contest.contestants import REFERENCE, STANDARD
from ensedu.contest.jobs import Contestant
from ensedu.contest.one_split import fresh_start
from ensedu.contest.one_table.estimators import TableClassifier, TableEstimator, TableRegressor
from ensedu.contest.one_table.findings import Findings, analyze
from ensedu.contest.one_table.folds import COSTS, FoldResult, Ledger, run_fold
from ensedu.contest.one_table.plans import ComparisonPlan, comparison_plan, make_task, shorten
from ensedu.contest.one_table.processes import in_processes
from ensedu.contest.one_table.report import page
from ensedu.contest.one_table.tables import PreparedTable, prepare_table
from ensedu.contest.one_table.words import describe_plan, describe_table, report_json, sentences
from ensedu.contest.tasks import SPLITS, Task, rows_of_split, split_of
from ensedu.data import encoder


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """What `compare` found; in Jupyter it shows itself."""

    #: All that a report says, as numbers (`ensedu.contest.one_table.findings.Findings`).
    findings: Findings
    #: An estimator for new rows, of the best of those that are better than one network; if none is,
    #: of that and those that are practically equal the one with the fewest parameters. It is
    #: trained on the 55% of the rows on which the last fold fits; others, which it was neither
    #: trained nor tested on, calibrate it.
    best: TableEstimator
    #: The rows of the table that the last fold tests on.
    tested: Any

    @property
    def data(self) -> dict[str, Any]:
        """What ``report.json`` holds."""
        return dict(json.loads(report_json(self.findings)))

    @property
    def table(self) -> Any:
        """The mean scores and costs of each contestant, and its verdict, as a data frame."""
        pandas, keys = optional("pandas", "data"), ["contestant", "tempered"]
        rows = pandas.DataFrame(map(asdict, self.findings.rows))[[*keys, "nll", "error", *COSTS]]
        found = rows.groupby(keys, sort=False).mean().reset_index().sort_values("nll")
        words = pandas.DataFrame(
            map(asdict, self.findings.verdicts),
            columns=[*keys, "difference", "low", "high", "word"],
        )
        return found.merge(words, how="left", on=keys)

    def report(self, path: str | Path) -> Path:
        """Write a page of one file that says all of it, and return where."""
        path = Path(path)
        path.write_text(page(self.findings), encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return f"Comparison({' '.join(sentences(self.findings))})"

    def _repr_html_(self) -> str:
        answer = html.escape(" ".join(sentences(self.findings)))
        table = self.table.to_html(index=False, float_format="{:.4g}".format)
        return f"<p><strong>{answer}</strong></p>{table}"


def compare(
    X: Any, y: Any = None, *, target: str = "y", task: str | None = None, minutes: float | int = 10,
    group: str | None = None, time: str | None = None, positive: bool = False, seed: int = 0,
    name: str = "table", output: str | Path | None = None, workers: int | None = None,
    with_rows: bool = False, contestants: Mapping[str, Contestant] | None = None,
    say: Callable[[str], Any] | None = None,
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
        How long it may take. The plan is made for that by one timed training of each contestant,
        and said before it starts; where even the shortest plan takes longer it says so first. A
        machine that becomes busier takes longer in proportion.
    group, time
        A column whose rows stay together, such as a patient; or that orders them, so that each fold
        is later than what was trained on.
    positive
        Whether to learn the logarithm of a positive target, so that intervals are positive; that of
        one that spans 100 times is learned anyway.
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
        Called with what was done with the table, and with the plan, as text; None says nothing.

    Raises
    ------
    TypeError, ValueError
        For a table on which nothing can be compared, before anything is trained; for a folder that
        keeps another comparison.
    RuntimeError
        If a worker is killed, or the reference cannot be trained.
    OSError
        If a row cannot be written, as on a full disk; those before are kept.
    """
    pandas, speak = optional("pandas", "data"), say or (lambda words: None)
    checks.natural_int("seed", seed)
    checks.real("minutes", minutes, low=0.0)
    if contestants is not None and REFERENCE not in contestants:
        raise ValueError(f"contestants must have a {REFERENCE!r}, got {[*contestants]}")
    if y is not None:
        X = pandas.DataFrame(X).rename(columns=str).assign(**{target: np.asarray(y)})
    table = prepare_table(
        X, target, group=group, time=time, task=task, positive=positive, name=name
    )
    speak(describe_table(table.description))
    workers = checks.positive_int("workers", workers or optional("joblib", "sklearn").cpu_count())
    asked = {"ensedu": ensedu.__version__, "seed": seed, "table": fingerprint(table)}
    ledger = Ledger(None if output is None else Path(output), asked)
    if (plan := ledger.plan) is None:
        speak("Short trainings are timed, to plan.")
        plan = comparison_plan(
            table, minutes=minutes, seed=seed, workers=workers, contestants=contestants
        )
        ledger.begin(plan)
    planned = contestants_of_plan(plan, contestants or STANDARD, output)
    speak(describe_plan(plan))
    rows, done = plan.subsample.rows if plan.subsample else len(table.y), ledger.results
    table_task, drawn = make_task(table, seed, rows)
    # Of results that become more.
    findings_now = partial(analyze, table, table_task, drawn, plan, done, seed, with_rows)
    publish(ledger, findings := findings_now())
    for result in missing_results(table_task, plan, planned, done, workers, say is not None):
        ledger.add(result)
        publish(ledger, findings := findings_now())
    best = best_estimator(findings, table, table_task, drawn, planned[findings.best])
    part = rows_of_split(table_task, SPLITS - 1)["test"]
    new = tested = table.frame.iloc[drawn[part]]
    if table_task.groups is not None:  # others of a group are no new rows, each by itself
        new = tested[~pandas.Series(table_task.groups[part]).duplicated().to_numpy()]
    findings = replace(findings, check=best.check(new, new[target]).data())
    publish(ledger, findings)
    return Comparison(findings=findings, best=best, tested=tested)


def contestants_of_plan(
    plan: ComparisonPlan, offered: Mapping[str, Contestant], output: str | Path | None
) -> dict[str, Contestant]:
    """Return the contestants of a plan, as long as it trains; ``ValueError`` if one is missing."""
    if absent := [name for name in plan.labels if name not in offered]:
        raise ValueError(
            f"contestants must hold {', '.join(absent)}, too, which {output} has begun to compare, "
            f"got {', '.join(offered)}; or output must be another folder"
        )
    return shorten({name: offered[name] for name in plan.labels}, plan.search.part)


def missing_results(
    task: Task, plan: ComparisonPlan, contestants: Mapping[str, Contestant],
    done: Mapping[tuple[str, int], Any], workers: int, shows: bool,
) -> Iterator[FoldResult]:  # fmt: skip
    """Yield `run_fold` of all that is not done, the slowest first, beside a bar of the time."""
    seconds = plan.seconds
    missing = [
        (task, name, contestants[name], fold, plan.search.starts, plan.subsample is not None)
        for fold in range(SPLITS)
        for name in sorted(contestants, key=seconds.__getitem__, reverse=True)
        if (name, fold) not in done
    ]
    with optional("tqdm", "sklearn").tqdm(
        total=sum(seconds.values()), initial=sum(seconds[name] / SPLITS for name, _ in done),
        bar_format="{percentage:3.0f}%|{bar}| {elapsed}, {remaining} left",
        disable=None if shows else True,
    ) as bar:  # fmt: skip
        for result in in_processes(run_fold, missing, workers):
            bar.update(seconds[result.contestant] / SPLITS)
            yield result


def publish(ledger: Ledger, findings: Findings) -> None:
    """Write what was found into the ledger's folder, as data and as a page."""
    ledger.write("report.json", report_json(findings))
    ledger.write("report.html", page(findings))


def best_estimator(
    findings: Findings, table: PreparedTable, task: Task, drawn: Int[Array, " N"],
    contestant: Contestant,
) -> TableEstimator:  # fmt: skip
    """Return the best contestant of the last fold, trained again, as an estimator."""
    fold, name = SPLITS - 1, findings.best
    data, parts = split_of(task, fold), rows_of_split(task, fold)
    fit, calibrate = task.rows(parts["fit"]), table.frame.iloc[drawn[parts["calibrate"]]]
    (setting, *_) = (
        dict(row.settings) for row in findings.rows if (row.contestant, row.fold) == (name, fold)
    )
    epochs = int(setting.pop("epochs"))
    return (TableClassifier if table.reader.classes else TableRegressor)(
        contestant.label,
        fresh_start(task, data, name, contestant, fold, 0, setting, epochs), table.reader,
        encoder(fit, unknown="ignore").fit(fit), calibrate, calibrate[findings.table.target],
        center=data.center, unit=data.unit, seed=findings.seed,
    )  # fmt: skip


def fingerprint(table: PreparedTable) -> str:
    """Return a hash of what contestants get."""
    pandas = optional("pandas", "data")
    found = hashlib.sha256(table.y.tobytes())
    for values in (table.groups, table.time):
        found.update(b"-" if values is None else values.tobytes())
    found.update(pandas.util.hash_pandas_object(table.x, index=False).to_numpy().tobytes())
    return found.hexdigest()[:16]

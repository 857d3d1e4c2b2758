"""Compute a table's rows on several processes, and write it when all are there.

Each row is kept in a file of its own as soon as it is computed, so that a run that was stopped, or
killed, goes on where it was.
"""

import contextlib
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ensedu.common import checks
from workshop import measured
from workshop.running import code_digest, json_files
from workshop.running.experiment import Experiment, case_key
from workshop.running.machine import SETTINGS, machine

CODE = "code"
#: Core-seconds that a table may take: an hour on two cores.
LONGEST = 2 * 3600

Case = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a case: its results or else its error, and the seconds it took."""

    results: dict[str, Any]
    error: str
    seconds: float


def compute_table(
    experiment: Experiment,
    folder: str | Path,
    *,
    kept: str | Path | None = None,
    workers: int | None = None,
    fresh: bool = False,
    older: bool = False,
) -> Path:
    """Compute the rows that are not there yet, write the table, and return its path.

    Parameters
    ----------
    experiment
        The table.
    folder
        Where the table is written into the experiment's file, at once and whole.
    kept
        Where the folder ``NAME.rows`` keeps the rows until then; `folder` by default. Rows of other
        settings, code, versions, or another machine are computed anew.
    workers
        Processes, of one thread each; as many as cores by default. The rows depend neither on
        their number nor on the order in which they are computed.
    fresh
        Whether to drop the rows that are kept.
    older
        Whether to use rows of another version of the code: right where only words, the summary or
        the list of cases have changed.

    Raises
    ------
    RuntimeError
        If a case fails, which the message names, when all others are done; if a worker dies.
    """
    workers = checks.positive_int("workers", (os.cpu_count() or 1) if workers is None else workers)
    name, folder = experiment.name, Path(folder)
    where = machine() | {"threads": 1, "workers": workers}
    date = where.pop("date")
    rows_folder = Path(folder if kept is None else kept) / f"{name}.rows"
    if fresh:
        shutil.rmtree(rows_folder, ignore_errors=True)
    run = _run_of(experiment, where)
    found = _kept_rows(rows_folder, experiment, run, older)
    try:
        _compute_missing_rows(found, rows_folder, experiment, run, workers)
    except KeyboardInterrupt:
        _say(f"{name}: stopped; {_kept_words(found, experiment, rows_folder)}")
        raise
    outcomes = [found[case_key(case)] for case in experiment.cases]
    rows = [
        case | json_files.rounded(outcome.results, experiment.digits)
        for case, outcome in zip(experiment.cases, outcomes, strict=True)
    ]
    seconds = sum(outcome.seconds for outcome in outcomes)
    table = {
        "machine": json_files.rounded(where),
        "date": date,
        "seconds": json_files.rounded(seconds),
        "about": experiment.about,
        "budget": experiment.budget,
        "settings": experiment.settings,
    }
    if experiment.summarize is not None:
        summary = json_files.as_json(experiment.summarize(rows))
        table["summary"] = json_files.rounded(summary, experiment.digits)
    path = folder / experiment.file
    tables = measured.tables_in(path) | {name: table | {"rows": rows}}
    whole = tables[name] if [*tables] == [path.stem] else tables
    json_files.write_json(path, whole, digits=None)
    shutil.rmtree(rows_folder)
    if seconds > LONGEST:
        _say(
            f"warning: {name} took {seconds / 60:.0f} minutes of one core, more than an hour on "
            f"two cores; its budget is: {experiment.budget}"
        )
    return path


def _run_of(experiment: Experiment, where: dict[str, Any]) -> dict[str, Any]:
    """Say what all rows of one table must have in common."""
    return {
        "settings": experiment.settings,
        CODE: code_digest.code_digest(experiment.run),
        "processor": [where["name"], where["capability"]],
        **{name: where[name] for name in ("python", "versions")},
    }


def _file_of(case: Case) -> str:
    return f"{hashlib.sha256(case_key(case).encode()).hexdigest()[:16]}.json"


def _kept_rows(
    folder: Path, experiment: Experiment, run: dict[str, Any], older: bool
) -> dict[str, Outcome]:
    """Return the rows that a run like this one has left, by the keys of their cases."""
    found, others = {}, 0
    for case in experiment.cases:
        path = folder / _file_of(case)
        if path.exists():
            row = json.loads(path.read_text(encoding="utf-8"))
            if row["run"] | ({CODE: run[CODE]} if older else {}) == run:
                found[case_key(case)] = Outcome(**row["outcome"])
            else:
                others += 1
    if others:
        _say(
            f"{experiment.name}: {others} rows of another run are computed anew; rows that differ "
            "in nothing but their code are used with --older"
        )
    return found


def _kept_words(found: dict[str, Outcome], experiment: Experiment, folder: Path) -> str:
    return (
        f"{len(found)} of {len(experiment.cases)} rows are kept in {folder}, and the same command "
        "goes on from there"
    )


def _compute_missing_rows(
    found: dict[str, Outcome], folder: Path, experiment: Experiment, run: dict[str, Any],
    workers: int,
) -> None:  # fmt: skip
    """Add the rows that are missing, and keep each as soon as it is there."""
    cases = experiment.cases
    missing = [case for case in cases if case_key(case) not in found]
    bar = {"desc": experiment.name, "total": len(cases), "initial": len(cases) - len(missing)}
    failed: list[str] = []
    running = contextlib.closing(_outcomes(experiment, missing, workers))
    with tqdm(**bar, unit="row", disable=None) as progress, running as outcomes:
        for case, outcome in outcomes:
            if outcome.error:
                _say(f"{experiment.name}: the case {case} failed\n{outcome.error}")
                failed.append(f"{case}: {outcome.error.splitlines()[-1]}")
            else:
                row = {"case": case, "run": run, "outcome": asdict(outcome)}
                json_files.write_json(folder / _file_of(case), row, digits=None)
                found[case_key(case)] = outcome
                progress.update()
    if failed:
        raise RuntimeError(
            f"{len(failed)} of {len(cases)} cases of {experiment.name} failed, one is {failed[0]}; "
            f"{_kept_words(found, experiment, folder)}"
        )


def _outcomes(
    experiment: Experiment, cases: list[Case], workers: int
) -> Generator[tuple[Case, Outcome], None, None]:
    """Yield the cases and what became of them, in the order in which they are done."""
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with (
        _environment(SETTINGS),
        ProcessPoolExecutor(min(workers, max(1, len(cases))), context, start_worker) as pool,
    ):
        try:
            run, settings = experiment.run, experiment.settings
            futures = {pool.submit(run_case, run, case, settings): case for case in cases}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException as error:
            # What is in work is lost, and nobody waits for it.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise RuntimeError(
                    f"a worker process of {experiment.name} died, for want of memory if it said "
                    "nothing; the rows that were done are kept, and the same command goes on"
                ) from None
            raise


def start_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and end when that one has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A process that was killed cannot end its workers.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run_case(run: Callable[..., Any], case: Case, settings: dict[str, Any]) -> Outcome:
    """Run one case; an error comes back as words, since not all exceptions can travel."""
    began = time.perf_counter()
    try:
        results = json_files.as_json(run(**case, **settings))
        if both := sorted(results.keys() & case.keys()):
            raise ValueError(f"results must have other keys than the case, got {both}")
    except Exception:
        return Outcome({}, traceback.format_exc().rstrip(), time.perf_counter() - began)
    return Outcome(results, "", time.perf_counter() - began)


@contextlib.contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Give these variables to the processes that are started meanwhile."""
    before = dict(os.environ)
    os.environ |= settings
    try:
        yield
    finally:
        for name in settings.keys() - before.keys():
            del os.environ[name]
        os.environ |= before


def _say(words: str) -> None:
    tqdm.write(words, file=sys.stderr)

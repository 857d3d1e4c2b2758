"""Compute a table's rows on several processes, and write it when all are there."""

import contextlib
import multiprocessing
import os
import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ensedu.common import checks
from workshop.running import json_files, sources, worker
from workshop.running.experiment import Experiment, case_key
from workshop.running.kept_rows import KeptRows
from workshop.running.machine import SETTINGS, machine

CODE = "code"
#: Core-seconds that a table may take: an hour on two cores.
LONGEST = 2 * 3600


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
        Where ``NAME.json`` is written, at once and whole.
    kept
        Where ``NAME.jsonl`` keeps the rows until then; `folder` by default.
    workers
        Processes, of one thread each; as many as cores by default. The rows depend neither on
        their number nor on the order in which they are computed.
    fresh
        Whether to drop the rows that are kept.
    older
        Whether to keep rows of another version of the code: right where only words, the summary or
        the list of cases have changed.

    Raises
    ------
    ValueError
        If the rows that are kept come from other settings, code, versions, or another machine.
    RuntimeError
        If a case fails, which the message names, when all others are done; if a worker dies; if
        another process is at it.
    """
    if not isinstance(experiment, Experiment):
        raise TypeError(f"experiment must be an Experiment, got {checks.given(experiment)}")
    workers = checks.positive_int("workers", (os.cpu_count() or 1) if workers is None else workers)
    name, folder = experiment.name, Path(folder)
    where = machine() | {"threads": 1, "workers": workers}
    date = where.pop("date")
    path = Path(folder if kept is None else kept) / f"{name}.jsonl"
    header, free = _header(experiment, where), (CODE,) if older else ()
    with KeptRows(path, header, free=free, fresh=fresh, say=_say) as kept_rows:
        unknown = kept_rows.rows.keys() - {case_key(case) for case in experiment.cases}
        if unknown and not older:
            raise ValueError(
                f"{path} holds the row of a case that {name} does not have, {min(unknown)}; "
                "delete it, or compute it fresh (--fresh)"
            )
        try:
            _compute_missing_rows(kept_rows, experiment, workers)
        except KeyboardInterrupt:
            _say(
                f"{name}: stopped; {len(kept_rows.rows)} of {len(experiment.cases)} rows are kept "
                f"in {path}, and the same command goes on from there"
            )
            raise
        outcomes = [kept_rows.rows[case_key(case)] for case in experiment.cases]
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
            summary = json_files.as_json("summary", experiment.summarize(rows))
            table["summary"] = json_files.rounded(summary, experiment.digits)
        json_files.write_json(folder / f"{name}.json", table | {"rows": rows}, digits=None)
        kept_rows.remove()
    if seconds > LONGEST:
        _say(
            f"warning: {name} took {seconds / 60:.0f} minutes of one core, more than an hour on "
            f"two cores; its budget is: {experiment.budget}"
        )
    return folder / f"{name}.json"


def _header(experiment: Experiment, where: dict[str, Any]) -> dict[str, Any]:
    """Say what all rows of one table must have in common."""
    return {
        "name": experiment.name,
        "settings": experiment.settings,
        CODE: sources.code_digest(experiment.run),
        "processor": [where["name"], where["capability"]],
        **{name: where[name] for name in ("python", "versions")},
    }


def _compute_missing_rows(kept_rows: KeptRows, experiment: Experiment, workers: int) -> None:
    """Add the rows that are missing, each as soon as it is there."""
    cases = experiment.cases
    missing = [case for case in cases if case_key(case) not in kept_rows.rows]
    bar = {"desc": experiment.name, "total": len(cases), "initial": len(cases) - len(missing)}
    failed: list[str] = []
    running = contextlib.closing(_outcomes(experiment, missing, workers))
    with tqdm(**bar, unit="row", disable=None) as progress, running as outcomes:
        for case, outcome in outcomes:
            if outcome.error:
                _say(f"{experiment.name}: the case {case} failed\n{outcome.error}")
                failed.append(f"{case}: {outcome.error.splitlines()[-1]}")
            else:
                kept_rows.append(case, outcome)
                progress.update()
    if failed:
        raise RuntimeError(
            f"{len(failed)} of {len(cases)} cases of {experiment.name} failed, one is {failed[0]}; "
            f"the other rows are kept in {kept_rows.path}, and the same command goes on from there"
        )


def _outcomes(
    experiment: Experiment, cases: list[dict[str, Any]], workers: int
) -> Generator[tuple[dict[str, Any], worker.Outcome], None, None]:
    """Yield the cases and what became of them, in the order in which they are done."""
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with (
        _environment(SETTINGS),
        ProcessPoolExecutor(min(workers, max(1, len(cases))), context, worker.start_worker) as pool,
    ):
        try:
            run, settings = experiment.run, experiment.settings
            futures = {pool.submit(worker.run_case, run, case, settings): case for case in cases}
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


@contextlib.contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Give these variables to the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ |= settings
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _say(words: str) -> None:
    tqdm.write(words, file=sys.stderr)

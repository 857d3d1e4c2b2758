"""What runs in a worker process: one case after another."""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workshop.running.json_files import as_json


@dataclass(frozen=True)
class Outcome:
    """What became of a case: its results or else its error, and the seconds it took."""

    results: dict[str, Any]
    error: str
    seconds: float


def start_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and end when that one has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def run_case(run: Callable[..., Any], case: dict[str, Any], settings: dict[str, Any]) -> Outcome:
    """Run one case; an error comes back as words, since not all exceptions can travel."""
    began = time.perf_counter()
    try:
        results = run(**case, **settings)
        if not isinstance(results, dict) or not results:
            raise TypeError(f"results must be a dict with an entry, got {results!r}")
        results = as_json("results", results)
        both = sorted(results.keys() & case.keys())
        if both:
            raise ValueError(f"results must have other keys than the case, got {both}")
    except Exception:
        return Outcome({}, traceback.format_exc().rstrip(), time.perf_counter() - began)
    return Outcome(results, "", time.perf_counter() - began)


def _end_with_parent() -> None:
    # A process that was killed cannot end its workers.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

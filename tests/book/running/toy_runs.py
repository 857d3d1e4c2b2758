"""What tests of long runs share: the toy's table, runs of it, and what they leave behind."""

import json
import tempfile
import time
from functools import cache
from pathlib import Path

import psutil
import pytest
import toy_experiment as toy

from workshop.running.runner import compute_table

MEASURED = {"machine", "date", "seconds"}


def started_rows(toy_log):
    """Return the rows that were started, in order."""
    return sorted(map(int, toy_log.read_text().split()))


def read_table(path):
    return json.loads(path.read_text(encoding="utf-8"))


def without_times(path):
    """Return a table as it must be in every run."""
    return {name: value for name, value in read_table(path).items() if name not in MEASURED}


def expected():
    """Work the toy's table out, with four digits."""
    rows = [
        {
            "i": i,
            "name": "abcdefghijk"[i],
            "value": float(f"{i / 3:.4g}"),
            "parts": {"squares": [i**2, float(f"{i**2 / 3:.4g}")]},
        }
        for i in range(11)
    ]
    return {
        "about": "value: slope times i",
        "budget": "nothing at all",
        "settings": {"slope": 1 / 3},
        "summary": {"most": 3.333},
        "rows": rows,
    }


def wait_for(condition, seconds=60):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def kept_row_numbers(folder):
    """Return the rows in the file of rows, a torn one left out."""
    path = folder / "toy.jsonl"
    lines = path.read_bytes().split(b"\n")[1:-1] if path.exists() else []
    return [json.loads(line)["case"]["i"] for line in lines]


def workers_of(process):
    """Return the worker processes, and not multiprocessing's own helper."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def run_with_fault(monkeypatch, folder, kind):
    """Run the toy with a fault at row 7; return the message."""
    monkeypatch.setenv("TOY_FAULT", kind)
    with pytest.raises(RuntimeError) as caught:
        compute_table(toy.experiment(), folder, workers=2)
    monkeypatch.delenv("TOY_FAULT")
    return str(caught.value)


def leave_ten_rows(folder):
    """Leave the ten rows of a run in which row 7 failed."""
    path = folder / "toy.jsonl"
    path.write_bytes(ten_rows())
    return path


@cache
def ten_rows():
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("TOY_LOG", f"{folder}/log")
        run_with_fault(patch, Path(folder), "raise")
        return (Path(folder) / "toy.jsonl").read_bytes()

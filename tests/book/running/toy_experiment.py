"""An experiment of eleven rows that takes no time, and notes each row that it starts.

TOY_LOG names the file of notes. What TOY_FAULT says happens at row 7; every row waits TOY_PAUSE
seconds, the first longest.
"""

import os
import time
from pathlib import Path

from workshop.running.experiment import Experiment

ROWS, SLOPE = 11, 1 / 3


def run(i, name, slope):
    """Return numbers that follow from the arguments."""
    with Path(os.environ["TOY_LOG"]).open("a") as log:
        log.write(f"{i}\n")
    time.sleep(float(os.environ.get("TOY_PAUSE", 0)) * (ROWS - i))
    match os.environ.get("TOY_FAULT") if i == 7 else None:
        case "raise":
            raise ZeroDivisionError("seven is too many")
        case "die":
            os._exit(1)
        case "threads":
            return {"value": [os.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "MKL")]}
    return {"value": slope * i, "parts": {"squares": [i**2, slope * i**2]}}


def summarize(rows):
    """Return the largest value."""
    return {"most": max(row["value"] for row in rows)}


def experiment(**changes):
    """Return the experiment, changed."""
    given = {
        "name": "toy",
        "about": "value: slope times i",
        "budget": "nothing at all",
        "cases": [{"i": i, "name": name} for i, name in enumerate("abcdefghijk")],
        "run": run,
        "settings": {"slope": SLOPE},
        "summarize": summarize,
    }
    return Experiment(**given | changes)

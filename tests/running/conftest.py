"""The toy experiment is imported by other processes, too, where `tests` may be another package."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


@pytest.fixture
def toy_log(tmp_path, monkeypatch):
    """The file in which the toy notes each row that it starts."""
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture
def start_toy():
    """A function that starts the toy as a program of two workers, in a group of its own."""
    begun = []

    def one(folder):
        begun.append(start_toy_program(folder))
        return begun[-1]

    yield one
    for process in begun:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def start_toy_program(folder):
    code = (
        # What started us may ignore Ctrl-C, as a shell does of what it runs in the background.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "import sys; from ensedu.running.runner import compute_table; "
        "import toy_experiment as toy; "
        "compute_table(toy.experiment(), sys.argv[1], workers=2)"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        cwd=HERE.parents[1],
        env=os.environ | {"TOY_PAUSE": "0.05", "PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

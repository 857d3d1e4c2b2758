"""Break the code on purpose, one line at a time, and see that a test fails each time.

    python scripts/mutants.py --only torch/whole

Each row of `tests/mutants.py` is applied to a copy of the tracked files, where the row's tests run
as `make test` runs them, one thread and one process. A mutant is killed if a test fails, so that
pytest exits with 1 and not with what says that it could not run, or if the tests hang for longer
than --timeout. At the end all tests that failed run once more, without any mutant, and must pass:
they failed for the mutant, and not for want of something in the copy.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = {"tests/peers": ".venv-others", "tests/tangents": ".venv-tangents"}
TYPED = ["--jaxtyping-packages=ensedu,beartype.beartype", "-m", "not (bad_input or compiled)"]
FAILED = 1  # pytest: tests ran, and some failed
LAST_FAILED = "_build/pytest/v/cache/lastfailed"


def main(arguments: list[str] | None = None) -> int:
    """Run the mutants, print a line for each, and return 1 if one is not killed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="of a row: its file or phrase")
    parser.add_argument("--jobs", type=int, default=1, help="how many copies work at a time")
    parser.add_argument("--timeout", type=int, default=600, help="seconds until a mutant hangs")
    options = parser.parse_args(arguments)
    chosen = [m for m in MUTANTS if re.search(options.only, f"{m.file}: {m.breaks}")]
    lost = [m for m in chosen if (ROOT / m.file).read_text(encoding="utf-8").count(m.old) != 1]
    for mutant in lost:
        print(f"not found exactly once: {mutant.file}: {mutant.old!r}")
    if lost or not chosen:
        return 1
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for i in range(options.jobs):
            copies.put(copy_tracked(Path(folder, str(i))))

        def tried(mutant: Mutant) -> Outcome:
            copy, start = copies.get(), time.monotonic()
            try:
                found = attempt(mutant, copy, options.timeout)
            finally:
                copies.put(copy)
            word, seconds = "killed" if found.killed else "SURVIVED", time.monotonic() - start
            how = found.test or found.how
            print(f"{word:8} {seconds:4.0f} s  {mutant.file}: {mutant.breaks} ({how})", flush=True)
            return found

        with ThreadPoolExecutor(options.jobs) as pool:
            found = list(pool.map(tried, chosen))
        survived = sum(not one.killed for one in found)
        print(f"{len(found) - survived} of {len(found)} killed")
        fair = fail_for_mutants_alone(zip(chosen, found, strict=True), copies.get())
    return int(survived > 0 or not fair)


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: killed or not, how, and which test failed."""

    killed: bool
    how: str
    test: str = ""


def copy_tracked(folder: Path) -> Path:
    """Copy the files that git knows, as they stand here."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in listed.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def attempt(mutant: Mutant, copy: Path, timeout: int) -> Outcome:
    """Run a mutant's tests in this copy up to the first that fails."""
    file, failed = copy / mutant.file, copy / LAST_FAILED
    text = file.read_text(encoding="utf-8")
    failed.unlink(missing_ok=True)
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        code, _ = run_tests(mutant, list(mutant.tests), copy, timeout)
    except subprocess.TimeoutExpired:
        return Outcome(True, f"hung for {timeout} s")
    finally:
        file.write_text(text, encoding="utf-8")
    if code != FAILED:
        return Outcome(False, f"pytest exits with {code}")
    (test,) = json.loads(failed.read_text(encoding="utf-8"))
    return Outcome(True, "a test fails", test)


def fail_for_mutants_alone(pairs: Iterable[tuple[Mutant, Outcome]], copy: Path) -> bool:
    """Say whether all tests that killed mutants pass where nothing is broken."""
    by_command: dict[tuple[str, ...], list[tuple[Mutant, str]]] = {}
    for mutant, outcome in pairs:
        if outcome.test:
            by_command.setdefault(tuple(pytest_command(mutant)), []).append((mutant, outcome.test))
    fair = True
    for own in by_command.values():
        code, output = run_tests(own[0][0], sorted({test for _, test in own}), copy, None)
        if code:
            print(f"without a mutant, too, tests fail:\n{output}")
            fair = False
    return fair


def pytest_command(mutant: Mutant) -> list[str]:
    """Return how the tests of a mutant are called: in which environment, typed or not."""
    (environment,) = {ENVIRONMENTS.get("/".join(name.split("/")[:2])) for name in mutant.tests}
    python = sys.executable if environment is None else str(ROOT / environment / "bin" / "python")
    return [python, "-m", "pytest", "-q", *(TYPED if mutant.typed else [])]


def run_tests(mutant: Mutant, tests: list[str], copy: Path, timeout: int | None) -> tuple[int, str]:
    """Run tests as a mutant's are run, up to the first that fails; return pytest's exit status."""
    # A test without its browser is skipped, and kills nothing.
    given = {key: value for key, value in os.environ.items() if key != "REQUIRE_BROWSER"}
    given |= {"PYTHONPATH": f"{copy}{os.pathsep}{copy / 'book'}", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*pytest_command(mutant), "-x", *tests], cwd=copy, env=given, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # those that it started, too
        process.communicate()
        raise
    return process.returncode, output


if __name__ == "__main__":
    sys.exit(main())

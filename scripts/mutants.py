"""Break the code on purpose, one line at a time, and see that a test fails each time.

    python scripts/mutants.py --only torch/whole

Each row of `tests/mutants.py` is applied to a copy of the tracked files, where the row's tests run
as `make test` runs them, one thread and one process. A mutant is killed if

- a test fails (pytest exits with 1, and not with what says that it could not run), and that same
  test passes once the line is mended, so that it is the mutant that it fails on;
- or the tests hang for longer than --timeout.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = {"tests/peers": ".venv-peers", "tests/tangents": ".venv-tangents"}
TYPED = ["--jaxtyping-packages=ensedu,beartype.beartype", "-m", "not (bad_input or compiled)"]
FAILED = 1  # pytest: tests ran, and some failed
HUNG = 124


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

        def tried(mutant: Mutant) -> bool:
            copy, start = copies.get(), time.monotonic()
            try:
                killed, how = attempt(mutant, copy, options.timeout)
            finally:
                copies.put(copy)
            word, seconds = "killed" if killed else "SURVIVED", time.monotonic() - start
            print(f"{word:8} {seconds:4.0f} s  {mutant.file}: {mutant.breaks} ({how})", flush=True)
            return killed

        with ThreadPoolExecutor(options.jobs) as pool:
            killed = list(pool.map(tried, chosen))
    print(f"{sum(killed)} of {len(killed)} killed")
    return int(not all(killed))


def copy_tracked(folder: Path) -> Path:
    """Copy the files that git knows, as they stand here."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in listed.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def attempt(mutant: Mutant, copy: Path, timeout: int) -> tuple[bool, str]:
    """Say whether a mutant is killed in this copy, and by what."""
    file = copy / mutant.file
    text = file.read_text(encoding="utf-8")
    shutil.rmtree(copy / "_build", ignore_errors=True)  # pytest keeps there what failed
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        code, output = run_tests(mutant, copy, timeout)
    finally:
        file.write_text(text, encoding="utf-8")
    if code == HUNG:
        return True, f"hung for {timeout} s"
    if code != FAILED:
        return False, f"pytest exits with {code}"
    found = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", output, re.MULTILINE)
    test = found[1] if found else "a test"
    mended, _ = run_tests(mutant, copy, timeout, "--last-failed", "--last-failed-no-failures=none")
    return mended == 0, test if mended == 0 else f"without the mutant, too, fails {test}"


def run_tests(mutant: Mutant, copy: Path, timeout: int, *more: str) -> tuple[int, str]:
    """Run a mutant's tests up to the first that fails; return pytest's exit status and output."""
    parts = {ENVIRONMENTS.get("/".join(name.split("/")[:2])) for name in mutant.tests}
    (environment,) = parts
    python = sys.executable if environment is None else str(ROOT / environment / "bin" / "python")
    given = {key: value for key, value in os.environ.items() if key != "REQUIRE_BROWSER"}
    given |= {"PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
    command = [python, "-m", "pytest", "-x", "-q", "-rfE", *mutant.tests, *more]
    process = subprocess.Popen(
        command + (TYPED if mutant.typed else []), cwd=copy, env=given, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # those that it started, too
        process.communicate()
        return HUNG, ""
    return process.returncode, output


if __name__ == "__main__":
    sys.exit(main())

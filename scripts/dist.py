"""Build the wheel and the source archive, and try both in fresh environments elsewhere.

python scripts/dist.py _build/dist
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "requirements/book.txt"
# All that the archives are made of. Built from a copy, the checkout gains no build/ that is stale
# the next time.
SOURCES = ("ensedu", "pyproject.toml")
BESIDE = ("README.md", "LICENSE")

INSTANT = """
import sys, time
start = time.perf_counter()
import ensedu
seconds = time.perf_counter() - start
assert "numpy" not in sys.modules
assert seconds < 1, seconds  # of a busy machine, too; NumPy alone would take as long
"""
# The API pages show docstrings: of these modules the examples need NumPy alone.
DOCSTRINGS = """
import doctest, importlib
for name in (
    "counting.formulas", "counting.real_arrays", "costs", "methods",
    "theory.conjugate", "numpy.training",
):
    found = doctest.testmod(importlib.import_module(f"ensedu.{name}"))
    assert found.attempted and not found.failed, (name, found)
"""
# What each extra promises, in the order in which they are added to one environment.
PROMISES = {
    "torch": """
import torch
from ensedu.torch import mlp
assert mlp([1, 8, 2], "rank1", 3)(torch.zeros(5, 1)).shape == (3, 5, 2)
""",
    "data": """
from ensedu.data import digits
assert digits()[0].shape == (1797, 64)
""",
    "scores": """
import numpy as np
from ensedu.uncertainty import TemperatureScaling
rng = np.random.default_rng(0)
logits = rng.normal(size=(101, 3))
labels = (logits + rng.normal(size=(101, 3))).argmax(-1)
assert TemperatureScaling.fit(logits, labels).temperature > 0
""",
    "sklearn": """
import numpy as np
from ensedu.sklearn import EnsembleRegressor
x = np.linspace(-1, 1, 50)[:, None]
low, high = EnsembleRegressor(epochs=2).fit(x, x[:, 0]).predict_interval(x, level=0.9)
assert (low < high).all()
from ensedu.contest import CONTESTANTS, Task, run_split
task = Task(name="line", label="line", x=x, y=x + np.sin(9 * x), steps=5)
assert len(run_split(task, "single", CONTESTANTS["single"], split=0)["nll"]) == 4
""",
    "test": """
import hypothesis, psutil, pytest, xdist
from jaxtyping import install_import_hook
with install_import_hook("ensedu", "beartype.beartype"):
    import ensedu.numpy
""",
}


class Environment:
    """A new virtual environment, whose programs see nothing of the checkout."""

    def __init__(self, folder):
        self.folder = folder
        self.bin = folder / "bin"
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)

    def run(self, *command, program="python"):
        """Run a program of the environment, in its own folder."""
        return subprocess.run(
            [self.bin / program, *command],
            cwd=self.folder,
            env=self.clean,
            capture_output=True,
            text=True,
        )

    def python(self, *command):
        """Run Python without what the shell adds to its path."""
        return self.run("-I", *command)

    def install(self, *what):
        """Install with the pinned versions."""
        return self.python("-m", "pip", "install", "-q", "-c", str(PINS), *what)


def check(name, done, expected=0, says=""):
    """Print one line, or stop with all that the program said."""
    said = done.stdout + done.stderr
    if done.returncode != expected or says not in said:
        sys.exit(f"FAILED  {name}: status {done.returncode}\n{said}")
    print(f"ok  {name}", flush=True)


def build(kind, sources, target):
    """Build ``"wheel"`` or ``"sdist"``, with the pinned setuptools; return the file."""
    known = set(target.glob("*"))
    command = [sys.executable, "-m", "build", "--quiet", f"--{kind}", "--outdir", target, sources]
    done = subprocess.run(
        command, env=os.environ | {"PIP_CONSTRAINT": str(PINS)}, capture_output=True, text=True
    )
    check(f"{kind} from {sources.name}", done)
    (made,) = set(target.glob("*")) - known
    return made


def packed(wheel):
    """Return the package's files in a wheel, with a checksum each."""
    with zipfile.ZipFile(wheel) as files:
        return {
            info.filename: info.CRC
            for info in files.infolist()
            if info.filename.startswith("ensedu/")
        }


def same(name, found, wanted):
    """Stop unless two sets of names are equal."""
    if found != wanted:
        sys.exit(f"FAILED  {name}: missing {wanted - found}, too many {found - wanted}")
    print(f"ok  {name}: {len(found)} files", flush=True)


def example():
    """Return the first Python example of the page on counting, which needs NumPy alone."""
    text = (ROOT / "book" / "api" / "counting.md").read_text(encoding="utf-8")
    return re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]


def try_base(name, env, wheel, wanted):
    """Check what needs NumPy and jaxtyping alone."""
    check(f"{name}: installs", env.install(str(wheel)))
    listed = env.python("-m", "pip", "list", "--format=freeze").stdout
    packages = {re.split("[ =]", line)[0].replace("-", "_") for line in listed.splitlines()}
    same(
        f"{name}: with NumPy and jaxtyping alone",
        packages - {"pip", "setuptools"},
        {"ensedu", "numpy", "jaxtyping", "wadler_lindig"},
    )
    check(f"{name}: import is instant", env.python("-c", INSTANT))
    where = env.python("-c", "import ensedu; print(ensedu.__path__[0])")
    check(f"{name}: and not of the checkout", where, says=str(env.folder))
    there = Path(where.stdout.strip())
    files = {p.relative_to(there).as_posix() for p in there.rglob("*") if p.is_file()}
    same(f"{name}: all files", {f for f in files if not f.endswith(".pyc")}, wanted)
    check(f"{name}: first example of the page on counting", env.python("-c", example()))
    check(f"{name}: examples of the API pages", env.python("-c", DOCSTRINGS))
    check(f"{name}: python -m ensedu --help", env.python("-m", "ensedu", "--help"), says="count")
    check(f"{name}: ensedu --help", env.run("--help", program="ensedu"), says="count")
    count = env.python("-m", "ensedu", "count", "ensedu.torch.models:lenet5")
    if "Traceback" in count.stderr or not count.returncode:
        sys.exit(f"FAILED  {name}: count without torch\n{count.stdout}{count.stderr}")
    check(f"{name}: count without torch", count, count.returncode, 'pip install "ensedu[torch]"')


def main(arguments=None):
    """Build both, compare them with the checkout, and try them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path, help="the folder of the two archives, made anew")
    target = parser.parse_args(arguments).target.resolve()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    wanted = {
        path.relative_to(ROOT / "ensedu").as_posix()
        for path in (ROOT / "ensedu").rglob("*")
        if path.is_file() and path.suffix != ".pyc" and path.name[0] != "."
    }
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary).resolve()
        copy = work / "checkout"
        copy.mkdir()
        for name in (*SOURCES, *BESIDE):
            one = ROOT / name
            if one.is_dir():
                shutil.copytree(one, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(one, copy)
        wheel, sdist = build("wheel", copy, target), build("sdist", copy, target)

        with tarfile.open(sdist) as archive:
            archive.extractall(work, filter="data")
        (source,) = work.glob("ensedu-*")
        found = {path.name for path in source.iterdir()}
        same("sdist: what stands beside the package", found & set(BESIDE), set(BESIDE))
        (work / "again").mkdir()
        again = build("wheel", source, work / "again")
        if packed(again) != packed(wheel):
            sys.exit("FAILED  the wheel of the sdist differs from the wheel")
        print("ok  the wheel of the sdist holds the same bytes", flush=True)

        try_base("sdist", Environment(work / "of-sdist"), again, wanted)
        env = Environment(work / "of-wheel")
        try_base("wheel", env, wheel, wanted)
        # Both hold the same, so the extras are tried once.
        for extra, code in PROMISES.items():
            check(f"{extra}: installs", env.install(f"ensedu[{extra}] @ {wheel.as_uri()}"))
            check(f"{extra}: does what it promises", env.python("-c", code))
            if extra == "torch":
                count = env.python("-m", "ensedu", "count", "ensedu.torch.models:lenet5")
                check("torch: count of LeNet-5", count)
    print(f"{wheel.name} and {sdist.name} in {target}")


if __name__ == "__main__":
    main()

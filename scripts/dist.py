"""Build the source archive and the wheel that it gives, and try that in a fresh environment.

python scripts/dist.py _build/dist
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "requirements/book.txt"
# All that the archives are made of. Built from a copy, the checkout gains nothing that is stale
# the next time.
SOURCES = ("pyproject.toml", "README.md", "LICENSE")
ALONE = {"ensedu", "numpy", "jaxtyping", "wadler_lindig"}  # what comes without an extra

# What each extra promises, in the order in which they are added to one environment.
PROMISES = {
    "torch": """
import torch
from ensedu.torch import mlp
assert mlp([1, 8, 2], "rank1", 3)(torch.zeros(5, 1)).shape == (3, 5, 2)
from ensedu.command import main
assert main(["count", "ensedu.torch.models:lenet5"]) == 0
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


def check(name, done, expected=0, says=""):
    """Print one line, or stop with all that a program said; return what it said."""
    said = done.stdout + done.stderr
    if done.returncode != expected or says not in said:
        sys.exit(f"FAILED  {name}: status {done.returncode}\n{said}")
    print(f"ok  {name}", flush=True)
    return done.stdout


def run(*command, **options):
    """Run a program and catch what it says; what the shell adds to Python's path is left out."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    env = clean | {"PIP_CONSTRAINT": str(PINS)}
    return subprocess.run(command, env=env, capture_output=True, text=True, **options)


def built(copy, target):
    """Build from a copy of the sources; return the wheel, which is made of the source archive."""
    shutil.copytree(ROOT / "ensedu", copy / "ensedu", ignore=shutil.ignore_patterns("__pycache__"))
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    build = (sys.executable, "-m", "build", "--quiet", "--outdir", target, copy)
    check("source archive, and a wheel of it", run(*build))
    (wheel,) = target.glob("*.whl")
    return wheel


def example():
    """Return the first Python example of the page on counting, which needs NumPy alone."""
    text = (ROOT / "book" / "api" / "counting.md").read_text(encoding="utf-8")
    return re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]


def main(arguments=None):
    """Build both, compare the wheel with the checkout, and try it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path, help="the folder of the two archives, made anew")
    target = parser.parse_args(arguments).target.resolve()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary).resolve()
        (work / "copy").mkdir()
        wheel = built(work / "copy", target)
        subprocess.run([sys.executable, "-m", "venv", work / "env"], check=True)
        programs = work / "env" / "bin"

        def python(*words):
            return run(programs / "python", "-I", *words, cwd=work)

        def install(what):
            return python("-m", "pip", "install", "-q", what)

        check("installs", install(str(wheel)))
        listed = check("lists", python("-m", "pip", "list", "--format=freeze"))
        packages = {re.split("[ =]", line)[0].replace("-", "_") for line in listed.splitlines()}
        if (alone := packages - {"pip", "setuptools"}) != ALONE:
            sys.exit(f"FAILED  packages without an extra: {alone}, accepted is {ALONE}")
        where = "import ensedu; print(ensedu.__path__[0])"
        check("is not of the checkout", python("-c", where), says=str(work))
        check("first example of the page on counting", python("-c", example()))
        check("ensedu --help", run(programs / "ensedu", "--help", cwd=work), says="count")
        count = python("-m", "ensedu", "count", "ensedu.torch.models:lenet5")
        says = 'pip install "ensedu[torch]"'
        check("python -m ensedu without torch", count, expected=2, says=says)
        for extra, code in PROMISES.items():
            check(f"{extra}: installs", install(f"ensedu[{extra}] @ {wheel.as_uri()}"))
            check(f"{extra}: does what it promises", python("-c", code))
    print(*sorted(target.iterdir()), sep="\n")


if __name__ == "__main__":
    main()

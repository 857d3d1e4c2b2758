"""Break the modules that changed in every way that cosmic-ray knows; show what no test notices.

    python scripts/mutants.py [--base COMMIT] [ensedu/priors.py …]

In a copy of the tracked files, one operator or number of a module is another one at a time, and the
tests of its place in the tree run up to the first that fails, then the laws in `tests/test_*.py`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOL = "cosmic-ray==8.7.0"
PACKAGES = {"ensedu": Path("tests"), "book/workshop": Path("tests/book")}
STEPS = (
    "cosmic-ray init ../mutants.toml ../mutants.sqlite --force",
    "cosmic-ray baseline ../mutants.toml",
    "cosmic-ray exec ../mutants.toml ../mutants.sqlite",
    "cr-report ../mutants.sqlite --surviving-only --show-diff",
)


def main(arguments: list[str] | None = None) -> None:
    """Break each module that was asked for, or changed, and print the mutants that survive."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="modules to break (default: all that changed)")
    parser.add_argument("--base", help="changed since which commit (default: origin/main or main)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        for name in filter(lambda name: (ROOT / name).is_file(), git("ls-files")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        for file in options.files or changed(options.base):
            attack(Path(file), copy)


def git(*words: str) -> list[str]:
    """Return the lines that git prints."""
    return subprocess.check_output(["git", *words], cwd=ROOT, text=True).splitlines()


def changed(base: str | None) -> list[str]:
    """List the modules of both packages that differ from where `base` was left."""
    base = base or ("origin/main" if git("branch", "-r", "--list", "origin/main") else "main")
    found = git("diff", "--name-only", "--diff-filter=d", "--merge-base", base, "--", *PACKAGES)
    return [name for name in found if name.endswith(".py")]


def tests_of(file: Path) -> list[str]:
    """Return what tests a module: the file of its name, its folder, and the laws of all."""
    (package,) = [name for name in PACKAGES if file.is_relative_to(name)]
    inside, home = file.relative_to(package), PACKAGES[package]
    above = inside.parents[:-1]
    found = [home / one.parent / f"test_{one.stem}.py" for one in (inside, *above)]
    found += [home / one for one in above[:1]]
    found += [one.relative_to(ROOT) for one in sorted((ROOT / home).glob("test_*.py"))]
    return [str(one) for one in dict.fromkeys(found) if (ROOT / one).exists()]


def attack(file: Path, copy: Path) -> None:
    """Break a module of the copy again and again, and print what survives."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", *tests_of(file)]
    lines = ["[cosmic-ray]", f'module-path = "{file}"', "timeout = 600", "excluded-modules = []"]
    lines += [f'test-command = "{" ".join(command)}"', 'distributor = { name = "local" }']
    (copy.parent / "mutants.toml").write_text("\n".join(lines))
    paths = {"PYTHONPATH": f"{copy}{os.pathsep}{copy / 'book'}", "OMP_NUM_THREADS": "1"}
    uv = [Path(sys.executable).with_name("uv"), "tool", "run", "--from", TOOL]
    for step in STEPS:
        subprocess.run([*uv, *step.split()], cwd=copy, env=os.environ | paths, check=True)


if __name__ == "__main__":
    main()

"""A row's code is all that its function imports, so that a table is of one code; so is a page's."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import ensedu
import workshop
from ensedu.numpy import training
from workshop.running import code_digest

ROOTS = [Path(package.__file__).parents[1] for package in (ensedu, workshop)]


def names_of(files):
    """Return paths that begin with the package: that of ensedu is above that of the workshop."""
    return {str(file.relative_to(max(r for r in ROOTS if r in file.parents))) for file in files}


def test_it_holds_every_module_that_an_import_loads_but_what_packages_pass_on_to_others():
    code = (
        "import sys, ensedu.numpy.training; "
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'ensedu'))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {Path(file) for file in ran.stdout.split()}
    found = code_digest.source_files(training.fit)
    passed_on = code_digest.imported_files(
        "from ensedu import counting, numpy\nprint(counting, numpy)"
    )
    assert loaded <= found | passed_on and len(loaded) > 10
    names = names_of(found)
    assert {"ensedu/numpy/training.py", "ensedu/common/training_settings.py"} <= names
    assert not [name for name in names if name.startswith("workshop")]


@pytest.mark.parametrize(
    "face",
    ["ensedu.counting", "ensedu.data", "ensedu.numpy", "ensedu.theory.ntk", "ensedu.torch",
     "ensedu.uncertainty", "workshop.plot"],
)  # fmt: skip
def test_a_name_that_a_package_passes_on_leads_to_its_module_and_all_that_this_imports(face):
    package, every = importlib.import_module(face), set()
    for name in package.__all__:
        home = getattr(getattr(package, name), "__module__", "")
        if not home.startswith(("ensedu", "workshop")):
            continue  # a number or an object of another package: by its name alone
        expected = code_digest.imported_files(f"import {home}")
        for code in (
            f"import {face} as other\nother.{name}.more",
            f"from {face} import {name} as other",
        ):
            assert expected <= code_digest.imported_files(code), (name, code)
        every |= expected
    whole = code_digest.imported_files(f"import {face} as other\nprint(other, other.no_name)")
    assert every <= whole and every


def test_what_is_not_read_of_a_package_is_left_out():
    def read(code):
        return names_of(code_digest.imported_files(f"from workshop import plot\n{code}"))

    found = read("def draw():\n    return plot.figure_key()")
    assert {
        "workshop/plot/__init__.py",
        "workshop/plot/figure_key.py",
        "workshop/plot/style.py",
    } <= found
    assert not {"workshop/plot/forest.py", "workshop/plot/effect_intervals.py"} & found
    for code in (
        "print(plot.figure_key, getattr(plot, 'png'))",
        "plot.figure_key, plot.forest.x",
        "",
    ):
        assert {"workshop/plot/forest.py"} <= read(code)

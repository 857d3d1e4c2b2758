"""What an extra of the package brings is named where it is missing."""

import os
import subprocess
import sys

import pytest

BLOCK = """
import sys
for name in {missing}:
    sys.modules[name] = None
"""


def run(missing, code, **variables):
    """Run a program for which these packages are not installed."""
    program, env = BLOCK.format(missing=missing) + code, os.environ | variables
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)


@pytest.mark.parametrize(
    "module", ["plot", "plot.style", "book.page", "book.page.explore", "book.page.playground"]
)
def test_without_matplotlib_figures_say_what_to_install(module):
    done = run(["matplotlib", "ipywidgets"], f"import ensedu.{module}")
    assert done.returncode == 1
    words = "ImportError: ensedu.plot needs Matplotlib, which comes with pip install"
    assert done.stderr.splitlines()[-1] == f'{words} ".[book]"'


def test_without_matplotlib_layers_work():
    code = "import ensedu.torch, ensedu.numpy, ensedu.costs, ensedu.book.measured"
    assert run(["matplotlib", "ipywidgets", "sklearn"], code).returncode == 0


def test_without_ipywidgets_a_page_is_drawn_and_sliders_say_what_to_install(tmp_path):
    code = """
from ensedu import plot
from ensedu.book.page.explore import explore
figures = explore(lambda k: plot.network([1, k]), alt="{k}", k=[2])
print(*figures._repr_mimebundle_())
figures.widget()
"""
    done = run(["ipywidgets"], code, ENSEDU_BOOK=str(tmp_path))
    assert done.returncode == 1 and done.stdout.split() == ["text/plain", "text/html"]
    words = "ImportError: sliders need ipywidgets, which comes with pip install"
    assert done.stderr.splitlines()[-1] == f'{words} ".[book]"'

"""A type checker finds nothing in what the README, pages of the API and docstrings show."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap

import ensedu
from tests.book.conftest import ROOT, blocks

#: A paragraph that ends in "::", and the indented lines after it.
LITERAL = re.compile(r"::\n\n((?:(?:    .*)?\n)+)")
# What the code of a module's docstring takes for granted.
GIVEN = """
from typing import Any
import numpy as np
import torch
from numpy.random import Generator
from torch.nn.functional import cross_entropy
from {module} import *
M: int
N: int
steps: int
examples: int
x: Any
y: Any
net: Any
optimizer: Any
batch: Any
"""
TORCH = "from ensedu.torch import mlp\nfrom ensedu.torch.train.checkpoints import resume, save\n"


def modules():
    """Return every module of the package."""
    found = pkgutil.walk_packages(ensedu.__path__, "ensedu.")
    return [importlib.import_module(one.name) for one in found if "__main__" not in one.name]


def documented(module):
    """Yield (name, docstring) of a module and of what it defines."""
    yield module.__name__, inspect.getdoc(module) or ""
    own = [
        one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__
    ]
    parts = [part for one in own if inspect.isclass(one) for part in vars(one).values()]
    for thing in [*own, *parts]:
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield f"{module.__name__}.{thing.__qualname__}", inspect.getdoc(thing) or ""


def examples():
    """Return name to program of every example: of pages, and those after >>> and "::"."""
    programs = {f"README_{i}": block for i, block in enumerate(blocks(ROOT / "README.md"))}
    for page in sorted((ROOT / "book" / "api").glob("*.md")):
        if page.stem != "training":  # it shows Lightning, which is absent here
            programs[f"page_{page.stem}"] = "\n".join(blocks(page))
    for module in modules():
        for name, text in documented(module):
            parts = doctest.DocTestParser().get_examples(text)
            source = "".join(part.source for part in parts)
            if source:
                programs[name] = f"from {module.__name__} import *\n{source}"
        for i, literal in enumerate(LITERAL.findall(inspect.getdoc(module) or "")):
            code = textwrap.dedent(literal)
            if is_program(code):
                more = TORCH if module.__name__.startswith("ensedu.torch") else ""
                given = GIVEN.format(module=module.__name__)
                programs[f"{module.__name__}_{i}"] = given + more + code
    return programs


def is_program(code):
    """Whether a literal block is Python, and no line for a shell."""
    try:
        return any(not isinstance(part, ast.Expr) for part in ast.parse(code).body)
    except SyntaxError:
        return False


#: What a checker that sees the annotations finds, each in its second line.
WRONG = {
    "wrong_argument": "from ensedu.counting import mlp\nmlp('2', 3)\n",
    "wrong_result": "from ensedu import counting\ncounting.mlp([1, 2]).totl\n",
    "wrong_function": "from ensedu import counting\ncounting.rank1(2, 3, 4).totl\n",
}


def test_a_type_checker_sees_the_annotations_and_finds_nothing_in_the_examples(tmp_path):
    programs = examples()
    for shown, least in (("README", 2), ("page", 8), ("", 20)):
        assert len([name for name in programs if name.startswith(shown)]) >= least
    for name, source in (programs | WRONG).items():
        (tmp_path / f"{name.replace('.', '_').replace('-', '_')}.py").write_text(source)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    found = re.findall(r"(\w+)\.py:(\d+): error", done.stdout)
    assert sorted(found) == [(name, "2") for name in sorted(WRONG)], done.stdout + done.stderr

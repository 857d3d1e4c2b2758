"""How many lines of code a chapter has: in its notebook, its figures, and its claims."""

import re
from pathlib import Path

import nbformat

from book._ext.checked import module

ROOT = Path(__file__).parents[1]
FIGURES = re.compile(r"^from workshop\.figures\.?(\w*) import (\w+)", flags=re.MULTILINE)


def cells_of(notebook):
    """Return the source of each code cell before the exercises."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            found.append(cell.source)
        elif re.search(r"^## Exercises", cell.source, flags=re.MULTILINE):
            break
    return found


def lines(source):
    """Return how many lines of code are not empty."""
    return sum(bool(line.strip()) for line in source.splitlines())


def count(page):
    """Return lines of the notebook of a page, its figures and its claims, and its longest cell."""
    cells = cells_of(nbformat.read(ROOT / f"{page}.ipynb", as_version=4))
    figures = {
        ROOT / "book/workshop/figures" / part / f"{name}.py"
        for part, name in FIGURES.findall("\n".join(cells))
    }
    return (
        sum(map(lines, cells)),
        sum(map(lines_of, figures)),
        lines_of(ROOT / module(page)),
        max(map(lines, cells)),
    )


def lines_of(file):
    """Return the lines of a file, 0 if there is none."""
    return lines(file.read_text(encoding="utf-8")) if file.exists() else 0

"""Numbered chapters with claims have short cells, and say what a reader may change."""

import pytest
from nbformat import v4

from scripts.source_lines import cells_of, count, lines
from tests.book.conftest import CHAPTERS, ROOT, read

MOST_LINES, FIRST_LINES, LEAST_CHANGES = 25, 8, 3
CHANGE = "# Change this: "
CLAIMED = [chapter for chapter in CHAPTERS if count(chapter)[2]]


@pytest.mark.parametrize("claimed", CLAIMED)
def test_cells_are_short(claimed):
    first, *others = cells_of(read(claimed))
    assert len(first.splitlines()) <= FIRST_LINES, first
    for cell in others:
        assert len(cell.splitlines()) <= MOST_LINES, cell


@pytest.mark.parametrize("claimed", CLAIMED)
def test_three_cells_say_what_to_change(claimed):
    cells = cells_of(read(claimed))
    asked = [cell for cell in cells if any(line.startswith(CHANGE) for line in cell.splitlines())]
    assert len(asked) >= LEAST_CHANGES, asked


def test_lines_are_those_before_the_exercises():
    cells = [
        v4.new_markdown_cell("# Title"),
        v4.new_code_cell("a = 1\n\n\nb = 2"),
        v4.new_markdown_cell("Words.\n\n## Exercises\n"),
        v4.new_code_cell("c = 3"),
    ]
    (only,) = cells_of(v4.new_notebook(cells=cells))
    assert lines(only) == 2


def test_a_chapter_counts_its_figures_and_claims():
    notebook, figures, claims, longest = count("book/learning/shootout")
    module = (ROOT / "ensedu/book/figures/best.py").read_text(encoding="utf-8")
    assert figures == lines(module)
    assert claims > longest
    assert notebook > longest > 8

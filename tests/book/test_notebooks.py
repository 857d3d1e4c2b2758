"""Each notebook is committed executed, in order, without errors, pictures or hidden numbers."""

import re

import nbformat
import pytest


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook):
    return [(cell, output) for cell in code_cells(notebook) for output in cell.outputs]


def test_toc_entry_exists(page, root):
    assert any((root / f"{page}{suffix}").exists() for suffix in (".ipynb", ".md"))


def test_jupyter_opens_it_with_a_kernel_that_all_have(notebook):
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"


def test_executed_in_order(notebook):
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell.source.strip() for cell in cells)


def test_no_error_and_nothing_on_stderr(notebook):
    for _, output in outputs(notebook):
        assert output.output_type != "error", output.evalue
        assert output.get("name") != "stderr", output.text


def test_only_text_is_committed(notebook):
    for cell, output in outputs(notebook):
        for mime in output.get("data", {}):
            assert not mime.startswith(("image/", "application/")), f"{mime}:\n{cell.source}"


def test_no_output_is_exempt_from_comparison(notebook):
    for cell in code_cells(notebook):
        exempt = {"nbval-ignore-output", "nbval-skip", "skip-execution", "raises-exception"}
        assert not exempt & set(cell.metadata.get("tags", [])), cell.source
        assert "NBVAL_" not in cell.source


# How the text form begins of what becomes a figure of the book.
FIGURES = ("Explorer(", "Live(", "DrawDigit(")


def shown(cell):
    return [output.get("data", {}).get("text/plain", "") for output in cell.outputs]


def test_every_figure_has_four_renderings_a_name_and_a_caption(notebook):
    names = []
    for cell in code_cells(notebook):
        texts = shown(cell)
        assert not [text for text in texts if text.startswith("<Figure")], "explore() shows it"
        figures = sum(text.startswith(FIGURES) for text in texts)
        assert figures <= 1, f"one figure a cell, so that it has its own number:\n{cell.source}"
        if figures:
            assert "caption=" in cell.source, cell.source
            names += re.findall(r'\bname="(fig-[a-z0-9-]+|live)"', cell.source)
    count = sum(text.startswith(FIGURES) for cell in code_cells(notebook) for text in shown(cell))
    assert len(names) == len(set(names)) == count


@pytest.mark.parametrize("tag", ["check", "yours"])
def test_a_cell_that_folds_says_in_its_first_line_what_it_is(notebook, tag):
    for cell in code_cells(notebook):
        tagged = tag in cell.metadata.get("tags", [])
        assert tagged == cell.source.startswith(f"# {tag.replace('check', 'checked').title()}: ")


@pytest.mark.parametrize("word", ["TODO", "FIXME", "XXX", "lorem"])
def test_nothing_is_left_to_do(notebook, word):
    assert not [cell.source for cell in notebook.cells if word in cell.source]

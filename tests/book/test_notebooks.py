"""Each notebook is committed executed, in order, without errors, pictures or hidden numbers."""

import copy
import re

import nbformat
import pytest
from nbformat import v4

from scripts.notebooks import main, strip, write

# How the text form begins of what becomes a figure of the book.
FIGURES = ("Explorer(", "Live(", "DrawDigit(", "XRay(")
EXEMPT = {"nbval-ignore-output", "nbval-skip", "skip-execution", "raises-exception"}


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_is_stripped_and_executed_in_order_without_errors(notebook):
    nbformat.validate(notebook)
    assert notebook == strip(copy.deepcopy(notebook))
    for number, cell in enumerate(code_cells(notebook), 1):
        assert cell.source.strip() and cell.execution_count == number
        for output in cell.outputs:
            assert output.output_type != "error", output.evalue
            assert output.get("name") != "stderr", output.text


def test_no_output_is_exempt_from_comparison(notebook):
    for cell in code_cells(notebook):
        assert not EXEMPT & set(cell.metadata.get("tags", [])), cell.source
        assert "NBVAL_" not in cell.source


def test_every_figure_has_a_cell_a_name_and_a_caption(notebook):
    names, count = [], 0
    for cell in code_cells(notebook):
        texts = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        assert not [text for text in texts if text.startswith("<Figure")], "explore() shows it"
        figures = sum(text.startswith(FIGURES) for text in texts)
        assert figures <= 1, f"one figure a cell, so that it has its own number:\n{cell.source}"
        if figures:
            assert "caption=" in cell.source, cell.source
            names += re.findall(r'\bname="(fig-[a-z0-9-]+|live|playground)"', cell.source)
            count += 1
    assert len(names) == len(set(names)) == count


@pytest.mark.parametrize("tag", ["check", "yours"])
def test_a_cell_that_folds_says_in_its_first_line_what_it_is(notebook, tag):
    for cell in code_cells(notebook):
        tagged = tag in cell.metadata.get("tags", [])
        assert tagged == cell.source.startswith(f"# {tag.replace('check', 'checked').title()}: ")


@pytest.mark.parametrize("word", ["TODO", "FIXME", "XXX", "lorem"])
def test_nothing_is_left_to_do(notebook, word):
    assert not [cell.source for cell in notebook.cells if word in cell.source]


@pytest.fixture
def fresh():
    """A notebook as Jupyter saves it."""
    data = {"text/plain": "<Figure>", "text/html": "<b>1</b>", "image/png": "AAAA"}
    widget = {"text/plain": "VBox()", "application/vnd.jupyter.widget-view+json": {"model_id": "a"}}
    cell = v4.new_code_cell(
        "figure",
        execution_count=1,
        metadata={"execution": {"iopub.execute_input": "2026"}, "tags": ["hide-input"]},
        outputs=[
            v4.new_output("display_data", data, metadata={"image/png": {"width": 5}}),
            v4.new_output("display_data", widget),
            v4.new_output("stream", name="stdout", text="3\n"),
        ],
    )
    metadata = {"widgets": {"state": {}}, "kernelspec": {"name": "mine", "display_name": "Mine"}}
    return v4.new_notebook(cells=[v4.new_markdown_cell("# Title"), cell], metadata=metadata)


def test_strip_keeps_text_and_drops_the_rest(fresh):
    stripped = strip(fresh)
    cell = stripped.cells[1]
    kept = [set(output.get("data", {})) for output in cell.outputs]
    assert kept == [{"text/plain", "text/html"}, {"text/plain"}, set()]
    assert cell.outputs[0].metadata == {} and cell.outputs[2].text == "3\n"
    assert cell.metadata == {"tags": ["hide-input"]} and cell.execution_count == 1
    assert set(stripped.metadata) == {"kernelspec", "language_info"}
    assert stripped.metadata["kernelspec"]["name"] == "python3"
    nbformat.validate(stripped)


def test_check_fails_until_stripped_and_skips_checkpoints(fresh, tmp_path, capsys):
    path = tmp_path / "page.ipynb"
    (tmp_path / ".ipynb_checkpoints").mkdir()
    for file in (path, tmp_path / ".ipynb_checkpoints" / "page.ipynb"):
        file.write_text(write(fresh), encoding="utf-8")
    assert main(["check", str(tmp_path)]) == 1
    assert str(path) in capsys.readouterr().err
    assert main(["strip", str(path)]) == 0
    assert main(["check", str(tmp_path)]) == 0

"""Each notebook is committed executed, in order, without errors, pictures or hidden numbers."""

import pytest


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook):
    return [(cell, output) for cell in code_cells(notebook) for output in cell.outputs]


def test_toc_entry_exists(page, root):
    assert any((root / f"{page}{suffix}").exists() for suffix in (".ipynb", ".md"))


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


def test_figures_have_alt_text_and_caption(notebook):
    for cell, output in outputs(notebook):
        if output.get("data", {}).get("text/plain", "").startswith("<Figure"):
            settings = cell.metadata.get("mystnb", {})
            alt = settings.get("image", {}).get("alt", "")
            caption = settings.get("figure", {}).get("caption", "")
            assert len(alt.split()) >= 8, f"alt text says what is seen:\n{cell.source}"
            assert len(caption.split()) >= 5, f"a caption says what it means:\n{cell.source}"


def test_explorers_have_alt_text(notebook):
    for cell, output in outputs(notebook):
        if output.get("data", {}).get("text/plain", "").startswith("Explorer("):
            assert "alt=" in cell.source, cell.source


def test_a_figure_is_shown_once(notebook):
    for cell in code_cells(notebook):
        texts = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        figures = sum(text.startswith(("<Figure", "Explorer(")) for text in texts)
        assert figures <= 1, f"one figure a cell, so that it has its own alt text:\n{cell.source}"


@pytest.mark.parametrize("word", ["TODO", "FIXME", "XXX", "lorem"])
def test_nothing_is_left_to_do(notebook, word):
    assert not [cell.source for cell in notebook.cells if word in cell.source]

"""The script that strips notebooks."""

import nbformat
import pytest
from nbformat import v4

from scripts.notebooks import find, main, strip, write


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
    assert [set(output.get("data", {})) for output in cell.outputs] == [
        {"text/plain", "text/html"},
        {"text/plain"},
        set(),
    ]
    assert cell.outputs[0].metadata == {}
    assert cell.outputs[2].text == "3\n"
    assert cell.metadata == {"tags": ["hide-input"]}
    assert cell.execution_count == 1
    assert set(stripped.metadata) == {"kernelspec", "language_info"}
    assert stripped.metadata["kernelspec"]["name"] == "python3"
    nbformat.validate(stripped)


def test_strip_twice_is_strip_once(fresh):
    once = write(strip(fresh))
    assert write(strip(nbformat.reads(once, as_version=4))) == once


def test_check_fails_until_stripped(fresh, tmp_path, capsys):
    path = tmp_path / "page.ipynb"
    path.write_text(write(fresh), encoding="utf-8")
    assert main(["check", str(tmp_path)]) == 1
    assert "page.ipynb" in capsys.readouterr().err
    assert main(["strip", str(path)]) == 0
    assert main(["check", str(tmp_path)]) == 0


def test_find_skips_checkpoints(tmp_path):
    (tmp_path / ".ipynb_checkpoints").mkdir()
    for name in ("b.ipynb", "a.ipynb", ".ipynb_checkpoints/a.ipynb"):
        (tmp_path / name).touch()
    assert [path.name for path in find([tmp_path])] == ["a.ipynb", "b.ipynb"]

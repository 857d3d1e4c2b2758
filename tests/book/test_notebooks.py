"""Notebooks are committed executed and without errors, and are executed again when it matters."""

import copy
import re

import nbformat
import pytest
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbformat import v4

from scripts import execute
from scripts.notebooks import main, strip, write
from tests.book.conftest import ROOT
from workshop.running import code_digest

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


def told(cell):
    """What a cell prints, and the text of what it shows."""
    shown = [output.data["text/plain"] for output in cell.outputs if "data" in output]
    return "".join(output.get("text", "") for output in cell.outputs), shown


def test_a_run_of_the_build_printed_what_is_stored(notebook):
    """Those that have none are run by `make test`."""
    cached = get_cache(ROOT / "_build" / ".jupyter_cache")
    _, record = execute.last_run(cached, notebook)
    if record is None:
        pytest.skip("no build has run it with what is there now")
    ran = cached.get_cache_bundle(record.pk).nb
    for stored, cell in zip(code_cells(notebook), code_cells(ran), strict=True):
        assert told(cell) == told(stored), cell.source


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


def test_a_cell_that_folds_says_in_its_first_line_what_it_is(notebook):
    for cell in code_cells(notebook):
        for tag, word in (("check", "# Checked: "), ("yours", "# Yours: ")):
            assert (tag in cell.metadata.get("tags", [])) == cell.source.startswith(word)


def test_nothing_is_left_to_do(notebook):
    assert not re.search("TODO|FIXME|XXX|lorem", "\n".join(cell.source for cell in notebook.cells))


def test_strip_keeps_text_and_drops_the_rest_and_check_fails_until_then(tmp_path, capsys):
    """Of a notebook as Jupyter saves it; checkpoints are skipped."""
    data = {"text/plain": "<Figure>", "text/html": "<b>1</b>", "image/png": "AAAA"}
    widget = {"text/plain": "VBox()", "application/vnd.jupyter.widget-view+json": {"model_id": "a"}}
    cell = v4.new_code_cell(
        "figure", execution_count=1,
        metadata={"execution": {"iopub.execute_input": "2026"}, "tags": ["hide-input"]},
        outputs=[
            v4.new_output("display_data", data, metadata={"image/png": {"width": 5}}),
            v4.new_output("display_data", widget), v4.new_output("stream", text="3\n"),
        ],
    )  # fmt: skip
    metadata = {"widgets": {"state": {}}, "kernelspec": {"name": "mine", "display_name": "Mine"}}
    fresh = v4.new_notebook(cells=[v4.new_markdown_cell("# Title"), cell], metadata=metadata)
    path = tmp_path / "page.ipynb"
    (tmp_path / ".ipynb_checkpoints").mkdir()
    for file in (path, tmp_path / ".ipynb_checkpoints" / "page.ipynb"):
        file.write_text(write(fresh), encoding="utf-8")
    assert main(["check", str(tmp_path)]) == 1 and str(path) in capsys.readouterr().err
    assert main(["strip", str(path)]) == main(["check", str(tmp_path)]) == 0
    stripped = nbformat.read(path, as_version=4)
    cell = stripped.cells[1]
    kept = [set(output.get("data", {})) for output in cell.outputs]
    assert kept == [{"text/plain", "text/html"}, {"text/plain"}, set()]
    assert cell.outputs[0].metadata == {} and cell.outputs[2].text == "3\n"
    assert cell.metadata == {"tags": ["hide-input"]} and cell.execution_count == 1
    assert set(stripped.metadata) == {"kernelspec", "language_info"}
    assert stripped.metadata["kernelspec"]["name"] == "python3"
    nbformat.validate(stripped)


CODE = {
    "one": "from ensedu import near",
    "two": "import numpy as np\nimport ensedu.alone",
    "three": "from workshop.measured import load",
}
FILES = {
    "requirements/book.txt": "numpy==2",
    "_config.yml": "title: A",
    "_toc.yml": "root: one",
    "ensedu/__init__.py": "",
    "ensedu/near.py": "from ensedu import far",
    "ensedu/far.py": "x = 1",
    "ensedu/alone.py": "x = 1",
    "ensedu/drawn.py": "x = 1",
    "book/workshop/__init__.py": "",
    "book/workshop/measured.py": "x = 1",
    "book/workshop/results/table.json": "{}",
    "book/_ext/folding.py": "from ensedu import drawn",
    "book/_css/house.css": "p {}",
}


def write_notebook(root, name, code, prose="# A"):
    cells = [v4.new_markdown_cell(prose), v4.new_code_cell(code)]
    nbformat.write(v4.new_notebook(cells=cells), root / "book" / f"{name}.ipynb")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A book of three notebooks and its package."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    for name, code in CODE.items():
        write_notebook(tmp_path, name, code)
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    packages = {"ensedu": tmp_path / "ensedu", "workshop": tmp_path / "book/workshop"}
    monkeypatch.setattr(code_digest, "PACKAGES", packages)
    return tmp_path


@pytest.fixture
def run(root):
    """Pretend to execute what is stale; return the names of those notebooks."""
    cached = get_cache(root / "_build" / ".jupyter_cache")

    def run():
        found = execute.stale(cached)
        for path, computed_with in found.items():
            data = {"execution_seconds": 1.0, "computed_with": computed_with}
            bundle = CacheBundleIn(nbformat.read(path, as_version=4), str(path), data=data)
            cached.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
        return {path.stem for path in found}

    return run


CHANGES = {
    "ensedu/far.py": {"one"}, "ensedu/alone.py": {"two"}, "ensedu/__init__.py": {"one", "two"},
    "book/workshop/measured.py": {"three"}, "book/workshop/results/table.json": {"three"},
    "requirements/book.txt": {*CODE}, "ensedu/drawn.py": set(), "_config.yml": set(),
}  # fmt: skip


def test_what_computes_with_a_changed_file_is_executed_again(root, run):
    assert run() == {*CODE}
    (root / "ensedu/far.py").write_text("x=1  # one")
    assert run() == set()
    for number, (file, again) in enumerate(CHANGES.items()):
        (root / file).write_text(f"x = {number + 2}")
        assert (run(), run()) == (again, set()), file


def test_new_code_is_executed_and_new_prose_is_not(root, run):
    run()
    write_notebook(root, "one", CODE["one"], "# B")
    assert run() == set()
    write_notebook(root, "two", "import ensedu.alone as other")
    (root / "ensedu/alone.py").write_text("x = 2")
    assert run() == {"two"}
    write_notebook(root, "two", CODE["two"])  # it comes back, and was computed by an older package
    assert run() == {"two"}


@pytest.mark.parametrize("file", [
    "_config.yml", "_toc.yml", "book/_ext/folding.py", "book/_css/house.css",
    "ensedu/drawn.py", "requirements/book.txt", "ensedu/alone.py",
    "book/workshop/results/table.json",
])  # fmt: skip
def test_pages_are_made_again_when_what_makes_them_changed(file, root):
    computes = file in ("ensedu/alone.py", "book/workshop/results/table.json")
    made = [root / "_build" / folder for folder in (".doctrees", "html")]
    made[0].parent.mkdir()
    execute.forget_pages(root / "_build")
    for folder in made:
        folder.mkdir()
    execute.forget_pages(root / "_build")
    assert all(folder.exists() for folder in made)
    (root / file).write_text((root / file).read_text() + "\nx: 3\n")
    execute.forget_pages(root / "_build")
    assert [folder.exists() for folder in made] == [computes] * 2

"""What is executed again, and which pages are made again, when something changed."""

import nbformat
import pytest
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbformat import v4

from scripts import execute
from workshop.running import sources

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
    "book/workshop/results/folder/table.json": "{}",
    "book/_ext/folds.py": "from ensedu import drawn",
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
    monkeypatch.setattr(sources, "PACKAGES", packages)
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


@pytest.mark.parametrize(
    ("file", "text", "again"),
    [
        ("ensedu/far.py", "x = 2", {"one"}),
        ("ensedu/far.py", "x=1  # one", set()),
        ("ensedu/alone.py", "x = 2", {"two"}),
        ("ensedu/__init__.py", "x = 2", {"one", "two"}),
        ("book/workshop/measured.py", "x = 2", {"three"}),
        ("book/workshop/results/table.json", "[]", {"three"}),
        ("book/workshop/results/folder/table.json", "[]", {"three"}),
        ("requirements/book.txt", "numpy==3", {*CODE}),
        ("ensedu/drawn.py", "x = 2", set()),
        ("_config.yml", "title: B", set()),
    ],
)
def test_what_computes_with_a_changed_file_is_executed_again(file, text, again, root, run):
    assert run() == {*CODE}
    (root / file).write_text(text)
    assert run() == again
    assert run() == set()


def test_new_code_is_executed_and_new_prose_is_not(root, run):
    run()
    write_notebook(root, "one", CODE["one"], "# B")
    assert run() == set()
    write_notebook(root, "two", "import ensedu.alone as other")
    (root / "ensedu/alone.py").write_text("x = 2")
    assert run() == {"two"}
    write_notebook(root, "two", CODE["two"])  # it comes back, and was computed by an older package
    assert run() == {"two"}


@pytest.mark.parametrize(
    "file",
    ["_config.yml", "_toc.yml", "book/_ext/folds.py", "book/_css/house.css",
     "requirements/book.txt", "ensedu/drawn.py", "ensedu/alone.py",
     "book/workshop/results/table.json"],
)  # fmt: skip
def test_pages_are_made_again_when_what_makes_them_changed(file, root):
    computes = file in ("ensedu/alone.py", "book/workshop/results/table.json")
    build = root / "_build"
    build.mkdir()
    execute.forget_pages(build)
    for folder in (".doctrees", "html"):
        (build / folder).mkdir()
    execute.forget_pages(build)
    assert (build / "html").exists() and (build / ".doctrees").exists()
    path = root / file
    path.write_text(path.read_text() + "\nx: 3\n")
    execute.forget_pages(build)
    assert (build / "html").exists() == (build / ".doctrees").exists() == computes

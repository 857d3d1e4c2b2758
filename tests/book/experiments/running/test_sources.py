"""A row's code is all that its function imports, so that a table is of one code; so is a page's."""

import importlib
import subprocess
import sys
from pathlib import Path

import ensedu
from ensedu.book.experiments import starts
from ensedu.book.experiments.running import sources

PACKAGE = Path(ensedu.__file__).parent


def test_it_holds_every_module_that_an_import_loads():
    code = (
        "import sys, ensedu.book.experiments.starts; "
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'ensedu'))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {Path(file) for file in ran.stdout.split()}
    found = sources.source_files(starts.run)
    assert loaded <= found and len(loaded) > 10
    names = {str(file.relative_to(PACKAGE)) for file in found}
    assert {"torch/models.py", "book/experiments/starts.py", "methods.py"} <= names
    assert not [name for name in names if name.startswith(("plot", "book/page"))]


def test_it_follows_what_changes(tmp_path, monkeypatch):
    for name, text in (
        ("ensedu/__init__.py", ""),
        ("ensedu/near.py", "from ensedu import far\n"),
        ("ensedu/far.py", "x = 1\n"),
        ("ensedu/other.py", "x = 1\n"),
        ("trial.py", "import ensedu.near\n\n\ndef run():\n    return {}\n"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sources, "PACKAGE", tmp_path / "ensedu")
    spec = importlib.util.spec_from_file_location("trial", tmp_path / "trial.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "trial", module)
    source = (tmp_path / "trial.py").read_text().replace("import ensedu.near", "")
    exec(compile(source, str(tmp_path / "trial.py"), "exec"), vars(module))
    assert {file.name for file in sources.source_files(module.run)} == {
        "__init__.py",
        "near.py",
        "far.py",
        "trial.py",
    }
    digests = [sources.code_digest(module.run)]
    for name, text in (("other", "x = 2\n"), ("far", "x=1  # one\n"), ("far", "x = 2\n")):
        (tmp_path / "ensedu" / f"{name}.py").write_text(text)
        digests.append(sources.code_digest(module.run))
    assert digests[0] == digests[1] == digests[2] != digests[3]

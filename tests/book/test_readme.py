"""What the README and CONTRIBUTING.md show in Python is Python, and what is a program runs."""

import ast
import re
from pathlib import Path

import pytest

from ensedu.book import measured
from scripts.readme import in_readme, speed, whole
from tests.zoo import results

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
GOOD = re.compile(r"^# GOOD.*\n", flags=re.MULTILINE)


def examples(text):
    """Return the blocks of Python; of a bad and a good example in one block the good one."""
    return [GOOD.split(block)[-1] for block in BLOCK.findall(text)]


def programs(name):
    """Return the examples of a file that import what they use; the others are fragments."""
    found = examples((ROOT / name).read_text(encoding="utf-8"))
    return [source for source in found if imports(source)]


def imports(source):
    """Whether an example, which must be Python, has an import outside its functions."""
    return any(isinstance(part, (ast.Import, ast.ImportFrom)) for part in ast.parse(source).body)


@pytest.mark.parametrize(
    ("name", "source"),
    [(name, source) for name in ("README.md", "CONTRIBUTING.md") for source in programs(name)],
)
def test_example_runs(name, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may write
    # Its scores are convex: what it asserts holds after few epochs as after many.
    exec(compile(source.replace("epochs=200", "epochs=20"), name, "exec"), {})


def test_no_example_of_the_readme_is_a_fragment():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert programs("README.md") == examples(text) != []


def test_the_table_of_conversions_is_what_the_zoo_found():
    assert in_readme("zoo") == results.table(measured.load("zoo"))


def test_the_table_of_speed_is_what_was_measured():
    words = in_readme("speed")
    assert words == speed(measured.load("speed-cpu"))
    # By hand, from the file: four members of width 256 with 32 examples.
    assert "| BatchEnsemble | 256 | 32 | 1.20 | 1.12 | 1.54 | – | – |" in words
    assert "| mean-field BNN | 256 | 32 | 6.20 | – | 13.66 | 5.70 | 8.06 |" in words


def test_the_table_of_whole_models_is_what_was_measured():
    found = measured.load("whole-models")
    assert in_readme("whole") == whole(found)
    peaks = {name: one["peak_bytes"] for name, one in found["contestants"].items()}
    # What the README says below it.
    assert peaks["batch_ensemble"] > peaks["deep_ensemble"] > 3 * peaks["one network"]
    assert peaks["batch_ensemble, a part each"] < peaks["4 networks in turn"]


def test_the_reader_of_examples():
    program = "```python\n# BAD\nx\n\n# GOOD: why\nimport os\n```\n"
    fragment = "```console\nls\n```\n\n```python\ny\n```\n"
    assert examples(program + fragment) == ["import os\n", "y\n"]
    assert imports("import os\n")
    assert not imports("y\n")

"""The files of what was measured: few digits, a row a line, and read as they were written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.running import json_files

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
TREES = st.recursive(SCALARS, lambda x: st.lists(x) | st.dictionaries(st.text(), x))


@given(TREES.filter(lambda value: "Infinity" not in json.dumps(value)))
def test_the_layout_changes_no_value(value):
    assert json.loads(json_files.json_text(value)) == value == json_files.as_json("value", value)


def test_a_table_has_a_row_a_line_and_a_contestant_too():
    rows = [{"i": i, "value": 0.5 * i} for i in range(7)]
    lines = json_files.json_text({"rows": rows, "name": "x"}).splitlines()
    assert [json.loads(line.strip(" ,")) for line in lines[2:-2]] == rows
    entry = {"forward": {"seconds": [0.25, 2e-6], "ratio": [1.0, 1.0]}}
    text = json_files.json_text({"cells": [{"m": 5, "contestants": {"a": entry, "b": entry}}]})
    line = json.dumps(entry)
    assert sum(line in one for one in text.splitlines()) == text.count(line) == 2


@pytest.mark.parametrize(
    ("digits", "third", "large"), [(4, 0.3333, 12350.0), (None, 1 / 3, 12345.678)]
)
def test_digits_are_significant_or_all(tmp_path, digits, third, large):
    value = {"a": [1 / 3, (12345.678,)], "b": 12345, "c": "0.33333"}
    json_files.write_json(tmp_path / "new" / "file.json", value, digits=digits)
    expected = {"a": [third, [large]], "b": 12345, "c": "0.33333"}
    assert json.loads((tmp_path / "new" / "file.json").read_text()) == expected


def test_what_is_written_replaces_the_file_at_once(tmp_path):
    (tmp_path / "file.json").write_text("old")
    with pytest.raises(TypeError):
        json_files.write_json(tmp_path / "file.json", {"a": {1, 2}})
    assert (tmp_path / "file.json").read_text() == "old"
    json_files.write_json(tmp_path / "file.json", {"a": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]

"""The files of what was measured: few digits, a row a line, and read as they were written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.running import json_files


def test_a_file_has_four_digits_and_a_contestant_a_line(tmp_path):
    entry = {"forward": {"seconds": [1 / 3, 2e-6 / 3, 12345.678], "ratio": (1.0, 1.0, 1.0)}}
    result = {
        "machine": {"name": "x"},
        "cells": [{"m": 5, "contestants": {"a": entry, "b": entry}}],
    }
    json_files.write_json(tmp_path / "new" / "file.json", result)
    text = (tmp_path / "new" / "file.json").read_text()
    line = '{"forward": {"seconds": [0.3333, 6.667e-07, 12350.0], "ratio": [1.0, 1.0, 1.0]}}'
    assert sum(line in one for one in text.splitlines()) == text.count(line) == 2
    assert json.loads(text)["cells"][0]["contestants"]["b"] == json.loads(line)
    assert json.loads(text)["machine"] == {"name": "x"}


@pytest.mark.parametrize("value", [{}, [], {"a": []}, {"a": {"b": {"c": {"d": [{}, 1]}}}, "e": 2}])
def test_what_is_written_is_read(tmp_path, value):
    json_files.write_json(tmp_path / "file.json", value)
    assert json.loads((tmp_path / "file.json").read_text()) == value


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
TREES = st.recursive(SCALARS, lambda x: st.lists(x) | st.dictionaries(st.text(), x))


@given(TREES.filter(lambda value: "Infinity" not in json.dumps(value)))
def test_the_layout_changes_no_value(value):
    assert json.loads(json_files.json_text(value)) == value == json_files.as_json("value", value)


def test_a_table_has_a_row_a_line():
    rows = [{"i": i, "value": 0.5 * i} for i in range(7)]
    lines = json_files.json_text({"rows": rows, "name": "x"}).splitlines()
    assert [json.loads(line.strip(" ,")) for line in lines[2:-2]] == rows


def test_digits_are_significant():
    value = {"a": [1 / 3, (2e-7 / 3, 12345.678)], "b": 12345, "c": "0.33333"}
    assert json_files.rounded(value) == {
        "a": [0.3333, [6.667e-08, 12350.0]],
        "b": 12345,
        "c": "0.33333",
    }
    assert json_files.rounded(1 / 3, 6) == 0.333333


def test_a_file_may_keep_all_digits(tmp_path):
    json_files.write_json(tmp_path / "file.json", {"a": 1 / 3}, digits=None)
    assert json.loads((tmp_path / "file.json").read_text()) == {"a": 1 / 3}


def test_what_is_written_replaces_the_file_at_once(tmp_path):
    (tmp_path / "file.json").write_text("old")
    with pytest.raises(TypeError):
        json_files.write_json(tmp_path / "file.json", {"a": {1, 2}})
    assert (tmp_path / "file.json").read_text() == "old"
    json_files.write_json(tmp_path / "file.json", {"a": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]

"""What an experiment is made of, its files, and the machine that it says it ran on."""

import json
import re

import pytest
import torch
import toy_experiment as toy
from hypothesis import given
from hypothesis import strategies as st

from ensedu.torch.base import seeded
from workshop.running import experiment, json_files
from workshop.running.machine import machine, one_thread


def local():
    def inside(i, name, slope):
        return {"value": 1.0}

    return inside


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        (
            {"cases": [{"i": 1, "name": "a"}, {"name": "a", "i": 1}]},
            ValueError,
            "cases must differ, got {'name': 'a', 'i': 1} as cases[0] and cases[1]",
        ),
        ({"cases": []}, ValueError, "cases must be a list of dicts, at least one, got none"),
        ({"cases": {"i": 1}}, TypeError, "cases must be a list of dicts, got {'i': 1} (dict)"),
        ({"cases": [3]}, TypeError, "cases[0] must be a dict, got 3 (int)"),
        ({"cases": [{"i": 1}]}, TypeError, "(i, name, slope): missing a required argument: 'name'"),
        ({"cases": [{"i": {3}}]}, TypeError, "cases[0]['i'] must be a string, a number"),
        ({"cases": [{"i": 1e999}]}, ValueError, "cases[0]['i'] must be a finite number, got inf"),
        ({"cases": [{3: 1}]}, TypeError, "cases[0] must have strings as keys, got 3 (int)"),
        ({"settings": {"slope": 1, "i": 2}}, ValueError, "other keys than settings, got ['i']"),
        ({"settings": {"slope": 1, "tilt": 2}}, TypeError, "run(i, name, slope): got an unexpec"),
        ({"settings": [1]}, TypeError, "settings must be a dict, got [1] (list)"),
        ({"run": local()}, TypeError, "run must be a function of a module, so that another"),
        ({"run": 3}, TypeError, "run must be a function of a module"),
        ({"summarize": 3}, TypeError, "summarize must be a function or None, got 3 (int)"),
        ({"digits": 0}, ValueError, "digits must be a positive integer, got 0"),
        ({"name": "a/b/c"}, ValueError, "name must be lower-case letters, digits, _ and hyphens"),
        ({"name": 3}, TypeError, "name must be a string, got 3 (int)"),
        ({"budget": " "}, ValueError, "budget must have words, got ' '"),
    ],
)
def test_what_is_no_experiment_is_refused(changes, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        toy.experiment(**changes)


def test_a_key_tells_cases_apart():
    assert experiment.case_key({"a": 1, "b": [2]}) == experiment.case_key({"b": [2], "a": 1})
    kinds = [{"a": one} for one in (1, 1.0, True, "1", None, [1], {"a": 1})]
    assert len({experiment.case_key(case) for case in kinds}) == len(kinds)


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


def test_the_machine_is_described():
    found = machine()
    assert found["device"] == "cpu" and found["name"]
    assert torch.__version__.startswith(found["versions"]["torch"].split("+")[0])
    assert found["threads"] == torch.get_num_threads()


def test_torch_has_the_threads_that_it_had(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    numbers = []
    monkeypatch.setattr(torch, "set_num_threads", numbers.append)
    with pytest.raises(ZeroDivisionError), one_thread():
        assert numbers == [1]
        raise ZeroDivisionError
    assert numbers == [1, 3]


def test_draws_follow_from_the_seed_and_the_generator_is_as_before_after_an_error_too():
    torch.manual_seed(5)
    undisturbed = torch.rand(3)
    torch.manual_seed(5)
    drawn = []
    for seed in (7, 7, 8):
        with pytest.raises(ZeroDivisionError), seeded(seed):
            drawn.append(torch.rand(3))
            raise ZeroDivisionError
    assert torch.equal(torch.rand(3), undisturbed)
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])

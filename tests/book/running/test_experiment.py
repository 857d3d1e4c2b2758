"""What an experiment is made of, and what is none."""

import re

import pytest
import toy_experiment as toy

from workshop.running import experiment


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

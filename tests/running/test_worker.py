"""A worker refuses results that JSON cannot hold."""

import re

import pytest
import toy_experiment as toy

from ensedu.running.runner import compute_table

pytestmark = pytest.mark.usefixtures("toy_log")


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("nothing", "TypeError: results must be a dict with an entry, got {}"),
        ("number", "TypeError: results must be a dict with an entry, got 3.0"),
        ("nan", "ValueError: results['value'][1] must be a finite number, got nan"),
        (
            "array",
            "TypeError: results['value'] must be a string, a number, a bool, None, or a list",
        ),
        ("integer_key", "TypeError: results['value'] must have strings as keys, got 1 (int)"),
        ("taken", "ValueError: results must have other keys than the case, got ['name']"),
    ],
)
def test_a_result_that_json_cannot_hold_is_refused(tmp_path, function, words):
    function = getattr(toy, function)
    one = toy.experiment(run=function, cases=[{"i": 5, "name": "f"}], summarize=None)
    with pytest.raises(RuntimeError, match=re.escape("one is {'i': 5, 'name': 'f'}: " + words)):
        compute_table(one, tmp_path)

"""The tables in the package are those that their experiments would write."""

import datetime
import json

import pytest

from ensedu.book import measured
from ensedu.book.experiments import EXPERIMENTS
from ensedu.running import json_files
from ensedu.running.runner import LONGEST


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_table_is_that_of_its_experiment(name):
    one, table = EXPERIMENTS[name], measured.load(name)
    for key in ("about", "budget", "settings"):
        assert table[key] == getattr(one, key), f"{key}: make results NAME={name}"
    pairs = zip(table["rows"], one.cases, strict=True)
    assert [{key: row.get(key) for key in case} for row, case in pairs] == list(one.cases)
    assert len({frozenset(row) for row in table["rows"]}) == 1  # each has all results
    if one.summarize is not None:
        summary = json.loads(json.dumps(one.summarize(table["rows"])))
        assert table["summary"] == json_files.rounded(summary, one.digits)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_table_says_what_it_cost(name):
    table = measured.load(name)
    assert 0 < table["seconds"] <= LONGEST
    assert str(datetime.date.fromisoformat(table["date"])) == table["date"]
    assert table["machine"]["threads"] == 1
    assert {"torch", "numpy"} <= table["machine"]["versions"].keys()

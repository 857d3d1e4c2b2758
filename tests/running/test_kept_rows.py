"""Rows of an unfinished table: what a kill leaves is read, what no run has written is refused."""

import json
import re

import pytest
import toy_experiment as toy

from ensedu.running.runner import compute_table
from tests.running.toy_runs import (
    expected,
    kept_row_numbers,
    leave_ten_rows,
    read_table,
    run_with_fault,
    started_rows,
    without_times,
)

pytestmark = pytest.mark.usefixtures("toy_log")


def test_rows_that_follow_a_torn_one_are_read_by_the_next_run(tmp_path, monkeypatch, toy_log):
    path = leave_ten_rows(tmp_path)
    path.write_text(path.read_text()[:-20])
    assert len(kept_row_numbers(tmp_path)) == 9
    run_with_fault(monkeypatch, tmp_path, "raise")
    assert len(kept_row_numbers(tmp_path)) == 10
    toy_log.unlink()
    assert without_times(compute_table(toy.experiment(), tmp_path)) == expected()
    assert started_rows(toy_log) == [7]


def test_a_torn_header_is_begun_again(tmp_path):
    (tmp_path / "toy.jsonl").write_text('{"name": "to')
    assert without_times(compute_table(toy.experiment(), tmp_path)) == expected()


@pytest.mark.bad_input
def test_rows_of_another_run_are_refused(tmp_path, toy_log):
    path = leave_ten_rows(tmp_path)
    other = toy.experiment(settings={"slope": 2.0})
    words = re.escape(
        f"{path} holds rows of another run: settings was {{'slope': {1 / 3}}}, is "
        "{'slope': 2.0}; delete it, or compute it fresh (--fresh), or keep older rows "
        "(--older) if only code differs that gives the same rows"
    )
    with pytest.raises(ValueError, match=f"^{words}$"):
        compute_table(other, tmp_path)
    header, rest = path.read_text().split("\n", 1)
    for name in ("name", "code", "processor", "versions", "python"):
        path.write_text(json.dumps(json.loads(header) | {name: "older"}) + "\n" + rest)
        with pytest.raises(ValueError, match=f"another run: {name} was 'older', is "):
            compute_table(toy.experiment(), tmp_path, older=name != "code")
    assert len(kept_row_numbers(tmp_path)) == 10
    table = read_table(compute_table(other, tmp_path, fresh=True))
    assert started_rows(toy_log) == list(range(11))
    assert [row["value"] for row in table["rows"]] == [2.0 * i for i in range(11)]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"case": {"i": 1', 'is damaged: line 12 is \'{"case": {"i": 1\', which no run'),
        ("3", "is damaged: line 12 is '3', which no run has written; delete it"),
        ('{"case": {"i": 1}}', "is damaged: line 12 is "),
        (
            '{"case": {"i": 12}, "results": {}, "seconds": 1}',
            'holds the row of a case that toy does not have, {"i": 12}; delete it',
        ),
        ("twice", "is damaged: line 12 is "),
    ],
)
def test_what_no_run_has_written_is_refused(tmp_path, line, words):
    path = leave_ten_rows(tmp_path)
    if line == "twice":
        line = path.read_text().splitlines()[1]
    with path.open("a") as opened:
        opened.write(line + "\n")
    with pytest.raises(ValueError, match=re.escape(words)):
        compute_table(toy.experiment(), tmp_path)


@pytest.mark.bad_input
def test_one_table_is_computed_by_one_run_at_a_time(tmp_path):
    def summarize(rows):  # while this run still holds the file
        words = r"toy\.jsonl is in use by another run; let it finish"
        with pytest.raises(RuntimeError, match=words):
            compute_table(toy.experiment(), tmp_path, fresh=True)
        assert len(kept_row_numbers(tmp_path)) == 11
        return toy.summarize(rows)

    path = compute_table(toy.experiment(summarize=summarize), tmp_path)
    assert without_times(path) == expected()

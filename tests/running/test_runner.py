"""Tables of long runs: rows are computed once, kept by a kill, and the same however they come."""

import os
import re
import shutil
import signal

import pytest
import toy_experiment as toy

from ensedu.running import machine, runner
from ensedu.running.runner import compute_table
from tests.running.toy_runs import (
    expected,
    kept_row_numbers,
    read_table,
    run_with_fault,
    started_rows,
    wait_for,
    without_times,
    workers_of,
)

pytestmark = pytest.mark.usefixtures("toy_log")


def test_the_table_is_whole_in_order_and_says_where_it_was_made(tmp_path, toy_log, capfd):
    path = compute_table(toy.experiment(), tmp_path / "new", workers=2)
    assert path == tmp_path / "new" / "toy.json" and list(path.parent.iterdir()) == [path]
    assert without_times(path) == expected()
    assert started_rows(toy_log) == list(range(11))
    table = read_table(path)
    assert {"name", "capability", "cores", "versions"} <= table["machine"].keys()
    assert table["machine"]["threads"] == 1 and table["machine"]["workers"] == 2
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", table["date"]) and 0 < table["seconds"] < 11
    assert sum(line.startswith('  {"i": ') for line in path.read_text().splitlines()) == 11
    assert capfd.readouterr() == ("", "")  # no bar where nobody sits before it


def test_rows_depend_neither_on_workers_nor_on_who_is_first(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_PAUSE", "0.01")
    cases = toy.experiment().cases
    backwards = toy.experiment(cases=cases[::-1])
    path = compute_table(toy.experiment(), tmp_path, workers=1)
    assert without_times(path) == expected()
    rows = read_table(compute_table(backwards, tmp_path, workers=3))["rows"]
    assert rows == expected()["rows"][::-1]


def test_seconds_are_those_of_the_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_PAUSE", "0.01")
    waits = 0.01 * sum(range(1, 12))
    found = read_table(compute_table(toy.experiment(), tmp_path, workers=3))["seconds"]
    assert waits <= found < 2 * waits + 0.5


def test_digits_and_a_summary_are_as_asked_for(tmp_path):
    path = compute_table(toy.experiment(digits=6, summarize=None), tmp_path)
    table = read_table(path)
    assert table["rows"][1]["value"] == 0.333333 and "summary" not in table
    assert table["settings"] == {"slope": 1 / 3}  # an argument is not rounded


def test_a_worker_has_one_thread_and_others_keep_theirs(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "threads")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    cases = toy.experiment().cases[7:8]
    assert read_table(compute_table(toy.experiment(cases=cases), tmp_path))["rows"][0]["value"] == 1
    assert os.environ["OMP_NUM_THREADS"] == "2" and "MKL_NUM_THREADS" not in os.environ
    assert machine.SETTINGS["MKL_NUM_THREADS"] == "1"


def test_a_long_table_is_a_warning_with_its_budget(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "LONGEST", 0)
    compute_table(toy.experiment(), tmp_path)
    said = capsys.readouterr().err
    assert "warning: toy took 0 minutes of one core, more than an hour on two cores" in said
    assert "nothing at all" in said


def test_a_killed_run_goes_on(tmp_path, toy_log, start_toy, capsys):
    killed = tmp_path / "killed"
    process = start_toy(killed)
    wait_for(lambda: len(kept_row_numbers(killed)) >= 3)
    workers = workers_of(process)
    assert len(workers) == 2
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)  # which the workers would keep open
    wait_for(lambda: not any(one.is_running() and one.status() != "zombie" for one in workers))
    kept = kept_row_numbers(killed)
    assert 3 <= len(kept) < 11 and set(kept) <= set(started_rows(toy_log))
    assert not (killed / "toy.json").exists()
    for torn in (False, True):
        folder = tmp_path / f"torn-{torn}"
        shutil.copytree(killed, folder)
        if torn:
            with (folder / "toy.jsonl").open("a") as opened:
                opened.write('{"case": {"i": 10, "na')
        toy_log.unlink()
        assert without_times(compute_table(toy.experiment(), folder, workers=1)) == expected()
        said = capsys.readouterr().err
        assert ("the last line was cut off in writing, and is dropped" in said) == torn
        # What was kept is not computed again; what was in work at the kill is.
        assert started_rows(toy_log) == sorted({*range(11)} - {*kept})
        assert list(folder.iterdir()) == [folder / "toy.json"]


def test_ctrl_c_stops_all_and_loses_no_row(tmp_path, toy_log, start_toy, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "hang")  # in row 7, while the other worker goes on
    process = start_toy(tmp_path)
    wait_for(lambda: len(kept_row_numbers(tmp_path)) >= 2 and 7 in started_rows(toy_log))
    workers = workers_of(process)
    assert len(workers) == 2
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    monkeypatch.delenv("TOY_FAULT")
    rows = kept_row_numbers(tmp_path)
    assert process.returncode == -signal.SIGINT and out == ""
    assert err.startswith(
        f"toy: stopped; {len(rows)} of 11 rows are kept in {tmp_path / 'toy.jsonl'}, and the same "
        "command goes on from there\nTraceback "
    )
    assert err.endswith("\nKeyboardInterrupt\n")
    assert not any(one.is_running() for one in workers)
    toy_log.unlink()
    assert without_times(compute_table(toy.experiment(), tmp_path, workers=1)) == expected()
    assert started_rows(toy_log) == sorted({*range(11)} - {*rows})


def test_a_case_that_fails_is_named_and_the_rest_is_kept(tmp_path, monkeypatch, toy_log, capsys):
    message = run_with_fault(monkeypatch, tmp_path, "raise")
    assert "1 of 11 cases of toy failed, one is {'i': 7, 'name': 'h'}: ZeroDivision" in message
    assert "seven is too many; the other rows are kept in" in message
    assert "in run\n" in capsys.readouterr().err  # the traceback of the other process
    assert started_rows(toy_log) == list(range(11)) and sorted(kept_row_numbers(tmp_path)) == [
        *range(7),
        *range(8, 11),
    ]
    toy_log.unlink()
    assert without_times(compute_table(toy.experiment(), tmp_path, workers=1)) == expected()
    assert started_rows(toy_log) == [7]


def test_a_worker_that_dies_is_an_error_and_rows_are_kept(tmp_path, monkeypatch):
    message = run_with_fault(monkeypatch, tmp_path, "die")
    assert "a worker process of toy died, for want of memory if it said nothing" in message
    assert without_times(compute_table(toy.experiment(), tmp_path, workers=1)) == expected()


@pytest.mark.bad_input
def test_what_is_no_way_to_run_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"experiment must be an Experiment, got 'toy' \(str\)"):
        compute_table("toy", tmp_path)
    with pytest.raises(ValueError, match="workers must be a positive integer, got 0"):
        compute_table(toy.experiment(), tmp_path, workers=0)
    assert list(tmp_path.iterdir()) == []

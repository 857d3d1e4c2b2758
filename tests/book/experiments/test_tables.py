"""Tables of long runs: rows are computed once, kept by a kill, and the same however they come."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import toy_experiment as toy

from ensedu.book.experiments import EXPERIMENTS, machine, runner, tables
from ensedu.book.experiments.__main__ import folders, main
from ensedu.book.experiments.runner import run

HERE = Path(__file__).parent
ROOT = HERE.parents[2]

MEASURED = {"machine", "date", "seconds"}


@pytest.fixture(autouse=True)
def log(tmp_path, monkeypatch):
    """The file in which the toy notes each row that it starts."""
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def started(log):
    """Return the rows that were started, in order."""
    return sorted(map(int, log.read_text().split()))


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def without_times(path):
    """Return a table as it must be in every run."""
    return {name: value for name, value in read(path).items() if name not in MEASURED}


def expected():
    """Work the toy's table out, with four digits."""
    rows = [
        {
            "i": i,
            "name": "abcdefghijk"[i],
            "value": float(f"{i / 3:.4g}"),
            "parts": {"squares": [i**2, float(f"{i**2 / 3:.4g}")]},
        }
        for i in range(11)
    ]
    return {
        "about": "value: slope times i",
        "budget": "nothing at all",
        "settings": {"slope": 1 / 3},
        "summary": {"most": 3.333},
        "rows": rows,
    }


def test_the_table_is_whole_in_order_and_says_where_it_was_made(tmp_path, log, capfd):
    path = run(toy.experiment(), tmp_path / "new", workers=2)
    assert path == tmp_path / "new" / "toy.json" and list(path.parent.iterdir()) == [path]
    assert without_times(path) == expected()
    assert started(log) == list(range(11))
    table = read(path)
    assert {"name", "capability", "cores", "versions"} <= table["machine"].keys()
    assert table["machine"]["threads"] == 1 and table["machine"]["workers"] == 2
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", table["date"]) and 0 < table["seconds"] < 11
    assert sum(line.startswith('  {"i": ') for line in path.read_text().splitlines()) == 11
    assert capfd.readouterr() == ("", "")  # no bar where nobody sits before it


@pytest.mark.parametrize("workers", [1, 3])
def test_rows_depend_neither_on_workers_nor_on_who_is_first(tmp_path, monkeypatch, workers):
    monkeypatch.setenv("TOY_PAUSE", "0.01")
    cases = toy.experiment().cases
    backwards = toy.experiment(cases=cases[::-1])
    path = run(toy.experiment(), tmp_path, workers=workers)
    assert without_times(path) == expected()
    rows = read(run(backwards, tmp_path, workers=workers))["rows"]
    assert rows == expected()["rows"][::-1]


def test_seconds_are_those_of_the_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_PAUSE", "0.01")
    waits = 0.01 * sum(range(1, 12))
    found = read(run(toy.experiment(), tmp_path, workers=3))["seconds"]
    assert waits <= found < 2 * waits + 0.5


def test_digits_and_a_summary_are_as_asked_for(tmp_path):
    path = run(toy.experiment(digits=6, summarize=None), tmp_path)
    table = read(path)
    assert table["rows"][1]["value"] == 0.333333 and "summary" not in table
    assert table["settings"] == {"slope": 1 / 3}  # an argument is not rounded


def test_a_worker_has_one_thread_and_others_keep_theirs(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "threads")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    cases = toy.experiment().cases[7:8]
    assert read(run(toy.experiment(cases=cases), tmp_path))["rows"][0]["value"] == 1
    assert os.environ["OMP_NUM_THREADS"] == "2" and "MKL_NUM_THREADS" not in os.environ
    assert machine.SETTINGS["MKL_NUM_THREADS"] == "1"


def test_a_long_table_is_a_warning_with_its_budget(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "LONGEST", 0)
    run(toy.experiment(), tmp_path)
    said = capsys.readouterr().err
    assert "warning: toy took 0 minutes of one core, more than an hour on two cores" in said
    assert "nothing at all" in said


# --- runs that do not end ---


@pytest.fixture
def start():
    """A function that starts the toy as a program of two workers, in a group of its own."""
    begun = []

    def one(folder, pause="0.05"):
        begun.append(program(folder, pause))
        return begun[-1]

    yield one
    for process in begun:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def program(folder, pause):
    code = (
        "import sys; from ensedu.book.experiments import __main__ as script; "
        "import toy_experiment as toy; script.EXPERIMENTS = {'toy': toy.experiment()}; "
        "sys.exit(script.main(['toy', '--workers', '2', '--out', sys.argv[1]]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        cwd=ROOT,
        env=os.environ | {"TOY_PAUSE": pause, "PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition, seconds=60):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def kept(folder):
    """Return the rows in the file of rows, a torn one left out."""
    path = folder / "toy.jsonl"
    lines = path.read_bytes().split(b"\n")[1:-1] if path.exists() else []
    return [json.loads(line)["case"]["i"] for line in lines]


def workers_of(process):
    """Return the worker processes, and not multiprocessing's own helper."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


@pytest.mark.parametrize("torn", [False, True])
def test_a_killed_run_goes_on(tmp_path, log, torn, start):
    folder = tmp_path / "out"
    process = start(folder)
    wait_for(lambda: len(kept(folder)) >= 3)
    workers = workers_of(process)
    assert len(workers) == 2
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)  # which the workers would keep open
    wait_for(lambda: not any(one.is_running() and one.status() != "zombie" for one in workers))
    before, begun = kept(folder), started(log)
    assert 3 <= len(before) < 11 and set(before) <= set(begun)
    assert not (folder / "toy.json").exists()
    if torn:
        with (folder / "toy.jsonl").open("a") as opened:
            opened.write('{"case": {"i": 10, "na')
    again = start(folder, pause="0")
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0 and out == f"wrote {folder / 'toy.json'}\n"
    assert ("the last line was cut off in writing, and is dropped" in err) == torn
    # What was kept is not computed again; what was in work at the kill is.
    assert started(log) == sorted([*begun, *({*range(11)} - {*before})])
    assert without_times(folder / "toy.json") == without_times(run(toy.experiment(), tmp_path))
    assert list(folder.iterdir()) == [folder / "toy.json"]


@pytest.mark.parametrize("hangs", [False, True])
def test_ctrl_c_stops_all_and_loses_no_row(tmp_path, log, start, monkeypatch, hangs):
    if hangs:
        monkeypatch.setenv("TOY_FAULT", "hang")
    process = start(tmp_path)
    wait_for(lambda: len(kept(tmp_path)) >= (10 if hangs else 2))
    workers = workers_of(process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    monkeypatch.delenv("TOY_FAULT", raising=False)
    rows = kept(tmp_path)
    assert process.returncode == 130 and out == ""
    assert err == (
        f"toy: stopped; {len(rows)} of 11 rows are kept in {tmp_path / 'toy.jsonl'}, and the same "
        "command goes on from there\n"
    )
    assert not any(one.is_running() for one in workers)
    log.unlink()
    assert without_times(run(toy.experiment(), tmp_path)) == expected()
    assert started(log) == sorted({*range(11)} - {*rows})


def test_rows_that_follow_a_torn_one_are_read_by_the_next_run(tmp_path, monkeypatch, log):
    path = stopped(monkeypatch, tmp_path)
    path.write_text(path.read_text()[:-20])
    assert len(kept(tmp_path)) == 9
    stopped(monkeypatch, tmp_path)
    assert len(kept(tmp_path)) == 10
    log.unlink()
    assert without_times(run(toy.experiment(), tmp_path)) == expected()
    assert started(log) == [7]


def test_a_torn_header_is_begun_again(tmp_path):
    (tmp_path / "toy.jsonl").write_text('{"name": "to')
    assert without_times(run(toy.experiment(), tmp_path)) == expected()


def fault(monkeypatch, folder, kind):
    """Run the toy with a fault at row 7; return the message."""
    monkeypatch.setenv("TOY_FAULT", kind)
    with pytest.raises(RuntimeError) as caught:
        run(toy.experiment(), folder, workers=2)
    monkeypatch.delenv("TOY_FAULT")
    return str(caught.value)


def test_a_case_that_fails_is_named_and_the_rest_is_kept(tmp_path, monkeypatch, log, capsys):
    message = fault(monkeypatch, tmp_path, "raise")
    assert "1 of 11 cases of toy failed, one is {'i': 7, 'name': 'h'}: ZeroDivision" in message
    assert "seven is too many; the other rows are kept in" in message
    assert "in run\n" in capsys.readouterr().err  # the traceback of the other process
    assert started(log) == list(range(11)) and sorted(kept(tmp_path)) == [
        *range(7),
        *range(8, 11),
    ]
    log.unlink()
    assert without_times(run(toy.experiment(), tmp_path)) == expected()
    assert started(log) == [7]


def test_a_worker_that_dies_is_an_error_and_rows_are_kept(tmp_path, monkeypatch):
    message = fault(monkeypatch, tmp_path, "die")
    assert "a worker process of toy died, for want of memory if it said nothing" in message
    assert without_times(run(toy.experiment(), tmp_path)) == expected()


def stopped(monkeypatch, folder):
    """Leave ten rows in a folder."""
    fault(monkeypatch, folder, "raise")
    return folder / "toy.jsonl"


@pytest.mark.bad_input
def test_rows_of_another_run_are_refused(tmp_path, monkeypatch, log):
    path = stopped(monkeypatch, tmp_path)
    other = toy.experiment(settings={"slope": 2.0})
    words = re.escape(
        f"{path} holds rows of another run: settings was {{'slope': {1 / 3}}}, is "
        "{'slope': 2.0}; delete it, or give --fresh, or --older if only code differs"
    )
    with pytest.raises(ValueError, match=f"^{words}"):
        run(other, tmp_path)
    header, rest = path.read_text().split("\n", 1)
    for name in ("name", "code", "processor", "versions", "python"):
        path.write_text(json.dumps(json.loads(header) | {name: "older"}) + "\n" + rest)
        with pytest.raises(ValueError, match=f"another run: {name} was 'older', is "):
            run(toy.experiment(), tmp_path, older=name != "code")
    assert len(kept(tmp_path)) == 10
    log.unlink()
    table = read(run(other, tmp_path, fresh=True))
    assert started(log) == list(range(11))
    assert [row["value"] for row in table["rows"]] == [2.0 * i for i in range(11)]


def test_rows_of_older_code_are_kept_if_asked_for(tmp_path, two, monkeypatch, log):
    path = stopped(monkeypatch, tmp_path)
    path.write_text(path.read_text().replace('"code": "', '"code": "0'))
    with path.open("a") as opened:  # of a case that the older code had
        opened.write('{"case": {"i": 99, "name": "z"}, "results": {"value": 1}, "seconds": 9.0}\n')
    log.unlink()
    assert main(["toy", "--out", str(tmp_path)]) == 1
    assert main(["toy", "--older", "--out", str(tmp_path)]) == 0
    assert without_times(tmp_path / "toy.json") == expected() and started(log) == [7]
    assert read(tmp_path / "toy.json")["seconds"] < 9


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
def test_what_no_run_has_written_is_refused(tmp_path, monkeypatch, line, words):
    path = stopped(monkeypatch, tmp_path)
    if line == "twice":
        line = path.read_text().splitlines()[1]
    with path.open("a") as opened:
        opened.write(line + "\n")
    with pytest.raises(ValueError, match=re.escape(words)):
        run(toy.experiment(), tmp_path)


@pytest.mark.bad_input
def test_one_table_is_computed_by_one_run_at_a_time(tmp_path, start):
    process = start(tmp_path)
    wait_for(lambda: len(kept(tmp_path)) >= 1)
    with pytest.raises(RuntimeError, match=r"toy\.jsonl is in use by another run; let it finish"):
        run(toy.experiment(), tmp_path, fresh=True)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert without_times(tmp_path / "toy.json") == expected()


# --- what is no experiment, and no result ---


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
        run(one, tmp_path)


def local():
    def inside(i, name, slope):
        return {"value": 1.0}

    return inside


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"cases": [{"i": 1, "name": "a"}] * 2}, ValueError, "cases must differ, got {'i': 1, "),
        (
            {"cases": [{"i": 1, "name": "a"}, {"name": "a", "i": 1}]},
            ValueError,
            "as cases[0] and cases[1]",
        ),
        ({"cases": []}, ValueError, "cases must be a list of dicts, at least one, got none"),
        ({"cases": {"i": 1}}, TypeError, "cases must be a list of dicts, got {'i': 1} (dict)"),
        ({"cases": [3]}, TypeError, "cases[0] must be a dict, got 3 (int)"),
        ({"cases": [{"i": 1}]}, TypeError, "(i, name, slope): missing a required argument: 'name'"),
        ({"cases": [{"i": {3}}]}, TypeError, "cases[0]['i'] must be a string, a number"),
        ({"cases": [{"i": 1e999}]}, ValueError, "cases[0]['i'] must be a finite number, got inf"),
        ({"cases": [{3: 1}]}, TypeError, "cases[0] must have strings as keys, got 3 (int)"),
        (
            {"settings": {"slope": 1, "i": 2}},
            ValueError,
            "cases[0] must have other keys than settings, got ['i']",
        ),
        (
            {"settings": {"slope": 1, "tilt": 2}},
            TypeError,
            "cases[0] and settings must be arguments of run, run(i, name, slope): got an unexpec",
        ),
        ({"settings": [1]}, TypeError, "settings must be a dict, got [1] (list)"),
        ({"run": local()}, TypeError, "run must be a function of a module, so that another"),
        ({"run": 3}, TypeError, "run must be a function of a module"),
        ({"summarize": 3}, TypeError, "summarize must be a function or None, got 3 (int)"),
        ({"digits": 0}, ValueError, "digits must be a positive integer, got 0"),
        ({"name": "a/b"}, ValueError, "name must be lower-case letters, digits and hyphens"),
        ({"name": 3}, TypeError, "name must be a string, got 3 (int)"),
        ({"budget": " "}, ValueError, "budget must have words, got ' '"),
        ({"about": ""}, ValueError, "about must have words, got ''"),
    ],
)
def test_what_is_no_experiment_is_refused(changes, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        toy.experiment(**changes)


@pytest.mark.bad_input
def test_what_is_no_way_to_run_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"experiment must be an Experiment, got 'toy' \(str\)"):
        run("toy", tmp_path)
    with pytest.raises(ValueError, match="workers must be a positive integer, got 0"):
        run(toy.experiment(), tmp_path, workers=0)
    assert list(tmp_path.iterdir()) == []


def test_a_key_tells_cases_apart():
    assert tables.key({"a": 1, "b": [2]}) == tables.key({"b": [2], "a": 1})
    kinds = [{"a": one} for one in (1, 1.0, True, "1", None, [1], {"a": 1})]
    assert len({tables.key(case) for case in kinds}) == len(kinds)


# --- the command ---


@pytest.fixture
def two(monkeypatch):
    """The command with two toys, of which the first fails where TOY_FAULT says so."""
    cases = toy.experiment().cases
    found = {
        "toy": toy.experiment(),
        "other": toy.experiment(name="other", cases=cases[:3]),
    }
    monkeypatch.setattr("ensedu.book.experiments.__main__.EXPERIMENTS", found)


def test_the_command_computes_all_by_default(tmp_path, two, capsys):
    assert main(["--out", str(tmp_path), "--workers", "1"]) == 0
    words = [f"wrote {tmp_path / name}.json" for name in ("toy", "other")]
    assert capsys.readouterr().out.splitlines() == words
    assert len(read(tmp_path / "other.json")["rows"]) == 3


def test_a_table_that_fails_leaves_the_others(tmp_path, two, capsys, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "raise")
    assert main(["toy", "other", "toy", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out == f"wrote {tmp_path / 'other.json'}\n"
    assert "1 of 11 cases of toy failed" in said.err
    monkeypatch.delenv("TOY_FAULT")
    assert main(["toy", "--out", str(tmp_path)]) == 0
    assert without_times(tmp_path / "toy.json") == expected()


def test_fresh_drops_what_is_kept(tmp_path, two, log, monkeypatch):
    stopped(monkeypatch, tmp_path)
    log.unlink()
    assert main(["toy", "--fresh", "--out", str(tmp_path)]) == 0
    assert started(log) == list(range(11))


def test_the_list_runs_nothing(capsys):
    assert main(["--list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said] == list(EXPERIMENTS)
    one = EXPERIMENTS["starts"]
    assert f"starts: {len(one.cases)} rows; {one.budget}" in said


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["start"], "NAME must be one of 'starts'"),
        (["start", "--list"], "NAME must be one of 'starts'"),
        (["starts", "--workers", "0"], "--workers must be a positive integer, got 0"),
        (["starts", "--workers", "two"], "invalid int value: 'two'"),
    ],
)
def test_the_command_refuses_what_it_does_not_know(arguments, words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert words in capsys.readouterr().err


@pytest.mark.bad_input
def test_without_a_checkout_the_folder_must_be_named(tmp_path, monkeypatch):
    assert folders(None) == (ROOT / "ensedu" / "book" / "results", ROOT / "_build" / "results")
    assert folders(tmp_path) == (tmp_path, tmp_path)
    monkeypatch.setattr("ensedu.book.experiments.__main__.BOOK", tmp_path / "ensedu" / "book")
    with pytest.raises(OSError, match=r"--out must name a folder, since .*results is none of a"):
        folders(None)


def test_a_mapping_finds_each_experiment_by_its_name():
    assert {name: one.name for name, one in EXPERIMENTS.items()} == {n: n for n in EXPERIMENTS}
    assert len(EXPERIMENTS) == len(list(EXPERIMENTS)) >= 1
    assert "starts" in EXPERIMENTS and "start" not in EXPERIMENTS and 3 not in EXPERIMENTS


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "kind"), [("start", ValueError), (3, TypeError)])
def test_an_unknown_name_lists_the_known(name, kind):
    with pytest.raises(kind, match=r"name must be one of 'starts'.*, got "):
        EXPERIMENTS[name]

"""Tables of long runs: rows are computed once, by one code, kept by a kill, however they come."""

import importlib
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

import ensedu
import workshop
from ensedu.numpy import training
from ensedu.torch.base import seeded
from workshop import experiments
from workshop.experiments import nuts
from workshop.experiments.__main__ import folders, main
from workshop.running import code_digest, json_files, machine, runner
from workshop.running.runner import compute_table, run_case

HERE = Path(__file__).parent
# The toy is imported by other processes, too, where `tests` may be another package.
sys.path.insert(0, str(HERE))
toy = importlib.import_module("toy_experiment")
pytestmark = pytest.mark.usefixtures("toy_log")
ROOT = HERE.parents[2]
MEASURED = {"machine", "date", "seconds"}
FILE = "toy-experiment.json"


@pytest.fixture
def toy_log(tmp_path, monkeypatch):
    """The file in which the toy notes each row that it starts."""
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def started_rows(toy_log):
    """Return the rows that were started, in order."""
    return sorted(map(int, toy_log.read_text().split()))


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def table_in(path, name="toy"):
    """Return one of the tables of a file."""
    return read_json(path)[name]


def without_times(path):
    """Return a table as it must be in every run."""
    return {name: value for name, value in table_in(path).items() if name not in MEASURED}


def expected():
    """Work the toy's table out, with four digits."""
    rows = [
        {
            "i": i, "name": "abcdefghijk"[i], "value": float(f"{i / 3:.4g}"),
            "parts": {"squares": [i**2, float(f"{i**2 / 3:.4g}")]},
        }
        for i in range(11)
    ]  # fmt: skip
    return {
        "about": "value: slope times i", "budget": "nothing at all", "settings": {"slope": 1 / 3},
        "summary": {"most": 3.333}, "rows": rows,
    }  # fmt: skip


def wait_for(condition):
    """Wait until something is so, at most a minute."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def kept_row_numbers(folder):
    """Return the rows that are kept, each in a file."""
    return [read_json(path)["case"]["i"] for path in (folder / "toy.rows").glob("*.json")]


def workers_of(process):
    """Return the worker processes, and not multiprocessing's own helper."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def run_with_fault(monkeypatch, folder, kind):
    """Run the toy with a fault at row 7; return the message."""
    monkeypatch.setenv("TOY_FAULT", kind)
    with pytest.raises(RuntimeError) as caught:
        compute_table(toy.experiment(), folder, workers=2)
    monkeypatch.delenv("TOY_FAULT")
    return str(caught.value)


def test_the_table_is_whole_in_order_and_says_where_it_was_made(tmp_path, toy_log, capfd):
    path = compute_table(toy.experiment(), tmp_path / "new", workers=2)
    assert path == tmp_path / "new" / FILE and list(path.parent.iterdir()) == [path]
    assert without_times(path) == expected()
    assert started_rows(toy_log) == list(range(11))
    table = table_in(path)
    assert {"name", "capability", "cores", "versions"} <= table["machine"].keys()
    assert table["machine"]["threads"] == 1 and table["machine"]["workers"] == 2
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", table["date"]) and 0 < table["seconds"] < 11
    assert sum(line.startswith('   {"i": ') for line in path.read_text().splitlines()) == 11
    assert capfd.readouterr() == ("", "")  # no bar where nobody sits before it


def test_seconds_digits_and_order_are_those_of_the_rows_and_a_summary_may_lack(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("TOY_PAUSE", "0.01")  # the first waits longest
    monkeypatch.setattr(runner, "LONGEST", 0)
    waits = 0.01 * sum(range(1, 12))
    other = toy.experiment(cases=toy.experiment().cases[::-1], digits=6, summarize=None)
    table = table_in(compute_table(other, tmp_path, workers=3))
    assert waits <= table["seconds"] < 2 * waits + 0.5
    assert [row["i"] for row in table["rows"]] == [*range(11)][::-1]
    assert table["rows"][9]["value"] == 0.333333 and "summary" not in table
    assert table["settings"] == {"slope": 1 / 3}  # an argument is not rounded
    said = capsys.readouterr().err  # what takes long is a warning, with its budget
    assert "warning: toy took 0 minutes of one core, more than an hour on two cores" in said
    assert "nothing at all" in said


def test_a_worker_has_one_thread_and_others_keep_theirs(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "threads")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    cases = toy.experiment().cases[7:8]
    path = compute_table(toy.experiment(cases=cases, summarize=None), tmp_path)
    (row,) = table_in(path)["rows"]
    assert row["value"] == ["1", "1"]
    assert os.environ["OMP_NUM_THREADS"] == "2" and "MKL_NUM_THREADS" not in os.environ
    assert machine.SETTINGS["MKL_NUM_THREADS"] == "1"


#: The toy as a program of two workers.
PROGRAM = """
import sys
import toy_experiment as toy
from workshop.running.runner import compute_table
compute_table(toy.experiment(), sys.argv[1], workers=2)
"""


def test_a_killed_run_goes_on(tmp_path, toy_log):
    killed, own = tmp_path / "killed", {"TOY_PAUSE": "0.05", "PYTHONPATH": str(HERE)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(killed)], cwd=HERE.parents[1], env=os.environ | own
    )
    try:
        wait_for(lambda: len(kept_row_numbers(killed)) >= 3)
        workers = workers_of(process)
    finally:
        process.kill()
        process.wait()
    assert len(workers) == 2
    wait_for(lambda: not any(one.is_running() and one.status() != "zombie" for one in workers))
    kept = kept_row_numbers(killed)
    assert 3 <= len(kept) < 11 and set(kept) <= set(started_rows(toy_log))
    assert not (killed / FILE).exists()
    toy_log.unlink()
    assert without_times(compute_table(toy.experiment(), killed, workers=1)) == expected()
    # What was kept is not computed again; what was in work at the kill is.
    assert started_rows(toy_log) == sorted({*range(11)} - {*kept})
    assert list(killed.iterdir()) == [killed / FILE]


def test_a_case_that_fails_is_named_and_the_rest_is_kept(tmp_path, monkeypatch, toy_log, capsys):
    message = run_with_fault(monkeypatch, tmp_path, "raise")
    assert "1 of 11 cases of toy failed, one is {'i': 7, 'name': 'h'}: ZeroDivision" in message
    assert "seven is too many; 10 of 11 rows are kept in" in message
    assert "in run\n" in capsys.readouterr().err  # the traceback of the other process
    assert started_rows(toy_log) == [*range(11)]
    assert sorted(kept_row_numbers(tmp_path)) == [*range(7), *range(8, 11)]
    toy_log.unlink()
    assert without_times(compute_table(toy.experiment(), tmp_path, workers=1)) == expected()
    assert started_rows(toy_log) == [7]


def test_a_worker_that_dies_is_an_error_and_rows_are_kept(tmp_path, monkeypatch):
    message = run_with_fault(monkeypatch, tmp_path, "die")
    assert "a worker process of toy died, for want of memory if it said nothing" in message
    assert without_times(compute_table(toy.experiment(), tmp_path, workers=1)) == expected()


def test_rows_of_another_run_are_computed_anew(tmp_path, monkeypatch, toy_log, capsys):
    names = "settings", "code", "processor", "versions", "python"
    for older in (False, True):
        run_with_fault(monkeypatch, tmp_path, "raise")
        for name, path in zip(names, (tmp_path / "toy.rows").iterdir(), strict=False):
            row = read_json(path)
            path.write_text(json.dumps(row | {"run": row["run"] | {name: "older"}}))
        toy_log.unlink()
        table = compute_table(toy.experiment(), tmp_path, older=older)
        assert without_times(table) == expected()
        assert len(started_rows(toy_log)) == 6 - older
        assert f"toy: {5 - older} rows of another run are computed anew" in capsys.readouterr().err


@pytest.mark.bad_input
@pytest.mark.parametrize(("results", "words"), [
    ({"a": [1, math.nan]}, "ValueError: Out of range float values are not JSON compliant"),
    ({"a": np.ones(3)}, "TypeError: Object of type ndarray is not JSON serializable"),
    ({"i": 1}, "ValueError: results must have other keys than the case, got ['i']"),
])  # fmt: skip
def test_a_result_that_json_cannot_hold_is_refused(results, words):
    found = run_case(lambda i: results, {"i": 5}, {})
    assert words in found.error and found.results == {}


@pytest.fixture
def two_toys(monkeypatch):
    """The command with two toys, of which the first fails where TOY_FAULT says so."""
    cases = toy.experiment().cases
    found = {"toy": toy.experiment(), "other": toy.experiment(name="other", cases=cases[:3])}
    monkeypatch.setattr("workshop.experiments.__main__.EXPERIMENTS", found)


def test_a_table_that_fails_leaves_the_others(tmp_path, two_toys, capsys, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "raise")
    assert main(["toy", "other", "toy", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out == f"wrote {tmp_path / FILE}\n"
    assert "1 of 11 cases of toy failed" in said.err
    monkeypatch.delenv("TOY_FAULT")
    assert main(["toy", "--older", "--out", str(tmp_path)]) == 0
    assert without_times(tmp_path / FILE) == expected()
    assert len(table_in(tmp_path / FILE, "other")["rows"]) == 3  # it stands beside


@pytest.mark.bad_input
@pytest.mark.parametrize(("arguments", "words"), [
    (["start", "--list"], "NAME must be one of 'starts'"),
    (["starts", "--workers", "0"], "--workers must be a positive integer, got 0"),
    (["starts", "--workers", "two"], "invalid int value: 'two'"),
])  # fmt: skip
def test_the_command_refuses_what_it_does_not_know(arguments, words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert words in capsys.readouterr().err


@pytest.mark.bad_input
def test_without_a_checkout_the_folder_must_be_named(tmp_path, monkeypatch):
    assert folders(None) == (ROOT / "book" / "workshop" / "results", ROOT / "_build" / "results")
    assert folders(tmp_path) == (tmp_path, tmp_path)
    monkeypatch.setattr("workshop.experiments.__main__.BOOK", tmp_path / "book" / "workshop")
    with pytest.raises(OSError, match=r"--out must name a folder, since .*results is none of a"):
        folders(None)


def test_where_a_package_is_missing_the_command_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(experiments.NEEDS, "nuts", "no_such_package")
    assert main(["nuts", "--out", str(tmp_path)]) == 1
    words = capsys.readouterr().err
    assert "no_such_package" in words and "make results NAME=nuts" in words
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match="make results NAME=nuts"):
        nuts.posterior(0, chains=1, warmup=1, draws=1, accept=0.9)


@pytest.mark.bad_input
@pytest.mark.parametrize(("changes", "kind", "words"), [
    ({"cases": [{"i": 1, "name": "a"}, {"name": "a", "i": 1}]}, ValueError,
     "cases must differ, got {'name': 'a', 'i': 1} as cases[0] and cases[1]"),
    ({"cases": [{"i": 1}]}, TypeError, "missing a required argument: 'name'"),
    ({"cases": [{"i": 1e999}]}, ValueError, "Out of range float values are not JSON compliant"),
    ({"settings": {"slope": 1, "i": 2}}, TypeError, "multiple values for keyword argument 'i'"),
])  # fmt: skip
def test_what_is_no_experiment_is_refused(changes, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        toy.experiment(**changes)


def test_what_is_written_replaces_the_file_at_once(tmp_path):
    (tmp_path / "file.json").write_text("old")
    with pytest.raises(TypeError):
        json_files.write_json(tmp_path / "file.json", {"a": {1, 2}})
    assert (tmp_path / "file.json").read_text() == "old"
    json_files.write_json(tmp_path / "file.json", {"a": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


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


ROOTS = [Path(package.__file__).parents[1] for package in (ensedu, workshop)]


def names_of(files):
    """Return paths that begin with the package: that of ensedu is above that of the workshop."""
    return {str(file.relative_to(max(r for r in ROOTS if r in file.parents))) for file in files}


def test_it_holds_every_module_that_an_import_loads_but_what_packages_pass_on_to_others():
    code = (
        "import sys, ensedu.numpy.training; "
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'ensedu'))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {Path(file) for file in ran.stdout.split()}
    found = code_digest.source_files(training.fit)
    passed_on = code_digest.imported_files(
        "from ensedu import counting, numpy\nprint(counting, numpy)"
    )
    assert loaded <= found | passed_on and len(loaded) > 10
    names = names_of(found)
    assert {"ensedu/numpy/training.py", "ensedu/common/training_settings.py"} <= names
    assert not [name for name in names if name.startswith("workshop")]


@pytest.mark.parametrize(
    "face",
    ["ensedu.counting", "ensedu.data", "ensedu.numpy", "ensedu.theory.ntk", "ensedu.torch",
     "ensedu.uncertainty", "workshop.plot"],
)  # fmt: skip
def test_a_name_that_a_package_passes_on_leads_to_its_module_and_all_that_this_imports(face):
    package, every = importlib.import_module(face), set()
    for name in package.__all__:
        home = getattr(getattr(package, name), "__module__", "")
        if not home.startswith(("ensedu", "workshop")):
            continue  # a number or an object of another package: by its name alone
        expected = code_digest.imported_files(f"import {home}")
        for code in (
            f"import {face} as other\nother.{name}.more",
            f"from {face} import {name} as other",
        ):
            assert expected <= code_digest.imported_files(code), (name, code)
        every |= expected
    whole = code_digest.imported_files(f"import {face} as other\nprint(other, other.no_name)")
    assert every <= whole and every


def test_what_is_not_read_of_a_package_is_left_out():
    def read(code):
        return names_of(code_digest.imported_files(f"from workshop import plot\n{code}"))

    found = read("def draw():\n    return plot.figure_key()")
    assert {
        "workshop/plot/__init__.py",
        "workshop/plot/figure_key.py",
        "workshop/plot/style.py",
    } <= found
    assert not {"workshop/plot/forest.py", "workshop/plot/effect_intervals.py"} & found
    for code in (
        "print(plot.figure_key, getattr(plot, 'png'))",
        "plot.figure_key, plot.forest.x",
        "",
    ):
        assert {"workshop/plot/forest.py"} <= read(code)

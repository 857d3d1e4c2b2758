"""The command that computes tables of long runs, and what it makes of its arguments."""

import re
from pathlib import Path

import pytest
import toy_experiment as toy

from tests.book.running.toy_runs import (
    expected,
    without_times,
)
from workshop import experiments
from workshop.experiments import nuts
from workshop.experiments.__main__ import folders, main

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.usefixtures("toy_log")


@pytest.fixture
def two_toys(monkeypatch):
    """The command with two toys, of which the first fails where TOY_FAULT says so."""
    cases = toy.experiment().cases
    found = {
        "toy": toy.experiment(),
        "other": toy.experiment(name="other", cases=cases[:3]),
    }
    monkeypatch.setattr("workshop.experiments.__main__.EXPERIMENTS", found)


def test_a_table_that_fails_leaves_the_others(tmp_path, two_toys, capsys, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "raise")
    assert main(["toy", "other", "toy", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out == f"wrote {tmp_path / 'other.json'}\n"
    assert "1 of 11 cases of toy failed" in said.err
    monkeypatch.delenv("TOY_FAULT")
    path = tmp_path / "toy.jsonl"
    path.write_text(path.read_text().replace('"code": "', '"code": "0'))
    assert main(["toy", "--out", str(tmp_path)]) == 1
    assert main(["toy", "--older", "--out", str(tmp_path)]) == 0
    assert without_times(tmp_path / "toy.json") == expected()


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
    assert folders(None) == (ROOT / "book" / "workshop" / "results", ROOT / "_build" / "results")
    assert folders(tmp_path) == (tmp_path, tmp_path)
    monkeypatch.setattr("workshop.experiments.__main__.BOOK", tmp_path / "book" / "workshop")
    with pytest.raises(OSError, match=r"--out must name a folder, since .*results is none of a"):
        folders(None)


def test_where_a_package_is_missing_the_command_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(experiments.NEEDS, "nuts", "no_such_package")
    assert experiments.missing_package("nuts") == "no_such_package"
    assert not experiments.missing_package("starts")
    assert main(["nuts", "--out", str(tmp_path)]) == 1
    words = capsys.readouterr().err
    assert "no_such_package" in words and "make results NAME=nuts" in words
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    with pytest.raises(ImportError, match="make results NAME=nuts"):
        nuts.posterior(0, chains=1, warmup=1, draws=1, accept=0.9)


def test_here_leaves_those_out(capsys):
    assert main(["--here", "--list"]) == 0
    names = re.findall(r"^([a-z0-9-]+):", capsys.readouterr().out, flags=re.M)
    assert names == [name for name in experiments.EXPERIMENTS if name not in experiments.NEEDS]

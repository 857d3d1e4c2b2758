"""Checkpoints of one run: when they are taken, at which rates, and the table that is read."""

import math

import numpy as np
import pytest

from ensedu.book import measured
from ensedu.book.experiments import one_run, table_one
from ensedu.book.experiments.one_run import CONTESTANTS, EXPERIMENT
from ensedu.book.experiments.shared.recorder import Recorder

FIVE = EXPERIMENT.settings | {"seeds": 1, "epochs": 5, "batch_size": 500}


@pytest.mark.parametrize(
    ("name", "at", "falls"),
    [("last", [72, 74, 76, 78, 80], 0), ("snapshots", [16, 32, 48, 64, 80], 5),
     ("cooled_last", [72, 74, 76, 78, 80], 1), ("deep_ensemble", [72, 74, 76, 78, 80], 0)],
)  # fmt: skip
def test_checkpoints_and_rates(name, at, falls, monkeypatch):
    made = []

    class Seen(Recorder):
        def __init__(self, observe, at, lr=None):
            super().__init__(observe, at, lr)
            made.append((list(at), lr))
            self.kept = [np.random.default_rng(i).normal(size=(5, 103, 2)) for i in range(5)]

    monkeypatch.setattr(one_run, "Recorder", Seen)
    monkeypatch.setattr(table_one, "train", lambda *a: None)
    one_run.run("concrete", name, split=0, **FIVE | {"epochs": 40})
    ((found, rate),) = made  # 2 steps an epoch
    assert found == at
    if not falls:
        assert rate is None
        return
    rates = [rate(step) for step in range(80)]
    assert rates[0] == 0.02 and np.mean(rates) == pytest.approx(0.01, rel=0.1)
    each = 80 // falls
    assert rates[each // 2] == pytest.approx(0.01)
    wanted = 0.01 * (1 + math.cos(math.pi * (each - 1) / each))
    assert rates[-1] == pytest.approx(wanted) and rates[-1] < 0.001


def test_runs_are_scored_each_for_itself():
    split = table_one.split_of("concrete", 0)
    outputs = np.random.default_rng(0).normal(size=(5, 3, 103, 2))  # five checkpoints, three runs
    single = one_run._scores("single", outputs, split)
    last = one_run._scores("last", outputs, split)
    five = one_run._scores("deep_ensemble", outputs, split)
    assert single["correlation"] == 1.0 and single["apart"] == 0.0
    assert single["nll"] == single["average"] == pytest.approx(five["average"])
    assert last["nll"] < last["average"] and single.keys() == last.keys() == five.keys()


def test_a_short_run():
    found = {name: one_run.run("concrete", name, split=0, **FIVE) for name in CONTESTANTS}
    assert len({frozenset(row) for row in found.values()}) == 1
    assert found["cooled_last"]["apart"][0] > 0 == found["cooled"]["apart"][0]
    assert all(np.isfinite(row["nll"]).all() for row in found.values())


def test_a_case_agrees_with_the_table():
    found = one_run.run("concrete", "cooled_last", split=2, **EXPERIMENT.settings)
    row = measured.row(measured.load("one-run")["rows"], contestant="cooled_last", split=2)
    for score in ("rmse", "nll", "correlation"):
        # To the digits of the table, and what other processors add.
        assert row[score] == pytest.approx(found[score], rel=0.01)


def test_what_is_made_of_one_run_starts_alike_on_a_split_alone(monkeypatch):
    seen = {}
    real = table_one.untrained_networks

    def started(split, row, start):
        seen.setdefault(name, []).append(start)
        return real(split, row, start)

    monkeypatch.setattr(table_one, "untrained_networks", started)
    for name in ("single", "last", "deep_ensemble"):
        for split in (2, 3):
            one_run.run("concrete", name, split=split, **FIVE | {"seeds": 2})
    assert seen["single"] == seen["last"]
    both = seen["single"] + seen["deep_ensemble"]
    assert len(set(both)) == len(both) == 8

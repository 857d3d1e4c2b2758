"""How far each start moves a trained network: the README's table, and smaller runs of it."""

import statistics
from itertools import pairwise

import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import starts
from scripts import readme

CASES, SETTINGS = starts.EXPERIMENT.cases, starts.EXPERIMENT.settings


def test_the_readme_shows_what_was_measured():
    assert readme.in_readme("starts") == readme.starts(measured.load("starts"))


def test_the_summary_is_the_mean_over_networks_and_seeds():
    table = measured.load("starts")
    for row in table["summary"]:
        found = [
            one
            for one in table["rows"]
            if one["method"] == row["method"] and one["options"] == row["options"]
        ]
        assert len(found) == (3 if row["method"] == "single" else 9)
        for key in ("moved", "accuracy", "kl"):
            mean = statistics.fmean(one[key] for one in found)
            assert row[key] == pytest.approx(mean, rel=1e-3)
    assert len(table["summary"]) == 11


@pytest.mark.large
def test_rows_computed_here_and_now_are_those_of_the_table():
    # Seconds, of one network; on another processor it is trained to other weights.
    rows = measured.load("starts")["rows"]
    for i in (9, 20, 30):
        row, committed = starts.run(**CASES[i], **SETTINGS), rows[i]
        assert row["moved"] == pytest.approx(committed["moved"], rel=0.25)
        assert row["accuracy"] == pytest.approx(committed["accuracy"], abs=0.02)
        assert row["kl"] == pytest.approx(committed["kl"], rel=0.05)


@pytest.mark.large
def test_a_smaller_run_shows_the_same():
    cases = [case for case in CASES if case["network"] == case["seed"] == 0]
    rows = [case | starts.run(**case, **SETTINGS | {"epochs": 2}) for case in cases]
    committed = measured.load("starts")["summary"]
    for row, long in zip(rows, committed, strict=True):
        assert (row["method"], row["options"]) == (long["method"], long["options"])
        if long["moved"] < 0.5:
            assert row["moved"] == pytest.approx(long["moved"], rel=0.6)
        else:  # another function altogether
            assert row["moved"] > 0.5
    # A narrower start of a method moves less, but for signs, whose outputs have another scale.
    for one, next_one in pairwise(rows):
        if one["method"] == next_one["method"] and "signs" not in str(one["options"]):
            assert next_one["moved"] < one["moved"]


def test_a_start_that_changes_nothing_moves_nothing():
    close = {"init": "normal", "init_std": 1e-9}
    row = starts.run(0, "batch_ensemble", close, seed=0, epochs=0, members=3)
    assert row["moved"] < 1e-6 and row["kl"] == 0
    assert row["accuracy"] == starts.run(0, "single", {}, seed=0, epochs=0, members=3)["accuracy"]
    net, x, y = starts.trained(0, 0)
    with torch.no_grad():
        right = [net(one[None]).argmax() == label for one, label in zip(x, y, strict=True)]
    assert row["accuracy"] == sum(map(bool, right)) / len(y)

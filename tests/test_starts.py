"""How far each start moves a trained network: the README's table, and a smaller run of it."""

from itertools import pairwise

import pytest
import torch

from benchmarks import results, starts
from ensedu import measured


def test_the_readme_shows_what_was_measured():
    assert results.in_readme("starts") == starts.table(measured.load("starts"))


@pytest.mark.large
def test_a_smaller_run_shows_the_same():
    torch.manual_seed(0)
    rows = starts.measure(networks=1, starts=1, epochs=2)["rows"]
    committed = measured.load("starts")["rows"]
    assert [(row["method"], row["options"]) for row in rows] == [
        (row["method"], row["options"]) for row in committed
    ]
    for row, long in zip(rows, committed, strict=True):
        if long["moved"] < 0.5:
            assert row["moved"] == pytest.approx(long["moved"], rel=0.6)
        else:  # another function altogether
            assert row["moved"] > 0.5
    # A narrower start of a method moves less, but for signs, whose outputs have another scale.
    for one, next_one in pairwise(rows):
        if one["method"] == next_one["method"] and "signs" not in str(one["options"]):
            assert next_one["moved"] < one["moved"]


def test_a_start_that_changes_nothing_moves_nothing():
    net, x, y = starts.trained(0, epochs=0)
    close = {"init": "normal", "init_std": 1e-9}
    row = starts.start(net, "batch_ensemble", close, x[:7], y[:7], seed=0)
    assert row["moved"] < 1e-6 and row["kl"] == 0
    assert row["accuracy"] == starts.accuracy(net(x[:7]).softmax(-1), y[:7])

"""How far each start moves a trained network: the table of it, and smaller runs of it."""

import statistics
from itertools import pairwise

import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import starts
from ensedu.torch import ensemble, models
from scripts import tables

CASES, SETTINGS = starts.EXPERIMENT.cases, starts.EXPERIMENT.settings


def test_the_page_shows_what_was_measured():
    assert tables.on_page("starts") == tables.starts(measured.load("starts"))


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


def test_a_smaller_run_shows_the_same(monkeypatch):
    net, x, y = starts.trained(0, 1)
    monkeypatch.setattr(starts, "trained", lambda network, epochs: (net, x[:61], y[:61]))
    committed = [
        row for row in measured.load("starts")["rows"] if row["network"] == row["seed"] == 0
    ]
    cases = [case for case in CASES if case["network"] == case["seed"] == 0]
    rows = [case | starts.run(**case, **SETTINGS) for case in cases]
    for row, long in zip(rows, committed, strict=True):
        assert (row["method"], row["options"]) == (long["method"], long["options"])
        # Hardly any of it is the trained weights'.
        assert row["kl"] == pytest.approx(long["kl"], rel=0.01)
        if long["moved"] > 0.5:  # another function altogether
            assert row["moved"] > 0.5
    # A narrower start of a method moves less, but for signs, whose outputs have another scale, and
    # where both move little, by as much less as in the table.
    pairs = zip(pairwise(rows), pairwise(committed), strict=True)
    for (one, narrower), (long, next_long) in pairs:
        if one["method"] != narrower["method"] or "signs" in str(one["options"]):
            continue
        assert narrower["moved"] < one["moved"]
        if long["moved"] < 0.5:
            ratio = next_long["moved"] / long["moved"]
            assert narrower["moved"] / one["moved"] == pytest.approx(ratio, rel=0.2)


@pytest.fixture
def untrained(monkeypatch):
    """The first network before it trains, and few of its images, for `run`, too."""
    net, x, y = starts.trained(0, 0)
    monkeypatch.setattr(starts, "trained", lambda network, epochs: (net, x[:61], y[:61]))
    return net, x[:61], y[:61]


def test_a_start_that_changes_nothing_moves_nothing(untrained):
    close = {"init": "normal", "init_std": 1e-9}
    row = starts.run(0, "batch_ensemble", close, seed=0, epochs=0, members=3)
    assert row["moved"] < 1e-6 and row["kl"] == 0
    assert row["accuracy"] == starts.run(0, "single", {}, seed=0, epochs=0, members=3)["accuracy"]
    net, x, y = untrained
    with torch.no_grad():
        right = [net(one[None]).argmax() == label for one, label in zip(x, y, strict=True)]
    assert row["accuracy"] == sum(map(bool, right)) / len(y)


def test_scores_against_a_loop_over_members(untrained):
    options = {"init": "normal", "init_std": 0.5}
    row = starts.run(0, "batch_ensemble", options, seed=3, epochs=0, members=3)
    net, x, y = untrained
    torch.manual_seed(3)
    members = ensemble(net, "batch_ensemble", 3, **options)
    with torch.no_grad():
        own, others = net(x), members(x)
    moved = [float((other - own).norm() / own.norm()) for other in others]
    assert row["moved"] == pytest.approx(statistics.fmean(moved), rel=1e-12)
    assert row["moved"] < 0.99 * max(moved)
    p = sum(other.softmax(-1) for other in others)
    assert row["accuracy"] == pytest.approx(float((p.argmax(-1) == y).double().mean()))


def test_a_network_trains_for_so_many_epochs():
    nets = [starts.trained(0, epochs)[0] for epochs in (0, 1)]
    torch.manual_seed(0)
    untrained = models.lenet5().double()
    for name, value in untrained.state_dict().items():
        assert torch.equal(nets[0].state_dict()[name], value), name
        assert not torch.equal(nets[1].state_dict()[name], value), name

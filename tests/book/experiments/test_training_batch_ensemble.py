"""How a BatchEnsemble trains: what contestants are, what is scored, and the tables."""

import numpy as np
import pytest
import torch

from ensedu import counting
from ensedu.book import measured
from ensedu.book.experiments import training_batch_ensemble as ours
from ensedu.book.experiments.shared.comparisons import compare_pairs
from ensedu.book.experiments.training_batch_ensemble import (
    COMPARED,
    CONTESTANTS,
    EXPERIMENT,
    MEMBERS,
    RATES,
    TUNING,
    examples,
    network,
    score,
    sizes,
    trained,
)

SHORT = {"digits": {"starts": 2, "batch_size": 48, "epochs": [1, 2]}}


def same(one, other):
    compare_pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in compare_pairs)


@pytest.mark.parametrize("data", ["digits", "mnist5000"])
def test_one_larger_network_has_as_many_parameters(data):
    batch = counting.mlp(sizes(data), "batch_ensemble", MEMBERS).total
    wide = counting.count(network(data, "wide", 0)).total
    assert wide == counting.mlp(sizes(data, wide=True), "single").total
    assert wide == pytest.approx(batch, rel=0.004)


def test_a_split_leaves_nothing_out_and_shares_nothing():
    (x, y), (new, labels) = examples("digits", 3)
    assert (len(x), len(new)) == (1344, 453) == (len(y), len(labels))
    assert len(x) % 48 == 0  # or the last batch of an epoch would be smaller
    rows = {row.tobytes() for row in torch.cat([x, new]).numpy()}
    assert len(rows) == len({row.tobytes() for row in ours.READ["digits"]()[0]})
    assert not torch.equal(examples("digits", 4)[0][0], x)


def test_what_makes_a_contestant_reaches_its_training():
    budget = {"batch_size": 48, "epochs": [1]}
    nets = {
        name: trained("digits", name, 0, 0, 0.01, **budget)
        for name in ("signs", "near", "signs_mixture", "split", "split_longer", "sgd", "sgd_fast")
    }
    assert not any(same(nets["signs"], nets[name]) for name in nets if name != "signs")
    assert not same(nets["sgd"], nets["sgd_fast"])
    assert not same(nets["split"], nets["split_longer"])
    longer = trained("digits", "split", 0, 0, 0.01, 48, [4])
    assert same(nets["split_longer"], longer)


def test_looking_on_the_way_changes_nothing():
    seen = []
    net = trained("digits", "signs", 0, 0, 0.01, 48, [1, 2], lambda net: seen.append(net))
    assert len(seen) == 2
    assert same(net, trained("digits", "signs", 0, 0, 0.01, 48, [2]))


def test_scores_are_those_of_the_mixture():
    x, y = examples("digits", 0)[1]
    net = network("digits", "signs", 0)
    found = score(net, x, y)
    with torch.no_grad():
        p = net(x).softmax(-1).numpy()
    own = -np.log(p[:, np.arange(len(y)), y])
    assert found["members_nll"] == pytest.approx(own.mean())
    assert found["nll"] == pytest.approx(-np.log(np.exp(-own).mean(0)).mean())
    assert found["accuracy"] == pytest.approx((p.mean(0).argmax(1) == y).mean())
    assert found["disagreement"] > 0.3
    one = score(network("digits", "single", 0), x, y)
    assert one["nll"] == one["members_nll"]


def test_a_short_run_has_all_results():
    for name in ("single", "deep_mixture"):
        found = ours.run("digits", name, 0, SHORT)
        several = name != "single"
        assert [len(found[key]) for key in ("nll", "disagreement")] == [2, 2 * several]
        assert set(found["curves"]) == set(ours.CURVES[: 4 if several else 2])
        assert found["curves"]["nll"][-1] == pytest.approx(np.mean(found["nll"]))


def test_a_training_that_fails_has_no_nll():
    budgets = {"digits": {"starts": 1, "batch_size": 48, "epochs": [1]}}
    assert ours.tune("digits", "sgd", 1e300, 0, budgets) == {"nll": None}
    assert 0 < ours.tune("digits", "sgd", 0.1, 0, budgets)["nll"] < 2.4


def test_the_settings_chosen_are_those_of_the_tuning():
    found = measured.load("batch-ensemble-training-tuning")["summary"]
    chosen = {name: row.chosen for name, row in CONTESTANTS.items()}
    assert found == chosen
    grids = {tuple(RATES[CONTESTANTS[case["contestant"]].optimizer]) for case in TUNING.cases}
    assert len(grids) == 2
    apart = {case["split"] for case in EXPERIMENT.cases}
    assert not apart & {case["split"] for case in TUNING.cases}
    assert set(COMPARED["mnist5000"]) < set(CONTESTANTS)


def test_the_first_epochs_of_a_row_again():
    budgets = EXPERIMENT.settings["budgets"]
    budgets = budgets | {"digits": budgets["digits"] | {"epochs": [1, 2]}}
    row = measured.row(
        measured.load("batch-ensemble-training")["rows"], data="digits", contestant="signs", split=0
    )
    found = ours.run("digits", "signs", 0, budgets)
    assert found["parameters"] == row["parameters"]
    for name, values in found["curves"].items():
        assert values == pytest.approx(row["curves"][name][:2], rel=0.05)


def test_pairs_are_paired_by_split():
    rows = [
        {"contestant": name, "split": split, "nll": [split + gain, split + gain + 0.2 * split]}
        for name, gain in (("signs", 0.0), ("split", 0.5), ("wide", 0.0))
        for split in range(10)
    ]
    entries = compare_pairs(ours.nll_of(rows), ours.PAIRS, train=90, test=10)
    found = {(row["contestant"], row["than"]): row for row in entries}
    assert set(found) == {("signs", "wide"), ("split", "signs")}
    assert found["split", "signs"]["difference"] == pytest.approx(0.5)
    assert found["split", "signs"]["verdict"] == "worse"
    assert found["signs", "wide"]["verdict"] == ""

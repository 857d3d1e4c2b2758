"""Width or members: what is trained at which rate, how it is scored, and the tables."""

import math

import numpy as np
import pytest
import torch

from ensedu import counting
from ensedu.book import measured
from ensedu.book.experiments import width as ours
from ensedu.book.experiments.width import (
    ALIKE,
    BUDGETED,
    CHOSEN,
    EXPERIMENT,
    MEMBERS,
    METHODS,
    RATES,
    SCORES,
    TASKS,
    TUNING,
    chosen,
    chosen_rate,
    compare_ensembles,
    differences,
    examples,
    means,
    network,
    score,
    trained,
    width_of_equal_size,
)
from ensedu.torch import BatchEnsembleLinear, Sequential


@pytest.fixture
def small(monkeypatch):
    """Digits with few steps and networks of width 5 and 7."""
    task = ours.Task("digits", (5, 7), 60, 597, 30, 1, 2, (5, 7), (100,))
    monkeypatch.setitem(ours.TASKS, "digits", task)
    picked = {method: {5: (0, 1, 2, 2), 7: (1, 1, 1, 1)} for method in METHODS}
    monkeypatch.setitem(ours.CHOSEN, "digits", picked)
    examples.cache_clear()
    yield task
    examples.cache_clear()


@pytest.mark.parametrize("task", TASKS)
def test_a_split_leaves_nothing_out_and_shares_nothing(task):
    (x, y), (new, labels) = examples(task, 3)
    own = TASKS[task]
    assert (len(x), len(new)) == (own.train, own.test) == (len(y), len(labels))
    assert len(x) % own.batch_size == 0  # or the last batch of an epoch would be smaller
    rows = {row.tobytes() for row in torch.cat([x, new]).flatten(1).numpy()}
    every = ours.READ[own.data]()[0]
    assert len(every) == own.train + own.test
    assert len(rows) == len(np.unique(every.astype(np.float32), axis=0))
    assert not torch.equal(examples(task, 4)[0][0], x)


@pytest.mark.parametrize("method", METHODS)
def test_networks_have_the_counts_of_the_formulas(method):
    for task, inputs in (("digits", 64), ("mnist5000", 784)):
        net = network(task, method, 13, 3, 0)
        assert counting.count(net) == counting.mlp([inputs, 13, 13, 10], method, 3)
    # 3 x 3 kernels of 1 -> 5 -> 10 channels, and 40 -> 10; r and s of all three layers.
    weights = 5 * 9 + 5 * 10 * 9 + 40 * 10
    biases, fast = 5 + 10 + 10, (1 + 5) + (5 + 10) + (40 + 10)
    net = network("convolution", method, 5, 3, 0)
    assert net(torch.zeros(11, 1, 8, 8)).shape == (3, 11, 10)
    wanted = {
        "batch_ensemble": weights + 3 * (biases + fast), "deep_ensemble": 3 * (weights + biases)
    }  # fmt: skip
    assert counting.count(net).total == wanted[method]


def test_fast_weights_start_as_signs_of_both_kinds():
    net = network("digits", "batch_ensemble", 64, 4, 0)
    for part in net:
        if isinstance(part, BatchEnsembleLinear):
            for value in (part.r, part.s):
                assert set(value.unique().tolist()) == {-1.0, 1.0}
    seeds = [network("digits", "batch_ensemble", 64, 4, seed) for seed in (0, 1)]
    assert not torch.equal(seeds[0][0].weight, seeds[1][0].weight)


def test_members_of_a_deep_ensemble_do_not_meet_in_the_sum(small):
    """Trained alone from the same start, on the same batches, a member is the same."""
    net = trained("digits", "deep_ensemble", 5, 8, 0, 0.05)
    alone = network("digits", "deep_ensemble", 5, 8, 8)  # the seed of split 0
    (x, y), _ = examples("digits", 0)
    own = [value[2].detach().clone().requires_grad_() for value in alone.parameters()]
    optimizer = torch.optim.SGD(own, lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(8)
    for rows in torch.randperm(len(x), generator=generator).split(small.batch_size):
        W1, b1, W2, b2, W3, b3 = own
        z = torch.relu(torch.relu(x[rows] @ W1.T + b1) @ W2.T + b2) @ W3.T + b3
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(z, y[rows]).backward()
        optimizer.step()
    for value, member in zip(own, net.parameters(), strict=True):
        torch.testing.assert_close(value.detach(), member[2].detach(), rtol=1e-4, atol=1e-6)


def test_scores_are_means_over_ensembles():
    net = network("digits", "deep_ensemble", 64, 8, 0)
    (x_train, y_train), (x, y) = examples("digits", 0)
    with torch.no_grad():
        p, seen = net(x).double().softmax(-1), net(x_train).argmax(-1) == y_train
    found = score(net, "digits", 0, 4)
    halves = [half.mean(0) for half in p.split(4)]
    right = [(half.argmax(-1) == y).double().mean() for half in halves]
    assert found["accuracy"] == pytest.approx(np.mean(right))
    nll = [-half[range(len(y)), y].log().mean() for half in halves]
    assert found["nll"] == pytest.approx(np.mean(nll))
    assert found["members_nll"] == pytest.approx(-p[:, range(len(y)), y].log().mean().item())
    members = (p.argmax(-1) == y).double().mean()
    assert found["members_accuracy"] == pytest.approx(members.item())
    assert found["train_accuracy"] == pytest.approx(seen.double().mean().item())
    assert 0 < found["diversity"] < 1.2
    one = score(net, "digits", 0, 1)
    assert one["diversity"] is None
    assert one["nll"] == pytest.approx(one["members_nll"]) == found["members_nll"]


def test_members_that_never_err_have_no_diversity(monkeypatch):
    class Right(Sequential):
        def forward(self, x):
            return 30 * torch.eye(10)[torch.arange(len(x)) % 10].expand(2, -1, -1)

    data = (torch.zeros(20, 64), torch.arange(20) % 10)
    monkeypatch.setattr(ours, "examples", lambda task, split: (data, data))
    monkeypatch.setattr(ours, "predict", lambda net, x: net(x))
    found = score(Right(), "digits", 0, 2)
    assert (found["accuracy"], found["train_accuracy"]) == (1.0, 1.0)
    assert found["diversity"] is None


@pytest.mark.parametrize("method", METHODS)
def test_a_row_has_all_scores_of_all_numbers(small, method):
    found = ours.run("digits", method, 5, 1)
    assert set(found) == {*SCORES, "parameters", "lr"}
    assert {len(values) for values in found.values()} == {len(MEMBERS)}
    assert found["lr"] == [RATES[i] for i in (0, 1, 2, 2)]
    assert found["diversity"][0] is None
    wanted = [counting.mlp([64, 5, 5, 10], method, members).total for members in MEMBERS]
    assert found["parameters"] == wanted
    again = ours.run("digits", method, 5, 1)
    assert found["nll"] == again["nll"]


def test_where_training_fails_the_next_smaller_rate_is_taken(small, monkeypatch):
    tried = []

    def fails(task, method, width, members, split, lr, epochs=None):
        tried.append(lr)
        if lr > RATES[0]:
            raise FloatingPointError
        return network(task, method, width, members, 0)

    monkeypatch.setattr(ours, "trained", fails)
    _, used = ours.train_at_rate("digits", "batch_ensemble", 5, 2, 0, RATES[1])
    assert (tried, used) == ([RATES[1], RATES[0]], RATES[0])
    with pytest.raises(FloatingPointError, match="batch_ensemble of 2, width 5, fails"):
        ours.train_at_rate("digits", "batch_ensemble", 5, 2, 0, 0.001)


def test_tuning_says_where_training_fails(small):
    for method in METHODS:
        fine = ours.tune("digits", method, 5, 100, 0.02)["nll"]
        assert all(0 < value < 3 for value in fine)
        assert ours.tune("digits", method, 5, 100, 1e30)["nll"] == [None] * 4


def test_the_rate_of_an_untuned_width_is_that_of_the_nearest(small):
    for width, picked in ((3, 0), (5, 0), (6, 1), (99, 1)):
        assert chosen_rate("digits", "deep_ensemble", width, 1) == RATES[picked], width


def test_the_rates_chosen_are_those_of_the_tuning():
    found = measured.load("width-tuning")["summary"]
    own = {
        task: {
            method: {str(width): list(picked) for width, picked in widths.items()}
            for method, widths in methods.items()
        }
        for task, methods in CHOSEN.items()
    }
    assert found == own
    for row in TASKS.values():
        assert not {*range(row.splits)} & {*row.apart}
        assert {*row.tuned} <= {*row.widths}
    assert {case["lr"] for case in TUNING.cases} == {*RATES}


def test_the_least_nll_is_chosen_and_failures_never():
    key = {"task": "digits", "method": "batch_ensemble", "width": 5}
    nll = {RATES[0]: [0.3, 0.3], RATES[1]: [0.2, 0.5], RATES[2]: [0.1, None]}
    rows = [
        key | {"split": split, "lr": lr, "nll": [values[split], 1 - (values[split] or 0)]}
        for lr, values in nll.items()
        for split in (0, 1)
    ]
    assert chosen(rows) == {"digits": {"batch_ensemble": {"5": [0, 1]}}}


def test_widths_of_as_many_parameters_are_the_nearest():
    for width, (one, several) in ALIKE.items():
        total = counting.mlp([64, width, width, 10], "batch_ensemble", BUDGETED).total

        def miss(own, separate, total=total):
            return abs(separate * counting.mlp([64, own, own, 10]).total - total)

        for own, separate in ((one, 1), (several, BUDGETED)):
            assert width_of_equal_size(width, BUDGETED, separate) == own
            assert miss(own, separate) <= min(miss(own - 1, separate), miss(own + 1, separate))
    known = {
        case["width"]
        for case in EXPERIMENT.cases
        if (case["task"], case["method"]) == ("digits", "deep_ensemble")
    }
    assert {own for pair in ALIKE.values() for own in pair} <= known


def test_differences_are_those_of_the_same_split():
    def row(method, split, nll):
        key = {"task": "digits", "method": method, "width": 16, "split": split}
        return key | {"nll": [nll, nll + split]}

    # Not in the order of the splits.
    rows = [row("batch_ensemble", split, 0.1 * split) for split in (2, 0, 1)]
    rows += [row("deep_ensemble", split, 0.1) for split in range(3)]
    pair = ("batch_ensemble", 16, 1), ("deep_ensemble", 16, 1)
    found = differences(rows, "digits", *pair, "nll")
    np.testing.assert_allclose(found, [-0.1, 0.0, 0.1], atol=1e-15)
    (entry,) = compare_ensembles(rows, "digits", [pair], ["nll"])
    wide = math.sqrt(1 / 3 + TASKS["digits"].test / TASKS["digits"].train)
    assert entry["high"] == pytest.approx(4.302653 * 0.1 * wide, rel=1e-6)  # t, 2 degrees
    assert (entry["width"], entry["than"], entry["verdict"]) == (16, "deep_ensemble", "")


def test_means_are_over_splits_by_the_number_of_members(monkeypatch):
    rows = [
        {"task": task, "method": method, "width": width, "nll": [split, 1, 2, width]}
        for task, own in TASKS.items()
        for method in METHODS
        for width in (*own.widths, 999)
        for split in range(3)
    ]  # fmt: skip
    monkeypatch.setattr(measured, "load", {"width": {"rows": rows}}.__getitem__)
    assert means("nll") == {
        (task, method, width): {1: 1.0, 2: 1.0, 4: 2.0, 8: width}
        for task, own in TASKS.items() for method in METHODS for width in own.widths
    }  # fmt: skip


def test_a_row_again():
    row = measured.row(
        measured.load("width")["rows"], task="digits", method="batch_ensemble", width=16, split=0
    )
    i = MEMBERS.index(8)
    net = trained("digits", "batch_ensemble", 16, 8, 0, row["lr"][i])
    found = score(net, "digits", 0, 8)
    assert counting.count(net).total == row["parameters"][i]
    # To the digits of the table, and what other processors add.
    assert found["nll"] == pytest.approx(row["nll"][i], rel=0.2)
    assert found["train_accuracy"] == pytest.approx(row["train_accuracy"][i], abs=0.03)

"""Lifelong learning: what a task trains, what it adds, and that nothing is forgotten."""

import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import lifelong
from ensedu.book.experiments.lifelong import (
    CONTESTANTS,
    EXPERIMENT,
    RATES,
    TASKS,
    TUNING,
    learn_task,
    network,
    outputs,
    tasks,
)
from ensedu.data import digits

SHORT = {"lr": 0.01, "epochs": 1, "batch_size": 32, "seed": 0}
FORGETS = "fine_tuned"


def test_tasks_are_two_classes_each():
    found = tasks(1)
    assert len(found) == TASKS
    assert sum(len(x) for part in found for x, _ in part) == 1797
    x, y = digits()
    (own, labels), _ = found[2]
    known = {row.tobytes(): label for row, label in zip(x, y, strict=True)}
    assert [known[row.numpy().tobytes()] - 4 for row in own] == labels.tolist()


@pytest.mark.parametrize("contestant", CONTESTANTS)
def test_only_what_is_trained_on_forgets(contestant):
    net, parts = network(contestant, 0), tasks(0)
    x = parts[0][1][0]
    learn_task(net, 0, parts[0][0], **SHORT)
    before = outputs(net, 0, x)
    for task in range(1, TASKS):
        learn_task(net, task, parts[task][0], **SHORT)
    assert torch.equal(outputs(net, 0, x), before) == (contestant != FORGETS)


@pytest.mark.parametrize("contestant", CONTESTANTS)
def test_a_task_changes_what_is_its_own(contestant):
    net, parts = network(contestant, 0), tasks(0)
    learn_task(net, 0, parts[0][0], **SHORT)
    before = {name: p.clone() for name, p in net.named_parameters()}
    learn_task(net, 1, parts[1][0], **SHORT)
    changed = sum(int((p != before[name]).sum()) for name, p in net.named_parameters())
    if contestant == FORGETS:
        assert changed > net.added_numbers()
    else:  # all but what had a gradient of 0
        assert 0.5 * net.added_numbers() < changed <= net.added_numbers()


def test_what_a_task_adds():
    found = {name: network(name, 0).added_numbers() for name in CONTESTANTS}
    fast, head, own = 2 * (64 + 64 + 64), 64 * 2 + 2, 2 * (64 * 64 + 64)
    assert found == {
        "signs": fast + head, "copied": fast + head, "head": head, "head_random": head,
        "own": own + head, "fine_tuned": head,
    }  # fmt: skip


def test_copied_begins_as_heads_alone():
    net = network("copied", 0)
    learn_task(net, 0, tasks(0)[0][0], **SHORT)
    net.begin_task(3)
    x = tasks(0)[3][0][0]
    with torch.no_grad():
        features = net.body(x)
    assert torch.equal(features[3], features[0])
    assert not torch.equal(features[3], features[1])


def test_a_random_body_stays_as_it_was():
    net = network("head_random", 0)
    before = [p.clone() for p in net.body.parameters()]
    learn_task(net, 0, tasks(0)[0][0], **SHORT)
    assert all(torch.equal(a, b) for a, b in zip(before, net.body.parameters(), strict=True))


def test_a_short_run():
    found = lifelong.run("signs", 0, starts=2, epochs=1, batch_size=64)
    assert [len(found[name]) for name in ("later", "earlier", "first")] == [2, 2, 2]
    for after in found["first"]:
        assert len(set(after)) == 1 and len(after) == TASKS
    assert set(lifelong.tune("head", 0.01, 0, 1, 64)) == {"accuracy"}


def test_the_settings_chosen_are_those_of_the_tuning():
    found = measured.load("lifelong-tuning")["summary"]
    assert found == {name: row.chosen for name, row in CONTESTANTS.items()}
    assert {case["lr"] for case in TUNING.cases} == set(RATES)
    assert not {c["split"] for c in EXPERIMENT.cases} & {c["split"] for c in TUNING.cases}


def test_a_row_again():
    row = measured.row(measured.load("lifelong")["rows"], contestant="signs", split=0)
    found = lifelong.run("signs", 0, **EXPERIMENT.settings | {"starts": 1})
    assert found["later"][0] == pytest.approx(row["later"][0], abs=0.02)
    assert found["added"] == row["added"]

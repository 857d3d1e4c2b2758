"""Architectures of five libraries under each method: exact, or an error that says why not.

`make test-others` runs all of them and writes the results and the table of it anew; with
``ZOO=quick`` it runs a few and writes nothing. Either way it fails where a result is not the
committed one.
"""

import os

import pytest
import torch
from torch import nn

from ensedu.torch import ensemble
from tests.zoo import oracle, results, trial
from tests.zoo.models import ZOO

CHOSEN = os.environ.get("ZOO", "all")
ENTRIES = [entry for entry in ZOO if CHOSEN == "all" or entry.quick]


@pytest.fixture(scope="session")
def rows():
    """What is found, row by row; written at the end, if all of it was."""
    found = []
    yield found
    if len(found) == len(ZOO):
        results.write(found, trial.M)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_results_are_the_committed_ones(entry, rows):
    committed = {row["architecture"]: row for row in results.committed()["rows"]}
    row = {
        "architecture": entry.name,
        "parameters": sum(parameter.numel() for parameter in trial.make(entry).parameters()),
        "methods": {method: trial.trial(entry, method) for method in trial.KEYS},
    }
    rows.append(row)
    assert row == committed.get(entry.name)


def test_the_table_has_a_row_for_each_architecture():
    assert CHOSEN in ("all", "quick")
    committed = results.committed()["rows"]
    assert [row["architecture"] for row in committed] == [entry.name for entry in ZOO]
    libraries = {entry.name.rpartition(" (")[2] for entry in ZOO if entry.quick}
    assert len(libraries) == len(results.LIBRARIES)


def mix_up(net):
    net.register_forward_hook(lambda *args: args[-1].roll(1, dims=0))


def take_another(net):
    member = net.member
    net.member = lambda i: member((i + 1) % trial.M)


def make_alike(net):
    for holder in oracle.holders(net).values():
        for parameter in (holder.r, holder.s, holder.bias):
            parameter.copy_(parameter[:1].expand_as(parameter))


@torch.no_grad()
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (mix_up, "output 0 of member 0"),
        (take_another, r"output 0 of net.member\(0\)"),
        (make_alike, "members are alike"),
    ],
)
def test_the_comparison_passes_a_right_ensemble_and_no_other(spoil, words):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2)).double().eval()
    net = ensemble(model, "batch_ensemble", trial.M)
    oracle.draw_apart(net)
    batches = [{"input": torch.randn(2, 5, dtype=torch.float64)}]
    trial.compare(model, net, batches, draws=False)
    spoil(net)
    with pytest.raises(AssertionError, match=words):
        trial.compare(model, net, batches, draws=False)


def test_only_an_error_of_the_package_that_says_what_works_is_a_result():
    with pytest.raises(ValueError, match="no weight to convert") as caught:
        ensemble(nn.ReLU(), "batch_ensemble", trial.M)
    assert oracle.named(caught.value)
    with pytest.raises(ValueError, match="accepted") as caught:
        raise ValueError("accepted is nothing")
    assert not oracle.named(caught.value)

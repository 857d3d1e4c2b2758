"""Which parameters decay, and which learn at a rate of their own."""

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import size_option
from tests.torch.whole.models import FAST, M


def model():
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 2))


def test_weight_decay_pulls_on_weights_alone():
    for method in ("deep_ensemble", *FAST, "last_layer"):
        options = {"head": "3"} if method == "last_layer" else {}
        net = et.ensemble(model(), method, **size_option(method, M), **options)
        groups = et.parameter_groups(net, weight_decay=0.5)
        given = [(id(p), group["weight_decay"]) for group in groups for p in group["params"]]
        expected = {}
        for name, p in net.named_parameters():
            decays = name.endswith(".weight") and not name.endswith(".1.weight")
            expected[id(p)] = 0.5 if decays else 0.0
        assert len(given) == len(expected) and dict(given) == expected, method
    frozen = net.model[0].weight.requires_grad_(False)
    groups = et.parameter_groups(net, weight_decay=0.0)
    assert all(p is not frozen for group in groups for p in group["params"])


@pytest.mark.parametrize("make", ["converted", "layers"])
@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "deep_ensemble", "mean_field"])
def test_fast_weights_may_have_a_learning_rate(method, make):
    own = size_option(method, M)
    net = (
        et.mlp([7, 5, 2], method, **own)
        if make == "layers"
        else et.ensemble(model(), method, **own)
    )
    rate = torch.tensor(0.25).numpy()[()]  # as one of Python's, which a checkpoint keeps
    two = et.parameter_groups(net, weight_decay=0.5)
    three = et.parameter_groups(net, weight_decay=0.5, fast_lr=rate)
    assert type(three[2]["lr"]) is float
    settings = [{key: one for key, one in group.items() if key != "params"} for group in three]
    assert settings == [
        {"weight_decay": 0.5},
        {"weight_decay": 0.0},
        {"weight_decay": 0.0, "lr": 0.25},
    ]
    names = {id(p): name.rpartition(".")[2] for name, p in net.named_parameters()}
    fast = {"batch_ensemble": ["r", "s"], "rank1": ["r_mean", "r_rho", "s_mean", "s_rho"]}
    expected = fast.get(method, [])
    assert [names[id(p)] for p in three[2]["params"]] == 2 * expected
    # All else is where it was, and nothing twice or nowhere.
    for group, other in zip(two, three, strict=False):
        kept = [id(p) for p in group["params"] if names[id(p)] not in expected]
        assert kept == [id(p) for p in other["params"]]
    assert sum(len(group["params"]) for group in three) == len(names)

"""Which parameters decay, and which learn at a rate of their own."""

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import size_option
from tests.torch.whole.models import FAST, M


@pytest.mark.bad_input
def test_weight_decay_pulls_on_weights_alone():
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 2))
    x = torch.randn(5, 1, 6, 6)
    for method in ("deep_ensemble", *FAST, "last_layer"):
        options = {"head": "3"} if method == "last_layer" else {}
        net = et.ensemble(model, method, **size_option(method, M), **options)
        groups = et.parameter_groups(net, weight_decay=0.5)
        given = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
        assert (
            len(given)
            == sum(len(group["params"]) for group in groups)
            == len(list(net.parameters()))
        )
        for name, parameter in net.named_parameters():
            own = name.rpartition(".")[2]
            norm = name.endswith(".1.weight")
            assert given[id(parameter)] == (0.5 if own == "weight" and not norm else 0.0), name
    # One step without a gradient: AdamW alone moves, and only weights.
    net = et.ensemble(model, "batch_ensemble", M)
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    optimizer = torch.optim.AdamW(et.parameter_groups(net, weight_decay=0.5), lr=0.1)
    (0 * net(x).sum()).backward()
    optimizer.step()
    for name, parameter in net.named_parameters():
        kept = torch.equal(parameter, before[name])
        assert kept != (name.endswith("weight") and ".1." not in name), name
    net.model[0].weight.requires_grad_(False)
    groups = et.parameter_groups(net, weight_decay=0.0)
    assert all(p is not net.model[0].weight for group in groups for p in group["params"])
    for bad, error in ((-1, ValueError), ("1", TypeError), (float("nan"), ValueError)):
        with pytest.raises(error, match="weight_decay must be"):
            et.parameter_groups(net, weight_decay=bad)
    with pytest.raises(TypeError, match=r"net must be a torch\.nn\.Module, got list"):
        et.parameter_groups([net], weight_decay=0)
    # A number of another package is one of Python's in the group, as a checkpoint keeps it.
    group = et.parameter_groups(net, weight_decay=0, fast_lr=torch.tensor(0.25).numpy()[()])[2]
    assert type(group["lr"]) is float


@pytest.mark.parametrize("make", ["converted", "layers"])
@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "deep_ensemble", "mean_field"])
def test_fast_weights_may_have_a_learning_rate(method, make):
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 2))
    net = et.ensemble(model, method, **size_option(method, M))
    if make == "layers":
        net = et.mlp([7, 5, 2], method, **size_option(method, M))
    two = et.parameter_groups(net, weight_decay=0.5)
    three = et.parameter_groups(net, weight_decay=0.5, fast_lr=0.25)
    assert len(two) == 2
    assert [sorted(group) for group in three[:2]] == 2 * [["params", "weight_decay"]]
    assert three[2] | {"params": None} == {"params": None, "weight_decay": 0.0, "lr": 0.25}
    names = {id(p): name.rpartition(".")[2] for name, p in net.named_parameters()}
    fast = [names[id(p)] for p in three[2]["params"]]
    expected = {
        "batch_ensemble": ["r", "s"],
        "rank1": ["r_mean", "r_rho", "s_mean", "s_rho"],
    }.get(method, [])
    assert fast == 2 * expected
    # All else is where it was, and nothing twice or nowhere.
    for group, other in zip(two, three, strict=False):
        kept = [p for p in group["params"] if names[id(p)] not in expected]
        assert list(map(id, kept)) == list(map(id, other["params"]))
    assert sum(len(group["params"]) for group in three) == len(names)

"""Which parameters decay, and which learn at a rate of their own."""

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import size_option
from tests.torch.whole.models import FAST, M


def model():
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 2))


@pytest.mark.parametrize("rate", [None, torch.tensor(0.25).numpy()[()]])
def test_weights_decay_and_fast_weights_may_have_a_rate(rate):
    """And nothing else, each parameter in one group; of layers, training shows the same."""
    for method in ("deep_ensemble", *FAST, "mean_field", "last_layer"):
        options = {"head": "3"} if method == "last_layer" else {}
        net = et.ensemble(model(), method, **size_option(method, M), **options)
        if method == "batch_ensemble":
            net.model[3].requires_grad_(False)  # what is frozen is left out
        expected = []
        for name, p in net.named_parameters():
            decays = name.endswith(".weight") and not name.endswith(".1.weight")
            fast = name.rpartition(".")[2] in ("r", "s", "r_mean", "r_rho", "s_mean", "s_rho")
            if p.requires_grad:
                expected.append((id(p), 0.5 if decays else 0.0, rate if fast else None))
        groups = et.parameter_groups(net, weight_decay=0.5, fast_lr=rate)
        given = [(id(p), g["weight_decay"], g.get("lr")) for g in groups for p in g["params"]]
        assert sorted(given, key=str) == sorted(expected, key=str), method
        assert len(groups) == (2 if rate is None else 3)
    # A number of another package is one of Python's in the group, as a checkpoint keeps it.
    assert type(groups[-1].get("lr", 0.0)) is float

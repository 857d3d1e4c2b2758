"""What is listed as shared stays one copy for all members."""

from collections import OrderedDict

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import size_option
from ensedu.torch.whole.flat_parts import FlatLayer
from tests.torch.whole.cases import MEMBER_METHODS, B, M, Names, convert, numbers


def test_shared_parts_stay_one_copy():
    class Vision(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(1, 3, 3)
            self.scale = nn.Parameter(torch.full((3, 1, 1), 2.0))
            self.head = nn.Linear(3, 2)

        def forward(self, x):
            return self.head((self.stem(x) * self.scale).mean((-1, -2)))

    model, x = Vision(), numbers(B, 1, 8, 8).float()
    for method in MEMBER_METHODS:
        net = convert(model, method, shared=["stem", "scale"])
        count = counting.count(net)
        head = counting.layer(3, 2, method, **size_option(method, M))
        # The stem's 27 weights, the scale's 3, the stem's 3 biases: once.
        assert count == head + counting.Count(shared=30, biases=3)
        assert net(x).shape == (M, B, 2)
    copies = et.ensemble(model, "deep_ensemble", M, shared=["stem", "scale"])
    assert len({id(one.stem) for one in copies.members}) == 1
    assert copies.members[0].scale is copies.members[2].scale is not model.scale
    assert len({id(one.head) for one in copies.members}) == M


@pytest.mark.parametrize("method", MEMBER_METHODS)
def test_a_name_is_not_the_beginning_of_another(method):
    model = Names()
    net = convert(model, method, shared=["fc"])
    single, own = counting.count(model.fc), counting.layer(7, 2, method, **size_option(method, M))
    assert counting.count(net) == counting.Count(shared=49, biases=7) + own
    first = net.members[0] if method == "deep_ensemble" else net.model
    assert torch.equal(first.fc.weight, model.fc.weight)
    assert single.total == 56


@pytest.mark.bad_input
def test_shared_takes_patterns_and_types():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn, self.mlp = nn.MultiheadAttention(6, 2), nn.Linear(6, 6)

    def count(shared):
        net = et.ensemble(
            nn.Sequential(Block(), Block(), nn.LSTM(6, 5)), "batch_ensemble", M, shared=shared
        )
        return sum(isinstance(part, FlatLayer) for part in net.modules())

    attention = nn.MultiheadAttention
    assert (
        count([attention, "2"]) == count(["*.attn", nn.LSTM]) == count([attention, nn.RNNBase]) == 2
    )
    assert count(["?.attn", "2", "1.mlp"]) == 1
    with pytest.raises(ValueError, match=r"shared must hold names .* got '\*\.nothing'"):
        count(["*.nothing"])
    with pytest.raises(
        ValueError, match=r"types of modules, got <class 'torch\.nn\.modules\.rnn\.GRU'>"
    ):
        count([nn.GRU])
    with pytest.raises(TypeError, match="shared must hold names, patterns and types, got 3"):
        count([3])


def test_what_is_shared_is_shared_by_all_its_names():
    model = nn.Sequential(OrderedDict(a=nn.Linear(7, 7), b=nn.Linear(7, 2)))
    model.also_a = model.a
    net = et.ensemble(model, "deep_ensemble", M, shared=["also_a"])
    assert net.members[0].a is net.members[1].a
    assert counting.count(net).shared == 49

"""Inputs and outputs keep their structure."""

from collections import OrderedDict
from dataclasses import dataclass

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import size_option
from tests.torch.whole.cases import FLAT, B, M, Pair, Transformer, TwoInputs, floats, ids, numbers


def test_outputs_keep_their_structure():
    net = et.ensemble(Transformer(), "batch_ensemble", M)
    outputs = net(ids(B, 6))
    assert list(outputs) == ["logits", "states", "tokens"]
    assert outputs["tokens"] == 6
    assert isinstance(outputs["states"], list)
    pair = et.ensemble(TwoInputs(), "rank1", M)(numbers(B, 2, 6, 5).float(), numbers(B, 7).float())
    assert isinstance(pair, Pair)
    assert pair.hidden[1] is None
    assert pair.logits.shape == (M, B, 2)

    class Ordered(nn.Linear):
        def forward(self, x):
            return OrderedDict(b=super().forward(x), a=x)

    outputs = et.ensemble(nn.Sequential(nn.Linear(7, 7), Ordered(7, 2)), "deep_ensemble", M)(
        numbers(B, 7).float()
    )
    assert list(outputs) == ["b", "a"]
    assert isinstance(outputs, OrderedDict)
    assert outputs["b"].shape == (M, B, 2) and outputs["a"].shape == (M, B, 7)


@dataclass
class Output(OrderedDict):
    """As the outputs of transformers and diffusers are: a dict and a dataclass."""

    logits: torch.Tensor
    states: tuple | None = None

    def __post_init__(self):
        self["logits"] = self.logits


@pytest.mark.parametrize("method", ["deep_ensemble", *FLAT])
def test_dataclasses_come_out_as_they_are(method):
    class Model(nn.Module):
        def __init__(self, cache=None):
            super().__init__()
            self.fc, self.cache = nn.Linear(7, 2), cache

        def forward(self, x):
            y = self.fc(x)
            return Output(logits=y, states=(self.cache if self.cache else y + 1,))

    y = et.ensemble(Model().double(), method, **size_option(method, M))(floats(B, 7).double())
    assert type(y) is Output
    assert y.logits.shape == y.states[0].shape == (M, B, 2)
    assert y["logits"] is y.logits
    with pytest.raises(TypeError, match=r"is a builtins\.object, accepted .* use_cache=False"):
        et.ensemble(Model(object()), method, **size_option(method, M))(floats(B, 7))

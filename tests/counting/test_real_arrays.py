"""What real arrays count once: tied, frozen and nested ones, buffers, nothing."""

import numpy as np
import torch

import ensedu.numpy as en
from ensedu import counting
from ensedu.counting import Count


def test_count_of_tied_frozen_and_buffers():
    first, second = torch.nn.Linear(5, 5), torch.nn.Linear(5, 5, bias=False)
    second.weight = first.weight
    norm = torch.nn.BatchNorm1d(5)
    net = torch.nn.Sequential(first, second, norm)
    assert counting.count(net) == Count(shared=25 + 5, biases=5 + 5)
    first.weight.requires_grad_(False)
    assert counting.count(net) == Count(shared=25 + 5, biases=5 + 5, frozen=25)
    assert "frozen" in str(counting.count(net))
    assert counting.count(torch.nn.Linear(5, 5)) != counting.count(first)


def test_tied_numpy_arrays_count_once():
    layer, other = (en.Linear(3, 3, rng=np.random.default_rng(0)) for _ in range(2))
    other.params = layer.params
    assert counting.count(en.Sequential(layer, en.ReLU(), other)) == counting.linear(3, 3)
    nested = en.Sequential(en.Sequential(layer), en.Linear(3, 2, rng=np.random.default_rng(0)))
    assert counting.count(nested) == counting.mlp([3, 3, 2])


def test_count_of_nothing():
    assert counting.count(torch.nn.ReLU()) == counting.count(en.ReLU()) == Count()

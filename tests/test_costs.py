"""The costs by formula against operations and arrays of the real layers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import ensedu.torch as et
from ensedu import costs
from ensedu.torch import products

sizes = st.integers(1, 7)


class Elements(TorchDispatchMode):
    """Counts the entries that additions and multiplications outside of products write."""

    def __init__(self):
        super().__init__()
        self.written = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in ("add", "mul", "addmm", "baddbmm"):
            self.written += out.numel()
        return out


def counted(layer, x):
    """Operations inside and outside of the products of a forward pass, as they happen."""
    with torch.no_grad(), FlopCounterMode(display=False) as flops, Elements() as elements:
        layer(x)
    return flops.get_total_flops(), elements.written


@given(m=sizes, n=sizes, M=sizes, B=sizes, bias=st.booleans())
def test_costs_are_those_of_the_layers(m, n, M, B, bias):
    x = torch.randn(M, B, m)
    size = {"ensemble_size": M, "batch": B, "bias": bias}
    folds = products.folds(B, m, n)
    for layer, cost in (
        (et.DeepEnsembleLinear(m, n, M, bias=bias), costs.deep_ensemble(m, n, **size)),
        (
            et.BatchEnsembleLinear(m, n, M, bias=bias),
            costs.batch_ensemble(m, n, fold=folds, **size),
        ),
    ):
        assert counted(layer, x) == (cost.product_flops, cost.other_flops)
        assert cost.parameter_numbers == sum(p.numel() for p in layer.parameters())
        assert cost.activation_numbers == x.numel() + layer(x).numel()
        assert cost.bytes == 4 * (cost.parameter_numbers + cost.activation_numbers)
        assert cost.intensity == cost.flops / cost.bytes


def test_one_layer_is_an_ensemble_of_one():
    cost = costs.linear(5, 11, batch=7)
    assert counted(nn.Linear(5, 11), torch.randn(7, 5)) == (cost.product_flops, cost.other_flops)
    assert cost == costs.deep_ensemble(5, 11, ensemble_size=1, batch=7)
    assert cost.parameter_numbers == 5 * 11 + 11


def test_the_roofline_is_the_slower_of_computing_and_moving():
    cost = costs.deep_ensemble(5, 11, ensemble_size=3, batch=7, number_bytes=2)
    assert cost.seconds(1.0, 1e30) == cost.flops
    assert cost.seconds(1e30, 1.0) == cost.bytes == 2 * (3 * 66 + 21 * 16)
    ridge = cost.intensity  # a machine that computes this many for each byte waits for neither
    assert cost.seconds(ridge, 1.0) == pytest.approx(cost.bytes)


def test_at_batch_1_a_batch_ensemble_moves_less_by_the_ensemble_size():
    for M in (2, 4, 16):
        size = {"ensemble_size": M, "batch": 1}
        deep = costs.deep_ensemble(4096, 4096, **size)
        shared = costs.batch_ensemble(4096, 4096, **size)
        assert deep.bytes / shared.bytes == pytest.approx(M, rel=0.03)
        assert deep.product_flops == shared.product_flops


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: costs.linear(0, 2, batch=3), ValueError, ["in_features", "0"]),
        (lambda: costs.linear(2, 2.0, batch=3), TypeError, ["out_features", "2.0"]),
        (lambda: costs.linear(2, 2, batch=-1), ValueError, ["batch", "-1"]),
        (
            lambda: costs.deep_ensemble(2, 2, ensemble_size=0, batch=1),
            ValueError,
            ["ensemble_size", "0"],
        ),
        (
            lambda: costs.batch_ensemble(2, 2, ensemble_size=2, batch=1, fold=1),
            TypeError,
            ["fold", "1"],
        ),
        (
            lambda: costs.batch_ensemble(2, 2, ensemble_size=2, batch=1, bias=None),
            TypeError,
            ["bias", "None"],
        ),
        (lambda: costs.linear(2, 2, batch=1, number_bytes=0), ValueError, ["number_bytes", "0"]),
        (
            lambda: costs.linear(2, 2, batch=1).seconds(0.0, 1.0),
            ValueError,
            ["flops_per_second", "0.0"],
        ),
        (
            lambda: costs.linear(2, 2, batch=1).seconds(1.0, -1.0),
            ValueError,
            ["bytes_per_second", "-1.0"],
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)

"""Formula = NumPy arrays = Torch parameters = tables by hand; what counts once; comparisons."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.counting import Count
from ensedu.methods import METHODS, size_option
from ensedu.torch.network import layer_class

# Layer by layer: 1→50, 50→50, 50→1, and the whole network, four members; roles of 50→50.
FACTS = {
    "single": (100, 2550, 51, 2701, Count(2500, biases=50)),
    "deep_ensemble": (400, 10200, 204, 10804, Count(0, 10000, biases=200)),
    "batch_ensemble": (454, 3100, 258, 3812, Count(2500, 400, 0, 200)),
    "rank1": (658, 3500, 462, 4620, Count(2500, 400, 400, 200)),
    "mean_field": (200, 5100, 102, 5402, Count(2500, 0, 2500, 100)),
    "mc_dropout": (100, 2550, 51, 2701, Count(2500, biases=50)),
    "last_layer": (100, 2550, 204, 2854, Count(2500, biases=50)),
}
lengths = st.integers(1, 40)


@pytest.mark.parametrize("method", METHODS)
def test_counts_worked_out_by_hand(method):
    *layers, total, middle = FACTS[method]
    count = counting.mlp([1, 50, 50, 1], method, **size_option(method, 4))
    assert [layer.total for layer in count.layers] == layers
    assert count.total == total and count.layers[1] == middle


@pytest.mark.parametrize("method", METHODS)
@given(sizes=st.lists(st.integers(1, 23), min_size=2, max_size=4), M=st.integers(1, 7))
def test_the_formula_of_a_network_equals_its_arrays(method, sizes, M):
    size = size_option(method, M)
    formula = counting.mlp(sizes, method, **size)
    reference = en.mlp(sizes, method, **size, rng=np.random.default_rng(0))
    module = et.mlp(sizes, method, **size, device="meta")
    assert formula.total == sum(array.size for array in reference.params.values())
    assert formula.total == sum(parameter.numel() for parameter in module.parameters())
    for count in map(counting.count, (reference, module)):
        assert count == formula
        assert list(count.layers or (count,)) == list(formula.layers)


@pytest.mark.parametrize("method", METHODS)
@given(
    m=lengths, n=lengths, kernel=st.integers(1, 7) | st.tuples(*[st.integers(1, 7)] * 2),
    bias=st.booleans(), M=st.integers(1, 9),
)  # fmt: skip
def test_the_formula_of_a_convolution_equals_its_arrays(method, m, n, kernel, bias, M):
    size = {"ensemble_size": M} if METHODS[method].has_members else {}
    kind = layer_class(method, "Conv2d")
    layer = kind(m, n, kernel, *size.values(), bias=bias, device="meta")
    formula = counting.layer(m, n, method, **size, kernel_size=kernel, bias=bias)
    assert counting.count(layer) == formula
    assert formula.total == sum(parameter.numel() for parameter in layer.parameters())


@pytest.mark.bad_input
def test_counts_are_exact_integers_beyond_floats():
    count = counting.deep_ensemble(10**12 + 1, 10**12 + 3, ensemble_size=3)
    assert count.total == 3 * ((10**12 + 1) * (10**12 + 3) + 10**12 + 3)
    small = Count(np.int8(100), biases=np.int8(100))
    assert small.total == 200 and type(small.shared) is int


def test_every_method_has_a_function_of_its_own():
    for method in METHODS:
        name = "linear" if method == "single" else method
        function = getattr(counting, name)
        assert function.__name__ == name in counting.__all__
        assert METHODS[method].source in function.__doc__
        size = {"ensemble_size": 3} if METHODS[method].has_members else {}
        assert function(5, 7, **size) == counting.layer(5, 7, method, **size)


@given(*[st.lists(st.integers(0, 99), min_size=5, max_size=5)] * 2)
def test_counts_add_up_by_role(a, b):
    both = Count(*a) + Count(*b)
    assert both == Count(*(x + y for x, y in zip(a, b, strict=True)))
    assert both.total == both.weights + both.biases == sum(a[:4]) + sum(b[:4])


def test_tied_arrays_count_once_frozen_ones_apart_and_buffers_never():
    first, second = torch.nn.Linear(5, 5), torch.nn.Linear(5, 5, bias=False)
    second.weight = first.weight
    net = torch.nn.Sequential(first, second, torch.nn.BatchNorm1d(5))
    assert counting.count(net) == Count(shared=25 + 5, biases=5 + 5)
    first.weight.requires_grad_(False)
    assert counting.count(net) == Count(shared=25 + 5, biases=5 + 5, frozen=25)
    layer, other = (en.Linear(3, 3, rng=np.random.default_rng(0)) for _ in range(2))
    other.params = layer.params
    assert counting.count(en.Sequential(layer, en.ReLU(), other)) == counting.linear(3, 3)
    nested = en.Sequential(en.Sequential(layer), en.Linear(3, 2, rng=np.random.default_rng(0)))
    assert counting.count(nested) == counting.mlp([3, 3, 2])
    assert counting.count(torch.nn.ReLU()) == counting.count(en.ReLU()) == Count()


@pytest.mark.parametrize("method", METHODS)
@given(m=lengths, n=lengths, M=lengths)
def test_one_more_member_is_the_difference(method, m, n, M):
    one, two = (counting.layer(m, n, method, **size_option(method, size)) for size in (M, M + 1))
    assert one + counting.one_more_member(m, n, method) == two


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("relative_to", METHODS)
def test_the_asymptotic_ratio_is_the_limit_of_wide_layers(method, relative_to):
    h, names = 10**9, (method, relative_to)
    counts = [counting.layer(h, h, name, **size_option(name, 4)).total for name in names]
    limit = counting.asymptotic_ratio(method, 4, relative_to=relative_to)
    assert abs(Fraction(*counts) - limit) < Fraction(1, 10**7)


@given(
    sizes=st.lists(st.none() | st.integers(1, 12), min_size=2, max_size=5).filter(
        lambda sizes: None in sizes
    ),
    method=st.sampled_from(["batch_ensemble", "rank1"]),
    M=st.integers(1, 9),
)
def test_break_even_is_the_first_width_from_which_all_are_smaller(sizes, method, M):
    width = counting.break_even_width(sizes, method, M)

    def smaller(h):
        filled = [h if size is None else size for size in sizes]
        own, deep = (counting.mlp(filled, key, M).total for key in (method, "deep_ensemble"))
        return own < deep

    if width is None:
        assert not any(smaller(h) for h in [10**6, 10**12])
    else:
        assert all(smaller(width + k) for k in [*range(12), 59, 10**6, 10**12])
        assert width == 1 or not smaller(width - 1)

"""Formula = NumPy arrays = Torch parameters = published and hand-made tables."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.counting import Count
from ensedu.methods import METHODS, functions_by_method, size_option

# Layer by layer: 1→50, 50→50, 50→1, and the whole network, four members.
FACTS = {
    "single": (100, 2550, 51, 2701),
    "deep_ensemble": (400, 10200, 204, 10804),
    "batch_ensemble": (454, 3100, 258, 3812),
    "rank1": (658, 3500, 462, 4620),
    "mean_field": (200, 5100, 102, 5402),
    "mc_dropout": (100, 2550, 51, 2701),
    "last_layer": (100, 2550, 204, 2854),
}


# One to nine hidden layers of 50 units, scalar input and output, four members.
BY_DEPTH = {
    "single": [151, 2701, 5251, 7801, 10351, 12901, 15451, 18001, 20551],
    "deep_ensemble": [604, 10804, 21004, 31204, 41404, 51604, 61804, 72004, 82204],
    "batch_ensemble": [712, 3812, 6912, 10012, 13112, 16212, 19312, 22412, 25512],
    "rank1": [1120, 4620, 8120, 11620, 15120, 18620, 22120, 25620, 29120],
}


@pytest.mark.parametrize("method", METHODS)
def test_table_of_layers(method):
    *layers, total = FACTS[method]
    count = counting.mlp([1, 50, 50, 1], method, **size_option(method, 4))
    assert [layer.total for layer in count.layers] == layers
    assert count.total == total


@pytest.mark.parametrize("method", BY_DEPTH)
def test_table_of_depths(method):
    totals = [
        counting.mlp([1, *[50] * depth, 1], method, **size_option(method, 4)).total
        for depth in range(1, 10)
    ]
    assert totals == BY_DEPTH[method]


def test_roles():
    assert counting.linear(50, 50) == Count(shared=2500, biases=50)
    assert counting.deep_ensemble(50, 50, ensemble_size=4) == Count(per_member=10000, biases=200)
    assert counting.batch_ensemble(50, 50, ensemble_size=4) == Count(2500, 400, 0, 200)
    assert counting.rank1(50, 50, ensemble_size=4) == Count(2500, 400, 400, 200)
    assert counting.mean_field(50, 50) == Count(2500, 0, 2500, 100)
    assert counting.mc_dropout(50, 50) == counting.linear(50, 50)
    assert counting.deep_ensemble(2, 3, ensemble_size=1) == Count(per_member=6, biases=3)


sizes = st.lists(st.integers(1, 23), min_size=2, max_size=4)


@pytest.mark.parametrize("method", METHODS)
@given(sizes=sizes, ensemble_size=st.integers(1, 7))
def test_formula_equals_arrays(method, sizes, ensemble_size):
    size = size_option(method, ensemble_size)
    formula = counting.mlp(sizes, method, **size)
    reference = en.mlp(sizes, method, **size, rng=np.random.default_rng(0))
    module = et.mlp(sizes, method, **size, device="meta")
    assert formula == counting.count(reference) == counting.count(module)
    assert formula.total == sum(array.size for array in reference.params.values())
    assert formula.total == sum(parameter.numel() for parameter in module.parameters())
    by_layer = [
        [layer for layer in c.layers or (c,)] for c in map(counting.count, (reference, module))
    ]
    assert list(formula.layers) == by_layer[0] == by_layer[1]


@given(
    m=st.integers(1, 40),
    n=st.integers(1, 40),
    kernel=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    bias=st.booleans(),
    M=st.integers(1, 9),
)
def test_convolutions(m, n, kernel, bias, M):
    conv = torch.nn.Conv2d(m, n, kernel, bias=bias, device="meta")
    single = counting.linear(m, n, kernel_size=kernel, bias=bias)
    assert single == counting.count(conv)
    area = kernel[0] * kernel[1]
    options = {"kernel_size": kernel, "bias": bias}
    assert counting.deep_ensemble(m, n, ensemble_size=M, **options).total == M * single.total
    batch = counting.batch_ensemble(m, n, ensemble_size=M, **options)
    assert batch == Count(m * n * area, M * (m + n), 0, bias * M * n)
    rank1 = counting.rank1(m, n, ensemble_size=M, **options)
    assert rank1 == Count(m * n * area, M * (m + n), M * (m + n), bias * M * n)
    assert counting.mean_field(m, n, **options).total == 2 * single.total
    assert counting.linear(m, n, kernel_size=kernel[0]) == counting.linear(
        m, n, kernel_size=(kernel[0], kernel[0])
    )


def test_exact_beyond_floats():
    count = counting.deep_ensemble(10**12 + 1, 10**12 + 3, ensemble_size=3)
    assert count.total == 3 * ((10**12 + 1) * (10**12 + 3) + 10**12 + 3)


def test_every_method_has_a_function_of_its_own():
    for method in METHODS:
        name = "linear" if method == "single" else method
        function = getattr(counting, name)
        assert function.__name__ == name in counting.__all__
        assert METHODS[method].source in function.__doc__
        size = {
            key: value for key, value in size_option(method, 3).items() if key == "ensemble_size"
        }
        assert function(5, 7, **size) == counting.layer(5, 7, method, **size)
    assert functions_by_method(counting.layer).keys() == {"linear", *METHODS} - {"single"}

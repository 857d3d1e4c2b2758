"""The class of each method's layers holds the arrays of the method's row."""

import numpy as np
import pytest

import ensedu.numpy as en
from ensedu import counting
from ensedu.methods import METHODS
from ensedu.numpy.layer_classes import layer_class
from tests.numpy.convolutions import C_IN, C_OUT, KERNEL, M

PREFIXES = {
    "single": "", "deep_ensemble": "DeepEnsemble", "batch_ensemble": "BatchEnsemble",
    "rank1": "Rank1", "mean_field": "MeanField", "mc_dropout": "", "last_layer": "DeepEnsemble",
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_a_method_has_its_two_layers(method):
    for product in ("Linear", "Conv2d"):
        assert layer_class(method, product) is getattr(en, PREFIXES[method] + product)


@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble", "rank1", "mean_field"])
def test_a_convolution_holds_what_the_formula_counts(method):
    members = {"ensemble_size": M} if METHODS[method].members else {}
    expected = getattr(counting, method)(C_IN, C_OUT, kernel_size=KERNEL, **members)
    made = layer_class(method, "Conv2d")
    layer = made(C_IN, C_OUT, KERNEL, **members, rng=np.random.default_rng(1))
    assert counting.count(layer).total == expected.total

"""The mean-field layer in NumPy."""

import numpy as np
import pytest

from ensedu.priors import Cauchy, Normal
from tests import layers
from tests.backends import InNumPy
from tests.gradients import (
    LAYERS,
    ByHand,
    Sums,
    check_kl_gradient,
    for_layers,
    for_layers_and_inputs,
)
from tests.numpy.convolutions import C_IN, SIZE, B, DrawnConvolution, convolution


class TestMeanFieldLinear(InNumPy, layers.MeanFieldLinear):
    pass


@for_layers_and_inputs("mean_field")
class TestGradients(ByHand):
    pass


@for_layers("mean_field")
class TestSums(Sums):
    pass


def test_kl_gradient():
    check_kl_gradient(LAYERS["mean_field"]["MeanFieldLinear"])


@pytest.mark.parametrize(
    "options",
    [
        {"posterior_std": 0.3},
        {"posterior_std": 0.3, "estimator": "local", "prior": Cauchy(0.0, 0.1)},
    ],
    ids=["normal", "local, Cauchy"],
)
class TestMeanFieldConv2d(DrawnConvolution):
    name = "MeanFieldConv2d"


def test_a_normal_prior_at_the_posterior_costs_nothing():
    options = {"prior": Normal(0.0, 0.3), "posterior_std": 0.3}
    layer = convolution("MeanFieldConv2d", options)
    layer.params["weight_mean"][...] = 0
    layer.params["bias_mean"][...] = 0
    assert layer.kl() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda layer: layer.forward(np.ones((B, C_IN, *SIZE)), {}), "keys"),
        (lambda layer: layer.kl({"weight": np.ones(2)}), "noise must"),
    ],
)
def test_bad_noise_is_named(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call(convolution("MeanFieldConv2d"))

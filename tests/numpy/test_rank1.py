"""The rank-1 Bayesian layer in NumPy."""

import numpy as np
import pytest

import ensedu.numpy as en
from ensedu.priors import Cauchy, Normal
from tests import layers
from tests.backends import InNumPy, M, m, n
from tests.gradients import (
    LAYERS,
    ByHand,
    Sums,
    check_kl_gradient,
    for_layers,
    for_layers_and_inputs,
)
from tests.numpy.convolutions import C_IN, B, DrawnConvolution, convolution


class TestRank1Linear(InNumPy, layers.Rank1Linear):
    pass


@for_layers_and_inputs("rank1")
class TestGradients(ByHand):
    pass


@for_layers("rank1")
class TestSums(Sums):
    pass


def test_kl_gradient():
    check_kl_gradient(LAYERS["rank1"]["Rank1Linear"])


@pytest.mark.parametrize("std", [1e-300, 5e-324])
def test_a_tiny_standard_deviation_has_a_finite_kl(std):
    rng, prior = np.random.default_rng(0), Normal(1.0, 0.1)
    layer = en.Rank1Linear(m, n, M, rng=rng, prior=prior, posterior_std=std)
    with np.errstate(all="raise", under="ignore"):
        # -1/2 - log t of each entry, beside the means' share.
        found = layer.kl()
    means = np.concatenate([layer.params["r_mean"], layer.params["s_mean"]], axis=1)
    spread = -0.5 - np.log(std) + np.log(0.1)
    np.testing.assert_allclose(found, (spread + 50 * (means - 1) ** 2).sum(axis=1), rtol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"posterior_std": 0.3},
        {"posterior_std": 0.3, "per_example": True, "prior": Cauchy(1.0, 0.1)},
    ],
    ids=["normal", "per example, Cauchy"],
)
class TestRank1Conv2d(DrawnConvolution):
    name = "Rank1Conv2d"


@pytest.mark.bad_input
def test_a_shape_without_pixels_is_named():
    with pytest.raises((TypeError, ValueError), match="accepted are"):
        convolution("Rank1Conv2d").noise(None, (B, C_IN))

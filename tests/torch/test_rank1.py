"""The rank-1 Bayesian layer in Torch."""

import math

import pytest
import torch

import ensedu.torch as et
from tests import layers
from tests.backends import InTorch, M, m, n
from tests.gradients import Twin, for_layers_and_inputs


class TestRank1Linear(InTorch, layers.Rank1Linear):
    pass


@for_layers_and_inputs("rank1")
class TestTwin(InTorch, Twin):
    pass


@pytest.mark.parametrize("build", [et.Rank1Linear, lambda *sizes: et.Rank1Conv2d(*sizes[:2], 2, M)])
def test_rank1_starts_at_the_standard_deviation_of_gaussian_dropout(build):
    layer = build(m, n, M)
    std = math.sqrt(0.001 / 0.999)  # α = p / (1 - p) is a variance, Srivastava et al. 2014, sec. 10
    for rho in (layer.r_rho, layer.s_rho):
        assert torch.log1p(rho.exp()).tolist() == [[pytest.approx(std, rel=1e-5)] * len(rho[0])] * M
    # Drawn, and not only stored: 6 standard errors of a standard deviation of that many numbers.
    with torch.no_grad():
        layer.r_mean.zero_(), layer.s_mean.zero_(), layer.weight.fill_(1)
        shape = (6007, M, 1, m, *[1] * (-2 - layer.batch_axis))
        noise = layer.noise(torch.Generator().manual_seed(0), shape)
        products = layer.weight_matrices(noise).flatten(1)
    assert products.std().item() == pytest.approx(std**2, rel=0.02)

"""Normal distributions in Torch: what rounding must not do."""

import math

import numpy as np
import pytest
import torch

import ensedu.torch as et
from ensedu.priors import Normal
from ensedu.torch import variational
from ensedu.torch.variational import inverse_softplus, softplus
from tests.backends import m, n


def test_kl_is_never_negative():
    # A dense grid around q = p, where cancellation could turn a tiny KL negative.
    for scale in [0.1, 1.0, 0.7, 3.3]:
        rho = variational.inverse_softplus(scale)
        steps = np.concatenate([np.linspace(-1e-6, 1e-6, 20_001), np.linspace(-50, 50, 20_001)])
        for dtype in (torch.float32, torch.float64):
            rhos = torch.from_numpy(rho + steps).to(dtype)
            prior = Normal(0.0, scale)
            assert (variational.normal_kl(torch.zeros_like(rhos), rhos, prior) >= 0).all()


@pytest.mark.parametrize("rho", [15.0, 19.0, 20.5, 25.0, 30.0])
def test_softplus_keeps_what_stands_behind_rho(rho):
    # log(1 + exp(ρ)) = ρ + log(1 + exp(-ρ)): above 20 the second term is 2e-9, 6e5 ulp of 20.
    value = float(variational.softplus(torch.tensor([rho], dtype=torch.float64))[0])
    assert value - rho == pytest.approx(np.log1p(np.exp(-rho)), abs=8e-15)
    assert value > rho


@pytest.mark.parametrize("rho", [-700.0, -30.0, 0.0, 3.0, 20.5, 23.0, 31.0, 39.0, 41.0, 700.0])
def test_softplus_is_exact_wherever_float64_can_tell(rho):
    exact = math.log1p(math.exp(rho)) if rho < 0 else rho + math.log1p(math.exp(-rho))
    tensor = torch.tensor(rho, dtype=torch.float64)
    assert softplus(tensor).item() == pytest.approx(exact, rel=4e-16, abs=0)


@pytest.mark.parametrize("std", [1e-9, 0.01, 1.0, 20.5, 37.0])
def test_a_standard_deviation_comes_back_from_rho(std):
    rho = torch.tensor(inverse_softplus(std), dtype=torch.float64)
    assert softplus(rho).item() == pytest.approx(std, rel=1e-15 if std > 1e-6 else 1e-13, abs=0)
    layer = et.MeanFieldLinear(m, n, posterior_std=std, dtype=torch.float64)
    one, zero = ({k: x * 0 + v for k, x in layer.noise().items()} for v in (1.0, 0.0))
    spread = layer.weight_matrices(one) - layer.weight_matrices(zero)
    torch.testing.assert_close(spread, torch.full_like(spread, std), rtol=1e-13, atol=1e-16)

"""Normal distributions in Torch: what rounding must not do."""

import numpy as np
import pytest
import torch

from ensedu.priors import Normal
from ensedu.torch import variational


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

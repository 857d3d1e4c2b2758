"""Normal distributions in NumPy: what rounding must not do."""

import numpy as np
import pytest

from ensedu.numpy import variational
from ensedu.priors import Normal


def test_kl_is_never_negative():
    # A dense grid around q = p, where cancellation could turn a tiny KL negative.
    for scale in [0.1, 1.0, 0.7, 3.3]:
        rho = variational.inverse_softplus(scale)
        steps = np.concatenate([np.linspace(-1e-6, 1e-6, 20_001), np.linspace(-50, 50, 20_001)])
        assert (variational.kl(np.zeros_like(steps), rho + steps, Normal(0.0, scale)) >= 0).all()


@pytest.mark.parametrize("rho", [15.0, 19.0, 20.5, 25.0, 30.0])
def test_softplus_keeps_what_stands_behind_rho(rho):
    # log(1 + exp(ρ)) = ρ + log(1 + exp(-ρ)): above 20 the second term is 2e-9, 6e5 ulp of 20.
    value = float(variational.softplus(np.array([rho]))[0])
    assert value - rho == pytest.approx(np.log1p(np.exp(-rho)), abs=8e-15)
    assert value > rho

"""Limits of embedded ensembles, against neural-tangents in an environment of its own.

`make test-others` runs it: neural-tangents needs an older JAX, NumPy and SciPy than the book.
"""

import warnings

import jax
import numpy as np
import pytest
from neural_tangents import stax

from ensedu.theory.ntk import Modulation, limit

jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

B, C, m = 5, 7, 2
BIAS = 0.3
ONES, SIGNS = Modulation("ones"), Modulation("signs")
AROUND_ONE, AROUND_ZERO = Modulation("normal", std=0.5), Modulation("normal", mean=0.0)
DROPOUT = Modulation("bernoulli", p=0.3)


def inputs(seed, number=B):
    return np.random.default_rng(seed).standard_normal((number, m))


with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # that quadrature has errors
    LAYERS = {
        "relu": stax.Relu(),
        "erf": stax.Erf(),
        "tanh": stax.ElementwiseNumerical(jnp.tanh, deg=100),
    }


@pytest.mark.parametrize("bias_std", [0.0, BIAS])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("activation", LAYERS)
def test_limits_without_modulations_are_those_of_ordinary_networks(activation, layers, bias_std):
    def dense(std):
        return stax.Dense(1, W_std=1.0, b_std=std or None, parameterization="ntk")

    hidden = [part for _ in range(layers) for part in (dense(bias_std), LAYERS[activation])]
    _, _, kernel = stax.serial(*hidden, dense(0.0))
    x, other = inputs(4), inputs(5, C)
    theirs = kernel(x, other, ("nngp", "ntk"))
    settings = {"activation": activation, "bias_std": bias_std}
    ours = limit(x, other, hidden_layers=layers, u=ONES, **settings)
    close = {"rtol": 0, "atol": 2e-5 if activation == "tanh" else 1e-9}
    for one in (0, 1):  # members without modulations are one network
        np.testing.assert_allclose(ours.covariance[one], theirs.nngp, **close)
        np.testing.assert_allclose(ours.shared[one], theirs.ntk, **close)


@pytest.mark.parametrize("u", [SIGNS, AROUND_ONE, AROUND_ZERO, DROPOUT])
@pytest.mark.parametrize("activation", LAYERS)
def test_limits_with_modulations_are_scaled_layers(activation, u):
    """On one layer, u scales the covariance by E[u²] within a member and E[u]² between two."""

    def dense(factor=1.0):
        return stax.Dense(1, W_std=factor**0.5, parameterization="ntk")

    x, other = inputs(6), inputs(7, C)
    mean, square = u.moments
    phi = LAYERS[activation]
    _, _, kernel = stax.serial(dense(), phi, dense(square), phi, dense())
    whole = kernel(x, other, ("nngp", "ntk"))
    settings = {"activation": activation, "hidden_layers": 2}
    ours = limit(x, other, u=[u, ONES], **settings)
    close = {"rtol": 0, "atol": 2e-5 if activation == "tanh" else 1e-9}
    np.testing.assert_allclose(ours.covariance[0], whole.nngp, **close)
    # Their weight, W_std times a number, moves W_std² as fast, as ours does behind u.
    np.testing.assert_allclose(ours.shared[0], whole.ntk, **close)
    last = limit(x, other, u=[ONES, u], **settings)
    plain = limit(x, other, u=ONES, **settings)
    np.testing.assert_allclose(last.shared[1], mean**2 * plain.shared[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(last.shared[0], square * plain.shared[0], rtol=0, atol=1e-12)

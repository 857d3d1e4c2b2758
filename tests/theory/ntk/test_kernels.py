"""Limits of wide networks, against draws of them."""

import numpy as np
import pytest

from ensedu.theory.ntk import Modulation, embedded, limit, tangent

m = 2
ACTIVATIONS = ("relu", "erf", "tanh")
AROUND_ONE = Modulation("normal", std=0.5)
DROPOUT = Modulation("bernoulli", p=0.3)
SIGNS, ONES = Modulation("signs"), Modulation("ones")


def inputs(seed, number):
    return np.random.default_rng(seed).standard_normal((number, m))


def near(draws, expected, sigmas=6):
    """The mean of draws lies within so many standard errors of theory."""
    draws = np.array(draws)
    error = draws.std(axis=0, ddof=1) / len(draws) ** 0.5
    assert (np.abs(draws.mean(axis=0) - expected) <= sigmas * error + 1e-12).all()
    assert (error < 0.2 * np.abs(draws).max()).all()  # the test can fail


@pytest.mark.parametrize(
    ("activation", "u", "v"),
    [
        ("relu", AROUND_ONE, AROUND_ONE), ("relu", SIGNS, ONES), ("erf", DROPOUT, ONES),
        ("erf", AROUND_ONE, AROUND_ONE), ("tanh", DROPOUT, ONES), ("tanh", AROUND_ONE, SIGNS),
    ],
)  # fmt: skip
def test_one_hidden_layer_has_its_limit_as_its_mean_at_any_width(activation, u, v):
    x, settings = inputs(7, 3), {"u": u, "v": v, "activation": activation, "bias_std": 0.3}
    expected = limit(x, hidden_layers=1, **settings)
    rng, same, cross, own, outputs = np.random.default_rng(8), [], [], [], []
    for _ in range(600):
        net = embedded((m, 61, 1), 2, rng=rng, **settings)
        found = tangent(net, x)
        same.append(found.shared[0, 0])
        cross.append(found.shared[0, 1])
        own.append(found.own[0])
        outputs.append(net(x))
    near(same, expected.shared[0])
    near(cross, expected.shared[1])
    near(own, expected.own)
    f, g = np.array(outputs).transpose(1, 0, 2)
    near(f[:, :, None] * f[:, None], expected.covariance[0])
    near(f[:, :, None] * g[:, None], expected.covariance[1])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_two_hidden_layers_come_near_their_limit(activation):
    x, settings = inputs(9, 3), {"u": AROUND_ONE, "activation": activation, "bias_std": 0.3}
    expected = limit(x, hidden_layers=2, **settings)
    rng = np.random.default_rng(10)
    nets = [embedded((m, 701, 701, 1), 2, rng=rng, **settings) for _ in range(12)]
    kernels = [tangent(net, x) for net in nets]
    for found, wanted in (
        ([k.shared[0, 0] for k in kernels], expected.shared[0]),
        ([k.shared[0, 1] for k in kernels], expected.shared[1]),
        ([k.own[0] for k in kernels], expected.own),
    ):
        np.testing.assert_allclose(np.mean(found, axis=0), wanted, rtol=0, atol=0.1 * wanted.max())


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_last_modulation_of_mean_zero_makes_members_strangers(activation, layers):
    several = [AROUND_ONE] * (layers - 1) + [SIGNS]
    found = limit(inputs(7, 3), hidden_layers=layers, u=several, activation=activation)
    assert not found.covariance[1].any() and not found.shared[1].any()
    assert (np.diag(found.shared[0]) > 0).all()

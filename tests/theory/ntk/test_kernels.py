"""Tangent kernels against Jacobians, limits against draws, and the signs that theorems promise."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ensedu.theory.ntk import Modulation, embedded, limit, tangent
from tests.theory.ntk.networks import AROUND_ONE, C, M, in_torch, inputs, m

ACTIVATIONS = ("relu", "erf", "tanh")
DROPOUT = Modulation("bernoulli", p=0.3)
SIGNS, ONES = Modulation("signs"), Modulation("ones")


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", [(m, 11, 1), (m, 7, 13, 5, 1)])
def test_a_kernel_is_that_of_jacobians(activation, sizes):
    rng = np.random.default_rng(1)
    kinds = {"u": AROUND_ONE, "v": SIGNS}
    net = embedded(sizes, M, rng=rng, activation=activation, bias_std=0.3, **kinds)
    x, other = inputs(2), inputs(3, C)
    function, values, number = in_torch(net)
    np.testing.assert_allclose(net(x), function(values, torch.from_numpy(x)), atol=1e-13)
    one, two = (
        torch.func.jacrev(function)(values, torch.from_numpy(given)).numpy() for given in (x, other)
    )
    shared = np.einsum("ibp,jcp->ijbc", one[..., :number], two[..., :number])
    own = np.einsum("ibp,jcp->ijbc", one[..., number:], two[..., number:])
    found = tangent(net, x, other)
    np.testing.assert_allclose(found.shared, shared, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.own, own[range(M), range(M)], rtol=0, atol=1e-12)
    assert not own[0, 1].any()  # a member's modulations are nobody else's
    gamma = 1.7
    np.testing.assert_allclose(found.total(gamma), gamma / M * shared + own, rtol=0, atol=1e-12)
    np.testing.assert_allclose(tangent(net, x).shared, tangent(net, x, x).shared, atol=1e-13)


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


def pair(cosine):
    """Two inputs of length √2 with this cosine."""
    angle = np.arccos(cosine)
    return 2**0.5 * np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_last_modulation_of_mean_zero_makes_members_strangers(activation, layers):
    several = [AROUND_ONE] * (layers - 1) + [SIGNS]
    found = limit(pair(0.3), hidden_layers=layers, u=several, activation=activation)
    assert not found.covariance[1].any()
    assert not found.shared[1].any()
    assert (np.diag(found.shared[0]) > 0).all()
    if layers > 1:  # another layer's mean does so only for an odd function, and without a bias
        first = {"hidden_layers": layers, "u": several[::-1], "activation": activation}
        found = limit(pair(0.3), **first)
        assert (np.diag(found.covariance[1]) > 1e-3).all() == (activation == "relu")
        found = limit(pair(0.3), bias_std=0.3, **first)
        assert (np.diag(found.covariance[1]) > 1e-3).all()


@pytest.mark.parametrize(
    ("activation", "layers", "cosine", "covariance", "kernel"),
    [
        ("relu", 1, 0.5, 1, 1), ("relu", 2, 0.5, 1, 1), ("relu", 1, -0.5, 1, -1),
        ("relu", 2, -0.5, 1, 1), ("relu", 1, -0.9, 1, -1), ("erf", 1, 0.5, 1, 1),
        ("erf", 1, -0.5, -1, -1), ("tanh", 1, 0.5, 1, 1), ("tanh", 2, -0.5, -1, -1),
    ],
)  # fmt: skip
def test_signs_between_members_that_know_each_other(activation, layers, cosine, covariance, kernel):
    """Theorem 1.3 needs φ from 0 up and growing; theorem 2.3 an angle below 90°."""
    found = limit(pair(cosine), hidden_layers=layers, u=AROUND_ONE, activation=activation)
    assert np.sign(found.covariance[1][0, 1]) == covariance
    assert np.sign(found.shared[1][0, 1]) == kernel


def test_known_values_at_an_angle_of_120_degrees():
    found = limit(pair(-0.5), hidden_layers=1, u=ONES)
    value = (np.sqrt(3) / 2 - np.pi / 6) / (2 * np.pi)
    assert found.covariance[1][0, 1] == pytest.approx(value, rel=1e-12)
    assert found.shared[1][0, 1] == pytest.approx(value - 0.5 / 6, rel=1e-12)


@pytest.mark.parametrize(("square", "own"), [(9, 2.3132), (25, 3.4856), (100, 6.2312)])
def test_tanh_of_large_inputs_has_the_limit_of_wide_networks(square, own):
    """E[tanh²] and |x|²/m times E[tanh′²]: known from sums over 10⁶ points."""
    x = np.full((1, m), square**0.5)
    found = limit(x, hidden_layers=1, u=ONES, activation="tanh")
    assert found.shared[0][0, 0] == pytest.approx(own, abs=1e-4)


def test_one_member_without_modulations_has_the_ordinary_kernel():
    x = inputs(11)
    net = embedded((m, 17, 1), 1, rng=np.random.default_rng(12), u=ONES)
    weight, last = net.weights
    z = x @ weight / m**0.5
    hidden, slope = np.maximum(z, 0), (z > 0) * last[:, 0]
    by_last = hidden @ hidden.T / 17
    by_first = (x @ x.T / m) * (slope @ slope.T / 17)
    np.testing.assert_allclose(tangent(net, x).shared[0, 0], by_last + by_first, atol=1e-13)


@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    members=st.integers(1, 4),
    activation=st.sampled_from(ACTIVATIONS),
)
def test_a_kernel_is_symmetric_and_never_negative(seed, sizes, members, activation):
    rng = np.random.default_rng(seed)
    net = embedded((*sizes, 1), members, rng=rng, u=AROUND_ONE, v=SIGNS, activation=activation)
    x = rng.standard_normal((4, sizes[0]))
    matrix = tangent(net, x).total(1.3).transpose(0, 2, 1, 3).reshape(4 * members, -1)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() >= -1e-9 * max(1.0, np.abs(matrix).max())

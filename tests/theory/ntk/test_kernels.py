"""Limits of wide networks, against draws of them; their integrals, in symbols and over grids."""

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, special, stats

from ensedu.theory.ntk import Modulation, embedded, limit, tangent
from ensedu.theory.ntk.units import ACTIVATIONS

VALUES = {
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0),
    "erf": (special.erf, lambda z: 2 / np.pi**0.5 * np.exp(-(z**2))),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
}


def on_a_grid(function, a, b, c):
    """The mean of a function of s and t, by sums over even steps of two independent normals."""
    z = np.arange(-7.5, 7.5, 0.2 / max(a, b, 4) ** 0.5)
    density = np.exp(-(z**2) / 2)
    share = c / a**0.5
    s, t = a**0.5 * z[:, None], share * z[:, None] + max(b - share**2, 0) ** 0.5 * z
    return density @ function(s, t) @ density / density.sum() ** 2


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [(1.0, 1.0, 0.0), (1.0, 1.0, 0.9), (0.3, 2.0, -0.6), (2.0, 0.5, 0.99),
     # Where an S is a jump: of inputs that nobody scaled, or a large bias.
     (9.0, 9.0, 9.0), (100.0, 100.0, 100.0), (100.0, 100.0, 31.0), (83.0, 0.5, -6.1)],
)  # fmt: skip
@pytest.mark.parametrize("name", ["erf", "tanh"])
def test_moments_are_sums_over_a_grid(name, a, b, c):
    phi, slope = VALUES[name]
    found = ACTIVATIONS[name].moments(np.array([a]), np.array([b]), np.array([c]))
    for value, integrand in (
        (found.value, lambda s, t: phi(s) * phi(t)),
        (found.slope, lambda s, t: slope(s) * slope(t)),
        (found.scaled_slope, lambda s, t: s * t * slope(s) * slope(t)),
    ):
        assert value[0] == pytest.approx(on_a_grid(integrand, a, b, c), rel=0, abs=1e-8)


A, B, C = sp.symbols("a b c", positive=True)
SIZE = sp.sqrt(A * B)
COSINE = C / SIZE
#: E[φ(s) φ(t)], as Cho and Saul (2009) and Williams (1997) have it.
CLOSED = {
    "relu": SIZE / (2 * sp.pi) * (sp.sqrt(1 - COSINE**2) + (sp.pi - sp.acos(COSINE)) * COSINE),
    "erf": 2 / sp.pi * sp.asin(2 * C / sp.sqrt((1 + 2 * A) * (1 + 2 * B))),
}


@pytest.mark.parametrize("name", CLOSED)
def test_slopes_are_derivatives_of_values(name):
    """Price's theorem: E[φ′ φ′] = ∂E[φ φ]/∂c; E[s t φ′ φ′] is ∂²/∂p∂q of E[φ(p s) φ(q t)] at 1."""
    p, q = sp.symbols("p q", positive=True)
    scaled = CLOSED[name].subs({A: p**2 * A, B: q**2 * B, C: p * q * C}, simultaneous=True)
    for point in ((2, 3, 1), (1, 1, sp.Rational(1, 7)), (5, 2, 3)):
        at = dict(zip((A, B, C), point, strict=True))
        found = ACTIVATIONS[name].moments(*np.array(point, dtype=float)[:, None])
        assert found.value[0] == pytest.approx(float(CLOSED[name].subs(at)), rel=1e-12)
        assert found.slope[0] == pytest.approx(float(sp.diff(CLOSED[name], C).subs(at)), rel=1e-12)
        mixed = float(sp.diff(scaled, p, q).subs({p: 1, q: 1} | at))
        assert found.scaled_slope[0] == pytest.approx(mixed, rel=1e-9)


@pytest.mark.parametrize("name", VALUES)
def test_values_and_slopes_of_one_number_and_of_what_does_not_vary(name):
    z, own = np.array([-1.3, -0.2, 0.4, 2.1]), ACTIVATIONS[name]
    np.testing.assert_allclose(own.value(z), VALUES[name][0](z))
    np.testing.assert_allclose(own.slope(z), VALUES[name][1](z))
    zero = np.zeros(2)
    found = own.moments(zero, np.ones(2), zero)
    assert np.isfinite([found.value, found.slope, found.scaled_slope]).all()
    assert not found.value.any()


#: Each with its first four moments, worked out by hand.
KNOWN = {
    Modulation(): (1.0, 1.0, 1.0, 1.0),
    Modulation("signs"): (0.0, 1.0, 0.0, 1.0),
    Modulation("normal", mean=0.5, std=2.0): (0.5, 4.25, 6.125, 54.0625),
    Modulation("bernoulli", p=0.2): (1.0, 1.25, 1.5625, 1.953125),
}


@pytest.mark.parametrize("modulation", KNOWN, ids=lambda modulation: modulation.kind)
def test_points_and_draws_have_the_moments(modulation):
    values, chances = modulation.points
    assert chances.sum() == pytest.approx(1, rel=1e-14)
    moments = [float(chances @ values**power) for power in (1, 2, 3, 4)]
    exact = {"normal": 1e-8}.get(modulation.kind, 1e-12)
    assert moments == pytest.approx(KNOWN[modulation], rel=exact, abs=1e-14)
    assert modulation.moments == pytest.approx(KNOWN[modulation][:2], rel=1e-14)
    draws = modulation.sample(np.random.default_rng(0), 200, 503)
    assert draws.shape == (200, 503)
    for power in (1, 2):
        error = (draws**power).std() / draws.size**0.5
        assert abs((draws**power).mean() - KNOWN[modulation][power - 1]) <= 5 * error + 1e-12


@pytest.mark.parametrize(
    ("mean", "std"), [(1.0, 0.5), (0.0, 1.0), (1.0, 3.0), (-2.0, 0.3), (1.0, 0.01)]
)
@pytest.mark.parametrize("function", [abs, lambda v: np.abs(np.tanh(30 * v)), lambda v: v > 0])
def test_points_of_a_normal_see_kinks_and_jumps_at_0(mean, std, function):
    """A ReLU of v z has a kink in v there, an S of a large one a jump."""
    values, chances = Modulation("normal", mean=mean, std=std).points
    ends = [end for end in (-0.1, 0.0, 0.1) if abs(end - mean) < 8 * std]
    expected, _ = integrate.quad(
        lambda v: function(v) * stats.norm.pdf(v, mean, std),
        mean - 8 * std,
        mean + 8 * std,
        points=ends or None,
        limit=200,
    )
    assert chances @ function(values) == pytest.approx(expected, abs=3e-6)


m = 2
NAMES = ("relu", "erf", "tanh")
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


@pytest.mark.parametrize("activation", NAMES)
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


@pytest.mark.parametrize("activation", NAMES)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_last_modulation_of_mean_zero_makes_members_strangers(activation, layers):
    several = [AROUND_ONE] * (layers - 1) + [SIGNS]
    found = limit(inputs(7, 3), hidden_layers=layers, u=several, activation=activation)
    assert not found.covariance[1].any() and not found.shared[1].any()
    assert (np.diag(found.shared[0]) > 0).all()

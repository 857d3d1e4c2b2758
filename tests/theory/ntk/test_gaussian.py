"""Integrals over two normals, against sums over a grid and closed forms in symbols."""

import numpy as np
import pytest
import sympy as sp
from scipy import special

from ensedu.theory.ntk import ACTIVATIONS

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

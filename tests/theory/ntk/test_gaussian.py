"""Integrals over two normals, against quadrature by another rule."""

import numpy as np
import pytest
from scipy import special

from ensedu.theory.ntk.gaussian import ACTIVATIONS

CASES = [(1.0, 1.0, 0.0), (1.0, 1.0, 0.9), (0.3, 2.0, -0.6), (2.0, 0.5, 0.99), (0.7, 0.7, -0.7)]
VALUES = {
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0),
    "erf": (special.erf, lambda z: 2 / np.pi**0.5 * np.exp(-(z**2))),
    "tanh": (np.tanh, lambda z: 1 / np.cosh(z) ** 2),
}


@pytest.mark.parametrize(("a", "b", "c"), CASES)
@pytest.mark.parametrize("name", VALUES)
def test_moments_are_integrals_over_the_plane(name, a, b, c):
    phi, slope = VALUES[name]
    # Polar coordinates: ReLU's kinks are rays, and the radius is integrated without them.
    angles = (np.arange(20_000) + 0.5) * 2 * np.pi / 20_000
    radii, weights = special.roots_genlaguerre(60, 0)  # of r²/2
    radii, weights = np.sqrt(2 * radii), weights / len(angles)
    share = c / a**0.5
    s = a**0.5 * np.cos(angles)[:, None] * radii
    t = (share * np.cos(angles) + max(b - share**2, 0) ** 0.5 * np.sin(angles))[:, None] * radii
    found = ACTIVATIONS[name].moments(np.array([a]), np.array([b]), np.array([c]))
    for value, integrand in (
        (found.value, phi(s) * phi(t)),
        (found.slope, slope(s) * slope(t)),
        (found.scaled_slope, s * t * slope(s) * slope(t)),
    ):
        assert value[0] == pytest.approx((integrand @ weights).sum(), abs=2e-4)


def on_a_grid(function, a, b, c):
    """The mean of a function of s and t, by sums over even steps of two independent normals."""
    z = np.arange(-7.5, 7.5, 0.2 / max(a, b, 4) ** 0.5)
    density = np.exp(-(z**2) / 2)
    share = c / a**0.5
    s, t = a**0.5 * z[:, None], share * z[:, None] + max(b - share**2, 0) ** 0.5 * z
    return density @ function(s, t) @ density / density.sum() ** 2


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [(9.0, 9.0, 9.0), (100.0, 100.0, 100.0), (100.0, 100.0, 31.0), (83.0, 0.5, -6.1)],
)
@pytest.mark.parametrize("name", ["erf", "tanh"])
def test_moments_of_large_numbers_are_as_right(name, a, b, c):
    """Where an S is a jump: of inputs that nobody scaled, or a large bias."""
    phi = {"erf": special.erf, "tanh": np.tanh}[name]

    def slope(z):
        return 2 / np.pi**0.5 * np.exp(-(z**2)) if name == "erf" else 1 - np.tanh(z) ** 2

    found = ACTIVATIONS[name].moments(np.array([a]), np.array([b]), np.array([c]))
    for value, integrand in (
        (found.value, lambda s, t: phi(s) * phi(t)),
        (found.slope, lambda s, t: slope(s) * slope(t)),
        (found.scaled_slope, lambda s, t: s * t * slope(s) * slope(t)),
    ):
        assert value[0] == pytest.approx(on_a_grid(integrand, a, b, c), rel=0, abs=1e-8)


@pytest.mark.parametrize("name", VALUES)
def test_values_and_slopes_belong_together(name):
    z = np.array([-1.3, -0.2, 0.4, 2.1])
    own = ACTIVATIONS[name]
    np.testing.assert_allclose(own.value(z), VALUES[name][0](z))
    numeric = (own.value(z + 1e-6) - own.value(z - 1e-6)) / 2e-6
    np.testing.assert_allclose(own.slope(z), numeric, atol=1e-8)


def test_what_does_not_vary_has_moments():
    zero = np.zeros(2)
    for own in ACTIVATIONS.values():
        found = own.moments(zero, np.ones(2), zero)
        assert np.isfinite([found.value, found.slope, found.scaled_slope]).all()
        assert not found.value.any()

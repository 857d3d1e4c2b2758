"""Identities behind the theory, in symbols."""

import numpy as np
import pytest
import sympy as sp

from ensedu.theory.ntk import modes
from ensedu.theory.ntk.gaussian import ACTIVATIONS

a, b, c = sp.symbols("a b c", positive=True)
SIZE = sp.sqrt(a * b)
COSINE = c / SIZE
#: E[φ(s) φ(t)], as Cho and Saul (2009) and Williams (1997) have it.
VALUES = {
    "relu": SIZE / (2 * sp.pi) * (sp.sqrt(1 - COSINE**2) + (sp.pi - sp.acos(COSINE)) * COSINE),
    "erf": 2 / sp.pi * sp.asin(2 * c / sp.sqrt((1 + 2 * a) * (1 + 2 * b))),
}


@pytest.mark.parametrize("name", VALUES)
def test_slopes_are_derivatives_of_values(name):
    """Price's theorem: E[φ′ φ′] = ∂E[φ φ]/∂c, and with factors v v′ that of the modulated unit."""
    v, w = sp.Rational(3, 2), sp.Rational(2, 3)
    for point in ((2, 3, 1), (1, 1, sp.Rational(1, 7)), (5, 2, 3)):
        at = dict(zip((a, b, c), point, strict=True))
        found = ACTIVATIONS[name].moments(*np.array(point, dtype=float)[:, None])
        assert found.value[0] == pytest.approx(float(VALUES[name].subs(at)), rel=1e-12)
        slope = sp.diff(VALUES[name], c)
        assert found.slope[0] == pytest.approx(float(slope.subs(at)), rel=1e-12)
        modulated = VALUES[name].subs({a: v**2 * a, b: w**2 * b, c: v * w * c}, simultaneous=True)
        own = ACTIVATIONS[name].moments(
            *np.array([v**2 * point[0], w**2 * point[1], v * w * point[2]], dtype=float)[:, None]
        )
        wanted = float(sp.diff(modulated, c).subs(at))
        assert float(v * w) * own.slope[0] == pytest.approx(wanted, rel=1e-12)
        # By v: E[u² z z′ φ′ φ′] is the mixed derivative by both members' v.
        p, q = sp.symbols("p q", positive=True)
        both = VALUES[name].subs({a: p**2 * a, b: q**2 * b, c: p * q * c}, simultaneous=True)
        # ∂²/∂p∂q of E[φ(p s) φ(q t)] at p = q = 1 is E[s t φ′ φ′].
        mixed = float(sp.diff(both, p, q).subs({p: 1, q: 1} | at))
        assert found.scaled_slope[0] == pytest.approx(mixed, rel=1e-9)


@pytest.mark.parametrize("members", [2, 3, 5])
def test_two_speeds(members):
    """The kernel over members has two eigenvalues: of their average, and of their differences."""
    ratio, gamma = sp.symbols("chi gamma", positive=True)
    everyone = sp.ones(members, members)
    matrix = gamma / members * ((1 - ratio) * sp.eye(members) + ratio * everyone)
    average, difference = sp.ones(members, 1), sp.zeros(members, 1)
    difference[0], difference[1] = 1, -1
    at = {ratio: sp.Rational(3, 10), gamma: sp.Rational(17, 10)}
    for vector, rate in zip((average, difference), modes(members, 0.3, 1.7), strict=True):
        image = sp.simplify(matrix * vector)
        factor = sp.simplify(image[0] / vector[0])
        assert sp.simplify(image - factor * vector) == sp.zeros(members, 1)
        assert rate == pytest.approx(float(factor.subs(at)), rel=1e-14)

"""Moments of modulations, and points that integrate as their draws do."""

import numpy as np
import pytest
from scipy import integrate, stats

from ensedu.theory.ntk import Modulation

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

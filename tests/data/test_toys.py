"""Toy curves against their formulas, written out once more, and their noise against its size."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.data import Curve, between, blundell, cubic, gap

CURVES = {
    "gap": (gap, lambda x: math.sin(1.5 * x) + 0.2 * x),
    "cubic": (cubic, lambda x: x * x * x),
    "blundell": (
        blundell,
        lambda x: x + 0.3 * math.sin(2 * math.pi * x) + 0.3 * math.sin(4 * math.pi * x),
    ),
    "between": (between, lambda x: math.cos(4 * x + 0.8)),
}
each = pytest.mark.parametrize(("curve", "formula"), CURVES.values(), ids=CURVES)
additive = pytest.mark.parametrize("curve", [gap, cubic, between], ids=lambda curve: curve.name)


@each
def test_the_truth_is_the_formula(curve, formula):
    x = np.random.default_rng(0).uniform(-5, 5, (3, 7, 1))
    expected = [formula(value) for value in x.ravel()]
    np.testing.assert_allclose(curve.truth(x).ravel(), expected, rtol=1e-12, atol=1e-14)


@each
@given(seed=st.integers(0, 10**6), number=st.integers(1, 200))
def test_inputs_lie_in_the_regions_in_equal_numbers(curve, formula, seed, number):
    x, y = curve.sample(np.random.default_rng(seed), number)
    assert x.shape == y.shape == (number, 1)
    assert x.dtype == y.dtype == np.float64
    counts = [((low <= x) & (x <= high)).sum() for low, high in curve.regions]
    assert sum(counts) == number
    assert max(counts) - min(counts) <= 1


@additive
def test_what_is_left_of_the_truth_is_normal_with_the_stated_deviation(curve):
    number = 40_000
    x, y = curve.sample(np.random.default_rng(0), number)
    rest = (y - curve.truth(x)) / curve.noise
    # mean, variance and fourth moment of N standard normals, within five standard errors
    assert abs(rest.mean()) < 5 * number**-0.5
    assert abs((rest**2).mean() - 1) < 5 * (2 / number) ** 0.5
    assert abs((rest**4).mean() - 3) < 5 * (96 / number) ** 0.5
    # and it does not depend on x
    assert abs(np.corrcoef(x[:, 0], rest[:, 0])[0, 1]) < 5 * number**-0.5


def test_the_noise_of_blundell_acts_inside_the_sines():
    noise, number = 0.02, 40_000
    curve = replace(blundell, regions=((0.1999999, 0.2000001),))
    _, y = curve.sample(np.random.default_rng(0), number)
    # E[sin(a + bε)] = sin(a) exp(-b² σ² / 2)
    mean, x = 0.2, 0.2
    for factor in (2 * math.pi, 4 * math.pi):
        mean += 0.3 * math.sin(factor * x) * math.exp(-((factor * noise) ** 2) / 2)
    assert abs(y.mean() - mean) < 5 * y.std() * number**-0.5
    slope = 1 + 0.6 * math.pi * math.cos(0.4 * math.pi) + 1.2 * math.pi * math.cos(0.8 * math.pi)
    assert abs(y.std() / (abs(slope) * noise) - 1) < 0.1  # to first order in the noise
    assert abs(y.mean() - blundell.truth(np.array([x]))[0]) > 5 * y.std() * number**-0.5


def test_inputs_are_uniform_in_a_region():
    x, _ = cubic.sample(np.random.default_rng(0), 40_000)
    quantiles = np.sort(x[:, 0])
    # Kolmogorov: the distance exceeds 2.2 / √N about once in 10,000 times
    distance = np.abs((quantiles + 4) / 8 - (np.arange(40_000) + 0.5) / 40_000).max()
    assert distance < 2.2 * 40_000**-0.5


@each
def test_a_seed_is_one_data_set(curve, formula):
    first, again, other = (curve.sample(np.random.default_rng(seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first[0].shape == (curve.number, 1)


def test_the_numbers_of_the_papers():
    assert (cubic.number, cubic.noise, cubic.regions) == (20, 3.0, ((-4.0, 4.0),))
    assert (blundell.noise, blundell.regions) == (0.02, ((0.0, 0.5),))
    assert (between.noise, between.number) == (0.1, 100)
    assert between.gaps == ((-0.7, 0.5),)


def test_the_running_example_bends_in_its_gap():
    ((low, high),) = gap.gaps
    assert (low, high) == (gap.regions[0][1], gap.regions[1][0])
    x = np.linspace(low, high, 501)
    line = np.interp(x, [low, high], gap.truth(np.array([low, high])))
    missed = np.abs(gap.truth(x) - line).max()
    assert 6 * gap.noise < missed
    assert round(missed, 2) == 0.66  # as the comment on `gap` says
    assert 0.5 < gap.truth(np.linspace(-4, 4, 501)).std() < 2  # of order 1


def test_a_curve_without_a_gap_has_none():
    assert cubic.gaps == ()
    three = replace(gap, regions=((0.0, 1.0), (2.0, 3.0), (5.0, 8.0)))
    assert three.gaps == ((1.0, 2.0), (3.0, 5.0))


def test_a_curve_of_ones_own():
    line = Curve("line", lambda x, noise: 2 * x + noise, 0.5, ((0.0, 1.0),), 7)
    x, y = line.sample(np.random.default_rng(0))
    assert x.shape == (7, 1)
    assert not np.array_equal(y, 2 * x)
    np.testing.assert_array_equal(line.truth(x), 2 * x)


def test_a_curve_goes_to_another_process():
    assert pickle.loads(pickle.dumps(gap)) == gap

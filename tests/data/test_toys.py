"""Toy curves against their formulas, their noise against its size; a bandit's regret by hand."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.data import bandit, between, blundell, cubic, digits, gap

CURVES = {
    "gap": (gap, lambda x: np.sin(1.5 * x) + 0.2 * x),
    "cubic": (cubic, lambda x: x * x * x),
    "blundell": (
        blundell,
        lambda x: x + 0.3 * np.sin(2 * math.pi * x) + 0.3 * np.sin(4 * math.pi * x),
    ),
    "between": (between, lambda x: np.cos(4 * x + 0.8)),
}


@pytest.mark.parametrize("name", CURVES)
@given(seed=st.integers(0, 10**6), number=st.integers(1, 200))
def test_inputs_lie_in_the_regions_in_equal_numbers_and_the_truth_is_the_formula(
    name, seed, number
):
    curve, formula = CURVES[name]
    x, y = curve.sample(np.random.default_rng(seed), number)
    assert x.shape == y.shape == (number, 1) and x.dtype == y.dtype == np.float64
    counts = [((low <= x) & (x <= high)).sum() for low, high in curve.regions]
    assert sum(counts) == number and max(counts) - min(counts) <= 1
    np.testing.assert_allclose(curve.truth(x), formula(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(curve.sample(np.random.default_rng(seed), number), (x, y))
    assert curve.sample(np.random.default_rng(seed))[0].shape == (curve.number, 1)
    assert pickle.loads(pickle.dumps(curve)) == curve


@pytest.mark.parametrize("curve", [gap, cubic, between], ids=lambda curve: curve.name)
def test_what_is_left_of_the_truth_is_normal_with_the_stated_deviation(curve):
    number = 40_000
    x, y = curve.sample(np.random.default_rng(0), number)
    rest = (y - curve.truth(x)) / curve.noise
    # Mean, variance and fourth moment of N standard normals, within five standard errors.
    assert abs(rest.mean()) < 5 * number**-0.5
    assert abs((rest**2).mean() - 1) < 5 * (2 / number) ** 0.5
    assert abs((rest**4).mean() - 3) < 5 * (96 / number) ** 0.5
    # And it does not depend on x, which is uniform in each region.
    assert abs(np.corrcoef(x[:, 0], rest[:, 0])[0, 1]) < 5 * number**-0.5
    for low, high in curve.regions:
        own = x[(low <= x) & (x <= high)]
        assert abs(own.mean() - (low + high) / 2) < 5 * (high - low) / (12 * len(own)) ** 0.5


def test_the_noise_of_blundell_acts_inside_the_sines():
    noise, number = 0.02, 40_000
    curve = replace(blundell, regions=((0.1999999, 0.2000001),))
    _, y = curve.sample(np.random.default_rng(0), number)
    # E[sin(a + bε)] = sin(a) exp(-b² σ² / 2)
    mean = 0.2
    for factor in (2 * math.pi, 4 * math.pi):
        mean += 0.3 * math.sin(factor * 0.2) * math.exp(-((factor * noise) ** 2) / 2)
    assert abs(y.mean() - mean) < 5 * y.std() * number**-0.5
    slope = 1 + 0.6 * math.pi * math.cos(0.4 * math.pi) + 1.2 * math.pi * math.cos(0.8 * math.pi)
    assert abs(y.std() / (abs(slope) * noise) - 1) < 0.1  # to first order in the noise


def test_the_numbers_of_the_papers():
    assert (cubic.number, cubic.noise, cubic.regions) == (20, 3.0, ((-4.0, 4.0),))
    assert (blundell.noise, blundell.regions) == (0.02, ((0.0, 0.5),))
    assert (between.noise, between.number) == (0.1, 100)


def test_a_gap_lies_between_regions():
    assert cubic.gaps == () and between.gaps == ((-0.7, 0.5),)
    three = replace(gap, regions=((0.0, 1.0), (2.0, 3.0), (5.0, 8.0)))
    assert three.gaps == ((1.0, 2.0), (3.0, 5.0))
    # The running example bends in its gap, by more than its noise.
    ((low, high),) = gap.gaps
    x = np.linspace(low, high, 501)
    line = np.interp(x, [low, high], gap.truth(np.array([low, high])))
    missed = np.abs(gap.truth(x) - line).max()
    assert 6 * gap.noise < missed
    assert round(missed, 2) == 0.66  # as the comment on `gap` says


NUMBER = 20_011


def test_mushrooms_are_digits_odd_ones_are_poisonous_and_half_of_these_hurt():
    found = bandit.sample(np.random.default_rng(1), NUMBER)
    again = bandit.sample(np.random.default_rng(1), NUMBER)
    x, labels = digits()
    label_of = {image.tobytes(): label for image, label in zip(x, labels, strict=True)}
    odd = [label_of[image.tobytes()] % 2 == 1 for image in found.x]
    assert found.poisonous.tolist() == odd
    assert found.poisonous.mean() == pytest.approx((labels % 2).mean(), abs=0.02)
    assert (found.pays[~found.poisonous] == 5).all()
    pays = found.pays[found.poisonous]
    assert {*pays.tolist()} == {5.0, -35.0}
    # Five standard errors; a pay-off's standard deviation is 20.
    assert pays.mean() == pytest.approx(-15, abs=5 * 20 / len(pays) ** 0.5)
    # Neither luck nor a mushroom follows from the one before.
    for each in (pays, found.x.sum(1)):
        assert abs(np.corrcoef(each[1:], each[:-1])[0, 1]) < 5 / len(each) ** 0.5
    for name in ("x", "poisonous", "pays"):
        assert np.array_equal(getattr(found, name), getattr(again, name))


def test_regret_is_what_the_best_is_paid_more_on_average():
    eaten = np.array([True, True, False, False, True])
    poisonous = np.array([True, False, True, False, True])
    assert bandit.regret(eaten, poisonous).tolist() == [15, 15, 15, 20, 35]
    assert not bandit.regret(~poisonous, poisonous).any()


@pytest.mark.bad_input
def test_what_is_eaten_fits_what_is_poisonous():
    with pytest.raises(ValueError, match=r"poisonous has shape \(1,\).*\(2,\).*eaten"):
        bandit.regret(np.array([True, False]), np.array([True]))

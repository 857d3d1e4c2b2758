"""The mushroom bandit: what is drawn, what it pays, and the regret by hand."""

import numpy as np
import pytest

from ensedu.data import bandit, digits

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

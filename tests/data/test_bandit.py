"""The mushroom bandit: what is drawn, what it pays, and the regret by hand."""

import numpy as np
import pytest

from ensedu.data import bandit, digits
from tests.errors import check_error

NUMBER = 20_011


def test_mushrooms_are_digits_and_odd_ones_are_poisonous():
    found = bandit.sample(np.random.default_rng(0), 997)
    x, labels = digits()
    assert found.x.shape == (997, 64)
    label_of = {image.tobytes(): label for image, label in zip(x, labels, strict=True)}
    odd = [label_of[image.tobytes()] % 2 == 1 for image in found.x]
    assert found.poisonous.tolist() == odd


def test_what_eating_pays():
    found = bandit.sample(np.random.default_rng(1), NUMBER)
    assert (found.pays[~found.poisonous] == 5).all()
    pays = found.pays[found.poisonous]
    assert set(pays.tolist()) == {5.0, -35.0}
    # Five standard errors; a pay-off's standard deviation is 20.
    assert pays.mean() == pytest.approx(-15, abs=5 * 20 / len(pays) ** 0.5)
    assert pays.std() == pytest.approx(20, rel=0.01)
    assert found.poisonous.mean() == pytest.approx((digits()[1] % 2).mean(), abs=0.02)


def test_luck_is_independent_of_what_came_before():
    found = bandit.sample(np.random.default_rng(2), NUMBER)
    lost = (found.pays[found.poisonous] < 0).astype(float)
    assert abs(np.corrcoef(lost[1:], lost[:-1])[0, 1]) < 5 / len(lost) ** 0.5
    rows = found.x.sum(1)
    assert abs(np.corrcoef(rows[1:], rows[:-1])[0, 1]) < 5 / NUMBER**0.5


def test_seeds():
    one, again, other = (bandit.sample(np.random.default_rng(seed), 53) for seed in (3, 3, 4))
    for name in ("x", "poisonous", "pays"):
        assert np.array_equal(getattr(one, name), getattr(again, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))


def test_regret_by_hand():
    eaten = np.array([True, True, False, False, True])
    poisonous = np.array([True, False, True, False, True])
    assert bandit.regret(eaten, poisonous).tolist() == [15, 15, 15, 20, 35]


def test_who_knows_has_no_regret():
    poisonous = bandit.sample(np.random.default_rng(5), 101).poisonous
    assert not bandit.regret(~poisonous, poisonous).any()


def test_regret_is_what_the_best_is_paid_more_on_average():
    rng = np.random.default_rng(6)
    found = bandit.sample(rng, NUMBER)
    eaten = rng.random(NUMBER) < 0.3
    best = np.where(found.poisonous, 0.0, found.pays)
    missed = best - np.where(eaten, found.pays, 0.0)
    error = 5 * missed.std() / NUMBER**0.5
    last = bandit.regret(eaten, found.poisonous)[-1]
    assert last / NUMBER == pytest.approx(missed.mean(), abs=error)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "call, error, expected",
    [
        (lambda: bandit.sample(0, 5), TypeError, ["rng", "Generator", "int"]),
        (lambda: bandit.sample(np.random.default_rng(0), 0), ValueError, ["number", "0"]),
        (lambda: bandit.sample(np.random.default_rng(0), 2.5), TypeError, ["number", "2.5"]),
        (
            lambda: bandit.regret([True], np.array([True])), TypeError, ["eaten", "list"],
        ),
        (
            lambda: bandit.regret(np.array([1, 0]), np.array([True, False])),
            TypeError, ["eaten", "True and False", "int64"],
        ),
        (
            lambda: bandit.regret(np.array([True, False]), np.array([True])),
            ValueError, ["poisonous", "(1,)", "(2,)", "eaten"],
        ),
        (
            lambda: bandit.regret(np.ones((2, 3), dtype=bool), np.ones((2, 3), dtype=bool)),
            ValueError, ["eaten", "(2, 3)", "(T,)"],
        ),
    ],
)  # fmt: skip
def test_bad_input(call, error, expected):
    check_error(call, error, expected)

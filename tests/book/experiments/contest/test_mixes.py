"""The engineer's six mixtures are chosen by their rule, and what is said of them is the table's."""

from statistics import NormalDist

import numpy as np
import pytest

from ensedu.contest.tasks import given
from ensedu.data import concrete
from workshop import measured
from workshop.experiments.contest import mixes
from workshop.experiments.contest.tasks import TASKS

AGE = concrete().names.index("age")


@pytest.fixture(scope="module")
def own():
    """The rows of concrete that the contest's first repetition trains on, and tests."""
    return given(TASKS["concrete"](), 0)


@pytest.fixture(scope="module")
def strength(own):
    return own.center + own.unit * own.test[1][:, 0]


@pytest.fixture(scope="module")
def distance(own):
    """Of each row to test, from the nearest to train on."""
    return np.linalg.norm(own.test[0][:, None] - own.fit[0], axis=2).min(axis=1)


def test_each_is_a_row_that_nobody_was_trained_on(strength, distance):
    for mix in mixes.chosen():
        assert mix.strength == pytest.approx(strength[mix.row])
        assert mix.distance == pytest.approx(distance[mix.row])
        assert mix.distance > 0
    kinds = [mix.kind for mix in mixes.chosen()]
    assert kinds == ["ordinary"] * 3 + ["unusual"] * 3


def test_ordinary_ones_lie_near_the_rows_to_train_on_and_spread_in_strength(strength, distance):
    for mix, percent in zip(mixes.chosen()[:3], (10, 50, 90), strict=True):
        assert mix.distance <= np.median(distance)
        wanted = np.percentile(strength, percent)
        near = distance <= np.median(distance)
        assert abs(mix.strength - wanted) == pytest.approx(np.abs(strength[near] - wanted).min())


def test_unusual_ones_are_the_farthest_recipes(own, distance):
    recipes = {tuple(row) for row in np.delete(own.test[0], AGE, axis=1)}
    farthest = {
        recipe: max(
            away
            for row, away in zip(own.test[0], distance, strict=True)
            if tuple(np.delete(row, AGE)) == recipe
        )
        for recipe in recipes
    }
    wanted = sorted(farthest.values())[:-4:-1]
    np.testing.assert_allclose([mix.distance for mix in mixes.chosen()[3:]], wanted)


@pytest.mark.parametrize("contestant", ["single", "mc_dropout"])
def test_intervals_hold_nine_tenths_of_what_was_predicted(contestant):
    row = measured.row(measured.load(mixes.TABLE)["rows"], contestant=contestant)
    for mix, low, high in zip(mixes.chosen(), *mixes.intervals(contestant), strict=True):
        normal = NormalDist(row["mean"][mix.row], row["std"][mix.row])
        assert normal.cdf(low) == pytest.approx(0.05)
        assert normal.cdf(high) == pytest.approx(0.95)

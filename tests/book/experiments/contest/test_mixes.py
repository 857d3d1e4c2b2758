"""The engineer's six mixtures are chosen by their rule, and what is said of them is the table's."""

from statistics import NormalDist

import numpy as np
import pytest

from ensedu.book import measured
from ensedu.book.experiments.contest import mixes
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.contest.tasks import given
from ensedu.data import concrete

OWN = given(TASKS["concrete"](), 0)
STRENGTH = OWN.center + OWN.unit * OWN.test[1][:, 0]
DISTANCE = np.array(
    [min(np.linalg.norm(row - other) for other in OWN.fit[0]) for row in OWN.test[0]]
)
WATER, AGE = (concrete().names.index(name) for name in ("water", "age"))


def test_each_is_a_row_that_nobody_was_trained_on():
    for mix in mixes.chosen():
        assert mix.strength == pytest.approx(STRENGTH[mix.row])
        assert mix.distance == pytest.approx(DISTANCE[mix.row])
        assert mix.distance > 0
    kinds = [mix.kind for mix in mixes.chosen()]
    assert kinds == ["ordinary"] * 3 + ["unusual"] * 3


def test_ordinary_ones_lie_near_the_rows_to_train_on_and_spread_in_strength():
    for mix, percent in zip(mixes.chosen()[:3], (10, 50, 90), strict=True):
        assert mix.distance <= np.median(DISTANCE)
        wanted = np.percentile(STRENGTH, percent)
        near = DISTANCE <= np.median(DISTANCE)
        assert abs(mix.strength - wanted) == pytest.approx(np.abs(STRENGTH[near] - wanted).min())


def test_unusual_ones_are_the_farthest_recipes():
    recipes = {tuple(row) for row in np.delete(OWN.test[0], AGE, axis=1)}
    farthest = {
        recipe: max(
            distance
            for row, distance in zip(OWN.test[0], DISTANCE, strict=True)
            if tuple(np.delete(row, AGE)) == recipe
        )
        for recipe in recipes
    }
    wanted = sorted(farthest.values())[:-4:-1]
    np.testing.assert_allclose([mix.distance for mix in mixes.chosen()[3:]], wanted)


def test_unusual_ones_are_called_by_their_ingredients():
    little, with_cement, much = (OWN.test[0][mix.row] for mix in mixes.chosen()[3:])
    assert little[WATER] < -2.5
    assert much[WATER] > 2.5
    assert with_cement[WATER] > 1
    assert with_cement[0] > 1  # cement


@pytest.mark.parametrize("contestant", ["single", "mc_dropout"])
def test_intervals_hold_nine_tenths_of_what_was_predicted(contestant):
    row = measured.row(measured.load(mixes.TABLE)["rows"], contestant=contestant)
    for mix, low, high in zip(mixes.chosen(), *mixes.intervals(contestant), strict=True):
        normal = NormalDist(row["mean"][mix.row], row["std"][mix.row])
        assert normal.cdf(low) == pytest.approx(0.05)
        assert normal.cdf(high) == pytest.approx(0.95)

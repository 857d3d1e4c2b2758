"""Members that start apart differ, those that start alike do not; and what their average leaves."""

import numpy as np
import pytest

from ensedu.book.experiments import averaging
from ensedu.book.experiments import running_example as example
from ensedu.data import gap


def test_what_is_left_is_that_of_members_from_different_starts_in_the_gap(monkeypatch):
    monkeypatch.setitem(example.SETTINGS, "epochs", 2)
    found = averaging.by_start(3)
    assert np.ptp(found.curves["same"], axis=0).max() < 1e-12
    assert np.ptp(found.curves["different"], axis=0).max() > 0.01
    low, high = gap.gaps[0]
    inside = [low < x < high for x in found.x]
    assert found.in_gap.tolist() == inside
    errors = found.curves["different"][:, inside] - gap.truth(found.x)[inside]
    of_two = [((errors.sum(0) - errors[i]) / 2) ** 2 for i in range(3)]  # all but one member
    assert found.left([1, 2, 3]) == pytest.approx(
        {1: (errors**2).mean(), 2: np.mean(of_two), 3: (errors.mean(0) ** 2).mean()}, rel=1e-12
    )

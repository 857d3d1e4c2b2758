"""What is not known of a curve is what conditioning on its points says, without any weights."""

import numpy as np
import pytest

from ensedu.book.experiments.exact import CHOICES, FEATURES, GRID, exact, points
from ensedu.data import gap


def test_the_grid_holds_the_places_that_the_page_names():
    assert np.isclose(GRID, -2.5).any() and np.isclose(GRID, 0.25).any()


def test_points_are_the_same_for_each_noise_and_number():
    x, y = points(256, 0.2)
    few, quiet = points(7, 0.1)
    np.testing.assert_array_equal(few, x[:7])
    np.testing.assert_allclose(quiet - gap.truth(few), (y - gap.truth(x))[:7] / 2)
    assert CHOICES["points"][-1] == len(x) and CHOICES["model"] == [*FEATURES]
    (low, high) = gap.gaps[0]
    assert not ((low < x) & (x < high)).any()


@pytest.mark.parametrize(("number", "noise"), [(7, 0.1), (53, 0.4)])
@pytest.mark.parametrize("model", FEATURES)
def test_it_is_a_gaussian_process(number, noise, model):
    """Conditioned on the targets, with the covariance of the features."""
    found, features = exact(number, noise, model), FEATURES[model]
    x, y = points(number, noise)
    targets = features(x) @ features(x).T + noise**2 * np.eye(number)
    cross = features(GRID) @ features(x).T
    left = features(GRID) @ features(GRID).T - cross @ np.linalg.solve(targets, cross.T)
    np.testing.assert_allclose(found.mean, cross @ np.linalg.solve(targets, y), atol=1e-8)
    np.testing.assert_allclose(found.unknown**2, np.diag(left), atol=1e-8)
    np.testing.assert_array_equal(found.y, y)


def test_a_line_through_many_points_is_nearly_least_squares():
    found = exact(256, 0.4, "line")
    slope, height = np.polyfit(found.x, found.y, 1)
    np.testing.assert_allclose(found.mean, height + slope * GRID, atol=2e-3)
    rows = FEATURES["line"](found.x)
    of_weights = 0.4**2 * np.linalg.inv(rows.T @ rows)
    grid = FEATURES["line"](GRID)
    variance = np.einsum("ij,jk,ik->i", grid, of_weights, grid)
    np.testing.assert_allclose(found.unknown**2, variance, rtol=2e-3)

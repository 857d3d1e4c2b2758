"""Toy sets of the trainer: points lie on their curves, or around their classes."""

import numpy as np
import pytest

from ensedu.book.page.live import toys, trainer_state
from tests.errors import check_error


@pytest.mark.large
@pytest.mark.parametrize("name", toys.TOYS)
def test_presets_follow_their_curve_or_their_classes(name):
    toy = toys.TOYS[name]
    points = np.concatenate([toys.points(name, seed=seed) for seed in range(20)])
    assert len(points) == 20 * toy.number
    if toy.truth is None:
        assert points.shape[1] == 3
        labels, counts = np.unique(points[:, 2], return_counts=True)
        assert labels.tolist() == list(range(len(labels)))
        assert np.ptp(counts) <= 20
        return
    points = points[np.abs(points[:, 0]) > 0.001]  # where the step is, x was rounded
    away = points[:, 1] - [toy.truth(x) for x in points[:, 0]]
    grows = 0.3 + 1.7 * (points[:, 0] + 4) / 4 if name == "wave" else 1.0
    z = away / (toy.noise * grows)
    assert abs(z.mean()) < 5 / len(z) ** 0.5
    assert abs(z.std() - 1) < 5 / (2 * len(z)) ** 0.5


def test_the_running_example_is_that_of_the_book():
    from ensedu.data import gap

    grid = np.linspace(-5, 5, 11)
    np.testing.assert_allclose([*map(toys.TOYS["gap"].truth, grid)], gap.truth(grid), atol=1e-15)
    x = np.concatenate([toys.points("gap", seed=seed)[:, 0] for seed in range(20)])
    inside = [(low <= x) & (x <= high) for low, high in gap.regions]
    assert (inside[0] | inside[1]).all()
    assert inside[0].sum() == inside[1].sum()


def test_points_are_rounded_halves_upwards():
    assert [toys.rounded(value) for value in (0.0005, -0.0005, 1.2344, -2.0006)] == [
        0.001, 0.0, 1.234, -2.001,
    ]  # fmt: skip
    assert np.array_equal(trainer_state.checked_points([[0.0005, -0.0005]]), [[0.001, 0]])


BAD = [
    (lambda: toys.points("x"), ValueError, ("name", "'x'", "'gap'")),
    (lambda: toys.points("gap", -1.0), ValueError, ("noise", "-1")),
    (lambda: toys.points("gap", seed=1.5), TypeError, ("seed", "1.5")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])

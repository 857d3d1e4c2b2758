"""Shifts: classes against a loop, turns against NumPy's, noise against its stated size."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_sample_images

from ensedu.data import classes, noisy, patches, rotated

N, H, W = 5, 7, 11


def images(*shape, seed=0):
    return np.random.default_rng(seed).random(shape or (N, H, W))


@given(
    y=arrays(np.int64, st.integers(1, 40), elements=st.integers(0, 9)),
    seed=st.integers(0, 10**6),
    relabel=st.booleans(),
)
def test_classes_are_those_of_a_loop(y, seed, relabel):
    rng = np.random.default_rng(seed)
    present = rng.permutation(np.unique(y))
    keep = present[: rng.integers(1, len(present) + 1)].tolist()
    x = np.arange(len(y) * 6.0).reshape(len(y), 2, 3)
    some, labels = classes(x, y, keep, relabel=relabel)
    rows = [row for row in range(len(y)) if y[row] in keep]
    np.testing.assert_array_equal(some, x[rows])
    np.testing.assert_array_equal(labels, [keep.index(y[r]) if relabel else y[r] for r in rows])
    assert labels.dtype == np.int64


def test_two_halves_of_the_classes_are_all_rows():
    x, y = images(50, 3), np.arange(50) % 10
    first, last = classes(x, y, range(5)), classes(x, y, range(5, 10))
    assert len(first[0]) + len(last[0]) == 50
    assert set(first[1]) == set(range(5))
    assert set(last[1]) == set(range(5, 10))


@pytest.mark.parametrize("size", [2, 7, 8])
@pytest.mark.parametrize("quarters", range(-5, 6))
def test_quarter_turns_are_exact(size, quarters):
    square = images(N, size, size)
    turned = rotated(square, 90.0 * quarters)
    np.testing.assert_array_equal(turned, np.rot90(square, quarters, axes=(1, 2)))


@pytest.mark.parametrize("degrees", [17.0, -100.0, 200.0, 359.0])
def test_a_point_moves_counterclockwise_about_the_center(degrees):
    size, radius = 41, 13
    spot = np.zeros((1, size, size))
    spot[0, 20, 20 + radius] = 1  # to the right of the center
    turned = rotated(spot, degrees)[0]
    rows, columns = np.mgrid[:size, :size] - 20.0
    right, up = ((turned * axis).sum() / turned.sum() for axis in (columns, -rows))
    angle = math.radians(degrees)
    # the pixels that linear interpolation lights up lie within one of the point
    assert abs(right - radius * math.cos(angle)) < 0.5
    assert abs(up - radius * math.sin(angle)) < 0.5


def test_a_turn_is_interpolated_linearly_and_empty_outside():
    """Each pixel against the four around the place that it comes from, in a loop."""
    given, degrees = images(), 33.0
    turned = rotated(given, degrees)
    angle = math.radians(degrees)
    expected = np.zeros_like(given)
    for row in range(H):
        for column in range(W):
            right, up = column - (W - 1) / 2, (H - 1) / 2 - row
            from_right = right * math.cos(angle) + up * math.sin(angle)
            from_up = up * math.cos(angle) - right * math.sin(angle)
            r, c = (H - 1) / 2 - from_up, (W - 1) / 2 + from_right
            if not (0 <= r <= H - 1 and 0 <= c <= W - 1):
                continue
            r0, c0 = min(int(r), H - 2), min(int(c), W - 2)
            a, b = r - r0, c - c0
            block = given[:, r0 : r0 + 2, c0 : c0 + 2]
            weights = np.outer([1 - a, a], [1 - b, b])
            expected[:, row, column] = (block * weights).sum(axis=(1, 2))
    np.testing.assert_allclose(turned, expected, atol=1e-12)
    assert (expected == 0).any()


@given(degrees=st.floats(-1e3, 1e3))
def test_a_turned_image_is_an_image(degrees):
    ones = np.ones((2, 8, 8))
    turned = rotated(ones, degrees)
    assert turned.min() >= 0
    assert turned.max() <= 1
    assert turned.shape == ones.shape
    noisy(turned, 0.1, np.random.default_rng(0))  # so it is taken again


def test_noise_has_the_stated_deviation_where_nothing_is_cut():
    gray, std = np.full((200, 10, 20), 0.5), 0.05
    rest = (noisy(gray, std, np.random.default_rng(0)) - 0.5) / std
    number = rest.size  # 40,000
    assert abs(rest.mean()) < 5 * number**-0.5
    assert abs((rest**2).mean() - 1) < 5 * (2 / number) ** 0.5


def test_noise_is_cut_at_0_and_1():
    given = np.repeat([0.0, 1.0], 20_000)
    shifted = noisy(given, 0.3, np.random.default_rng(0))
    assert (shifted.min(), shifted.max()) == (0, 1)
    # half of the draws on black point outwards
    assert abs((shifted[:20_000] == 0).mean() - 0.5) < 5 * 0.5 * 20_000**-0.5
    moved = np.abs(shifted - given).mean()  # E|z| / 2 = std / √(2π)
    assert moved == pytest.approx(0.3 / math.sqrt(2 * math.pi), rel=0.05)


def test_no_noise_changes_nothing():
    given = images()
    np.testing.assert_array_equal(noisy(given, 0.0, np.random.default_rng(0)), given)


def test_what_is_given_stays_as_it_is():
    given = images(N, H, H)
    before = given.copy()
    rotated(given, 0.0)[:] = 0
    noisy(given, 0.0, np.random.default_rng(0))[:] = 0
    x, _ = classes(given, np.zeros(N, np.int64), [0])
    x[:] = 0
    np.testing.assert_array_equal(given, before)


def test_patches_are_cut_out_of_the_photographs():
    photographs = np.stack(load_sample_images().images).astype(float).mean(axis=-1) / 255
    found = patches(6, 50, np.random.default_rng(0))
    assert found.shape == (6, 50, 50)
    used = set()
    for patch in found:
        starts = np.argwhere(np.abs(photographs[:, :-49, :-49] - patch[0, 0]) < 1e-12)
        matches = [
            (photo, row, column)
            for photo, row, column in starts
            if np.allclose(photographs[photo, row : row + 50, column : column + 50], patch)
        ]
        assert len(matches) == 1
        used.add(matches[0][0])
    assert used == {0, 1}


def test_patches_of_the_full_height_fit():
    found = patches(2, 427, np.random.default_rng(0))
    assert found.min() >= 0
    assert found.max() <= 1


def test_patches_come_from_everywhere():
    """The corners of single pixels: mean and spread of gray as in the photographs."""
    photographs = np.stack(load_sample_images().images).mean(axis=-1) / 255
    found = patches(20_000, 1, np.random.default_rng(0))[:, 0, 0]
    error = photographs.std() * 20_000**-0.5
    assert abs(found.mean() - photographs.mean()) < 5 * error
    assert found.std() == pytest.approx(photographs.std(), rel=0.03)


@pytest.mark.parametrize(
    "draw", [lambda rng: patches(3, 5, rng), lambda rng: noisy(images(), 0.1, rng)]
)
def test_a_seed_is_one_draw(draw):
    first, again, other = (draw(np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)

"""Shifts: classes against a loop, turns against NumPy's, noise against its stated size."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_sample_images

from ensedu.data import keep_classes, noisy, patches, rotated

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
    some, labels = keep_classes(x, y, keep, relabel=relabel)
    rows = [row for row in range(len(y)) if y[row] in keep]
    np.testing.assert_array_equal(some, x[rows])
    np.testing.assert_array_equal(labels, [keep.index(y[r]) if relabel else y[r] for r in rows])
    assert labels.dtype == np.int64


@given(degrees=st.floats(-1e3, 1e3))
def test_a_turn_is_counterclockwise_interpolated_linearly_and_empty_outside(degrees):
    """Each pixel against the four around the place that it comes from, in a loop."""
    given = images()
    turned = rotated(given, degrees)
    angle = math.radians(degrees)
    for row, column in np.ndindex(H, W):
        right, up = column - (W - 1) / 2, (H - 1) / 2 - row
        from_right = right * math.cos(angle) + up * math.sin(angle)
        from_up = up * math.cos(angle) - right * math.sin(angle)
        r, c = (H - 1) / 2 - from_up, (W - 1) / 2 + from_right
        away = max(-r, r - (H - 1), -c, c - (W - 1))
        if abs(away) < 1e-9:  # on the edge either may be right
            continue
        expected = 0.0
        if away < 0:
            r0, c0 = min(int(r), H - 2), min(int(c), W - 2)
            weights = np.outer([1 - (r - r0), r - r0], [1 - (c - c0), c - c0])
            expected = (given[:, r0 : r0 + 2, c0 : c0 + 2] * weights).sum(axis=(1, 2))
        np.testing.assert_allclose(turned[:, row, column], expected, atol=1e-9)
    noisy(turned, 0.1, np.random.default_rng(0))  # it stays in 0 to 1, so it is taken again


def test_noise_has_the_stated_deviation_and_is_cut_at_0_and_1():
    given, std = np.repeat([0.0, 0.5, 1.0], 40_000), 0.05
    shifted = noisy(given, std, np.random.default_rng(0))
    rest = (shifted[40_000:80_000] - 0.5) / std
    assert abs(rest.mean()) < 5 * 40_000**-0.5
    assert abs((rest**2).mean() - 1) < 5 * (2 / 40_000) ** 0.5
    assert (shifted.min(), shifted.max()) == (0, 1)
    # Half of the draws on black point outwards.
    assert abs((shifted[:40_000] == 0).mean() - 0.5) < 5 * 0.5 * 40_000**-0.5
    np.testing.assert_array_equal(noisy(given, 0.0, np.random.default_rng(0)), given)


def test_what_is_given_stays_as_it_is():
    given = images(N, H, H)
    before = given.copy()
    rotated(given, 0.0)[:] = 0
    noisy(given, 0.0, np.random.default_rng(0))[:] = 0
    keep_classes(given, np.zeros(N, np.int64), [0])[0][:] = 0
    np.testing.assert_array_equal(given, before)


def test_patches_are_cut_out_of_the_photographs():
    photographs = np.stack(load_sample_images().images).astype(float).mean(axis=-1) / 255
    used = set()
    for patch in patches(6, 50, np.random.default_rng(0)):
        starts = np.argwhere(np.abs(photographs[:, :-49, :-49] - patch[0, 0]) < 1e-12)
        matches = [
            (photo, row, column)
            for photo, row, column in starts
            if np.allclose(photographs[photo, row : row + 50, column : column + 50], patch)
        ]
        assert len(matches) == 1
        used.add(matches[0][0])
    assert used == {0, 1}
    assert patches(2, 427, np.random.default_rng(0)).shape == (2, 427, 427)
    # Single pixels come from everywhere: mean and spread of gray are the photographs'.
    found = patches(20_000, 1, np.random.default_rng(0))[:, 0, 0]
    assert abs(found.mean() - photographs.mean()) < 5 * photographs.std() * 20_000**-0.5
    assert found.std() == pytest.approx(photographs.std(), rel=0.03)


@pytest.mark.parametrize(
    "draw", [lambda rng: patches(3, 5, rng), lambda rng: noisy(images(), 0.1, rng)]
)
def test_a_seed_is_one_draw(draw):
    first, again, other = (draw(np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)

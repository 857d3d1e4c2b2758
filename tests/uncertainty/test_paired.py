"""The interval against SciPy's, and against how often it covers the mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ensedu import uncertainty as un


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 30),
    level=st.floats(0.01, 0.999),
)
def test_it_is_the_interval_of_a_t_test(seed, n, level):
    differences = np.random.default_rng(seed).normal(1, 2, n)
    found = un.paired(differences, level)
    expected = stats.ttest_1samp(differences, 0).confidence_interval(level)
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-9, abs=1e-12)
    assert found.mean == pytest.approx(differences.mean(), rel=1e-12)
    assert found.n == n and found.low < found.mean < found.high


def test_initial_seeds_are_averaged_first():
    differences = np.random.default_rng(0).normal(1, 2, (7, 5))
    found = un.paired(differences)
    by_data = np.array([sum(row) / 5 for row in differences])
    same = un.paired(by_data, 0.95)
    assert found.n == 7
    assert (found.low, found.high) == pytest.approx((same.low, same.high), rel=1e-12)
    naive = un.paired(differences.ravel())
    assert naive.mean == pytest.approx(found.mean) and naive.n == 35
    one = un.paired(by_data[:, None])
    assert (one.low, one.high) == pytest.approx((same.low, same.high), rel=1e-12)


def test_it_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(2000):
        # What a data seed does is common to its initial seeds.
        data = 0.3 + rng.standard_normal((5, 1)) + 0.5 * rng.standard_normal((5, 3))
        found = un.paired(data, 0.9)
        hits += found.low <= 0.3 <= found.high
    assert hits / 2000 == pytest.approx(0.9, abs=0.02)


def test_equal_differences_have_no_width():
    found = un.paired(np.full(5, 0.25), 1 - 2**-53)
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)

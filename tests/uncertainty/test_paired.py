"""The interval against SciPy's, and against how often it covers the mean."""

import numpy as np
import pytest
from hypothesis import assume, given
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


def test_equal_differences_have_no_width():
    found = un.paired(np.full(5, 0.25), 1 - 2**-53)
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), shift=st.floats(-3, 3))
def test_p_is_that_of_a_t_test(seed, n, shift):
    differences = np.random.default_rng(seed).normal(shift, 2, n)
    expected = stats.ttest_1samp(differences, 0).pvalue
    assert un.paired(differences).p == pytest.approx(expected, rel=1e-9)


def test_p_of_equal_differences():
    assert un.paired(np.full(5, 0.25)).p == 0
    assert un.paired(np.zeros(5)).p == 1


@given(
    seed=st.integers(0, 10**6), n=st.integers(2, 30), train=st.integers(1, 997),
    test=st.integers(1, 499),
)  # fmt: skip
def test_overlap_widens_the_interval_by_its_factor(seed, n, train, test):
    differences = np.random.default_rng(seed).normal(1, 2, (n, 3))
    naive, wide = un.paired(differences), un.resampled(differences, train=train, test=test)
    factor = (1 + n * test / train) ** 0.5
    assert wide.mean == naive.mean and wide.n == n
    assert wide.high - wide.low == pytest.approx(factor * (naive.high - naive.low), rel=1e-9)
    t = stats.t.ppf(1 - wide.p / 2, n - 1) * factor
    assert un.paired(differences).p == pytest.approx(2 * stats.t.sf(t, n - 1), rel=1e-6)


def test_it_covers_where_splits_correlate_as_it_supposes():
    """Differences that share what a split of 900 and 100 is supposed to share: a tenth."""
    rng = np.random.default_rng(0)
    hits = {"paired": 0, "resampled": 0}
    for _ in range(2000):
        data = 0.3 + 0.1**0.5 * rng.standard_normal() + 0.9**0.5 * rng.standard_normal(20)
        for name, one in (
            ("paired", un.paired(data)), ("resampled", un.resampled(data, train=900, test=100)),
        ):  # fmt: skip
            hits[name] += one.low <= 0.3 <= one.high
    assert hits["resampled"] / 2000 == pytest.approx(0.95, abs=0.02)
    assert hits["paired"] / 2000 < 0.8


@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=11), level=st.floats(0.001, 0.999))
def test_holm_rejects_step_by_step(p, level):
    """At a level: the least p against level / K, the next against level / (K - 1), until one fails.

    A value within rounding of its bound may fall on either side.
    """
    rejected, order = set(), sorted(range(len(p)), key=p.__getitem__)
    bounds = [level / (len(p) - k) for k in range(len(p))]
    assume(all(abs(p[i] - bound) > 1e-9 for i, bound in zip(order, bounds, strict=True)))
    for i, bound in zip(order, bounds, strict=True):
        if p[i] > bound:
            break
        rejected.add(i)
    assert {i for i, value in enumerate(un.holm(p)) if value <= level} == rejected


def test_adjusted_p_values_are_no_more_than_1():
    assert un.holm([0.9, 0.1, 0.7]).tolist() == [1.0, pytest.approx(0.3), 1.0]

"""Quantiles against SciPy's roots and counts; sets and the interval score against definitions."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ensedu import uncertainty as un

M, B, k = 3, 7, 5
SEEDS = st.integers(0, 10**6)
SHARES = st.integers(1, 99)
LEVELS = st.floats(0.01, 0.99)
ROUNDING = 1e-12  # of quantiles of about 10


def gaussians(seed=0, members=M, examples=B, outputs=k):
    """Means and variances of a mixture."""
    rng = np.random.default_rng(seed)
    shape = members, examples, outputs
    return rng.normal(0, 2, shape), rng.lognormal(0, 1, shape)


@given(seed=SEEDS, members=st.integers(1, 6), p=st.floats(1e-9, 1 - 1e-9))
def test_the_mixture_stays_below_a_quantile_with_its_probability(seed, members, p):
    mean, variance = gaussians(seed, members)
    found = un.quantile(mean, variance, p)
    below = stats.norm.cdf(found, mean, np.sqrt(variance)).mean(0)
    np.testing.assert_allclose(below, p, rtol=1e-12, atol=1e-15)
    assert (un.quantile(mean, variance, p / 2) <= found).all()
    # As exact far above as far below.
    above = un.quantile(mean, variance, 0.999999999999)
    below = un.quantile(-mean, variance, 0.000000000001)
    assert np.array_equal(above, -below)


def test_a_quantile_is_as_exact_as_the_narrowest_member_asks():
    found = un.quantile(np.zeros((2, 1, 1)), np.array([[[1e-12]], [[1e12]]]), 0.6)
    np.testing.assert_allclose(found.item(), 1e-6 * stats.norm.ppf(0.7), rtol=1e-9)


@given(seed=SEEDS, level=LEVELS)
def test_an_interval_leaves_as_much_on_either_side_and_is_what_coverage_counts(seed, level):
    mean, variance = gaussians(seed)
    y = np.random.default_rng(seed).normal(0, 3, (B, k))
    for spread in (variance, None):
        low, high = un.interval(mean, spread, level)
        assert (low <= high).all()
        # To the bit: mirrored forecasts have mirrored intervals.
        assert np.array_equal(un.interval(-mean, spread, level), [-high, -low])
        wider = un.interval(mean, spread, (1 + level) / 2)
        assert (wider[0] <= low + ROUNDING).all() and (high <= wider[1] + ROUNDING).all()
    low, high = un.interval(mean, variance, level)
    np.testing.assert_allclose(low, un.quantile(mean, variance, (1 - level) / 2), atol=1e-9)
    inside = ((low <= y) & (y <= high)).mean()
    assert un.coverage(mean, variance, y, level) == inside
    assert np.array_equal(un.interval(mean, variance), un.interval(mean, variance, 0.95))


@given(seed=SEEDS, samples=st.integers(1, 200), share=SHARES)
def test_samples_are_counted_to_one_of_them(seed, samples, share):
    """A quantile is the least that so many do not exceed, an interval leaves out half the rest."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 99, (samples, 1, 1)) / 1.0  # of which some are equal
    p = Fraction(share, 100)  # and share / 100 is the float next to it
    least = min(v for v in y.ravel() if Fraction(int((y <= v).sum()), samples) >= p)
    assert un.quantile(y, None, share / 100).item() == least
    y, tail = rng.standard_normal((samples, 1, 1)), (1 - p) / 2
    low, high = un.interval(y, None, share / 100)
    for out in (int((y < low).sum()), int((y > high).sum())):
        # And one sample more would be too many.
        assert Fraction(out, samples) < tail <= Fraction(out + 1, samples)


def test_certain_members_are_samples():
    mean, _ = gaussians(members=11)
    certain = np.full_like(mean, 1e-40)
    for p in (0.1, 0.3, 0.5, 0.77):  # between two samples at none of them
        np.testing.assert_allclose(
            un.quantile(mean, certain, p), un.quantile(mean, None, p), rtol=1e-14, atol=1e-18
        )


@given(seed=SEEDS, share=SHARES)
def test_a_smallest_set_takes_the_likeliest_until_the_level_is_reached(seed, share):
    rows = np.random.default_rng(seed).dirichlet(np.ones(k), B)
    for row, inside in zip(rows, un.smallest_set(rows, share / 100), strict=True):
        order = sorted(range(k), key=lambda c, row=row: -row[c])
        size = next(s for s in range(1, k + 1) if sum(row[c] for c in order[:s]) >= share / 100)
        assert {*np.flatnonzero(inside)} == {*order[:size]}


def test_of_equal_classes_the_first_is_in_a_smallest_set():
    rows = np.array([[0.25, 0.5, 0.25]])
    assert un.smallest_set(rows, 0.75).tolist() == [[True, True, False]]
    assert un.smallest_set(rows, 0.5).tolist() == [[False, True, False]]
    assert un.smallest_set(rows).tolist() == [[True, True, True]]


@given(seed=SEEDS, share=SHARES)
def test_the_interval_score_is_its_formula(seed, share):
    """Gneiting and Raftery 2007, eq. 43, with α the probability outside."""
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.normal(0, 2, (2, B, k)), axis=0)
    y, alpha = rng.normal(0, 3, (B, k)), 1 - share / 100
    outside = np.where(y < low, low - y, np.where(y > high, y - high, 0))
    expected = high - low + 2 / alpha * outside
    np.testing.assert_allclose(un.interval_score(low, high, y, share / 100), expected)
    np.testing.assert_array_equal(
        un.interval_score(low, high, y), un.interval_score(low, high, y, 0.95)
    )


def test_an_interval_without_an_end_scores_inf():
    low, high = np.array([[-np.inf], [0.0], [-np.inf]]), np.array([[1.0], [np.inf], [np.inf]])
    assert un.interval_score(low, high, np.zeros(3), 0.9).tolist() == [[np.inf]] * 3

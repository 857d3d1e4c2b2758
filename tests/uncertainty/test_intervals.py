"""Quantiles against SciPy's roots, samples and counts; the interval score against its formula."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from ensedu import uncertainty as un

M, B, k = 3, 7, 5
PROBABILITIES = st.floats(1e-9, 1 - 1e-9)
LEVELS = st.floats(0.01, 0.99)
ROUNDING = 1e-12  # of quantiles of about 10


def gaussians(seed=0, members=M, examples=B, outputs=k):
    """Means and variances of a mixture."""
    rng = np.random.default_rng(seed)
    shape = members, examples, outputs
    return rng.normal(0, 2, shape), rng.lognormal(0, 1, shape)


def test_a_quantile_is_the_root_that_scipy_finds():
    mean, variance = gaussians()
    std = np.sqrt(variance)
    for p in (1e-9, 0.05, 0.31, 0.5, 0.95, 0.999):
        found = un.quantile(mean, variance, p)
        assert found.shape == (B, k)
        for b in range(B):
            for j in range(k):

                def above(y, b=b, j=j, p=p):
                    return stats.norm.cdf(y, mean[:, b, j], std[:, b, j]).mean() - p

                root = optimize.brentq(above, -100, 100, xtol=1e-13)
                assert found[b, j] == pytest.approx(root, abs=1e-12)


@given(seed=st.integers(0, 10**6), members=st.integers(1, 6), p=PROBABILITIES)
def test_the_mixture_stays_below_a_quantile_with_its_probability(seed, members, p):
    mean, variance = gaussians(seed, members)
    below = un.mixture_cdf(mean, variance, un.quantile(mean, variance, p))
    np.testing.assert_allclose(below, p, rtol=1e-12, atol=1e-15)


def test_so_many_samples_are_below_a_quantile():
    """A count of 40,000 that is binomial, within five standard deviations."""
    mean, variance = gaussians(outputs=1)
    rng, draws, p = np.random.default_rng(1), 40_000, 0.3
    found = un.quantile(mean, variance, p)[:, 0]
    for b in range(B):
        member = rng.integers(0, M, draws)
        y = rng.normal(mean[member, b, 0], np.sqrt(variance[member, b, 0]))
        error = math.sqrt(p * (1 - p) / draws)
        assert (y <= found[b]).mean() == pytest.approx(p, abs=5 * error)


@given(p=PROBABILITIES, center=st.floats(-1e6, 1e6), std=st.floats(1e-6, 1e6))
def test_the_quantile_of_one_gaussian_has_a_formula(p, center, std):
    found = un.quantile(np.full((1, 1, 1), center), np.full((1, 1, 1), std**2), p)
    assert found.item() == pytest.approx(stats.norm.ppf(p, center, std), rel=1e-9, abs=1e-9 * std)


def test_two_members_far_apart_have_the_quantiles_of_one_each():
    """Where the one Gaussian of the same mean and variance would look between them."""
    mean, variance = np.array([[[-100.0]], [[100.0]]]), np.array([[[1.0]], [[4.0]]])
    low, high = un.interval(mean, variance, 0.9)
    assert low.item() == pytest.approx(-100 + stats.norm.ppf(0.1), rel=1e-14)
    assert high.item() == pytest.approx(100 + 2 * stats.norm.ppf(0.9), rel=1e-14)
    assert un.quantile(mean, variance, 0.25).item() == pytest.approx(-100, rel=1e-14)
    center, width = un.mixture(mean, variance)
    assert (center + stats.norm.ppf(0.9) * np.sqrt(width)).item() > 105 > high.item()


@given(seed=st.integers(0, 10**6), first=PROBABILITIES, second=PROBABILITIES)
def test_quantiles_rise_with_the_probability(seed, first, second):
    mean, variance = gaussians(seed)
    least, most = sorted((first, second))
    for spread in (variance, None):
        fewer, more = (un.quantile(mean, spread, p) for p in (least, most))
        assert (fewer <= more + ROUNDING).all()


@given(seed=st.integers(0, 10**6), first=LEVELS, second=LEVELS)
def test_an_interval_lies_inside_that_of_a_higher_level(seed, first, second):
    mean, variance = gaussians(seed)
    for spread in (variance, None):
        (low, high), (lower, higher) = (
            un.interval(mean, spread, level) for level in sorted((first, second))
        )
        assert (lower <= low + ROUNDING).all() and (high <= higher + ROUNDING).all()
        assert (low <= high).all()


@given(seed=st.integers(0, 10**6), level=LEVELS)
def test_a_mirrored_mixture_has_mirrored_intervals_to_the_bit(seed, level):
    mean, variance = gaussians(seed)
    for spread in (variance, None):
        low, high = un.interval(mean, spread, level)
        left, right = un.interval(-mean, spread, level)
        assert np.array_equal(left, -high) and np.array_equal(right, -low)


@given(seed=st.integers(0, 10**6), level=LEVELS)
def test_a_symmetric_mixture_has_symmetric_intervals(seed, level):
    mean, _ = gaussians(seed)
    both, wide = np.concatenate([mean, -mean]), np.full((2 * M, B, k), 9.0)
    low, high = un.interval(both, wide, level)
    np.testing.assert_allclose(low, -high, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(un.quantile(both, wide, 0.5), 0, atol=ROUNDING)


@pytest.mark.parametrize("level", [0.2, 0.5, 0.9, 0.95])
def test_the_targets_inside_are_those_that_coverage_counts(level):
    mean, variance = gaussians(examples=101)
    y = np.random.default_rng(1).normal(0, 3, (101, k))
    low, high = un.interval(mean, variance, level)
    assert ((low <= y) & (y <= high)).mean() == un.coverage(mean, variance, y, level)


def test_the_interval_of_one_gaussian_at_the_default_level():
    low, high = un.interval(np.full((1, 1, 1), 3.0), np.full((1, 1, 1), 4.0))
    assert (low.item(), high.item()) == pytest.approx((3 - 3.919928, 3 + 3.919928), abs=1e-6)


@given(seed=st.integers(0, 10**6), samples=st.integers(1, 40), share=st.integers(1, 99))
def test_a_quantile_of_samples_is_the_least_that_so_many_do_not_exceed(seed, samples, share):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 9, (samples, 2, 1)).astype(float)  # of which many are equal
    p = Fraction(share, 100)  # and share / 100 is the float next to it
    for b in range(2):
        expected = min(
            v for v in y[:, b, 0] if Fraction(int((y[:, b, 0] <= v).sum()), samples) >= p
        )
        assert un.quantile(y, None, share / 100)[b, 0] == expected


@given(seed=st.integers(0, 10**6), samples=st.integers(1, 200), share=st.integers(1, 99))
def test_an_interval_of_samples_leaves_out_less_than_half_the_rest_on_each_side(
    seed, samples, share
):
    y = np.random.default_rng(seed).standard_normal((samples, 2, 1))
    tail = (1 - Fraction(share, 100)) / 2
    low, high = un.interval(y, None, share / 100)
    for outside in (y < low, y > high):
        left_out = int(outside[:, 0].sum())
        # And one sample more would be too many.
        assert Fraction(left_out, samples) < tail <= Fraction(left_out + 1, samples)


def test_samples_are_counted_with_the_decimal_that_is_written():
    """In floats 0.07 · 100 is above 7, and (1 - 0.95) / 2 above 1 / 40."""
    hundred, forty = (np.arange(1.0, n + 1)[:, None, None] for n in (100, 40))
    assert [un.quantile(hundred, None, p).item() for p in (0.05, 0.07, 0.55)] == [5, 7, 55]
    assert [end.item() for end in un.interval(forty, None, 0.95)] == [1, 40]
    assert [end.item() for end in un.interval(forty, None, 0.9)] == [2, 39]


def test_certain_members_are_samples():
    mean, _ = gaussians(members=11)
    certain = np.full_like(mean, 1e-40)
    for p in (0.1, 0.3, 0.5, 0.77):  # between two samples at none of them
        np.testing.assert_allclose(
            un.quantile(mean, certain, p), un.quantile(mean, None, p), rtol=1e-14, atol=1e-18
        )


@given(seed=st.integers(0, 10**6), share=st.integers(1, 99))
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


@given(seed=st.integers(0, 10**6), share=st.integers(1, 99))
def test_the_interval_score_is_its_formula(seed, share):
    """Gneiting and Raftery 2007, eq. 43, with α the probability outside."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.normal(0, 2, (2, B, k)), axis=0)
    y = rng.normal(0, 3, (B, k))
    found = un.interval_score(ends[0], ends[1], y, share / 100)
    alpha = 1 - share / 100
    for b in range(B):
        for j in range(k):
            low, high, x = *ends[:, b, j], y[b, j]
            score = high - low
            score += 2 / alpha * (low - x) if x < low else 0
            score += 2 / alpha * (x - high) if x > high else 0
            assert found[b, j] == pytest.approx(score, rel=1e-12)


def test_the_interval_score_at_the_default_level():
    ends = np.array([[1.0]]), np.array([[3.0]])
    assert un.interval_score(*ends, np.array([0.0])).item() == pytest.approx(2 + 40)
    assert un.interval_score(*ends, np.array([3.5])).item() == pytest.approx(2 + 20)


def test_an_interval_without_an_end_scores_inf():
    low, high = np.array([[-np.inf], [0.0], [-np.inf]]), np.array([[1.0], [np.inf], [np.inf]])
    assert un.interval_score(low, high, np.zeros(3), 0.9).tolist() == [[np.inf]] * 3


def test_no_other_interval_scores_better_than_the_true_one():
    """A proper score: on average the true quantiles win; of 10,000 draws, with the same draws."""
    mean, variance = gaussians(members=2, examples=1, outputs=1)
    rng, draws = np.random.default_rng(2), 10_000
    member = rng.integers(0, 2, draws)
    y = rng.normal(mean[member, 0, 0], np.sqrt(variance[member, 0, 0]))
    low, high = (np.full((draws, 1), end.item()) for end in un.interval(mean, variance, 0.8))
    best = un.interval_score(low, high, y, 0.8).mean()
    for shift in (-0.5, 0.5):
        assert un.interval_score(low + shift, high, y, 0.8).mean() > best
        assert un.interval_score(low, high + shift, y, 0.8).mean() > best

"""Conformal intervals against the papers' definitions, and their promises by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import uncertainty as un
from ensedu.uncertainty import conformal_intervals

n, B, k, K = 23, 7, 2, 5


def forecasts(seed=0, rows=n, leading=()):
    """Predictions and standard deviations, one a fold in front if there is an axis, and targets."""
    rng = np.random.default_rng(seed)
    shape = (*leading, rows, k)
    return rng.normal(0, 2, shape), rng.lognormal(0, 1, shape), rng.normal(0, 3, shape[-2:])


@pytest.mark.parametrize("scaled", [False, True])
def test_split_conformal_is_its_definition(scaled):
    mean, std, y = forecasts()
    new, wide, _ = forecasts(1, B)
    found = un.ConformalIntervals.fit(mean, y, *[std] * scaled)
    low, high = found.interval(new, *[wide] * scaled, level=0.8)
    for j in range(k):
        each = sorted(abs(y[i, j] - mean[i, j]) / (std[i, j] if scaled else 1) for i in range(n))
        q = each[math.ceil((n + 1) * 0.8) - 1]
        for b in range(B):
            half = q * (wide[b, j] if scaled else 1)
            assert low[b, j] == pytest.approx(new[b, j] - half, rel=1e-13)
            assert high[b, j] == pytest.approx(new[b, j] + half, rel=1e-13)


def held(errors, level, scaled, seed):
    """Return how many of some rows lie in the interval of the others, each once the new one."""
    mean, std = np.random.default_rng(seed).integers(1, 4, (2, len(errors), 1)).astype(float)
    y, number = mean + errors[:, None] * (std if scaled else 1), 0
    for i in range(len(errors)):
        known, new = np.arange(len(errors)) != i, slice(i, i + 1)
        spread = [(std[rows],) if scaled else () for rows in (known, new)]
        found = un.ConformalIntervals.fit(mean[known], y[known], *spread[0])
        low, high = found.interval(mean[new], *spread[1], level=level)
        number += bool(low <= y[new] <= high)
    return number


@pytest.mark.filterwarnings("ignore:level .* calibration rows")
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 40),
    share=st.integers(1, 99),
    scaled=st.booleans(),
)
def test_split_conformal_holds_its_promise_exactly(seed, rows, share, scaled):
    """Exchangeable rows come in any order: each is the new one in as many orders as any other."""
    # Small integers and powers of two, of which no two are equal, and none is rounded.
    errors = np.random.default_rng(seed).permutation(2.0 ** np.arange(-20, rows - 19))
    coverage = Fraction(held(errors, share / 100, scaled, seed), rows + 1)
    level = Fraction(share, 100)
    assert level <= coverage < level + Fraction(1, rows + 1)
    assert coverage == Fraction(math.ceil((rows + 1) * level), rows + 1)


@pytest.mark.filterwarnings("ignore:level .* calibration rows")
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 40), share=st.integers(1, 99))
def test_equal_errors_can_only_be_held_more_often(seed, rows, share):
    errors = np.random.default_rng(seed).integers(0, 4, rows + 1).astype(float)
    assert Fraction(held(errors, share / 100, False, seed), rows + 1) >= Fraction(share, 100)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("cells", [10**6, 3 * n * k, 1])
def test_cv_plus_is_its_definition(scaled, cells, monkeypatch):
    """A loop over the rows of training, and two sorted lists."""
    monkeypatch.setattr(conformal_intervals, "CELLS", cells)
    mean, std, y = forecasts()
    folds = np.random.default_rng(2).permutation(np.arange(n) % K)
    new, wide, _ = forecasts(1, B, (K,))
    found = un.ConformalIntervals.fit(mean, y, *[std] * scaled, folds=folds)
    low, high = found.interval(new, *[wide] * scaled, level=0.77)
    alpha = 1 - Fraction(77, 100)
    for b in range(B):
        for j in range(k):
            below, above = [], []
            for i in range(n):
                own = abs(y[i, j] - mean[i, j])
                reach = own / std[i, j] * wide[folds[i], b, j] if scaled else own
                below.append(new[folds[i], b, j] - reach)
                above.append(new[folds[i], b, j] + reach)
            first, last = math.floor(alpha * (n + 1)), math.ceil((1 - alpha) * (n + 1))
            assert low[b, j] == pytest.approx(sorted(below)[first - 1], rel=1e-13)
            assert high[b, j] == pytest.approx(sorted(above)[last - 1], rel=1e-13)


@given(seed=st.integers(0, 10**6), share=st.integers(51, 95), scaled=st.booleans())
def test_one_fold_is_split_conformal_to_the_bit(seed, share, scaled):
    mean, std, y = forecasts(seed)
    new, wide, _ = forecasts(seed + 1, B)
    split = un.ConformalIntervals.fit(mean, y, *[std] * scaled)
    crossed = un.ConformalIntervals.fit(mean, y, *[std] * scaled, folds=np.zeros(n, int))
    expected = split.interval(new, *[wide] * scaled, level=share / 100)
    found = crossed.interval(new[None], *[wide[None]] * scaled, level=share / 100)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("rows", "folds", "share"), [(5, 5, 80), (5, 5, 67), (4, 2, 80)])
def test_cv_plus_holds_its_promise_over_all_orders(rows, folds, share):
    """Of some values in each order the last is the new one; a network is the mean of its rows."""
    values = np.random.default_rng(3).standard_normal(rows + 1) ** 3
    fold, inside, orders = np.arange(rows) * folds // rows, 0, 0
    for order in itertools.permutations(values):
        known, new = np.array(order[:-1])[:, None], order[-1]
        means = np.array([[known[fold != f].mean()] for f in range(folds)])
        found = un.ConformalIntervals.fit(means[fold], known, folds=fold)
        low, high = found.interval(means[:, None], level=share / 100)
        inside, orders = inside + bool(low <= new <= high), orders + 1
    alpha = 1 - share / 100
    less = min(2 * (1 - 1 / folds) / (rows / folds + 1), (1 - folds / rows) / (folds + 1))
    promise = 1 - 2 * alpha - less  # Barber et al. 2021, thm. 4
    assert inside / orders >= promise >= found.guarantee(share / 100)


def test_a_guarantee_is_that_of_the_paper():
    mean, _, y = forecasts()
    split, crossed = (
        un.ConformalIntervals.fit(mean, y, folds=folds) for folds in (None, np.arange(n) % K)
    )
    assert split.guarantee(0.3) == 0.3
    assert crossed.guarantee(0.9) == pytest.approx(0.8 - math.sqrt(2 / n), rel=1e-14)
    assert crossed.guarantee(0.55) == 0


@pytest.mark.parametrize("folds", [None, np.arange(8) % 2])
def test_too_few_rows_have_infinite_intervals(folds):
    found = un.ConformalIntervals.fit(np.zeros((8, 1)), np.zeros(8), folds=folds)
    new = np.zeros((3, 1) if folds is None else (2, 3, 1))
    with pytest.warns(UserWarning, match="level 0.9 needs at least 9 calibration rows, got 8"):
        low, high = found.interval(new, level=0.9)
    assert low.tolist() == [[-math.inf]] * 3 and high.tolist() == [[math.inf]] * 3

"""Conformal intervals and sets against the papers' definitions, and what they promise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import uncertainty as un
from ensedu.uncertainty import conformal

n, B, k, K = 23, 7, 3, 5
SEEDS = st.integers(0, 10**6)
RANDOMIZED = pytest.mark.parametrize("randomized", [False, True])


@given(seed=SEEDS, n=st.integers(1, 60), share=st.integers(1, 99))
def test_the_quantile_is_the_value_of_its_rank(seed, n, share):
    scores = np.random.default_rng(seed).permutation(np.arange(1.0, n + 1))
    rank = math.ceil((n + 1) * Fraction(share, 100))
    if rank <= n:
        assert un.conformal_quantile(scores, share / 100) == rank
    else:
        needed = math.ceil(1 / (1 - Fraction(share, 100))) - 1
        words = f"level {share / 100} needs at least {needed} calibration rows, got {n}: "
        with pytest.warns(UserWarning, match=words):
            assert un.conformal_quantile(scores, share / 100) == math.inf


def test_a_rank_is_counted_with_the_decimal_that_is_written():
    """In floats 0.55 · 100 is above 55, and 0.07 · 100 above 7."""
    scores = np.arange(1.0, 100)
    assert math.ceil(0.55 * 100) == 56 and un.conformal_quantile(scores, 0.55) == 55
    assert math.ceil(0.07 * 100) == 8 and un.conformal_quantile(scores, 0.07) == 7


def of_numbers(seed=0, rows=n, leading=()):
    """Predictions and standard deviations, one a fold in front if there is an axis, and targets."""
    rng = np.random.default_rng(seed)
    shape = (*leading, rows, k)
    return rng.normal(0, 2, shape), rng.lognormal(0, 1, shape), rng.normal(0, 3, shape[-2:])


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("cells", [10**6, 3 * n * k, 1])
def test_intervals_of_folds_are_cv_plus(scaled, cells, monkeypatch):
    """Barber et al. 2021, eq. 1.8: a loop over the rows of training, and two sorted lists."""
    monkeypatch.setattr(conformal, "MOST_CELLS", cells)
    mean, std, y = of_numbers()
    folds = np.random.default_rng(2).permutation(np.arange(n) % K)
    new, wide, _ = of_numbers(1, B, (K,))
    found = un.ConformalIntervals.fit(mean, y, *[std] * scaled, folds=folds)
    low, high = found.interval(new, *[wide] * scaled, level=0.77)
    first, last = math.floor(Fraction(23, 100) * (n + 1)), math.ceil(Fraction(77, 100) * (n + 1))
    for b, j in np.ndindex(B, k):
        below, above = [], []
        for i in range(n):
            own = abs(y[i, j] - mean[i, j])
            reach = own / std[i, j] * wide[folds[i], b, j] if scaled else own
            below.append(new[folds[i], b, j] - reach)
            above.append(new[folds[i], b, j] + reach)
        assert low[b, j] == pytest.approx(sorted(below)[first - 1], rel=1e-13)
        assert high[b, j] == pytest.approx(sorted(above)[last - 1], rel=1e-13)


@given(seed=SEEDS, share=st.integers(51, 95), scaled=st.booleans())
def test_intervals_of_a_split_are_those_of_one_fold_and_end_where_the_quantile_does(
    seed, share, scaled
):
    mean, std, y = of_numbers(seed)
    new, wide, _ = of_numbers(seed + 1, B)
    split = un.ConformalIntervals.fit(mean, y, *[std] * scaled)
    crossed = un.ConformalIntervals.fit(mean, y, *[std] * scaled, folds=np.zeros(n, int))
    low, high = split.interval(new, *[wide] * scaled, level=share / 100)
    found = crossed.interval(new[None], *[wide[None]] * scaled, level=share / 100)
    assert np.array_equal(found, (low, high))
    residuals = abs(y - mean) / (std if scaled else 1)
    q = np.array([un.conformal_quantile(each, share / 100) for each in residuals.T])
    np.testing.assert_allclose(high, new + q * (wide if scaled else 1), rtol=1e-13)


def of_classes(seed=0, rows=n, leading=()):
    """Probabilities, one a fold in front if there is an axis, and labels."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), (*leading, rows)), rng.integers(0, k, rows)


def drawing(randomized, seed):
    """The argument that draws, or does not."""
    return {"rng": np.random.default_rng(seed) if randomized else None}


def in_order(row):
    """Classes from the likeliest on; of equal ones the first comes first."""
    return sorted(range(k), key=lambda c: (-row[c], c))


def papers_set(row, u, tau):
    """S of Romano et al. 2020, eq. 4 and 5: a set of classes; without u all of the top L."""
    order = in_order(row)
    sums = [sum(row[c] for c in order[: r + 1]) for r in range(k)]
    L = next(r for r in range(k) if sums[r] >= tau or r == k - 1)
    if u is not None and u <= (sums[L] - tau) / row[order[L]]:
        return {*order[:L]}
    return {*order[: L + 1]}


@RANDOMIZED
@pytest.mark.parametrize("tau", [0.3, 0.61, 0.9, 0.999])
def test_a_set_is_that_of_the_paper(randomized, tau):
    p, _ = of_classes(rows=101)
    sets = un.ConformalSets(np.full(9, tau), None, randomized)  # so the quantile is tau
    found = sets.sets(p, level=0.9, **drawing(randomized, 4))
    draws = np.random.default_rng(4).random(101) if randomized else [None] * 101
    for row, u, inside in zip(p, draws, found, strict=True):
        assert {*np.flatnonzero(inside)} == papers_set(row, u, tau)


@RANDOMIZED
def test_a_score_is_the_least_threshold_at_which_the_set_holds_the_label(randomized):
    """Eq. 7 of the paper."""
    p, labels = of_classes()
    draws = np.random.default_rng(5).random(n) if randomized else np.zeros(n)
    found = un.ConformalSets.fit(p, labels, **drawing(randomized, 5))
    for row, label, u, score in zip(p, labels, draws, found.scores, strict=True):
        order = in_order(row)
        upto = sum(row[c] for c in order[: order.index(label) + 1])
        assert score == pytest.approx(upto - u * row[label], abs=1e-14)
    equal = np.array([[0.25, 0.5, 0.25]] * 3)
    assert un.ConformalSets.fit(equal, np.arange(3), None).scores.tolist() == [0.75, 0.5, 1]


@pytest.mark.filterwarnings("ignore:level .* calibration rows")
@given(seed=SEEDS, rows=st.integers(1, 40), share=st.integers(1, 99), randomized=st.booleans())
def test_sets_hold_their_promise(seed, rows, share, randomized):
    """Each of some rows, with a draw of its own, is once the new one, as over all orders."""
    p, labels = of_classes(seed, rows + 1)
    scores, held = un.ConformalSets.fit(p, labels, **drawing(randomized, seed)).scores, 0
    for i in range(rows + 1):
        of_others = un.ConformalSets(np.delete(scores, i), None, randomized)
        found = of_others.sets(p, level=share / 100, **drawing(randomized, seed))
        held += found[i, labels[i]]
    coverage, level = Fraction(int(held), rows + 1), Fraction(share, 100)
    assert coverage >= level
    if randomized:  # exactly
        assert coverage == Fraction(math.ceil((rows + 1) * level), rows + 1)


def test_a_class_without_probability_is_in_the_sets_of_a_network_that_was_sure_of_others():
    p, rng = np.eye(k)[[0] * n], np.random.default_rng(0)
    sets = un.ConformalSets.fit(p, np.arange(n) % 2, rng)  # half of the scores are 1
    assert sets.sets(p, level=0.9, rng=rng).all()


@RANDOMIZED
@pytest.mark.parametrize("K", [1, 3])
@given(seed=SEEDS, share=st.integers(51, 95))
def test_sets_of_folds_are_cv_plus_and_of_one_fold_those_of_a_split(K, randomized, seed, share):
    """A loop over the rows of training, of which too many score less than the class."""
    rows, (new, _) = of_classes(seed), of_classes(seed + 1, B, (K,))
    folds = np.random.default_rng(seed).permutation(np.arange(n) % K)
    fitted = un.ConformalSets.fit(*rows, folds=folds, **drawing(randomized, 6))
    found = fitted.sets(new, level=share / 100, **drawing(randomized, 7))
    u = np.random.default_rng(7).random(B)
    for b, c in np.ndindex(B, k):
        less = 0
        for i in range(n):
            row = new[folds[i], b]
            order = in_order(row)
            likelier = sum(row[d] for d in order[: order.index(c)])
            if randomized:
                less += fitted.scores[i] < likelier + (1 - u[b]) * row[c]
            else:  # the class that reaches a score is taken, too
                less += fitted.scores[i] <= likelier
        assert found[b, c] == (less < Fraction(share, 100) * (n + 1))
    if K == 1:
        split = un.ConformalSets.fit(*rows, **drawing(randomized, 6))
        same = split.sets(new[0], level=share / 100, **drawing(randomized, 7))
        assert np.array_equal(found, same)


@pytest.mark.parametrize("folds", [None, np.arange(8) % 2])
def test_too_few_rows_hold_everything(folds):
    leading = () if folds is None else (2,)
    intervals = un.ConformalIntervals.fit(np.zeros((8, 1)), np.zeros(8), folds=folds)
    sets = un.ConformalSets.fit(*of_classes(rows=8), None, folds)
    words = "level 0.9 needs at least 9 calibration rows, got 8"
    with pytest.warns(UserWarning, match=words):
        low, high = intervals.interval(np.zeros((*leading, 3, 1)), level=0.9)
    assert (low == -math.inf).all() and (high == math.inf).all()
    with pytest.warns(UserWarning, match=words):
        assert sets.sets(of_classes(1, B, leading)[0], level=0.9).all()


@pytest.mark.parametrize(
    "fitted",
    [
        lambda folds: un.ConformalIntervals.fit(*of_numbers()[::2], folds=folds),
        lambda folds: un.ConformalSets.fit(*of_classes(), None, folds),
    ],
)
def test_a_guarantee_is_that_of_the_paper(fitted):
    split, crossed = fitted(None), fitted(np.arange(n) % K)
    assert split.guarantee(0.3) == 0.3
    assert crossed.guarantee(0.9) == pytest.approx(0.8 - math.sqrt(2 / n), rel=1e-14)
    assert crossed.guarantee(0.55) == 0

"""Adaptive prediction sets against the paper's definition, and their promises by enumeration."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import uncertainty as un

n, B, k, K = 23, 7, 5, 3
SHARES = st.integers(1, 99)


def forecasts(seed=0, rows=n, leading=()):
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


@pytest.mark.parametrize("randomized", [False, True])
@pytest.mark.parametrize("tau", [0.3, 0.61, 0.9, 0.999])
def test_a_set_is_that_of_the_paper(randomized, tau):
    probabilities, _ = forecasts(rows=101)
    sets = un.ConformalSets(np.full(9, tau), None, randomized)  # so the quantile is tau
    found = sets.sets(probabilities, level=0.9, **drawing(randomized, 4))
    draws = np.random.default_rng(4).random(101) if randomized else [None] * 101
    for row, u, inside in zip(probabilities, draws, found, strict=True):
        assert {*np.flatnonzero(inside)} == papers_set(row, u, tau)


@pytest.mark.parametrize("randomized", [False, True])
def test_a_score_is_the_least_threshold_at_which_the_set_holds_the_label(randomized):
    """Eq. 7 of the paper."""
    probabilities, labels = forecasts()
    draws = np.random.default_rng(5).random(n) if randomized else np.zeros(n)
    found = un.ConformalSets.fit(probabilities, labels, **drawing(randomized, 5))
    for row, label, u, score in zip(probabilities, labels, draws, found.scores, strict=True):
        order = in_order(row)
        upto = sum(row[c] for c in order[: order.index(label) + 1])
        assert score == pytest.approx(upto - u * row[label], abs=1e-14)
        if randomized:
            assert label in papers_set(row, u, score + 1e-12)
            assert label not in papers_set(row, u, score - 1e-12)


def test_of_equal_classes_the_first_is_the_likelier():
    probabilities = np.array([[0.25, 0.5, 0.25]])
    scores = [
        un.ConformalSets.fit(probabilities, np.array([c]), None).scores.item() for c in range(3)
    ]
    assert scores == [0.75, 0.5, 1]


@pytest.mark.filterwarnings("ignore:level .* calibration rows")
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 40), share=SHARES)
def test_randomized_sets_hold_their_promise_exactly(seed, rows, share):
    """Each of some rows, with a draw of its own, is once the new one, as over all orders."""
    probabilities, labels = forecasts(seed, rows + 1)
    scores = un.ConformalSets.fit(probabilities, labels, np.random.default_rng(seed)).scores
    held = 0
    for i in range(rows + 1):
        of_others = un.ConformalSets(np.delete(scores, i), None, True)
        rng = np.random.default_rng(seed)
        held += of_others.sets(probabilities, level=share / 100, rng=rng)[i, labels[i]]
    coverage, level = Fraction(int(held), rows + 1), Fraction(share, 100)
    assert level <= coverage < level + Fraction(1, rows + 1)
    assert coverage == Fraction(math.ceil((rows + 1) * level), rows + 1)


def test_of_the_rows_themselves_as_many_are_held_as_the_rank_says():
    """The label whose score is the quantile is inside."""
    probabilities, labels = forecasts()
    sets = un.ConformalSets.fit(probabilities, labels, np.random.default_rng(0))
    for rank in range(1, n + 1):
        found = sets.sets(probabilities, level=(rank - 0.5) / (n + 1), rng=np.random.default_rng(0))
        assert found[np.arange(n), labels].sum() == rank


@pytest.mark.filterwarnings("ignore:level .* calibration rows")
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 40), share=SHARES)
def test_sets_without_draws_hold_the_label_as_often_or_more(seed, rows, share):
    probabilities, labels = forecasts(seed, rows + 1)
    held = 0
    for i in range(rows + 1):
        others = np.arange(rows + 1) != i
        sets = un.ConformalSets.fit(probabilities[others], labels[others], None)
        found = sets.sets(probabilities[i : i + 1], level=share / 100)[0]
        assert found[probabilities[i].argmax()]  # so none is empty
        held += found[labels[i]]
    assert Fraction(int(held), rows + 1) >= Fraction(share, 100)


@pytest.mark.parametrize("randomized", [False, True])
@given(seed=st.integers(0, 10**6), first=st.integers(1, 95), second=st.integers(1, 95))
def test_a_set_is_part_of_that_of_a_higher_level(randomized, seed, first, second):
    sets = un.ConformalSets.fit(*forecasts(seed), **drawing(randomized, 0))
    few, many = (
        sets.sets(forecasts(seed + 1)[0], level=share / 100, **drawing(randomized, 1))
        for share in sorted((first, second))
    )
    assert (few <= many).all()


@pytest.mark.parametrize("randomized", [False, True])
@given(seed=st.integers(0, 10**6), share=st.integers(51, 95))
def test_cv_plus_is_its_definition(randomized, seed, share):
    """A loop over the rows of training, of which too many score less than the class."""
    probabilities, labels = forecasts(seed)
    new, _ = forecasts(seed + 1, B, (K,))
    folds = np.random.default_rng(seed).permutation(np.arange(n) % K)
    fitted = un.ConformalSets.fit(probabilities, labels, folds=folds, **drawing(randomized, 6))
    found = fitted.sets(new, level=share / 100, **drawing(randomized, 7))
    u = np.random.default_rng(7).random(B)
    for b in range(B):
        for c in range(k):
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


@pytest.mark.parametrize("randomized", [False, True])
@given(seed=st.integers(0, 10**6), share=st.integers(51, 95))
def test_one_fold_is_the_split_set(randomized, seed, share):
    """Whose definition is the quantile."""
    rows, new = forecasts(seed), forecasts(seed + 1, B)[0]
    split, crossed = (
        un.ConformalSets.fit(*rows, folds=folds, **drawing(randomized, 0))
        for folds in (None, np.zeros(n, int))
    )
    found = split.sets(new, level=share / 100, **drawing(randomized, 1))
    same = crossed.sets(new[None], level=share / 100, **drawing(randomized, 1))
    assert np.array_equal(found, same)
    q = un.conformal_quantile(split.scores, share / 100)
    u = np.random.default_rng(1).random(B) if randomized else [None] * B
    for row, draw, inside in zip(new, u, found, strict=True):
        assert {*np.flatnonzero(inside)} == papers_set(row, draw, q)


@pytest.mark.parametrize("folds", [None, np.arange(8) % 2])
def test_too_few_rows_have_sets_of_all_classes(folds):
    found = un.ConformalSets.fit(*forecasts(rows=8), None, folds)
    new, _ = forecasts(1, B, () if folds is None else (2,))
    with pytest.warns(UserWarning, match="level 0.9 needs at least 9 calibration rows, got 8"):
        assert found.sets(new, level=0.9).tolist() == [[True] * k] * B


def test_a_guarantee_is_that_of_the_paper():
    assert un.ConformalSets.fit(*forecasts(), None).guarantee(0.3) == 0.3
    crossed = un.ConformalSets.fit(*forecasts(), None, np.arange(n) % K)
    assert crossed.guarantee(0.9) == pytest.approx(0.8 - math.sqrt(2 / n), rel=1e-14)

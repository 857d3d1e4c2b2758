"""A bet against exchangeable rows: fair, seldom rich without a shift, soon rich under one."""

import json
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, kstest

from ensedu.uncertainty import Exchangeability
from ensedu.uncertainty.martingale import ALARM, JUMP

SETS = 400


def watched(rng, old, new, factor=1.0):
    start = Exchangeability.fit(rng.exponential(size=old))
    return start.update(factor * rng.exponential(size=new), rng)


@pytest.mark.parametrize(("old", "new"), [(7, 211), (53, 151), (199, 101)])
def test_without_a_shift_few_ever_raise_an_alarm(old, new):
    rng = np.random.default_rng([old, new])
    alarms = sum(watched(rng, old, new).alarm for _ in range(SETS))
    assert alarms <= binom.ppf(0.999, SETS, 1 / ALARM)


def test_it_fires_under_a_shift_and_says_which_way():
    rng = np.random.default_rng(2)
    larger, smaller = watched(rng, 101, 211, 3.0), watched(rng, 101, 211, 0.2)
    assert larger.alarm and smaller.alarm
    assert "no longer stands" in larger.words and "errors are smaller" in smaller.words
    same = watched(rng, 101, 211)
    assert not same.alarm and "no sign" in same.words


class Fixed(np.random.Generator):
    """A generator of one number."""

    def __init__(self, value):
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self, size):
        return np.full(size, self.value)


def wealth(scores, old, draw):
    """The simple jumper as it is written down, in fractions."""
    stakes = [Fraction(1, 3)] * 3
    jump = Fraction(str(JUMP))
    for n in range(old + 1, len(scores) + 1):
        last, seen = scores[n - 1], scores[:n]
        p = (sum(s > last for s in seen) + draw * sum(s == last for s in seen)) / Fraction(n)
        whole = sum(stakes)
        moved = [(1 - jump) * stake + jump * whole / 3 for stake in stakes]
        stakes = [
            m * (1 + e * (p - Fraction(1, 2))) for m, e in zip(moved, (-1, 0, 1), strict=True)
        ]
    return sum(stakes)


@given(
    scores=st.lists(st.integers(0, 4), min_size=3, max_size=17),
    cut=st.integers(1, 2),
    draw=st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1)]),
)
def test_wealth_is_that_of_the_simple_jumper_however_often_one_looks(scores, cut, draw):
    values, rng = np.array(scores, float), Fixed(float(draw))
    watch = Exchangeability.fit(values[:cut]).update(values[cut:], rng)
    assert watch.wealth == pytest.approx(float(wealth(scores, cut, draw)), rel=1e-12)
    again = Exchangeability.fit(values[:cut])
    for value in values[cut:]:
        again = again.update(np.array([value]), rng)
    assert again == watch
    assert watch.p == pytest.approx(min(1.0, 1 / max(watch.path)))


def test_the_bet_is_fair_over_all_orders():
    mean = np.mean([float(wealth(order, 2, Fraction(1, 2))) for order in permutations(range(7))])
    # Without ties a draw of 1/2 stands for all, in a bet that is linear in each p.
    assert mean == pytest.approx(1.0, abs=1e-12)


def test_p_values_of_exchangeable_scores_are_uniform():
    rng, ends = np.random.default_rng(11), []
    for _ in range(SETS):
        one = Exchangeability.fit(rng.integers(0, 3, 5).astype(float))
        ends.append(one.update(rng.integers(0, 3, 1).astype(float), rng).mean)
    assert kstest(ends, "uniform").pvalue > 1e-3


def test_data_is_json_and_thins_the_path():
    watch = watched(np.random.default_rng(3), 50, 997)
    data = json.loads(json.dumps(watch.data(points=100)))
    assert len(data["path"]) == 100
    assert data["path"][0][0] == 1 and data["path"][-1] == [997, watch.wealth]
    assert json.dumps(Exchangeability.fit(np.ones(3)).data())

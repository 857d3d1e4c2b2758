"""A bet against exchangeable rows: fair, seldom rich without a shift, soon rich under one."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from ensedu.uncertainty import ExchangeabilityTest
from ensedu.uncertainty.martingale import ALARM

SETS = 200


def watched(rng, old, new, factor=1.0):
    start = ExchangeabilityTest.fit(rng.exponential(size=old))
    return start.update(factor * rng.exponential(size=new), rng)


@pytest.mark.parametrize(("old", "new"), [(7, 211), (53, 151), (199, 101)])
def test_without_a_shift_few_ever_raise_an_alarm(old, new):
    rng = np.random.default_rng([old, new])
    alarms = sum(watched(rng, old, new).alarm for _ in range(SETS))
    assert alarms <= binom.ppf(0.999, SETS, 1 / ALARM)


def test_it_fires_under_a_shift_and_says_what_it_means():
    rng = np.random.default_rng(2)
    larger, smaller = watched(rng, 101, 211, 3.0), watched(rng, 101, 211, 0.2)
    assert larger.alarm and smaller.alarm
    assert "no longer stands" in larger.words and "the promise stands" in smaller.words
    same = watched(rng, 101, 211)
    assert not same.alarm and "no sign" in same.words


def test_it_fires_where_labels_are_missed_though_scores_are_no_larger_on_average():
    rng = np.random.default_rng(5)
    start = ExchangeabilityTest.fit(rng.random(211))
    assert start.update(np.where(rng.random(307) < 0.5, 0.01, 0.99), rng).alarm


class Fixed(np.random.Generator):
    """A generator of one number."""

    def __init__(self, value):
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self, size):
        return np.full(size, self.value)


def wealth(scores, old, draws):
    """The bets as they are written down, in fractions, the mean over how much of them moves."""
    return sum(player(scores, old, draws, Fraction(1, 10**power)) for power in (1, 2, 3, 4)) / 4


def player(scores, old, draws, jump):
    stakes = [Fraction(1, 4)] * 4
    for n in range(old + 1, len(scores) + 1):
        last, seen = scores[n - 1], scores[:n]
        ties = draws[n - old - 1] * sum(s == last for s in seen)
        p = (sum(s > last for s in seen) + ties) / Fraction(n)
        a, b, c, d = ((1 - jump) * stake + jump * sum(stakes) / 4 for stake in stakes)
        outside = Fraction(19 if p <= Fraction(1, 10) else 9, 10)
        stakes = [a * (Fraction(3, 2) - p), b, c * (Fraction(1, 2) + p), d * outside]
    return sum(stakes)


@given(
    scores=st.lists(st.integers(0, 4), min_size=3, max_size=17),
    cut=st.integers(1, 2),
    draw=st.sampled_from([Fraction(1, 7), Fraction(1, 4), Fraction(1)]),
)
def test_wealth_is_what_is_written_down_however_often_one_looks(scores, cut, draw):
    values, rng = np.array(scores, float), Fixed(float(draw))
    watch = ExchangeabilityTest.fit(values[:cut]).update(values[cut:], rng)
    assert watch.wealth == pytest.approx(float(wealth(scores, cut, [draw] * 17)), rel=1e-12)
    again = ExchangeabilityTest.fit(values[:cut])
    for value in values[cut:]:
        again = again.update(np.array([value]), rng)
    assert again == watch
    assert watch.p == pytest.approx(min(1.0, 1 / max(watch.path)))


def test_a_change_after_a_long_quiet_time_is_seen():
    rng = np.random.default_rng(13)
    quiet = watched(rng, 401, 3001)
    assert not quiet.alarm and quiet.wealth > 0.02
    assert quiet.update(2 * rng.exponential(size=301), rng).alarm


def test_data_is_json():
    watch = watched(np.random.default_rng(3), 50, 997)
    data = json.loads(json.dumps(watch.data()))
    assert data["words"] == watch.words and (data["rows"], data["p"]) == (997, watch.p)
    assert json.dumps(ExchangeabilityTest.fit(np.ones(3)).data())

"""Rates of false words: each test is what it is called, and a smaller case is near the table."""

import itertools
import math

import numpy as np
import pytest

from workshop import measured
from workshop.experiments import false_words
from workshop.experiments.contest import reading

ROWS = {row["luck"]: row for row in measured.load("false-words")["rows"]}


def test_signs_are_those_of_the_contest():
    found = reading.compared().values()
    d = np.array([[*one.sources.values()] for one in found])
    p = false_words.by_signs(d, np.random.default_rng(0))
    assert p == pytest.approx([one.adjusted for one in found], rel=1e-12)


def test_drawn_flips_are_near_all_flips():
    d = np.random.default_rng(0).normal(-0.5, 1, (3, 9))

    def t(d):
        return np.abs(d.mean(1)) / d.std(axis=1, ddof=1)

    largest = [t(d * signs).max() for signs in itertools.product([1, -1], repeat=9)]
    exact = [np.mean([one >= own - 1e-12 for one in largest]) for own in t(d)]
    drawn = false_words.by_flips(d, np.random.default_rng(0), flips=20_000)
    assert drawn == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize("luck", ["coin", "median 0"])
def test_a_smaller_case_is_near_the_table(luck):
    contests = 60
    for name, rate in false_words.run(luck, contests=contests).items():
        error = math.sqrt(max(rate, 0.02) * (1 - rate) / contests)
        assert rate == pytest.approx(ROWS[luck][name], abs=4 * error)

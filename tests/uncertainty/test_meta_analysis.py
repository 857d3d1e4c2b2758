"""Differences and their signs against SciPy's, and words at each of their edges.

A unit of each task is worth something else, sources have one task or two, contestants one seed or
three: what is pooled is computed here a second time, number by number.
"""

import math
import statistics
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ensedu import uncertainty
from ensedu.uncertainty.meta_analysis import DELTA, TaskScores, pooled, task_difference, verdict

SPLITS = 5


def scores(name, source=None, *, seed=0, shift=0.0, unit=1.0, others=("b", "c"), **change):
    """Return scores of a reference "a" of two seeds, and of others of three and of one."""
    rng = np.random.default_rng(seed)
    values = {"a": 7 + unit * rng.standard_normal((SPLITS, 2))}
    for i, other in enumerate(others):
        values[other] = 7 + unit * (shift + rng.standard_normal((SPLITS, 1 if i else 3)))
    given = {
        "name": name, "source": source or name, "classes": True, "train": 89, "test": 29,
        "values": values,
    }  # fmt: skip
    return TaskScores(**given | change)


def many(sources=9, **change):
    """Return tasks of some sources, two of which have two tasks, on units of their own."""
    names = [*range(sources), 2, 5]
    return [
        scores(f"task {i}", f"{name}", seed=i, unit=2.0**-i, **change)
        for i, name in enumerate(names)
    ]


def unit_by_hand(task):
    """Return the median over pairs of contestants, each difference of two trainings in a loop."""
    each = []
    for one, other in combinations(task.values.values(), 2):
        splits = zip(one.tolist(), other.tolist(), strict=True)
        each.append(statistics.stdev(x - y for a, b in splits for x in a for y in b))
    return statistics.median(each)


def differences_by_hand(tasks, name):
    """Return the differences of sources, in units."""
    found = {}
    for task in tasks:
        own, other = (np.mean([statistics.mean(s) for s in task.values[n].tolist()])
                      for n in (name, "a"))  # fmt: skip
        found.setdefault(task.source, []).append((own - other) / unit_by_hand(task))
    return {source: statistics.mean(each) for source, each in found.items()}


@pytest.mark.parametrize("shift", [0.0, -0.7, 2.5])
def test_signs_of_sources_are_those_of_fair_coins(shift):
    tasks = many(shift=shift)
    found = pooled(tasks, reference="a")
    assert [*found] == ["b", "c"]
    for name, one in found.items():
        expected = differences_by_hand(tasks, name)
        assert one.sources == pytest.approx(expected, rel=1e-9)
        assert one.middle == pytest.approx(statistics.median(expected.values()), rel=1e-9)
        lower = sum(d < 0 for d in expected.values())
        assert one.p == pytest.approx(stats.binomtest(lower, 9).pvalue, rel=1e-12)
        assert one.adjusted == min(1.0, 2 * one.p)
        # Of nine sources with two rivals none may disagree: the line goes from end to end.
        assert 2 * stats.binomtest(0, 9).pvalue < 0.05 < 2 * stats.binomtest(1, 9).pvalue
        ordered = sorted(expected.values())
        assert (one.low, one.high) == pytest.approx((ordered[0], ordered[-1]), rel=1e-9)
        assert [each.task for each in one.tasks] == [task.name for task in tasks]


@given(seed=st.integers(0, 10**6), k=st.integers(6, 31), m=st.integers(1, 5))
def test_a_word_is_clear_where_its_p_value_is_small(seed, k, m):
    """And the line's other ends are those up to which a shifted rival would not be clear."""
    others = [f"rival {i}" for i in range(m)]
    shift = np.random.default_rng(seed).normal(0, 1.5)
    tasks = [scores(f"{i}", seed=[seed, i], shift=shift, others=others) for i in range(k)]
    found = pooled(tasks, reference="a")
    for one in found.values():
        assert one.word.startswith(("better", "worse")) == (one.adjusted <= 0.05)
        values = np.array([*one.sources.values()])
        for end, inside in ((one.low, 1e-9), (one.high, -1e-9)):
            if math.isfinite(end):
                for at, clear in ((end + inside, False), (end - inside, True)):
                    p = m * stats.binomtest(int((values < at).sum()), k).pvalue
                    assert (p <= 0.05) == clear
            else:
                assert m * stats.binomtest(0, k).pvalue > 0.05


def test_what_is_0_speaks_against_both_sides():
    a = np.array([[1.0, 2.0], [3.0, 5.0]])
    tasks = [scores(f"{i}", values={"a": a, "b": a - (i > 0)}) for i in range(9)]
    one = pooled(tasks, reference="a")["b"]
    assert one.p == stats.binomtest(8, 9).pvalue
    assert pooled(tasks[1:], reference="a")["b"].p == stats.binomtest(8, 8).pvalue


def test_a_pair_has_one_word_whoever_is_the_reference():
    tasks = many(13, shift=-1.0)
    there, back = pooled(tasks, reference="a")["b"], pooled(tasks, reference="b")["a"]
    assert (back.low, back.middle, back.high) == (-there.high, -there.middle, -there.low)
    higher = pooled(tasks, reference="a", higher=True)["b"]
    assert (there.word, back.word, higher.word) == ("better", "worse", "worse")
    assert back.adjusted == there.adjusted


def test_a_task_describes_its_difference():
    (task,) = many()[:1]
    one = task_difference(task, "b", reference="a")
    differences = task.values["b"].mean(axis=1) - task.values["a"].mean(axis=1)
    assert one.interval == uncertainty.corrected_t(differences, train=89, test=29)
    assert one.in_units == pytest.approx(one.interval.mean / unit_by_hand(task), rel=1e-12)


def test_what_cannot_differ_is_not_compared():
    tasks = [
        scores(task.name, task.source, values=task.values | {"same": task.values["a"].copy()})
        for task in many()
    ]
    found = pooled(tasks, reference="a")
    assert [*found] == ["b", "c"]
    assert all(one.adjusted == min(1.0, 2 * one.p) for one in found.values())


def test_a_contestant_may_miss_a_task_but_no_source():
    tasks = many()
    without = {name: own for name, own in tasks[2].values.items() if name != "c"}
    fewer = [*tasks[:2], scores(tasks[2].name, tasks[2].source, values=without), *tasks[3:]]
    found = pooled(fewer, reference="a")["c"]
    (alone,) = (task for task in found.tasks if task.source == "2")
    assert alone.task == "task 9" and found.sources["2"] == alone.in_units
    with pytest.raises(ValueError, match=r"source '2' must have all .*\['c'\] are missing"):
        pooled([task for task in fewer if task.name != "task 9"], reference="a")


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-2.0, -1.0, "better"),
        (1.0, 2.0, "worse"),
        (-DELTA, -0.01, "better by little"),
        (0.01, DELTA, "worse by little"),
        (-1.01 * DELTA, -0.01, "better"),
        (0.01, 1.01 * DELTA, "worse"),
        (-DELTA, 0.0, "practically equal"),
        (-DELTA, DELTA, "practically equal"),
        (-1.01 * DELTA, DELTA, "unclear"),
        (-DELTA, 1.01 * DELTA, "unclear"),
        (-math.inf, math.inf, "unclear"),
    ],
)
def test_each_word_has_its_region(low, high, word):
    assert verdict(low, high) == word
    other = {"better": "worse", "worse": "better"}
    first, _, rest = word.partition(" ")
    assert verdict(low, high, higher=True) == f"{other.get(first, first)} {rest}".strip()

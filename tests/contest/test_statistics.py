"""Pooled differences against SciPy's, words at each of their edges, and how often nothing is found.

A unit of each task is worth something else, sources have one task or two, contestants one seed or
three: what is pooled is computed here a second time, number by number.
"""

import functools
import math
import statistics

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from ensedu import uncertainty
from ensedu.contest import statistics as contest
from ensedu.contest.statistics import CLIP, DELTA, TaskScores, pooled, task_difference, verdict
from ensedu.uncertainty import Interval
from tests.errors import check_error

NAN = float("nan")
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


def seven(**change):
    """Return tasks of five sources, two of which have two tasks, on units of their own."""
    sources = ("digits", "wages", "digits", "homes", "cells", "wages", "leaves")
    return [
        scores(f"task {i}", source, seed=i, unit=2.0**-i, **change)
        for i, source in enumerate(sources)
    ]


def by_source(tasks, value):
    """Return the means of a value of tasks over those of one source, by a loop."""
    found = {}
    for task in tasks:
        found.setdefault(task.source, []).append(value(task))
    return np.array([sum(each) / len(each) for each in found.values()])


def in_units_by_hand(task, name):
    unit = statistics.median(statistics.stdev(v.ravel().tolist()) for v in task.values.values())
    splits = [
        statistics.mean(own) - statistics.mean(other)
        for own, other in zip(task.values[name].tolist(), task.values["a"].tolist(), strict=True)
    ]
    return statistics.mean(splits) / unit


def check_t(interval, values, prediction=None):
    """Compare an interval with SciPy's t-test of values, one a source."""
    expected = stats.ttest_1samp(values, 0)
    assert interval.n == len(values)
    assert interval.mean == pytest.approx(values.mean(), rel=1e-9)
    ends = tuple(expected.confidence_interval(0.95))
    assert (interval.low, interval.high) == pytest.approx(ends, rel=1e-9)
    assert interval.p == pytest.approx(expected.pvalue, rel=1e-7)
    if prediction is not None:
        k = len(values)
        scale = np.std(values, ddof=1) * math.sqrt(1 + 1 / k)
        assert prediction == pytest.approx(
            stats.t.interval(0.95, k - 1, loc=values.mean(), scale=scale), rel=1e-9
        )


@pytest.mark.parametrize("shift", [0.0, -0.7, 2.5])
def test_units_are_pooled_over_sources(shift):
    tasks = seven(shift=shift)
    found = pooled(tasks, reference="a")
    assert [*found] == ["b", "c"]
    for name, one in found.items():
        counted = by_source(tasks, lambda task, name=name: min(
            max(in_units_by_hand(task, name), -3.0), 3.0
        ))  # fmt: skip
        check_t(one.interval, counted, one.prediction)
        assert [*one.sources] == ["digits", "wages", "homes", "cells", "leaves"]
        np.testing.assert_allclose([*one.sources.values()], counted, rtol=1e-9)
        check_t(one.unscaled, by_source(
            tasks, lambda task, name=name: task.values[name].mean() - task.values["a"].mean()
        ))  # fmt: skip
        assert one.word == verdict(one.interval, one.adjusted)
    adjusted = uncertainty.holm([one.interval.p for one in found.values()])
    assert [one.adjusted for one in found.values()] == adjusted.tolist()


def test_what_is_clipped_is_named_and_keeps_its_own_interval():
    tasks = seven(shift=3.0)
    each = pooled(tasks, reference="a")["b"].tasks
    assert [one.task for one in each] == [task.name for task in tasks]
    assert {one.clipped for one in each} == {True, False}
    for task, one in zip(tasks, each, strict=True):
        scaled = in_units_by_hand(task, "b")
        assert one.scaled == pytest.approx(scaled, rel=1e-9)
        assert one.clipped == (abs(scaled) > CLIP) and abs(one.counted) <= CLIP
        differences = task.values["b"].mean(axis=1) - task.values["a"].mean(axis=1)
        assert one.interval == uncertainty.resampled(differences, train=89, test=29)
        # The standard error is that of the interval, in units.
        half = stats.t.ppf(0.975, SPLITS - 1) * one.error
        assert half * one.interval.mean / scaled == pytest.approx(
            one.interval.high - one.interval.mean, rel=1e-9
        )


def test_the_unit_is_the_same_whoever_is_the_reference():
    tasks = seven()
    found = pooled(tasks, reference="b", contestants=["a"])["a"]
    expected = by_source(tasks, lambda task: -in_units_by_hand(task, "b"))
    np.testing.assert_allclose([*found.sources.values()], expected, rtol=1e-9)


def test_other_scales_have_neither_words_nor_clips():
    tasks = seven(shift=0.5)
    for scale, value in (
        ("log ratio", lambda task: math.log(task.values["b"].mean() / task.values["a"].mean())),
        ("difference", lambda task: task.values["b"].mean() - task.values["a"].mean()),
    ):
        found = pooled(tasks, reference="a", scale=scale)["b"]
        check_t(found.interval, by_source(tasks, value), found.prediction)
        assert found.adjusted is None and found.word is None
        assert not any(one.clipped for one in found.tasks)
    far = [scores(f"{i}", seed=i, shift=5.0) for i in range(3)]
    assert pooled(far, reference="a", scale="difference")["b"].interval.mean > CLIP


def test_the_error_of_a_log_ratio_is_that_of_small_changes():
    """Small enough for a line: the resampled error of split by split logarithms."""
    task = scores("t", unit=1e-5)
    one = task_difference(task, "b", reference="a", scale="log ratio")
    logs = np.log(task.values["b"].mean(axis=1) / task.values["a"].mean(axis=1))
    same = uncertainty.resampled(logs, train=89, test=29)
    half = stats.t.ppf(0.975, SPLITS - 1) * one.error
    assert half == pytest.approx(same.high - same.mean, rel=1e-4)


def test_what_cannot_differ_is_not_compared():
    tasks = seven()
    tasks = [
        scores(task.name, task.source, values=task.values | {"same": task.values["a"].copy()})
        for task in tasks
    ]
    found = pooled(tasks, reference="a")
    assert [*found] == ["b", "c"]
    assert [one.adjusted for one in found.values()] == [
        one.adjusted for one in pooled(tasks, reference="a", contestants=["b", "c"]).values()
    ]
    assert pooled(tasks, reference="a", contestants=["same"]) == {}
    # On one task alone it may equal the reference.
    tasks[0].values["b"][:] = np.arange(SPLITS)[:, None]
    tasks[0].values["a"][:] = np.arange(SPLITS)[:, None]
    found = pooled(tasks, reference="a", contestants=["b"])["b"]
    assert found.tasks[0].counted == 0.0 and found.interval.n == 5


def test_equal_differences_are_sure():
    tasks = [scores(f"{i}", values={
        "a": np.array([[1.0, 2.0], [2.0, 1.0]]), "b": np.full((2, 1), 2.0),
    }) for i in range(3)]  # fmt: skip
    found = pooled(tasks, reference="a", scale="difference")["b"].interval
    assert (found.low, found.mean, found.high, found.p) == (0.5, 0.5, 0.5, 0.0)


@pytest.mark.parametrize(
    ("low", "high", "adjusted", "word"),
    [
        (-2.0, -1.0, 0.01, "better"),
        (1.0, 2.0, 0.01, "worse"),
        (-DELTA, -0.01, 0.049, "better by little"),
        (0.01, DELTA, 0.049, "worse by little"),
        (-1.01 * DELTA, -0.01, 0.049, "better"),
        (0.01, 1.01 * DELTA, 0.049, "worse"),
        # The interval of one test leaves 0 out, and Holm's p-value among all is no longer small.
        (-2.0, -1.0, 0.05, "unclear"),
        (-DELTA, -0.01, 0.05, "practically equal"),
        (-DELTA, DELTA, 1.0, "practically equal"),
        (-1.01 * DELTA, DELTA, 0.7, "unclear"),
        (-DELTA, 1.01 * DELTA, 0.7, "unclear"),
        (-3.0, 3.0, 1.0, "unclear"),
    ],
)
def test_each_word_has_its_region(low, high, adjusted, word):
    found = verdict(Interval((low + high) / 2, low, high, 7, 0.01), adjusted)
    assert found == word
    other = {"better": "worse", "worse": "better"}
    first, _, rest = word.partition(" ")
    turned = f"{other.get(first, first)} {rest}".strip()
    assert verdict(Interval((low + high) / 2, low, high, 7, 0.01), adjusted, higher=True) == turned


def test_higher_turns_the_words_of_a_contest():
    tasks = seven(shift=-3.0)
    assert pooled(tasks, reference="a")["b"].word == "better"
    assert pooled(tasks, reference="a", higher=True)["b"].word == "worse"


@given(seed=st.integers(0, 10**6), k=st.integers(2, 17), more=st.integers(1, 5))
def test_all_intervals_at_once_are_each_that_of_paired(seed, k, more):
    values = np.random.default_rng(seed).normal(0.3, 2, (more, 3, k))
    mean, half, p = contest.mean_intervals(values)
    for i in np.ndindex(more, 3):
        one = uncertainty.paired(values[i])
        assert (mean[i], half[i], p[i]) == pytest.approx(
            (one.mean, one.high - one.mean, one.p), rel=1e-9
        )


@given(st.lists(st.sampled_from("xyzuv"), min_size=1, max_size=13), st.integers(0, 10**6))
def test_source_means_are_means_by_name(of_task, seed):
    values = np.random.default_rng(seed).normal(size=(3, len(of_task)))
    found = contest.source_means(values, of_task)
    names = [name for i, name in enumerate(of_task) if name not in of_task[:i]]
    assume(len(names) > 0)
    for row, each in zip(values, found, strict=True):
        expected = [np.mean([v for v, one in zip(row, of_task, strict=True) if one == name])
                    for name in names]  # fmt: skip
        np.testing.assert_allclose(each, expected, rtol=1e-12)


CONTESTS, SOURCES, METHODS = 2000, 16, 13


#: How luck is drawn: with heavy tails, and with a heavy tail to the right, as an NLL's.
LUCK = {
    "heavy": lambda rng, shape: rng.standard_t(3, shape),
    "skewed": lambda rng, shape: np.exp(rng.standard_normal(shape)) - math.exp(0.5),
}
BOTH_KINDS = pytest.mark.parametrize("kind", LUCK)


@functools.cache
def simulated(kind):
    """Return scores of contests in which nobody is better: (contests, k, 1 + methods, splits, 2).

    All scores of a task share what is hard about a split. Each contestant has luck of its own with
    a task, which its five splits share, with a split, and with a seed, and each task has a scale of
    its own.
    """
    rng = np.random.default_rng(0)

    def luck(std, *shape):
        return std * LUCK[kind](rng, (CONTESTS, SOURCES, *shape))

    values = luck(1.0, 1, SPLITS, 1)
    values = values + luck(0.3, 1 + METHODS, 1, 1) + luck(0.6, 1 + METHODS, SPLITS, 1)
    values = values + luck(0.5, 1 + METHODS, SPLITS, 2)
    return values * np.exp(rng.standard_normal((1, SOURCES, 1, 1, 1)))


@functools.cache
def simulated_differences(kind):
    """Return those of all others from the first, in units: (contests, k, methods)."""
    values = simulated(kind)
    unit = np.median(values.reshape(*values.shape[:3], -1).std(axis=3, ddof=1), axis=2)
    means = values.mean(axis=(3, 4))
    return (means[:, :, 1:] - means[:, :, :1]) / unit[:, :, None]


def found(differences):
    """Return p-values of contests, and the words of each method: both (contests, methods)."""
    counted = np.clip(differences, -CLIP, CLIP)
    mean, half, p = contest.mean_intervals(np.moveaxis(counted, 1, 2))
    words = [
        [
            verdict(Interval(m, m - h, m + h, SOURCES, q), a)
            for m, h, q, a in zip(*row, uncertainty.holm(row[2]), strict=True)
        ]
        for row in zip(mean, half, p, strict=True)
    ]
    return p, np.array(words)


def rate_error(rate, n):
    """Return three standard errors of a rate that is seen n times."""
    return 3 * math.sqrt(rate * (1 - rate) / n)


@BOTH_KINDS
def test_contests_in_which_nobody_is_better_seldom_say_so(kind):
    p, words = found(simulated_differences(kind))
    named = np.char.startswith(words, "better") | np.char.startswith(words, "worse")
    assert named.any(axis=1).mean() < 0.05 + rate_error(0.05, CONTESTS)
    assert named.any(axis=1).mean() > 0.01
    # Each by itself, before Holm; heavy tails make t tests a little careful.
    each = (p < 0.05).mean(axis=0)
    assert each.max() < 0.05 + rate_error(0.05, CONTESTS)
    assert each.mean() == pytest.approx(0.05, abs=0.01)


@BOTH_KINDS
def test_bad_luck_of_one_makes_no_unit(kind):
    """Else all others would be worse or better together: here neither is said more often."""
    counted = np.clip(simulated_differences(kind), -CLIP, CLIP)
    assert abs(counted.mean()) < 0.01
    p, _ = found(simulated_differences(kind))
    better, worse = (
        ((p < 0.05) & (side > 0)).mean() for side in (-counted.mean(1), counted.mean(1))
    )
    assert better == pytest.approx(worse, abs=0.01)


@pytest.mark.parametrize("number", [0, 1999])
def test_a_simulated_contest_is_one(number):
    """What is computed for all contests at once is what `pooled` returns for one."""
    tasks = [
        TaskScores(
            name=f"{i}", source=f"{i}", classes=True, train=89, test=29,
            values={f"{j}": each.copy() for j, each in enumerate(values)},
        )
        for i, values in enumerate(simulated("skewed")[number])
    ]  # fmt: skip
    p, words = found(simulated_differences("skewed")[number : number + 1])
    one = pooled(tasks, reference="0")
    np.testing.assert_allclose([each.interval.p for each in one.values()], p[0], rtol=1e-9)
    assert [each.word for each in one.values()] == words[0].tolist()


def test_what_is_a_unit_better_everywhere_is_found():
    _, words = found(simulated_differences("heavy")[:200, :, :3] - 1.0)
    assert (words == "better").mean() > 0.95


def test_a_prediction_interval_holds_a_new_source():
    rng = np.random.default_rng(0)
    values = rng.normal(0.4, 0.7, (20_000, 8))
    mean, half, _ = contest.mean_intervals(values[:, :7])
    hit = np.abs(values[:, 7] - mean) <= half * math.sqrt(8)
    assert hit.mean() == pytest.approx(0.95, abs=rate_error(0.95, len(hit)))


def test_a_contest_predicts_as_that_interval_does():
    one = pooled(seven(), reference="a")["b"]
    half = (one.interval.high - one.interval.mean) * math.sqrt(1 + 5)
    assert one.prediction == pytest.approx((one.interval.mean - half, one.interval.mean + half))


def broken(**change):
    return lambda: scores("t", **change)


def ask(tasks=None, **change):
    tasks = seven() if tasks is None else tasks
    return lambda: pooled(tasks, **{"reference": "a"} | change)


A = np.array([[1.0, 2.0], [3.0, 5.0]])
THREE = [scores(name, values={"a": A, "b": A + 1}) for name in ("t", "u", "v")]
FLAT = [*THREE[:2], scores("v", values={"a": np.ones((2, 2)), "b": 0 * A})]
NEGATIVE = [*THREE[:2], scores("v", values={"a": A, "b": -A})]
BAD = [
    (broken(values={}), TypeError, ("values", "mapping", "{}")),
    (broken(values={"a": [[1.0]]}), TypeError, ("values['a']", "'t'", "list")),
    (broken(values={"a": np.ones(3)}), ValueError, ("values['a']", "(3,)", "(splits, seeds)")),
    (broken(values={"a": A, "b": NAN * A}), ValueError, ("values['b']", "finite", "nan")),
    (broken(values={"a": A, "b": np.ones((3, 2))}), ValueError, ("'t'", "'a': 2, 'b': 3")),
    (broken(values={"a": A[:1], "b": A[:1]}), ValueError, ("'t'", "at least two", "'a': 1")),
    (broken(classes=1), TypeError, ("classes", "True or False", "1")),
    (broken(train=0), ValueError, ("train", "positive", "0")),
    (broken(classes="no"), TypeError, ("classes", "'no'")),
    (ask(tasks=THREE[:2]), ValueError, ("tasks", "at least 3 sources", "['t', 'u']")),
    (ask(tasks=[THREE[0]] * 3), ValueError, ("tasks", "other names", "['t']")),
    (ask(tasks=5), TypeError, ("tasks", "TaskScores", "5")),
    (ask(reference="d"), ValueError, ("'task 0'", "['d']", "missing", "['a', 'b', 'c']")),
    (ask(contestants=["b", "e"]), ValueError, ("'task 0'", "['e']")),
    (ask(contestants="b"), TypeError, ("contestants", "list", "'b'")),
    (ask(tasks=[*THREE, scores("w")]), ValueError, ("'t'", "['c'] are missing")),
    (ask(scale="nats"), ValueError, ("scale", "'units'", "'nats'")),
    (ask(higher="yes"), TypeError, ("higher", "'yes'")),
    (ask(tasks=FLAT), ValueError, ("'v'", "unit", "0")),
    (ask(tasks=NEGATIVE, scale="log ratio"), ValueError, ("'v'", "above 0", "-2.75 (b)")),
    (
        lambda: task_difference(THREE[0], "z", reference="a"),
        ValueError, ("contestant of the task 't'", "'z'"),
    ),
    (lambda: verdict(Interval(0.0, -1.0, 1.0, 7, 0.5), 1.2), ValueError, ("adjusted", "1.2")),
    (
        lambda: verdict(Interval(0.0, -1.0, 1.0, 7, 0.5), 0.01),
        ValueError, ("adjusted", "0.05 or more", "-1 to 1"),
    ),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])

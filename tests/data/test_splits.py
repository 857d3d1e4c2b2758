"""Splits: each row on one side, and nothing of the test rows in the numbers to train on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from ensedu.data import Split, Table

N, m, k = 23, 5, 3


def table(rows=N, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(7, 3, (rows, m)) * 10.0 ** np.arange(m)
    return Table(x, rng.normal(-2, 9, (rows, k)), tuple("abcde"), ("u", "v", "w"))


@given(rows=st.integers(2, 200), seed=st.integers(0, 10**6), test=st.floats(0.01, 0.99))
def test_a_split_parts_all_rows(rows, seed, test):
    data = table(rows)
    train = int(np.floor((1 - test) * rows + 0.5))
    if not 0 < train < rows:
        with pytest.raises(ValueError, match="test must leave rows"):
            data.split(seed, test)
        return
    split, again = data.split(seed, test), Split.at_random(data.x, data.y, seed, test)
    assert len(split.train) == train
    assert sorted([*split.train, *split.test]) == list(range(rows))
    np.testing.assert_array_equal(again.test, split.test)


def test_nine_tenths_are_there_to_train_on_and_each_seed_is_a_split_of_its_own():
    """As the benchmark of UCI sets rounds; 45 rows are halves, which it rounds up."""
    for rows, train in ((506, 455), (1030, 927), (768, 691), (308, 277), (45, 41), (10, 9)):
        data = table(rows)
        assert len(data.split(0).train) == len(Split.at_random(data.x, data.y, 0).train) == train
    assert len(table(506).split(0).validation(0).test) == 455 - 410
    assert len({tuple(table(200).split(seed).test) for seed in range(20)}) == 20


@given(seed=st.integers(0, 10**6), rows=st.integers(9, 60))
def test_rows_are_standardized_as_scikit_learn_does_by_those_to_train_on(seed, rows):
    data = table(rows, seed)
    split = data.split(seed, 0.3)
    for raw, train, test, mean, std in (
        (data.x, split.x_train, split.x_test, split.x_mean, split.x_std),
        (data.y, split.y_train, split.y_test, split.y_mean, split.y_std),
    ):
        scaler = StandardScaler().fit(raw[split.train])
        np.testing.assert_allclose(train, scaler.transform(raw[split.train]), atol=1e-10)
        np.testing.assert_allclose(test, scaler.transform(raw[split.test]), atol=1e-9)
        np.testing.assert_allclose(mean + std * test, raw[split.test], rtol=1e-10)
    np.testing.assert_array_equal(split.standardized(data.x[split.test]), split.x_test)


def test_labels_stay_as_they_are():
    split = Split.at_random(table().x, np.random.default_rng(7).integers(0, 2, N), 5, 0.3)
    np.testing.assert_array_equal(split.y_train, split.y[split.train])
    np.testing.assert_array_equal(split.y_test, split.y[split.test])
    assert split.y_mean is None and split.y_std is None
    with pytest.raises(ValueError, match="holds labels"):
        split.original(np.ones((7, k)), np.ones((7, k)))


@pytest.mark.parametrize("value", [0.1, 0.0, -7e30, 1e-300, np.arange(N) * 1e-200])
def test_a_constant_column_and_one_whose_square_is_no_float_are_divided_by_one(value):
    data = table()
    data.x[:, 2] = value
    split = data.split(5, 0.3)
    assert split.x_std[2] == 1 and np.isfinite(split.x_test).all()
    np.testing.assert_allclose(split.x_train[:, 2], 0, atol=1e-190)


def test_numbers_just_below_the_limit_are_standardized():
    data = table()
    data.x[:, 2] = np.linspace(-0.99e100, 0.99e100, N)
    np.testing.assert_allclose(data.split(5, 0.3).x_train.std(axis=0), 1, rtol=1e-10)


@given(seed=st.integers(0, 10**6), part=st.floats(0.1, 0.9))
def test_validation_rows_come_from_those_to_train_on(seed, part):
    data = table(60)
    split = data.split(1)
    inner = split.validation(seed, part)
    assert sorted([*inner.train, *inner.test]) == sorted(split.train)
    assert len(inner.test) == len(split.train) - int((1 - part) * len(split.train) + 0.5)
    again = Split(data.x, data.y, inner.train, inner.test)
    np.testing.assert_array_equal(inner.x_test, again.x_test)


def test_predictions_are_put_back_into_the_units_of_the_targets():
    split = table().split(0)
    draws = np.random.default_rng(1).normal(2, 3, (4001, len(split.test), k))
    mean, variance = split.original(draws.mean(0), draws.var(0))
    again = split.y_mean + split.y_std * draws  # each draw on its own
    np.testing.assert_allclose(mean, again.mean(0), rtol=1e-12)
    np.testing.assert_allclose(variance, again.var(0), rtol=1e-12)
    members, _ = split.original(draws[:2], draws[:2])
    np.testing.assert_array_equal(members[1], split.original(draws[1], draws[1])[0])

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


def labeled():
    """A split of rows with labels."""
    return Split.at_random(table().x, np.random.default_rng(7).integers(0, 2, N), 5, 0.3)


@given(
    rows=st.integers(2, 200),
    seed=st.integers(0, 10**6),
    test=st.floats(0.01, 0.99),
)
def test_a_split_parts_all_rows(rows, seed, test):
    data = table(rows)
    train = int(np.floor((1 - test) * rows + 0.5))
    if not 0 < train < rows:
        with pytest.raises(ValueError, match="test must leave rows"):
            data.split(seed, test)
        return
    split = data.split(seed, test)
    assert len(split.train) == train
    assert sorted([*split.train, *split.test]) == list(range(rows))


@pytest.mark.parametrize(
    ("rows", "train"), [(506, 455), (1030, 927), (768, 691), (308, 277), (45, 41), (10, 9)]
)
def test_nine_tenths_are_there_to_train_on(rows, train):
    """As the benchmark of UCI sets rounds; 45 rows are halves, which it rounds up."""
    assert len(table(rows).split(0).train) == train


def test_a_seed_is_one_split():
    first, again, other = (table().split(seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.test, again.test)
    np.testing.assert_array_equal(first.x_test, again.x_test)
    assert not np.array_equal(first.test, other.test)
    assert len(set(map(tuple, (table(200).split(seed).test for seed in range(20))))) == 20


@given(seed=st.integers(0, 10**6), rows=st.integers(3, 60))
def test_the_rows_to_train_on_have_mean_0_and_deviation_1(seed, rows):
    split = table(rows, seed).split(seed, 0.3)
    if len(split.train) < 2:
        return
    for part in (split.x_train, split.y_train):
        np.testing.assert_allclose(part.mean(axis=0), 0, atol=1e-10)
        np.testing.assert_allclose(part.std(axis=0), 1, rtol=1e-10)


def test_standardization_equals_scikit_learns():
    data = table()
    split = data.split(5, 0.3)
    for raw, train, test in (
        (data.x, split.x_train, split.x_test),
        (data.y, split.y_train, split.y_test),
    ):
        scaler = StandardScaler().fit(raw[split.train])
        np.testing.assert_allclose(train, scaler.transform(raw[split.train]), rtol=1e-11)
        np.testing.assert_allclose(test, scaler.transform(raw[split.test]), rtol=1e-11)


def test_test_rows_change_nothing_to_train_on():
    data = table()
    split = data.split(5, 0.3)
    x, y = data.x.copy(), data.y.copy()
    x[split.test] *= -100
    y[split.test] += 1e6
    other = Split(x, y, split.train, split.test)
    for name in ("x_train", "y_train", "x_mean", "x_std", "y_mean", "y_std"):
        np.testing.assert_array_equal(getattr(other, name), getattr(split, name))
    assert not np.allclose(other.x_test, split.x_test)
    # nor does a row in neither part
    rest = Split(data.x, data.y, split.train, split.test[:1])
    np.testing.assert_array_equal(rest.x_train, split.x_train)


def test_standardization_is_undone():
    data = table()
    split = data.split(5, 0.3)
    back = split.y_mean + split.y_std * split.y_test
    np.testing.assert_allclose(back, data.y[split.test], rtol=1e-12)
    back = split.x_mean + split.x_std * split.x_train
    np.testing.assert_allclose(back, data.x[split.train], rtol=1e-12)


def test_labels_stay_as_they_are():
    split = labeled()
    np.testing.assert_array_equal(split.y_train, split.y[split.train])
    np.testing.assert_array_equal(split.y_test, split.y[split.test])
    assert split.y_mean is None
    assert split.y_std is None


@pytest.mark.parametrize("value", [0.1, 0.0, -7e30, 1e-300])
def test_a_constant_column_is_divided_by_one(value):
    data = table()
    data.x[:, 2] = value
    split = data.split(5, 0.3)
    assert split.x_std[2] == 1
    np.testing.assert_array_equal(split.x_train[:, 2], 0)
    np.testing.assert_array_equal(split.x_test[:, 2], 0)


def test_a_range_whose_square_is_no_float_counts_as_constant():
    data = table()
    data.x[:, 2] = np.arange(N) * 1e-200
    split = data.split(5, 0.3)
    assert split.x_std[2] == 1
    assert np.isfinite(split.x_test).all()


def test_numbers_just_below_the_limit_are_standardized():
    data = table()
    data.x[:, 2] = np.linspace(-0.99e100, 0.99e100, N)
    split = data.split(5, 0.3)
    np.testing.assert_allclose(split.x_train.std(axis=0), 1, rtol=1e-10)


@given(seed=st.integers(0, 10**6), part=st.floats(0.1, 0.9))
def test_validation_rows_come_from_those_to_train_on(seed, part):
    data = table(60)
    split = data.split(1)
    inner = split.validation(seed, part)
    assert sorted([*inner.train, *inner.test]) == sorted(split.train)
    np.testing.assert_allclose(inner.x_train.mean(axis=0), 0, atol=1e-10)
    again = Split(data.x, data.y, inner.train, inner.test)
    np.testing.assert_array_equal(inner.x_test, again.x_test)


def test_a_split_says_how_large_it_is():
    assert repr(table(1030).split(0)) == "Split(927 rows to train on, 103 to test on)"


def test_predictions_are_put_back_into_the_units_of_the_targets():
    split = table().split(0)
    rng = np.random.default_rng(1)
    draws = rng.normal(2, 3, (4001, len(split.test), k))
    mean, variance = split.original(draws.mean(0), draws.var(0))
    again = split.y_mean + split.y_std * draws  # each draw on its own
    np.testing.assert_allclose(mean, again.mean(0), rtol=1e-12)
    np.testing.assert_allclose(variance, again.var(0), rtol=1e-12)
    whole, _ = split.original(split.y_test, np.ones_like(split.y_test))
    np.testing.assert_allclose(whole, split.y[split.test], rtol=1e-12, atol=1e-12)
    members, _ = split.original(draws[:2], draws[:2])
    np.testing.assert_array_equal(members[1], split.original(draws[1], draws[1])[0])


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (([1.0], np.ones((7, k))), TypeError, "mean must be a NumPy array of floats, got"),
        ((np.ones((7, 2)), np.ones((7, 2))), ValueError, r"mean has shape \(7, 2\), accepted is"),
        ((np.ones((7, k)), np.ones((6, k))), ValueError, r"variance has shape \(6, 3\)"),
    ],
)
def test_what_is_no_prediction_is_not_put_back(arguments, kind, words):
    with pytest.raises(kind, match=words):
        table().split(0).original(*arguments)
    with pytest.raises(ValueError, match="holds labels"):
        labeled().original(*arguments)


def test_new_rows_are_standardized_as_those_of_the_split():
    split = table().split(5, 0.3)
    np.testing.assert_array_equal(split.standardized(split.x[split.train]), split.x_train)
    np.testing.assert_array_equal(split.standardized(split.x[split.test]), split.x_test)
    scaler = StandardScaler().fit(split.x[split.train])
    x = np.random.default_rng(3).normal(0, 9, (11, m))
    np.testing.assert_allclose(split.standardized(x), scaler.transform(x), rtol=1e-11)
    inner = split.validation(1)
    assert not np.allclose(inner.standardized(split.x[split.test]), split.x_test)

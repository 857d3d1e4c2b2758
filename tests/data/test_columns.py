"""Columns become numbers: words as zeros and ones and back, targets of numbers and of words."""

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.data import Table
from tests.data.woods import COLUMNS

N = 7
WORD = st.text("abcdefgh Ü=,", min_size=1, max_size=4).map(str.strip).filter(bool)


def test_words_become_columns_of_zeros_and_ones():
    table = Table.from_columns(COLUMNS)
    assert table.names == ("width", "wood=ash", "wood=fir", "wood=oak", "floors")
    assert table.targets == ("price",)
    assert table.categories == {"wood": ("ash", "fir", "oak")}
    assert table.classes == ()
    expected = pandas.get_dummies(pandas.DataFrame(COLUMNS).drop(columns="price"), dtype=float)
    expected = expected[[name.replace("=", "_") for name in table.names]]
    np.testing.assert_array_equal(table.x, expected.to_numpy())
    np.testing.assert_array_equal(table.y, np.arange(10.0, 80, 10)[:, None])
    assert table.x.dtype == table.y.dtype == np.float64
    assert len(table) == N


@given(words=st.lists(WORD, min_size=1, max_size=40))
def test_one_hot_is_undone(words):
    columns = {"before": range(len(words)), "word": words, "after": list(range(len(words)))}
    columns["before"] = list(columns["before"])
    table = Table.from_columns(columns)
    values = table.categories["word"]
    part = table.x[:, 1 : 1 + len(values)]
    assert [table.names[1 + i] for i in range(len(values))] == [f"word={v}" for v in values]
    np.testing.assert_array_equal(part.sum(axis=1), 1)
    assert [values[i] for i in part.argmax(axis=1)] == words
    assert list(values) == sorted(set(words))
    np.testing.assert_array_equal(table.x[:, 0], np.arange(len(words)))


@given(words=st.lists(WORD, min_size=1, max_size=40))
def test_a_target_of_words_becomes_labels(words):
    table = Table.from_columns({"x": list(range(len(words))), "word": words})
    assert table.y.dtype == np.int64
    assert table.y.shape == (len(words),)
    assert [table.classes[label] for label in table.y] == words
    assert list(table.classes) == sorted(set(words))
    assert table.categories == {}


@pytest.mark.parametrize("target", ["price", 3, ["price"], (3,), None])
def test_a_target_is_a_name_or_an_index(target):
    table = Table.from_columns(COLUMNS, target)
    assert table.targets == ("price",)
    assert table.y.shape == (N, 1)


def test_several_targets_keep_their_order():
    table = Table.from_columns(COLUMNS, ["price", 0])
    assert table.targets == ("price", "width")
    np.testing.assert_array_equal(table.y, np.c_[COLUMNS["price"], COLUMNS["width"]])
    assert table.names == ("wood=ash", "wood=fir", "wood=oak", "floors")


def test_indices_count_the_columns_that_are_dropped_too():
    table = Table.from_columns(COLUMNS, 2, drop=(0, "price"))
    assert table.targets == ("floors",)
    assert table.names == ("wood=ash", "wood=fir", "wood=oak")


def test_what_is_dropped_may_hold_anything():
    table = Table.from_columns(COLUMNS | {"note": ["", None, "1,5"], "": []}, drop=("note", ""))
    np.testing.assert_array_equal(table.x, Table.from_columns(COLUMNS).x)
    assert table.targets == ("price",)


def test_the_last_column_that_is_left_is_the_target():
    assert Table.from_columns(COLUMNS, drop="price").targets == ("floors",)


def test_numbers_can_be_names():
    table = Table.from_columns(COLUMNS, categories=("floors",))
    assert table.categories["floors"] == ("1", "2", "3", "10")  # sorted as numbers
    np.testing.assert_array_equal(table.x[:, -4:].argmax(axis=1), [0, 1, 2, 0, 1, 2, 3])
    labels = Table.from_columns(COLUMNS, "floors", categories=2)
    assert labels.classes == ("1", "2", "3", "10")
    np.testing.assert_array_equal(labels.y, [0, 1, 2, 0, 1, 2, 3])


def test_words_that_are_numbers_are_numbers():
    words = {name: list(map(str, column)) for name, column in COLUMNS.items()}
    table, expected = Table.from_columns(words), Table.from_columns(COLUMNS)
    np.testing.assert_array_equal(table.x, expected.x)
    np.testing.assert_array_equal(table.y, expected.y)
    assert table.names == expected.names


def test_a_mixture_can_be_names():
    table = Table.from_columns({"room": ["12", "12A", " 3 "], "size": [1, 2, 3]}, categories="room")
    assert table.categories == {"room": ("12", "12A", "3")}


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, bool])
def test_numbers_of_other_types_become_float64(dtype):
    column = np.array([0, 1, 1], dtype)
    table = Table.from_columns({"a": column, "b": [1, 2, 3]})
    assert table.x.dtype == np.float64
    np.testing.assert_array_equal(table.x[:, 0], [0, 1, 1])


def test_fifty_words_are_accepted():
    words = [f"w{i}" for i in range(50)]
    table = Table.from_columns({"word": words, "y": list(range(50))})
    assert table.x.shape == (50, 50)
    # classes may be more
    words = [f"w{i}" for i in range(51)]
    assert len(Table.from_columns({"x": list(range(51)), "word": words}).classes) == 51


@given(order=st.permutations(range(N)), number=st.integers(1, N))
def test_other_rows_are_encoded_as_the_rows_of_the_table(order, number):
    columns = COLUMNS | {"note": list("abcdefg")}
    table = Table.from_columns(columns, "price", drop="note", categories="floors")
    rows = list(order)[:number]
    given = {name: [columns[name][i] for i in rows] for name in ("floors", "wood", "width")}
    np.testing.assert_array_equal(table.encode(given), table.x[rows])
    # what is not read may be there, and hold anything
    more = given | {"note": [None], "price": []}
    np.testing.assert_array_equal(table.encode(more), table.x[rows])
    np.testing.assert_array_equal(table.encode(pandas.DataFrame(given)), table.x[rows])


def test_numbers_that_are_names_are_known_as_words_and_as_floats():
    table = Table.from_columns(COLUMNS, categories="floors")
    row = {"width": [1], "wood": ["ash"]}
    for same in ([3], [3.0], ["3"], ["3.0"], ["3,0"]):
        decimal = "," if same == ["3,0"] else "."
        np.testing.assert_array_equal(
            table.encode(row | {"floors": same}, decimal=decimal)[0, -4:], [0, 0, 1, 0]
        )
    words = {"room": ["12", "012", "12A"], "size": [1, 2, 3]}
    table = Table.from_columns(words, categories="room")
    np.testing.assert_array_equal(table.encode({"room": ["12", "012", "12A"]}), table.x)


def test_commas_before_the_decimals():
    columns = {"a": ["1,5", "-2", "3,25e2"], "b": [0.5, 1.5, 2.5]}
    table = Table.from_columns(columns, decimal=",")
    np.testing.assert_array_equal(table.x, [[1.5], [-2], [325]])
    np.testing.assert_array_equal(table.y, [[0.5], [1.5], [2.5]])


def test_dates_can_be_names():
    days = ["2024-03-01", "1.3.2024", "2024-03-01"]
    table = Table.from_columns({"day": days, "y": [1, 2, 3]}, categories="day")
    assert table.categories == {"day": ("1.3.2024", "2024-03-01")}
    # words of which not all are dates, and numbers
    other = Table.from_columns({"a": ["1.3.2024", "then", "now"], "b": [20240301] * 3, "y": days},
        categories="y")  # fmt: skip
    assert other.names == ("a=1.3.2024", "a=now", "a=then", "b")

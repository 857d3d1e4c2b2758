"""Tables: made of a frame, cut, and what they say of themselves."""

import numpy as np
import pandas

from ensedu.data import Table
from tests.data.woods import COLUMNS


def test_a_frame_is_a_table():
    table, expected = Table.from_columns(pandas.DataFrame(COLUMNS)), Table.from_columns(COLUMNS)
    np.testing.assert_array_equal(table.x, expected.x)
    assert repr(table) == repr(expected)
    category = pandas.DataFrame(COLUMNS).astype({"wood": "category"})
    np.testing.assert_array_equal(Table.from_columns(category).x, expected.x)


def test_a_table_says_what_was_understood():
    assert repr(Table.from_columns(COLUMNS)) == (
        "Table(7 rows, 5 inputs (wood one-hot), target price)"
    )
    assert repr(Table.from_columns(COLUMNS, ["price", "width"])) == (
        "Table(7 rows, 4 inputs (wood one-hot), targets price, width)"
    )
    assert repr(Table.from_columns(COLUMNS, "wood")) == (
        "Table(7 rows, 3 inputs, target wood, 3 classes: ash, fir, oak)"
    )
    one = Table.from_columns({"a": [1], "b": [2]})
    assert str(one) == repr(one) == "Table(1 row, 1 input, target b)"
    many = Table.from_columns({"a": list(range(12)), "b": [f"w{i:02}" for i in range(12)]})
    assert repr(many).endswith("12 classes: w00, w01, w02, w03, w04, w05, w06, w07, w08, w09, …)")


def test_what_was_given_is_not_what_is_kept():
    column = np.arange(3.0)
    table = Table.from_columns({"a": column, "b": column})
    column[:] = 9
    np.testing.assert_array_equal(table.x[:, 0], [0, 1, 2])
    np.testing.assert_array_equal(table.y[:, 0], [0, 1, 2])


def test_a_table_is_cut():
    table = Table.from_columns(COLUMNS, "wood", drop="price")
    part = table.rows(np.array([5, 0, 3]))
    np.testing.assert_array_equal(part.x, table.x[[5, 0, 3]])
    np.testing.assert_array_equal(part.y, table.y[[5, 0, 3]])
    for name in ("names", "targets", "categories", "classes", "dropped"):
        assert getattr(part, name) == getattr(table, name)
    assert part.dropped == ("price",)
    assert part.classes == ("ash", "fir", "oak")

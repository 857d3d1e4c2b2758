"""Tables of numbers: cut at random, and what they say of themselves."""

import numpy as np

from ensedu.data import Split, Table

N, m, k = 11, 3, 2


def table():
    rng = np.random.default_rng(0)
    return Table(
        rng.standard_normal((N, m)), rng.standard_normal((N, k)), ("a", "b", "c"), ("u", "v")
    )


def test_a_table_says_what_it_holds():
    assert repr(table()) == "Table(11 rows, 3 inputs, u, v)"
    assert len(table()) == N


def test_it_is_cut_as_its_arrays_are():
    whole, own = table(), table().split(3, 0.4)
    expected = Split.at_random(whole.x, whole.y, 3, 0.4)
    np.testing.assert_array_equal(own.test, expected.test)
    np.testing.assert_array_equal(own.x_train, expected.x_train)
    np.testing.assert_array_equal(own.y_test, expected.y_test)

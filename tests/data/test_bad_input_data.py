"""Bad input of ensedu.data: an error that names the argument, what was given, what is accepted."""

# ruff: noqa: E501 - a table: one case a line

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas
import pytest

from ensedu.data import (
    Curve,
    Split,
    Table,
    classes,
    clean,
    concrete,
    cubic,
    encoder,
    gap,
    noisy,
    patches,
    rotated,
)

pytestmark = pytest.mark.bad_input

N, m = 7, 3
NAN, INF = float("nan"), float("inf")


def rng():
    return np.random.default_rng(0)


def one(x=None, y=None, names=("a", "b", "c"), targets=("t",)):
    x = np.ones((N, m)) if x is None else x
    y = np.ones((N, 1)) if y is None else y
    return Table(x, y, names, targets)


def split(train=(0, 1), test=(2,), x=None, y=None):
    x = np.arange(N * 1.0)[:, None] if x is None else x
    y = np.arange(N * 1.0)[:, None] if y is None else y
    return Split(x, y, np.array(train), np.array(test))


def column(*cells, **options):
    """Clean a column "d" beside another."""
    frame = pandas.DataFrame({"a": range(len(cells)), "d": pandas.Series(cells, dtype=object)})
    return clean(frame, **options)


def homes():
    return clean(pandas.DataFrame({"price": ["$5", "$7"], "sold": ["3 Jan 2024", "2024-03-01"]}))


def new(**columns):
    return clean(pandas.DataFrame({"price": [5], "sold": [None]} | columns), like=homes())


def changed(value):
    """An array (N, m) with one value in row 4, column 1."""
    array = np.ones((N, m))
    array[4, 1] = value
    return array


# fmt: off
CASES = [
    (lambda: Curve(3, np.sin, 0.1, ((0, 1),), 7), TypeError, ["name", "3", "string"]),
    (lambda: Curve("a", 3, 0.1, ((0, 1),), 7), TypeError, ["function", "3"]),
    (lambda: Curve("a", float, 0.1, ((0, 1),), 7), TypeError, ["function", "float"]),
    (lambda: replace(gap, noise=0), ValueError, ["noise", "0.0", "above 0"]),
    (lambda: replace(gap, noise=NAN), ValueError, ["noise", "nan"]),
    (lambda: replace(gap, regions=()), TypeError, ["regions", "()", "(low, high)"]),
    (lambda: replace(gap, regions=(0, 1)), TypeError, ["regions", "(0, 1)"]),
    (lambda: replace(gap, regions=((1, 0),)), ValueError, ["regions", "((1, 0),)", "left to right"]),
    (lambda: replace(gap, regions=((0, 2), (1, 3))), ValueError, ["regions", "left to right"]),
    (lambda: replace(gap, regions=((0, "b"),)), TypeError, ["regions[0]", "'b'"]),
    (lambda: replace(gap, regions=((0, 1), (2, INF))), ValueError, ["regions[1]", "inf"]),
    (lambda: replace(gap, number=0), ValueError, ["number", "0", "positive integer"]),
    (lambda: gap.sample(0), TypeError, ["rng", "Generator", "int"]),
    (lambda: gap.sample(np.random.RandomState(0)), TypeError, ["rng", "RandomState"]),
    (lambda: gap.sample(rng(), 2.0), TypeError, ["number", "2.0", "positive integer"]),
    (lambda: gap.sample(7, rng()), TypeError, ["rng", "int"]),
    (lambda: cubic.truth(3.0), TypeError, ["x", "float", "NumPy array"]),
    (lambda: cubic.truth(np.arange(3)), TypeError, ["x", "int64", "float64"]),

    (lambda: one(x=np.ones(N)), ValueError, ["x", "(7,)", "(N, m)"]),
    (lambda: one(x=np.ones((0, m))), ValueError, ["x", "(0, 3)"]),
    (lambda: one(x=np.ones((N, m), np.float32)), TypeError, ["x", "float32", "float64"]),
    (lambda: one(x=[[1.0]]), TypeError, ["x", "list"]),
    (lambda: one(x=changed(NAN)), ValueError, ["x[4, 1]", "nan", "finite"]),
    (lambda: one(x=changed(-INF)), ValueError, ["x[4, 1]", "-inf"]),
    (lambda: one(x=changed(1e100)), ValueError, ["x[4, 1]", "1e+100"]),
    (lambda: one(y=np.ones(N)), ValueError, ["y", "(7,)", "(N, m)"]),
    (lambda: one(y=np.ones((N, 1), int)), TypeError, ["y", "int64", "float64"]),
    (lambda: one(y=np.ones((5, 1))), ValueError, ["y", "5 rows", "7 of x"]),
    (lambda: one(y=np.full((N, 1), NAN)), ValueError, ["y[0, 0]", "nan"]),
    (lambda: one(y=np.ones((N, 2))), ValueError, ["targets", "('t',)", "2 different strings"]),
    (lambda: one(names=("a", "b")), ValueError, ["names", "3 different strings"]),
    (lambda: one(names=("a", "b", "a")), ValueError, ["names", "different"]),
    (lambda: one(names=["a", "b", "c"]), TypeError, ["names", "list", "tuple"]),
    (lambda: one(names=("a", "b", 3)), TypeError, ["names", "3"]),
    (lambda: one(targets="t"), TypeError, ["targets", "'t'", "tuple"]),

    (lambda: clean([[1, 2]]), TypeError, ["frame must be a DataFrame", "[[1, 2]]"]),
    (lambda: clean("homes.csv"), TypeError, ["frame must be a DataFrame", "'homes.csv'"]),
    (lambda: clean(pandas.DataFrame({1: [2]})), TypeError, ["frame", "named columns"]),
    (lambda: clean(pandas.DataFrame({"a": []})), ValueError, ["frame must have rows", "['a']"]),
    (lambda: clean(pandas.DataFrame([[1, 2]], columns=["a", "a"])), ValueError, ["frame", "different columns", "['a', 'a']"]),
    (lambda: column("$5", dayfirst=1), TypeError, ["dayfirst", "1", "True or False"]),
    (lambda: column("14/01/2024", "01/02/2024"), ValueError, ["dayfirst", "None", "'14/01/2024'", "row 1 of 2", "column 'd'"]),
    (lambda: column("1.2.2024"), ValueError, ["dayfirst", "'1.2.2024'", "row 1 of 1"]),
    (lambda: column("01/02/2024", "14/01/2024", dayfirst=False), ValueError, ["dayfirst must fit", "False", "'14/01/2024'", "row 2 of 2", "column 'd'"]),
    (lambda: column("1/2/24", dayfirst=False), ValueError, ["frame", "'1/2/24'"]),
    (lambda: column("3 Jan 24"), ValueError, ["frame", "'3 Jan 24'", "row 1"]),
    (lambda: column("2024-13-01"), ValueError, ["frame", "'2024-13-01'"]),
    (lambda: column("2024-03-01T25:00"), ValueError, ["frame", "'2024-03-01T25:00'"]),
    (lambda: column("Jan 2024"), ValueError, ["frame", "'Jan 2024'", "category"]),
    (lambda: column("24:30"), ValueError, ["frame", "'24:30'"]),
    (lambda: column("12:75"), ValueError, ["frame", "'12:75'"]),
    (lambda: column("1", "2,5"), ValueError, ["frame", "1,234.5", "'2,5'", "row 2 of 2", "column 'd'"]),
    (lambda: column("1.234,5"), ValueError, ["frame", "'1.234,5'"]),
    (lambda: column("5 kg", "300 g"), ValueError, ["frame", "numbers in kg", "numbers in g", "row 2 of 2"]),
    *[(lambda cell=cell: column("7", cell), ValueError, ["1,234.5 or $1.2M", repr(cell), "row 2 of 2", "category", "no other words"])
      for cell in ("(5", "(-5)", "+-5", "1.5m", "5 m", "3 bed", "2.0T", "$3mil", "1.2 crore", "<5", "~500", "5+", "5'", "12-14", "1,2345", "1'200,000", "$5%")],
    (lambda: column("1e200"), ValueError, ["finite numbers below 1e+100", "'1e200'"]),
    (lambda: column("5.1 kg", "5.1 x", dayfirst=True), ValueError, ["'5.1 x'"]),
    (lambda: column("1/2/2024 25:00", dayfirst=True), ValueError, ["dayfirst", "'1/2/2024 25:00'"]),
    (lambda: column("$5", "€7"), ValueError, ["frame", "numbers in $", "numbers in €", "'€7'", "row 2 of 2"]),
    (lambda: column("10%", "0.2"), ValueError, ["frame", "percentages", "numbers", "'0.2'", "row 2"]),
    (lambda: column("12:30", "12"), ValueError, ["frame", "times of day", "'12'", "row 2"]),
    (lambda: column("12", "12A", "7"), ValueError, ["frame", "numbers", "names", "'12A'", "row 2 of 3", "{'d': 'category'}"]),
    (lambda: column("oak", "2024-03-01"), ValueError, ["frame", "names", "dates", "'2024-03-01'"]),
    (lambda: column(1, INF), ValueError, ["frame", "finite", "inf", "row 2"]),
    (lambda: column(1, 1e101), ValueError, ["frame", "1e+100", "1e+101"]),
    (lambda: column("?", None, "NA"), ValueError, ["frame", "a value in each column", "'d'"]),
    (lambda: column([1], "a"), TypeError, ["frame", "[1]", "row 1 of 2"]),
    (lambda: column(1j), TypeError, ["frame", "1j", "row 1"]),
    (lambda: column(timedelta(3)), TypeError, ["frame", "timedelta", "row 1"]),
    (lambda: clean(pandas.DataFrame({"a": [1]}), like=3), TypeError, ["like must be a DataFrame", "3"]),
    (lambda: clean(pandas.DataFrame({"a": [1]}), like=pandas.DataFrame({"a": [1]})), ValueError, ["like must be what clean returned", "['a']"]),
    (lambda: clean(homes(), like=homes(), dayfirst=True), ValueError, ["dayfirst must be left out with like", "None", "got True"]),
    (lambda: new(rooms=[3]), ValueError, ["frame", "like", "with ['rooms']"]),
    (lambda: clean(pandas.DataFrame({"price": [5]}), like=homes()), ValueError, ["frame", "without ['sold']"]),
    (lambda: new(sold=[5]), ValueError, ["frame", "dates", "got numbers", "row 1 of 1", "'sold'"]),
    (lambda: new(price=["€5"]), ValueError, ["frame", "numbers in $", "numbers in €"]),
    (lambda: new(price=["oak"]), ValueError, ["frame", "numbers in $", "names", "'oak'"]),
    (lambda: encoder(np.ones((2, 3))), TypeError, ["frame", "DataFrame", "array"]),
    (lambda: encoder(homes()[:0]), ValueError, ["frame", "rows and columns", "(0, 2)"]),
    (lambda: encoder(homes(), unknown="drop"), ValueError, ["unknown", "'drop'", "'error', 'ignore'"]),

    (lambda: concrete().split(-1), ValueError, ["seed", "-1", "from 0 up"]),
    (lambda: concrete().split(0.5), TypeError, ["seed", "0.5"]),
    (lambda: concrete().split(None), TypeError, ["seed", "None"]),
    (lambda: concrete().split(0, 0.0), ValueError, ["test", "0.0", "above 0"]),
    (lambda: concrete().split(0, 1), ValueError, ["test", "1.0", "below 1"]),
    (lambda: concrete().split(0, 20), ValueError, ["test", "20"]),
    (lambda: concrete().split(0, 1e-4), ValueError, ["test", "0.0001", "1,030 rows"]),
    (lambda: one().split(0, 0.99), ValueError, ["test", "0.99", "7 rows"]),
    (lambda: one().split(0, 0.5).validation(0, 0.01), ValueError, ["part", "0.01", "4 rows"]),
    (lambda: one().split(0, 0.5).validation("x"), TypeError, ["seed", "'x'"]),
    (lambda: split(x=np.ones((N, 1, 1))), ValueError, ["x", "(7, 1, 1)"]),
    (lambda: split(y=np.ones((5, 1))), ValueError, ["y", "5 rows", "7"]),
    (lambda: split(y=np.ones(N)), TypeError, ["y", "float64", "labels"]),
    (lambda: split(train=[]), TypeError, ["train", "float64", "integers"]),
    (lambda: split(train=np.zeros(0, int)), ValueError, ["train", "(0,)", "at least 1"]),
    (lambda: split(test=[[3]]), ValueError, ["test", "(1, 1)", "(N,)"]),
    (lambda: split(test=[7]), ValueError, ["test", "7", "0 to 6"]),
    (lambda: split(train=[0, -1]), ValueError, ["train", "-1", "0 to 6"]),
    (lambda: split(train=[0, 3, 5, 3]), ValueError, ["train", "once", "got 3"]),
    (lambda: split(train=[0, 1], test=[2, 1]), ValueError, ["test", "1", "train"]),
    (lambda: split(train=[0.0, 1.0]), TypeError, ["train", "float64"]),
    (lambda: split(train=[True, False]), TypeError, ["train", "bool"]),
    (lambda: Split(np.ones((2, 1)), np.ones((2, 1)), [0], np.array([1])), TypeError, ["train", "list"]),

    (lambda: classes([1.0], np.zeros(1, int), [0]), TypeError, ["x", "list"]),
    (lambda: classes(np.array(1.0), np.zeros(1, int), [0]), ValueError, ["y", "(N,)"]),
    (lambda: classes(np.ones(3), np.zeros(2, int), [0]), ValueError, ["y", "2 rows", "3 of x"]),
    (lambda: classes(np.ones(3), np.zeros(3), [0]), TypeError, ["y", "float64", "labels"]),
    (lambda: classes(np.ones(3), np.zeros((3, 1)), [0]), ValueError, ["y", "(3, 1)", "(N,)"]),
    (lambda: classes(np.ones(3), np.arange(3), []), ValueError, ["keep", "[]", "in y"]),
    (lambda: classes(np.ones(3), np.arange(3), [2, 3]), ValueError, ["keep", "[2, 3]", "in y"]),
    (lambda: classes(np.ones(3), np.arange(3), [2, 2]), ValueError, ["keep", "[2, 2]", "different"]),
    (lambda: classes(np.ones(3), np.arange(3), 2), TypeError, ["keep", "2"]),
    (lambda: classes(np.ones(3), np.arange(3), [1.0]), TypeError, ["keep[0]", "1.0"]),
    (lambda: classes(np.ones(3), np.arange(3), [1], relabel=1), TypeError, ["relabel", "1", "True or False"]),
    (lambda: rotated(np.ones((3, 4)), 3), ValueError, ["images", "(3, 4)", "(N, H, W)"]),
    (lambda: rotated(np.ones((3, 0, 4)), 3), ValueError, ["images", "(3, 0, 4)"]),
    (lambda: rotated(np.ones((3, 4, 4), np.float32), 3), TypeError, ["images", "float32"]),
    (lambda: rotated(np.full((3, 4, 4), 255.0), 3), ValueError, ["images", "255", "0 to 1"]),
    (lambda: rotated(np.full((3, 4, 4), NAN), 3), ValueError, ["images", "nan", "0 to 1"]),
    (lambda: rotated(np.ones((3, 4, 4)), INF), ValueError, ["degrees", "inf"]),
    (lambda: rotated(np.ones((3, 4, 4)), "90"), TypeError, ["degrees", "'90'"]),
    (lambda: noisy(np.full(3, -0.1), 0.1, rng()), ValueError, ["images", "-0.1", "0 to 1"]),
    (lambda: noisy(np.ones(3), -0.1, rng()), ValueError, ["std", "-0.1", "from 0 up"]),
    (lambda: noisy(np.ones(3), NAN, rng()), ValueError, ["std", "nan"]),
    (lambda: noisy(np.ones(3), 0.1, 0), TypeError, ["rng", "int"]),
    (lambda: patches(0, 5, rng()), ValueError, ["number", "0", "positive integer"]),
    (lambda: patches(3, 428, rng()), ValueError, ["size", "428", "427"]),
    (lambda: patches(3, 5.0, rng()), TypeError, ["size", "5.0"]),
    (lambda: patches(3, 5, None), TypeError, ["rng", "NoneType"]),
]
# fmt: on


def test_numpy_and_python_integers_are_numbers():
    assert gap.sample(rng(), np.int32(5))[0].shape == (5, 1)
    assert replace(gap, noise=1, regions=[[0, 1]]).regions == ((0.0, 1.0),)
    np.testing.assert_array_equal(rotated(np.eye(4)[None], 90), np.rot90(np.eye(4))[None])


def check(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(("call", "error", "words"), CASES)
def test_bad_input_is_named(call, error, words):
    check(call, error, words)

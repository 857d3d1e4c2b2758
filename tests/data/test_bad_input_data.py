"""Bad input of ensedu.data: an error that names the argument, what was given, what is accepted."""

# ruff: noqa: E501 - a table: one case a line

from dataclasses import replace
from datetime import date

import numpy as np
import pandas
import pytest

from ensedu.data import (
    Curve,
    Split,
    Table,
    classes,
    concrete,
    cubic,
    gap,
    noisy,
    patches,
    rotated,
    table,
)

pytestmark = pytest.mark.bad_input

N, m = 7, 3
NAN, INF = float("nan"), float("inf")
PLAIN = {"a": [1, 2, 3], "b": [4, 5, 6], "c": [7, 8, 9]}


def rng():
    return np.random.default_rng(0)


def one(x=None, y=None, names=("a", "b", "c"), targets=("t",), categories=None, classes=()):
    x = np.ones((N, m)) if x is None else x
    y = np.ones((N, 1)) if y is None else y
    return Table(x, y, names, targets, {} if categories is None else categories, classes)


def labeled(y, classes=("no", "yes")):
    return one(y=np.array(y), classes=classes)


def split(train=(0, 1), test=(2,), x=None, y=None):
    x = np.arange(N * 1.0)[:, None] if x is None else x
    y = np.arange(N * 1.0)[:, None] if y is None else y
    return Split(x, y, np.array(train), np.array(test))


def columns(**more):
    return Table.from_columns(PLAIN | more)


def trees():
    known = {"age": [3, 1], "wood": ["oak", "ash"], "note": ["x", "y"], "price": [30, 20]}
    return Table.from_columns(known, drop="note")


def new(**more):
    return trees().encode({"age": [1], "wood": ["oak"]} | more)


def from_columns(**options):
    return Table.from_columns(PLAIN, **options)


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
    (lambda: one(y=np.ones(N)), TypeError, ["y", "float64", "integers", "labels"]),
    (lambda: one(y=np.ones((N, 1), int)), TypeError, ["y", "int64", "float64"]),
    (lambda: one(y=np.ones((5, 1))), ValueError, ["y", "5 rows", "7 of x"]),
    (lambda: one(y=np.full((N, 1), NAN)), ValueError, ["y[0, 0]", "nan"]),
    (lambda: one(y=np.ones((N, 2))), ValueError, ["targets", "('t',)", "2 different strings"]),
    (lambda: one(names=("a", "b")), ValueError, ["names", "3 different strings"]),
    (lambda: one(names=("a", "b", "a")), ValueError, ["names", "different"]),
    (lambda: one(names=["a", "b", "c"]), TypeError, ["names", "list", "tuple"]),
    (lambda: one(names=("a", "b", 3)), TypeError, ["names", "3"]),
    (lambda: one(targets="t"), TypeError, ["targets", "'t'", "tuple"]),
    (lambda: one(classes=("no", "yes")), ValueError, ["classes", "0 different strings"]),
    (lambda: one(categories={"w": ("b",)}), ValueError, ["categories", "'w=b'", "names"]),
    (lambda: one(categories=[("a",)]), TypeError, ["categories", "list", "dict"]),
    (lambda: one(categories={"a": "b"}), TypeError, ["categories['a']", "tuple"]),
    (lambda: labeled([0, 1, 2, 0, 0, 0, 0]), ValueError, ["classes", "0 to 2", "got 2"]),
    (lambda: labeled([0, -1, 1, 0, 0, 0, 0]), ValueError, ["classes", "-1 to 1"]),
    (lambda: labeled([0, 1, 0], ()), ValueError, ["y", "3 rows", "7"]),

    (lambda: Table.from_columns(3), TypeError, ["columns", "3", "dict"]),
    (lambda: Table.from_columns([[1, 2], [3, 4]]), TypeError, ["columns", "dict"]),
    (lambda: Table.from_columns({}), ValueError, ["columns", "an input and a target", "[]"]),
    (lambda: Table.from_columns({"a": [1]}), ValueError, ["columns", "['a']", "an input and a target"]),
    (lambda: Table.from_columns({1: [1], 2: [3]}), TypeError, ["a name in columns", "1"]),
    (lambda: columns(d=[1, 2]), ValueError, ["columns", "one length", "'d': 2"]),
    (lambda: columns(d=[]), TypeError, ["columns['d']", "[]", "at least 1"]),
    (lambda: columns(d=3), TypeError, ["columns['d']", "3", "list or an array"]),
    (lambda: columns(d="abc"), TypeError, ["columns['d']", "'abc'"]),
    (lambda: columns(d=[[1], [2, 3]]), TypeError, ["columns['d']", "[[1], [2, 3]]"]),
    (lambda: columns(d=np.ones((3, 1))), TypeError, ["columns['d']", "(N,)"]),
    (lambda: columns(d=np.ones(3, complex)), TypeError, ["columns['d']", "numbers or words"]),
    (lambda: columns(d=[1, 2, [3]]), TypeError, ["columns['d']"]),
    (lambda: columns(d=np.array([1, "a", ()], object)), TypeError, ["columns['d']", "()", "numbers or words"]),
    (lambda: columns(d=np.array(["2020-01-01"] * 3, "datetime64[D]")), TypeError, ["columns['d']", "dtype datetime64[D]", "drop"]),
    (lambda: columns(d=[1, NAN, 3]), ValueError, ["columns['d']", "no value", "row 2 of 3", "drop"]),
    (lambda: columns(d=["a", None, "b"]), ValueError, ["columns['d']", "no value", "row 2 of 3"]),
    (lambda: columns(d=["a", "b", "?"]), ValueError, ["columns['d']", "no value", "row 3"]),
    (lambda: columns(d=["a", "", "b"]), ValueError, ["columns['d']", "no value", "row 2"]),
    (lambda: columns(d=[1, 2, -INF]), ValueError, ["columns['d']", "-inf", "row 3", "finite"]),
    (lambda: columns(d=["1", "2", "1e999"]), ValueError, ["columns['d']", "inf", "row 3"]),
    (lambda: columns(d=[1, 2, 1e101]), ValueError, ["columns['d']", "1e+101", "1e+100"]),
    (lambda: columns(d=["1", "b", "3"]), ValueError, ["columns['d']", "'b'", "row 2", "categories"]),
    (lambda: columns(d=["1,5", "2,5", "3"]), ValueError, ["columns['d']", "'1,5'", "row 1", "1234.5", "say decimal=','"]),
    (lambda: columns(d=["1,5", "2x", "x"]), ValueError, ["columns['d']", "'1,5'", "row 1", "list it in categories"]),
    (lambda: Table.from_columns(PLAIN | {"d": ["1.5", "2", "3"]}, decimal=","), ValueError, ["columns['d']", "'1.5'", "1234,5", "say decimal='.'"]),
    (lambda: Table.from_columns(PLAIN | {"d": ["1.234,5", "2", "3"]}, decimal=","), ValueError, ["columns['d']", "'1.234,5'", "row 1"]),
    (lambda: from_columns(decimal=";"), ValueError, ["decimal", "';'"]),
    (lambda: columns(d=["kg", "2", "3"]), ValueError, ["columns['d']", "'kg'", "row 1", "header=True", "units"]),
    (lambda: columns(d=["2024-03-01", "2024-03-02", "2024-03-01"]), ValueError, ["columns['d']", "dates", "'2024-03-01'", "drop", "categories"]),
    (lambda: columns(d=["1.3.2024", "28.02.24", "3.3.2024"]), ValueError, ["columns['d']", "dates"]),
    (lambda: columns(d=["2024-03-01 10:00", "2024-03-01T11:00:07", "2024-03-01"]), ValueError, ["columns['d']", "dates"]),
    (lambda: columns(d=[date(2024, 3, 1)] * 3), TypeError, ["columns['d']", "datetime.date(2024, 3, 1)", "drop"]),
    (lambda: Table.from_columns(pandas.DataFrame(PLAIN | {"d": pandas.to_datetime(["2024-03-01"] * 3)})), TypeError, ["columns['d']", "dtype datetime64", "drop"]),
    (lambda: columns(d=["12", "1,234", "3"]), ValueError, ["columns['d']", "'1,234'", "row 2"]),
    (lambda: columns(d=["1", "1_0", "3"]), ValueError, ["columns['d']", "'1_0'", "row 2"]),
    (lambda: Table.from_columns({"id": [f"n{i}" for i in range(51)], "y": list(range(51))}), ValueError, ["columns['id']", "51", "50", "drop=('id',)"]),
    (lambda: Table.from_columns({"": [0, 1], "a": [2, 3], "y": [4, 5]}), ValueError, ["columns['']", "no name", "drop=0"]),
    (lambda: Table.from_columns({"w=a": [1, 2], "w": ["a", "b"], "y": [4, 5]}), ValueError, ["names", "'w=a'", "different"]),
    (lambda: from_columns(target="z"), ValueError, ["target", "'z'", "'a', 'b', 'c'"]),
    (lambda: from_columns(target=3), ValueError, ["target", "3", "indices from 0"]),
    (lambda: from_columns(target=-1), ValueError, ["target", "-1", "indices from 0"]),
    (lambda: from_columns(target=1.0), TypeError, ["target", "1.0"]),
    (lambda: from_columns(target=True), TypeError, ["target", "True"]),
    (lambda: from_columns(target=["a", 0]), ValueError, ["target", "['a', 0]", "each once"]),
    (lambda: from_columns(target=[]), ValueError, ["columns", "a target", "target []"]),
    (lambda: from_columns(target=["a", "b", "c"]), ValueError, ["columns", "an input", "['a', 'b', 'c']"]),
    (lambda: from_columns(target="a", drop="a"), ValueError, ["columns", "not dropped", "drop ['a']"]),
    (lambda: from_columns(drop=("a", "b")), ValueError, ["columns", "an input and a target", "drop ['a', 'b']"]),
    (lambda: from_columns(drop={"a"}), TypeError, ["drop", "{'a'}"]),
    (lambda: from_columns(drop="z"), ValueError, ["drop", "'z'"]),
    (lambda: from_columns(categories="z"), ValueError, ["categories", "'z'"]),
    (lambda: from_columns(categories=None), TypeError, ["categories", "None"]),
    (lambda: from_columns(target=["a", "b"], categories="a"), ValueError, ["target", "one of words", "['a']"]),

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
    (lambda: table(3), TypeError, ["path", "3"]),
    (lambda: table("no/such/file.csv"), ValueError, ["path", "no such file", "no/such/file.csv"]),

    (lambda: trees().encode(3), TypeError, ["columns", "3", "dict"]),
    (lambda: trees().encode({"age": [1]}), ValueError, ["columns", "['age', 'wood']", "got none of ['wood']", "without ['price', 'note']"]),
    (lambda: new(width=[1]), ValueError, ["columns", "['width']", "does not know"]),
    (lambda: new(age=[1, 2]), ValueError, ["columns", "one length", "'age': 2"]),
    (lambda: new(age=["old"]), ValueError, ["columns['age']", "numbers", "'old'", "row 1 of 1"]),
    (lambda: new(age=["1,5"]), ValueError, ["columns['age']", "'1,5'", "decimal=','"]),
    (lambda: new(age=[1, 2, 3], wood=["oak", "elm", "yew"]), ValueError, ["columns['wood']", "'elm'", "row 2 of 3", "'ash', 'oak'"]),
    (lambda: new(wood=[7]), ValueError, ["columns['wood']", "'7'", "row 1", "'ash', 'oak'"]),
    (lambda: new(wood=[None]), ValueError, ["columns['wood']", "no value", "row 1"]),
    (lambda: trees().encode("no/such/file.csv"), ValueError, ["columns", "no such file", "no/such/file.csv"]),
    (lambda: trees().encode({}, decimal="x"), ValueError, ["decimal", "'x'"]),
    (lambda: one().rows(slice(3)), TypeError, ["indices", "slice"]),
    (lambda: one().rows(np.array([True, False])), TypeError, ["indices", "bool"]),
    (lambda: one().rows(np.array([7])), ValueError, ["indices", "7", "0 to 6"]),
    (lambda: one().rows(np.array([1, 1])), ValueError, ["indices", "once"]),
    (lambda: split().standardized([[1.0]]), TypeError, ["x", "list"]),
    (lambda: split().standardized(np.ones(3)), ValueError, ["x", "(3,)"]),
    (lambda: split().standardized(np.ones((3, 2))), ValueError, ["x", "(3, 2)", "(B, 1)"]),
    (lambda: split().standardized(np.full((3, 1), NAN)), ValueError, ["x[0, 0]", "nan"]),
    (lambda: Table(np.ones((1, 1)), np.ones((1, 1)), ("a",), ("t",), dropped=["b"]), TypeError, ["dropped", "list"]),
    (lambda: table("."), ValueError, ["path", "'.'"]),
    (lambda: table("a\0b"), ValueError, ["path"]),
]
FILES = [
    ("", {}, ValueError, ["path", "empty file"]),
    (" \n\n", {}, ValueError, ["path", "empty file"]),
    ("a,b\n", {}, ValueError, ["path", "table with rows"]),
    ("1\n2\n", {}, ValueError, ["columns", "an input and a target", "['column 1']"]),
    ("a,b\n1,2\n1,2,3\n", {}, ValueError, ["path", "one length", "line 3", "saw 3"]),
    ("a,b,c\n1,2,3\n\n1,2\n", {}, ValueError, ["path", "one length", "row 2 has 2 of 3 columns"]),
    ("1,2,3\n1\n", {}, ValueError, ["path", "row 2 has 1 of 3 columns"]),
    ("a b c\n1  2 3\n 1 2 \n", {}, ValueError, ["path", "row 2 has 2 of 3 columns"]),
    ("a,b,c\n1,2,3\n1,2,\n", {}, ValueError, ["columns['c']", "no value", "row 2 of 2"]),
    ("year,2023,2024\n1,2,3\n4,5,6\n", {}, ValueError, ["columns['column 1']", "'year'", "row 1 of 3", "header=True"]),
    ("a,b\nkg,m\n1,2\n4,5\n", {}, ValueError, ["columns['a']", "'kg'", "row 1 of 3", "units", "take it out"]),
    ("day,y\n2024-03-01,2\n2024-03-02,3\n", {}, ValueError, ["columns['day']", "dates", "drop", "categories"]),
    ("a;b\n1.234;2\n5.678;3\n", {"decimal": ","}, ValueError, ["columns['a']", "'1.234'", "1234,5"]),
    ("a,b\n1,2\n", {"decimal": None}, TypeError, ["decimal", "None"]),
    ("a,b\n1,2,3\n4,5,6\n", {}, ValueError, ["path", "2 names", "3 columns"]),
    ("a,b,b\n1,2,3\n", {}, ValueError, ["path", "'b'", "different names"]),
    (",a,b\n0,1,2\n1,2,3\n", {}, ValueError, ["columns['']", "no name", "drop=0"]),
    ("a,b\n1,2\n,3\n", {}, ValueError, ["columns['a']", "no value", "row 2 of 2", "drop"]),
    ("a,b\n1,NA\n2,3\n", {}, ValueError, ["columns['b']", "no value", "row 1 of 2"]),
    ("a,b\nx,1\n?,3\n", {}, ValueError, ["columns['a']", "no value", "row 2 of 2"]),
    ("1 nan\n2 3\n", {}, ValueError, ["columns['column 2']", "no value", "row 1"]),
    ("1\t\t3\n4\t5\t6\n", {}, ValueError, ["columns['column 2']", "no value", "row 1"]),
    ("a,b\n1,inf\n2,3\n", {}, ValueError, ["columns['b']", "inf", "row 1"]),
    ("a;b\n1,5;2\n2,5;3\n", {}, ValueError, ["columns['a']", "'1,5'", "say decimal=','"]),
    ("a,b\n1,2\n2x,3\n", {}, ValueError, ["columns['a']", "'2x'", "row 2"]),
    ("a,b\n1,2\n", {"target": "c"}, ValueError, ["target", "'c'", "['a', 'b']"]),
    ("a,b\n1,2\n", {"drop": 2}, ValueError, ["drop", "2"]),
    ("a,b\n1,2\n", {"delimiter": "ab"}, ValueError, ["delimiter", "'ab'", "';'"]),
    ("a,b\n1,2\n", {"delimiter": 1}, TypeError, ["delimiter", "1"]),
    ("a,b\n1,2\n", {"header": "yes"}, TypeError, ["header", "'yes'", "True or False"]),
    ('a,"b\n' + "x" * 200_000 + "\n", {}, ValueError, ["path"]),
    ('"' + "x" * 200_000 + '",b\n1,2\n', {}, ValueError, ["path", "field"]),
    ('a,b\n"1,2\n', {}, ValueError, ["path"]),
]
INDICES = [
    ("0\n1\n", "", ValueError, ["test_path", "empty file"]),
    ("0\nx\n", "2\n", ValueError, ["train_path", "'x'", "integers"]),
    ("0\n1.5\n", "2\n", ValueError, ["train_path", "'1.5'", "integers"]),
    ("0\nnan\n", "2\n", ValueError, ["train_path", "'nan'"]),
    ("0\ninf\n", "2\n", ValueError, ["train_path", "'inf'"]),
    ("0\n1e30\n", "2\n", ValueError, ["train_path", "'1e30'"]),
    ("0\n1\n", "1\n", ValueError, ["test", "1 in both"]),
    ("0\n7\n", "1\n", ValueError, ["train", "7", "0 to 6"]),
    ("0\n1\n", "-1\n", ValueError, ["test", "-1", "0 to 6"]),
    ("0\n0\n", "1\n", ValueError, ["train", "0", "once"]),
]
# fmt: on


def test_numpy_and_python_integers_are_numbers():
    assert from_columns(target=np.int64(0)).targets == ("a",)
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


@pytest.mark.parametrize(("text", "options", "error", "words"), FILES)
def test_what_is_no_table_is_named(tmp_path, text, options, error, words):
    (tmp_path / "file.csv").write_text(text)
    check(lambda: table(tmp_path / "file.csv", **options), error, words)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00a", b"caf\xe9,1\n"])
def test_a_file_that_is_not_utf_8_is_named(tmp_path, content):
    (tmp_path / "file.csv").write_bytes(content)
    check(lambda: table(tmp_path / "file.csv"), ValueError, ["path", "file.csv", "UTF-8"])


@pytest.mark.parametrize(("train", "test", "error", "words"), INDICES)
def test_bad_index_files_are_named(tmp_path, train, test, error, words):
    (tmp_path / "train.txt").write_text(train)
    (tmp_path / "test.txt").write_text(test)
    paths = tmp_path / "train.txt", tmp_path / "test.txt"
    check(lambda: one().split_files(*paths), error, words)

"""Files of others: any delimiter, with names or without, against NumPy's own reader."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensedu.data import table

N, m = 7, 5


@pytest.fixture
def file(tmp_path):
    """Return a function that writes words to a file."""

    def write(words, encoding="utf-8"):
        (tmp_path / "file.txt").write_bytes(words.encode(encoding))
        return tmp_path / "file.txt"

    return write


def lines(rows, delimiter):
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


NUMBERS = np.random.default_rng(0).normal(0, 100, (N, m)).tolist()
NAMES = ["a", "b c", "d", "e", "f"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_names_change_nothing_but_names(file, delimiter):
    given = delimiter if delimiter == "|" else None
    bare = table(file(lines(NUMBERS, delimiter)), delimiter=given)
    named = table(file(lines([NAMES, *NUMBERS], delimiter)), delimiter=given)
    np.testing.assert_array_equal(bare.x, named.x)
    np.testing.assert_array_equal(bare.y, named.y)
    assert bare.names == ("column 1", "column 2", "column 3", "column 4")
    assert bare.targets == ("column 5",)
    assert named.names == tuple(NAMES[:-1])
    assert named.targets == ("f",)


@given(
    values=arrays(
        np.float64,
        st.tuples(st.integers(1, 9), st.integers(2, 6)),
        elements=st.floats(-1e99, 1e99),
    )
)
def test_blanks_are_read_as_numpy_reads_them(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("table") / "data.txt"
    np.savetxt(path, values)
    read = table(path)
    expected = np.loadtxt(path, ndmin=2)
    np.testing.assert_allclose(read.x, expected[:, :-1], rtol=1e-15, atol=0)
    np.testing.assert_allclose(read.y, expected[:, -1:], rtol=1e-15, atol=0)


@pytest.mark.parametrize(
    "words",
    [
        "1 2 3\n4 5 6\n",
        "  1   2\t3  \n\t4 5     6",
        "1,2,3\r\n4,5,6\r\n",
        "\ufeff1;2;3\n4;5;6",
        "\n\n1,2,3\n\n4, 5 ,6\n\n",
        '"1","2","3"\n"4","5","6"\n',
        "1.0,2e0,+3\n4.,.5e1,06\n",
    ],
    ids=["plain", "ragged blanks", "DOS", "byte order mark", "empty lines", "quoted", "styles"],
)
def test_the_same_numbers_in_many_styles(file, words):
    read = table(file(words), delimiter=" " if "\t" in words else None)
    np.testing.assert_array_equal(read.x, [[1, 2], [4, 5]])
    np.testing.assert_array_equal(read.y, [[3], [6]])


def test_words_names_and_labels(file):
    words = 'age, wood,"price, in $"\n3, oak ,30\n1,"ash",20\n5,oak,40\n'
    read = table(file(words))
    assert repr(read) == "Table(3 rows, 3 inputs (wood one-hot), target price, in $)"
    assert read.names == ("age", "wood=ash", "wood=oak")
    np.testing.assert_array_equal(read.x, [[3, 0, 1], [1, 1, 0], [5, 0, 1]])
    labels = table(file(words), "wood", drop=2)
    assert repr(labels) == "Table(3 rows, 1 input, target wood, 2 classes: ash, oak)"
    np.testing.assert_array_equal(labels.y, [1, 0, 1])
    floors = table(file(words), categories="age")
    assert floors.categories == {"age": ("1", "3", "5"), "wood": ("ash", "oak")}


def test_a_byte_order_mark_is_no_part_of_a_name(file):
    assert table(file("\ufeffa,b\n1,2\n")).names == ("a",)


def test_a_quoted_cell_may_hold_the_delimiter(file):
    read = table(file('kind, y\n"a, b", 1\nc, 2\n'))
    assert read.categories == {"kind": ("a, b", "c")}
    read = table(file('y, kind\n1, "a, b"\n2, c\n'))
    assert read.classes == ("a, b", "c")


def test_a_first_row_with_a_number_is_no_name(file):
    read = table(file("M,0.5,3\nF,0.6,4\n"))
    assert read.names == ("column 1=F", "column 1=M", "column 2")
    assert len(read) == 2


def test_names_can_be_numbers_and_rows_words(file):
    assert table(file("2019,2020\n1,2\n3,4\n"), header=True).names == ("2019",)
    read = table(file("a,b\nc,d\n"), header=False)
    assert read.classes == ("b", "d")
    assert read.categories == {"column 1": ("a", "c")}


def test_columns_of_the_benchmark_of_uci_sets(file):
    """index_features.txt and index_target.txt of its energy set: 8 of 10 columns, and the ninth."""
    rows = np.arange(30.0).reshape(3, 10)
    read = table(file(lines(rows.tolist(), " ")), target=8, drop=9)
    np.testing.assert_array_equal(read.x, rows[:, :8])
    np.testing.assert_array_equal(read.y, rows[:, 8:9])


def test_words_that_only_look_missing_are_words(file):
    read = table(file("kind,y\nNone,1\nnone,2\nN,3\n"))
    assert read.categories == {"kind": ("N", "None", "none")}


def test_bools_are_numbers(file):
    np.testing.assert_array_equal(table(file("a,b\nTrue,1\nFalse,2\n")).x, [[1], [0]])


def test_a_long_column_has_one_type(file):
    """In a long file a column of numbers with one word at its end is a mixture as well."""
    words = "a,b\n" + "1,2\n" * 300_000 + "x,2\n"
    with pytest.raises(ValueError, match="'x' in row 300,001"):
        table(file(words))


def test_a_file_with_decimal_commas(file):
    words = "weight;price\n156,4;2\n-1e3;3,5\n"
    read = table(file(words), decimal=",")
    np.testing.assert_array_equal(read.x, [[156.4], [-1000]])
    np.testing.assert_array_equal(read.y, [[2], [3.5]])
    for words, delimiter in (("1,5 2\n2,5 3\n", None), ('"1,5","2"\n"2,5","3"\n', ",")):
        read = table(file(words), decimal=",", delimiter=delimiter)
        assert read.names == ("column 1",)
        np.testing.assert_array_equal(read.x, [[1.5], [2.5]])
        np.testing.assert_array_equal(read.y, [[2], [3]])


def test_new_rows_come_from_a_second_file(file):
    words = "note,age,wood,price,room\nx,3,oak,30,7\ny,1,ash,20,8\nz,5,oak,40,8\n"
    trees = table(file(words), "price", drop="note", categories="room")
    new = "room,wood,age\n8,ash,2\n7,oak,9\n"
    np.testing.assert_array_equal(trees.encode(file(new)), [[2, 1, 0, 0, 1], [9, 0, 1, 1, 0]])
    np.testing.assert_array_equal(trees.encode(str(file(words))), trees.x)
    german = new.replace(",", ";").replace("2\n", "2,5\n")
    x = trees.encode(file(german), delimiter=";", header=True, decimal=",")
    np.testing.assert_array_equal(x[:, 0], [2.5, 9])


def test_names_that_are_numbers_in_a_part_of_the_rows_stay_words(file):
    rooms = table(file("room,y\n12,1\n012,2\n12A,3\n"), categories="room")
    np.testing.assert_array_equal(rooms.encode(file("room\n012\n")), rooms.x[1:2])


def test_without_names_the_place_counts(file):
    read = table(file("1,2,3\n4,5,6\n"), drop=0)
    np.testing.assert_array_equal(read.encode(file("7,8\n9,10\n")), [[8], [10]])
    with pytest.raises(ValueError, match=r"none of \['column 2'\]"):
        read.encode(file("7\n9\n"))

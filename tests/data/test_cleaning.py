"""Tables as people write them, cell by cell: cleaned, and encoded for a network."""

import io
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from ensedu.data import clean, encoder
from ensedu.data.cleaning import read_cell

HOMES = """price,sold,wood,rooms,rate,zip
"$1,200",01/02/2024,oak,3,10%,02139
950,03/14/2024,,?,5.5%,10001
$990,01/03/2024, ash ,2,NA,02139
"""


def read(text=HOMES):
    return pandas.read_csv(io.StringIO(text), dtype={"zip": str}).astype({"zip": "category"})


def read_one(cell, dayfirst=None):
    return read_cell("a cell", cell, False, dayfirst)


@pytest.mark.parametrize(
    ("cell", "kind", "number"),
    [
        (" 12 ", "numbers", 12), ("-1.5e-3", "numbers", -0.0015), (".5", "numbers", 0.5),
        ("1,234", "numbers", 1234), ("+1,234,567.8", "numbers", 1_234_567.8),
        ("7.", "numbers", 7), (np.int8(7), "numbers", 7), (True, "numbers", 1),
        (np.True_, "numbers", 1), (np.float32(0.5), "numbers", 0.5),
        ("$10", "numbers in $", 10), ("-$1,200.50", "numbers in $", -1200.5),
        ("10 €", "numbers in €", 10), ("£ 3", "numbers in £", 3), ("3¥", "numbers in ¥", 3),
        ("CHF 1'200", "numbers in CHF", 1200), ("1’200.5", "numbers", 1200.5),
        ("1 200\u202f€", "numbers in €", 1200), ("$1.5M", "numbers in $", 1.5e6),
        ("US$ 1.2 billion", "numbers in US$", 1.2e9), ("£2m", "numbers in £", 2e6),
        ("7 Mio EUR", "numbers in EUR", 7e6), ("1.2k", "numbers", 1200), ("(300)", "numbers", -300),
        ("($1,200)", "numbers in $", -1200), ("$-5", "numbers in $", -5), ("−5", "numbers", -5),
        ("5 kg", "numbers in kg", 5), ("300g", "numbers in g", 300), ("3 km²", "numbers in km²", 3),
        ("98.6°F", "numbers in °F", 98.6), ("10%", "percentages", 0.1),
        ("-2.5 %", "percentages", -0.025),
        ("12:30", "times of day", 12.5), ("07:45", "times of day", 7.75),
        ("9:00:36 PM", "times of day", 21.01), ("12:15am", "times of day", 0.25),
        ("12:15 pm", "times of day", 12.25), (time(6, 30), "times of day", 6.5),
        ("1970-01-02", "dates", 1), ("1970/1/3", "dates", 2), ("1970-01-02 06:00", "dates", 1.25),
        ("1970-01-02T06:00:00Z", "dates", 1.25), ("1970-01-02T06:00+06:00", "dates", 1),
        ("3 Jan 1970", "dates", 2), ("3-Jan-1970", "dates", 2), ("January 3, 1970", "dates", 2),
        ("Jan 03, 1970", "dates", 2), ("3/1/1970 12:00", "dates", 2.5),
        ("3. January 1970", "dates", 2),
        (date(1970, 1, 4), "dates", 3), (datetime(1970, 1, 2, 12), "dates", 1.5),
        (pandas.Timestamp("1970-01-02", tz="UTC"), "dates", 1),
    ],
)  # fmt: skip
def test_what_a_cell_is(cell, kind, number):
    found, value = read_one(cell, dayfirst=True)
    assert found == kind
    assert value == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    "word",
    ["oak", "3rd", "12A", "7up", "4WD", "-", "$", "%", "1_0", "inf", "room 2024", "2024 model",
     "Maypole 5", "Decor", "may", "A 5:30", "Q1", "BMW 320", "kg", "(", "12 Angry Men"],
)  # fmt: skip
def test_what_is_a_name(word):
    assert read_one(word) == ("names", word)


@given(day=st.dates(date(1000, 1, 1)), first=st.booleans(), sign=st.sampled_from("./-"))
def test_dates_in_either_order_are_pythons(day, first, sign):
    numbers = (day.day, day.month) if first else (day.month, day.day)
    kind, value = read_one(sign.join(map(str, (*numbers, f"{day:%Y}".zfill(4)))), dayfirst=first)
    assert (kind, value) == ("dates", (day - date(1970, 1, 1)) / timedelta(days=1))


@given(number=st.floats(-1e15, 1e15).map(lambda x: round(x, 3)))
def test_grouped_numbers_are_pythons(number):
    assert read_one(f"{number:,}") == read_one(number) == ("numbers", number)


@given(moment=st.datetimes(timezones=st.sampled_from([UTC, None])))
def test_moments_are_pythons(moment):
    kind, value = read_one(str(moment))
    assert kind == "dates"
    since = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    assert value == since / timedelta(days=1)


@given(cell=st.one_of(st.text(), st.text("0123456789.,:/-$% JanpmPM", max_size=12)))
def test_any_word_is_read_or_named(cell):
    """A number is finite or refused, and a name is the word."""
    try:
        kind, value = read_one(cell)
    except ValueError as error:
        assert "a cell" in str(error)
        return
    assert value == cell.strip() if kind == "names" else np.isfinite(value)


def test_a_name_stays_one():
    for cell, name in (("02139", "02139"), (" 12:30 ", "12:30"), (7, "7"), (7.0, "7")):
        assert read_cell("a cell", cell, True, None) == ("names", name)


@pytest.mark.bad_input
def test_decimals_are_refused_by_their_type():
    with pytest.raises(TypeError, match="frame must hold numbers, words and dates, got a cell"):
        read_one(Decimal("1.5"))


def test_columns_become_numbers_and_names():
    frame = read()
    before = frame.copy()
    found = clean(frame, dayfirst=False)
    nan = np.nan
    expected = {
        "price": [1200, 950, 990], "sold": [19724, 19796, 19725], "wood": ["oak", nan, "ash"],
        "rooms": [3, nan, 2], "rate": [0.1, 0.055, nan], "zip": ["02139", "10001", "02139"],
    }  # fmt: skip
    pandas.testing.assert_frame_equal(
        found, pandas.DataFrame(expected), check_dtype=False, rtol=1e-15
    )
    numbers = found[["price", "sold", "rooms", "rate"]]
    assert (numbers.dtypes == np.float64).all()
    pandas.testing.assert_frame_equal(frame, before)


def test_the_index_stays():
    frame = pandas.DataFrame({"a": ["$1", "$2"]}, index=["x", "y"])
    assert clean(frame)["a"].to_dict() == {"x": 1.0, "y": 2.0}


def test_pandas_own_dates_and_numbers_are_taken():
    days = pandas.to_datetime(["1970-01-02 00:00", None, "1970-01-03 12:00"])
    frame = pandas.DataFrame(
        {"day": days, "zoned": days.tz_localize("Europe/Paris"), "whole": [1, 2, 3],
         "flag": [True, False, True], "gap": pandas.array([1, None, 3], "Int64")}
    )  # fmt: skip
    expected = {
        "day": [1, np.nan, 2.5], "zoned": [1 - 1 / 24, np.nan, 2.5 - 1 / 24], "whole": [1, 2, 3],
        "flag": [1, 0, 1], "gap": [1, np.nan, 3],
    }  # fmt: skip
    pandas.testing.assert_frame_equal(clean(frame), pandas.DataFrame(expected), check_dtype=False)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_dates_in_any_unit_are_days(unit, zone):
    words = ["2024-03-01 00:00", "2024-03-02 12:00"]
    days = pandas.DataFrame({"day": pandas.to_datetime(words).as_unit(unit).tz_localize(zone)})
    expected = [19783 - (zone is not None) / 24, 19784.5 - (zone is not None) / 24]
    for like in (None, clean(pandas.DataFrame({"day": ["2024-01-01"]}))):
        np.testing.assert_allclose(clean(days, like=like)["day"], expected, rtol=1e-14)


def test_new_rows_are_read_as_those_before():
    """A single row says too little by itself: its order of days, what is a name, its columns."""
    inputs = clean(read(), dayfirst=False).drop(columns="price")
    for part in (inputs, inputs.iloc[:0], train_test_split(inputs, test_size=1)[1]):
        for row in range(3):
            own = read().drop(columns="price").iloc[[row], ::-1]
            new = clean(own.astype({"zip": str}), like=part)
            pandas.testing.assert_frame_equal(new, inputs.iloc[[row]], check_dtype=False)
    gaps = clean(pandas.DataFrame({name: [None] for name in inputs}), like=inputs)
    assert gaps.isna().all(axis=None) and [*gaps] == [*inputs]


@given(numbers=st.lists(st.integers(0, 99999), min_size=1, max_size=7), gap=st.booleans())
def test_numbers_that_are_names_are_known_again_beside_gaps(numbers, gap):
    """With a gap pandas reads integers as floats."""
    frame = pandas.DataFrame({"zip": numbers}).astype({"zip": "category"})
    known = clean(frame)
    assert [*known["zip"]] == [*map(str, numbers)]
    new = clean(pandas.DataFrame({"zip": [*numbers, *[None] * gap]}), like=known)
    assert [*new["zip"][: len(numbers)]] == [*map(str, numbers)]


@pytest.mark.parametrize("column", [["$5", 7], [7, "$5"], ["7", "$5", None]])
def test_a_unit_may_be_left_out(column):
    known = clean(pandas.DataFrame({"price": column}))
    for cell in ("$3", "3", 3):
        assert clean(pandas.DataFrame({"price": [cell]}), like=known)["price"][0] == 3


FRAME = pandas.DataFrame(
    {"wood": ["oak", None, "ash", "oak", "fir"], "age": [3.0, 1.0, None, 8.0, 5.0],
     "same": [7.0] * 5, "kind": ["a", "b", "a", "b", "b"]}
)  # fmt: skip


def test_it_is_pandas_by_hand():
    found = encoder(FRAME).fit(FRAME)
    age = FRAME["age"].fillna(4.0)  # the median of 1, 3, 5, 8
    words = pandas.get_dummies(FRAME[["wood", "kind"]].fillna({"wood": "oak"}), dtype=float)
    expected = np.column_stack([(age - age.mean()) / age.std(ddof=0), np.zeros(5), words])
    np.testing.assert_allclose(found.transform(FRAME), expected, rtol=1e-14, atol=1e-15)
    assert [*found.get_feature_names_out()] == ["age", "same", *words]


def test_new_rows_change_nothing_of_it():
    frame = clean(FRAME)
    found = encoder(frame).fit(frame)
    new = clean(pandas.DataFrame({n: [None] for n in FRAME}), like=frame)
    row = found.transform(new)
    np.testing.assert_array_equal(row, found.transform(new))
    assert row[0, :2] == pytest.approx([found.transform(frame)[2, 0], 0])
    assert [*row[0, 2:]] == [0, 0, 1, 0, 1]  # oak, b


def test_a_word_that_was_not_there_is_an_error_or_zeros():
    new = FRAME.assign(wood="elm").iloc[:1]
    with pytest.raises(ValueError, match=r"unknown categories .*'elm'"):
        encoder(FRAME).fit(FRAME).transform(new)
    zeros = encoder(FRAME, unknown="ignore").fit(FRAME).transform(new)
    assert [*zeros[0, 2:]] == [0, 0, 0, 1, 0]


def test_of_more_than_fifty_words_the_rare_ones_are_one():
    """Of 60 words 47 have five rows or more; the others, and new words, are one column."""
    words = np.repeat([f"w{i}" for i in range(60)], [*range(5, 52), *[4] * 13])
    frame = pandas.DataFrame({"word": words})
    found = encoder(frame, unknown="ignore").fit(frame)
    assert found.transform(frame).shape == (len(words), 48)
    rows = found.transform(pandas.DataFrame({"word": ["w59", "new", "w46"]}))
    assert rows[:, -1].tolist() == [1, 1, 0] and rows.sum(axis=1).tolist() == [1, 1, 1]
    twice = pandas.concat([frame, frame])  # now all have, and 49 are kept
    assert encoder(twice).fit_transform(twice).shape == (2 * len(words), 50)
    few = pandas.DataFrame({"word": [f"w{i}" for i in range(50)]})
    assert encoder(few).fit_transform(few).shape == (50, 50)


def test_a_column_that_is_empty_where_it_is_fitted_tells_nothing():
    frame = pandas.DataFrame({"age": [np.nan] * 3, "word": [np.nan] * 3}).astype({"word": object})
    found = encoder(frame, unknown="ignore").fit(frame)
    row = found.transform(pandas.DataFrame({"age": [7.0], "word": ["oak"]}))
    assert row.tolist() == [[7.0, 0.0]]

"""One cell of a table: what it is, and its number."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.data.cleaning import read_cell


def read(cell, dayfirst=None):
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
    found, value = read(cell, dayfirst=True)
    assert found == kind
    assert value == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    "word",
    ["oak", "3rd", "12A", "7up", "4WD", "-", "$", "%", "1_0", "inf", "room 2024", "2024 model",
     "Maypole 5", "Decor", "may", "A 5:30", "Q1", "BMW 320", "kg", "(", "12 Angry Men"],
)  # fmt: skip
def test_what_is_a_name(word):
    assert read(word) == ("names", word)


@given(day=st.dates(date(1000, 1, 1)), first=st.booleans(), sign=st.sampled_from("./-"))
def test_dates_in_either_order_are_pythons(day, first, sign):
    numbers = (day.day, day.month) if first else (day.month, day.day)
    kind, value = read(sign.join(map(str, (*numbers, f"{day:%Y}".zfill(4)))), dayfirst=first)
    assert (kind, value) == ("dates", (day - date(1970, 1, 1)) / timedelta(days=1))


@given(number=st.floats(-1e15, 1e15).map(lambda x: round(x, 3)))
def test_grouped_numbers_are_pythons(number):
    assert read(f"{number:,}") == read(number) == ("numbers", number)


@given(moment=st.datetimes(timezones=st.sampled_from([UTC, None])))
def test_moments_are_pythons(moment):
    kind, value = read(str(moment))
    assert kind == "dates"
    since = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    assert value == since / timedelta(days=1)


@given(cell=st.one_of(st.text(), st.text("0123456789.,:/-$% JanpmPM", max_size=12)))
def test_any_word_is_read_or_named(cell):
    """A number is finite or refused, and a name is the word."""
    try:
        kind, value = read(cell)
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
        read(Decimal("1.5"))

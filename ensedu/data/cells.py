"""One cell of a table as people write it, ``$1,200``, ``10%``, ``3 Jan 2024``: what is it?"""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from numbers import Real
from typing import Any

import numpy as np

from ensedu.common.arrays import MOST

#: What ``pandas.read_csv`` takes for a gap, and the "?" of the UCI sets.
GAPS = {*"|?|#N/A|#NA|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null".split("|")}
NUMBER = re.compile(
    r"([+-]?)([$€£¥]?) ?(\d{1,3}(?:,\d{3})+|\d*)(\.?\d*(?:[eE][+-]?\d+)?) ?([$€£¥%]?)"
)
TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?: ?([AP])M)?", re.IGNORECASE)
DAY_AND_MONTH = re.compile(r"(\d\d?)([./-])(\d\d?)\2(\d{4})")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Of dates those that can be read in one way, "" for ISO's.
STYLES = ("", "%Y/%m/%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y")
#: No names: digits and signs, a number and its unit, an ISO date and more, a month and digits.
NO_NAME = re.compile(
    r"(?=.*\d)([\d\s.,:;/%$€£¥+()-]+|[\d.,]+ ?(k?g|[ckm]?m|k|[ap]m)|\d{4}-\d\d-\d\d.*|[\d .,'-]*"
    r"(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|(sept?|nov|dec)(ember)?|"
    r"oct(ober)?)[\d .,:'-]*)",
    re.IGNORECASE,
)


def read_cell(place: str, cell: Any, names: bool, dayfirst: bool | None) -> tuple[str, Any]:
    """Return what a cell is, such as "numbers in $", and its number or name.

    Where all are `names`, so is this one. Messages call the cell `place`.
    """
    if not isinstance(cell, (str, date, time, Real, np.bool_)):
        raise TypeError(f"frame must hold numbers, words and dates, got {place}")
    word = str(cell).strip()
    if names:
        return "names", word.removesuffix(".0")  # a gap makes floats of integers
    if not isinstance(cell, (str, date, time)):
        if not abs(float(cell)) < MOST:
            raise ValueError(f"frame must hold finite numbers below {MOST:g}, got {place}")
        return "numbers", float(cell)
    if found := NUMBER.fullmatch(word):
        sign, before, whole, rest, after = found.groups()
        with suppress(ValueError):  # a sign alone
            number = float(sign + whole.replace(",", "") + rest)
            if after == "%":
                return "percentages", number / 100
            return f"numbers in {before or after}".removesuffix(" in "), number
    if found := TIME.fullmatch(word):
        hour, minute, second, half = found.groups()
        hour = int(hour) % 12 + 12 * (half in "pP") if half else int(hour)
        return "times of day", hour + int(minute) / 60 + int(second or 0) / 3600
    if found := DAY_AND_MONTH.fullmatch(word):
        if dayfirst is None:
            raise ValueError(f"dayfirst must be True or False for 01/02/2024, got None for {place}")
        day, month, year = found.group(1, 3, 4) if dayfirst else found.group(3, 1, 4)
        word = f"{year}-{month:0>2}-{day:0>2}"
    for style in STYLES if word[:4].isdigit() or word[-4:].isdigit() else ():
        with suppress(ValueError):
            moment = datetime.strptime(word, style) if style else datetime.fromisoformat(word)
            since = moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH
            return "dates", since / timedelta(days=1)
    if found:
        raise ValueError(f"dayfirst must fit all dates, got {dayfirst} for {place}")
    if NO_NAME.fullmatch(word):
        raise ValueError(
            f"frame must hold numbers such as 1,234.5, dates such as 2024-03-01, or names, got "
            f"{place}; a name of this form needs the dtype category"
        )
    return "names", word

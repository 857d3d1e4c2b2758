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
CURRENCY = (
    "[A-Z]{0,2}[$€£¥\u20a0-\u20bf]|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|"
    r"NOK|NZD|PLN|RUB|SEK|SGD|THB|TRY|USD|ZAR|Fr\.|Rs\.?|kr\.?|zł"
)
#: Without "m", which may be meters or millions.
UNIT = (
    "%|[kmµ]?g|t|lbs?|oz|[kcmµ]m|in|ft|mi|[cm]?l|[kmc]?m[²2]|sq ?ft|sqm|ha|acres?|ms|s|sec|min|"
    "h|hrs?|hours?|days?|weeks?|months?|years?|yrs?|km/h|mph|mpg|m/s|hp|bhp|cc|CC|[kM]?Wh?|[kMG]?Hz|"
    "[kMGT]B|k?cal|k?J|[km]?V|°[CF]?|bpm|mmHg"
)
SCALES = {"": 1.0, **dict.fromkeys("kK", 1e3), "thousand": 1e3}
SCALES |= dict.fromkeys(("M", "m", "mn", "mln", "Mio", "million"), 1e6)
SCALES |= dict.fromkeys(("B", "bn", "billion"), 1e9)
#: A sign, a currency, digits with one kind of mark a thousand, a scale, and a unit.
NUMBER = re.compile(
    rf"(\()?([+−-]?)({CURRENCY})? ?([+−-]?)"
    r"((?:\d{1,3}(?:([,'’ ])\d{3}(?:\6\d{3})*)|\d*)(?:\.\d*)?(?:[eE][+-]?\d+)?)"
    rf"(?: ?({'|'.join(filter(None, SCALES))})(?= |\)|{CURRENCY}|$))? ?({CURRENCY}|{UNIT})?(\))?"
)
TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?: ?([AP])M)?", re.IGNORECASE)
DAY_AND_MONTH = re.compile(r"(\d\d?)([./-])(\d\d?)\2(\d{4})(?:,? ([\d:]+(?: ?[APap][Mm])?))?")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Of dates those that can be read in one way, "" for ISO's.
STYLES = ("", "%Y/%m/%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y")
#: No names: digits and signs, a number and a short word, an ISO date and more, a month and digits.
NO_NAME = re.compile(
    r"(?=.*\d)([\d\s.,:;/%$€£¥+()<>=≤≥~±'’−-]+|[\d.,'’]+ [^\W\d]{1,4}\.?|\d*[.,]\d+ ?[^\W\d]{1,9}|"
    r"[\d.,]+([ap]?m|k)|.{0,2}[$€£¥\u20a0-\u20bf] ?\d.*|\d{4}-\d\d-\d\d.*|[\d .,'-]*"
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
    kind, number = ("numbers", float(cell)) if isinstance(cell, (Real, np.bool_)) else _number(word)
    if kind:
        if not abs(number) < MOST:
            raise ValueError(f"frame must hold finite numbers below {MOST:g}, got {place}")
        return kind, number
    if found := TIME.fullmatch(word):
        return "times of day", _hours(found)
    hours = 0.0
    if found := DAY_AND_MONTH.fullmatch(word):
        if dayfirst is None:
            raise ValueError(f"dayfirst must be True or False for 01/02/2024, got None for {place}")
        day, month, year = found.group(1, 3, 4) if dayfirst else found.group(3, 1, 4)
        moment = TIME.fullmatch(found.group(5) or "0:00")
        word = f"{year}-{month:0>2}-{day:0>2}" if moment else word
        hours = _hours(moment) if moment else 0.0
    for style in STYLES if word[:4].isdigit() or word[-4:].isdigit() else ():
        with suppress(ValueError):
            moment = datetime.strptime(word, style) if style else datetime.fromisoformat(word)
            since = moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH
            return "dates", since / timedelta(days=1) + hours / 24
    if found:
        raise ValueError(f"dayfirst must fit all dates, got {dayfirst} for {place}")
    if NO_NAME.fullmatch(word):
        raise ValueError(
            "frame must hold numbers such as 1,234.5 or $1.2M, dates such as 2024-03-01, or names, "
            f"got {place}; a name of this form needs the dtype category, a number no other words"
        )
    return "names", word


def _number(word: str) -> tuple[str, float]:
    """Return what a word is if it is a number, such as "numbers in $", and which one."""
    if found := NUMBER.fullmatch(word.replace("\u00a0", " ").replace("\u202f", " ")):
        opened, sign, before, inner, digits, mark, scale, after, closed = found.groups("")
        signs = (sign + inner).replace("−", "-") + "-" * bool(opened)
        in_money = before or re.fullmatch(CURRENCY, after)
        if bool(opened) == bool(closed) and not (before and after) and (scale != "m" or in_money):
            with suppress(ValueError):  # a sign alone, or two of them
                number = float(signs + digits.replace(mark or ",", "")) * SCALES[scale]
                kind = f"numbers in {before or after}".removesuffix(" in ")
                return ("percentages", number / 100) if after == "%" else (kind, number)
    return "", 0.0


def _hours(found: re.Match[str]) -> float:
    """Return the hours of a time of day."""
    hour, minute, second, half = found.groups()
    hour = int(hour) % 12 + 12 * (half in "pP") if half else int(hour)
    return hour + int(minute) / 60 + int(second or 0) / 3600

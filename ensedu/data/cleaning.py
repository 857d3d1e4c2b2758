"""A table of pandas whose cells people wrote, ``$1,200``, ``10%``: made numbers, then inputs."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from numbers import Real
from typing import Any

import numpy as np

from ensedu.common import checks
from ensedu.common.array_checks import LARGEST
from ensedu.common.checks import optional

#: What ``pandas.read_csv`` takes for a gap, and the "?" of the UCI sets.
MISSING = {*"|?|#N/A|#NA|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null".split("|")}
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
DATE_FORMATS = (
    "", "%Y/%m/%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y",
)  # fmt: skip
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
        if not abs(number) < LARGEST:
            raise ValueError(f"frame must hold finite numbers below {LARGEST:g}, got {place}")
        return kind, number
    if found := TIME.fullmatch(word):
        return "times of day", _hours(found)
    hours = 0.0
    if found := DAY_AND_MONTH.fullmatch(word):
        if dayfirst is None:
            first, second = map(int, found.group(1, 3))
            reads = f"; {first > 12} reads it" * (max(first, second) > 12)
            raise ValueError(
                f"dayfirst must be True or False for 01/02/2024, got None for {place}{reads}"
            )
        day, month, year = found.group(1, 3, 4) if dayfirst else found.group(3, 1, 4)
        clock = TIME.fullmatch(found.group(5) or "0:00")
        word = f"{year}-{month:0>2}-{day:0>2}" if clock else word
        hours = _hours(clock) if clock else 0.0
    for style in DATE_FORMATS if word[:4].isdigit() or word[-4:].isdigit() else ():
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


def clean(frame: Any, *, dayfirst: bool | None = None, like: Any = None) -> Any:
    """Return a pandas ``DataFrame`` of numbers, in float64, and of words, with NaN for gaps.

    ``1,200.5``, ``CHF 1'200``, ``$1.2M``, ``(300)`` and ``5 kg`` become numbers, with one currency
    or unit in a column, ``10%`` 0.1, dates (2024-03-01, 3 Jan 2024, pandas' own in any unit) days
    since 1970, times of day hours. ``NA``, ``None``, ``?`` and the like are gaps. Other digits with
    a sign or a short word are refused. Numbers that are names stay so in the dtype ``category``:
    ``frame.astype({"zip": "category"})``.

    Parameters
    ----------
    frame
        What ``pandas.read_csv`` returns, or any other frame; it is not changed.
    dayfirst
        How to read 01/02/2024: True for 1 February, False for January 2.
    like
        For new rows: what `clean` returned for others, or none of its rows, with the columns that
        must be there, and no others. Each is read as it was then, dates too.

    An error names column and row: of a column that `like` has not, or has alone, or that holds
    nothing, or several kinds or units, and of a cell that is no name and cannot be read.

    Examples
    --------
    >>> import pandas
    >>> homes = pandas.DataFrame({"price": ["$1,200", "$950"], "sold": ["3 Jan 1970", None]})
    >>> clean(homes).to_numpy().tolist()
    [[1200.0, 2.0], [950.0, nan]]
    """
    pandas = optional("pandas", "data")
    for name, one in (("frame", frame), ("like", frame if like is None else like)):
        if not isinstance(one, pandas.DataFrame) or not all(isinstance(n, str) for n in one):
            raise TypeError(
                f"{name} must be a DataFrame of named columns, got {checks.describe(one)}"
            )
        if not one.columns.is_unique or not (one.size if one is frame else len(one.columns)):
            raise ValueError(f"{name} must have rows, and different columns, got {[*one]}")
    kinds, then = ({}, None) if like is None else like.attrs.get("clean", ({}, None))
    if like is not None:
        if unknown := [name for name in like if name not in kinds]:
            raise ValueError(
                "like must be what clean returned, or some rows or columns of it, got a frame with "
                f"{unknown}, which clean did not give"
            )
        lacks, more = ([n for n in a if n not in b] for a, b in ((like, frame), (frame, like)))
        if lacks or more:
            raise ValueError(
                f"frame must have the columns of like and no others, got one without {lacks} and "
                f"with {more}"
            )
        if dayfirst not in (None, then):
            raise ValueError(
                f"dayfirst must be left out with like, which was read with {then}, got {dayfirst}"
            )
        frame = frame[[*like]]
    dayfirst = then if dayfirst is None else checks.boolean("dayfirst", dayfirst)
    read = {name: _read_column(frame[name], kinds.get(name, ""), dayfirst) for name in frame}
    found = pandas.DataFrame({n: values for n, (_, values) in read.items()}, index=frame.index)
    found.attrs["clean"] = {name: kind for name, (kind, _) in read.items()}, dayfirst
    return found


def _read_column(column: Any, kind: str, dayfirst: bool | None) -> tuple[str, Any]:
    """Return what the cells of a column are, the `kind` if that is known, and their values."""
    kind, form = kind or ("names" if column.dtype.name == "category" else ""), column.dtype.kind
    all_names, gaps = kind == "names", column.isna().to_numpy()
    if not gaps.all() and form in "biuf" and kind[:7] in ("", "numbers"):
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        if (np.abs(numbers[~gaps]) < LARGEST).all():
            return kind or "numbers", numbers
    if not gaps.all() and form == "M" and kind in ("", "dates"):  # in any unit
        epoch = EPOCH if column.dt.tz else EPOCH.replace(tzinfo=None)
        return "dates", ((column - epoch) / timedelta(days=1)).to_numpy(np.float64)
    values: list[Any] = [np.nan] * len(column)
    for row, (cell, gap) in enumerate(zip(column, gaps, strict=True)):
        if gap or str(cell).strip() in MISSING:
            continue
        place = f"{cell!r} in row {row + 1:,} of {len(column):,} of column {column.name!r}"
        own, values[row] = read_cell(place, cell, all_names, dayfirst)
        if not (own.startswith(kind) or kind.startswith(own)):  # numbers fit numbers in $
            raise ValueError(
                f"frame must hold {kind} alone there, got {own}, {place}; numbers and dates that "
                f"are names need frame.astype({{{column.name!r}: 'category'}})"
            )
        kind = max(kind, own, key=len)
    if not kind:
        raise ValueError(
            f"frame must hold a value in each column, got gaps in {column.name!r}; leave it out: "
            f"frame.drop(columns={column.name!r})"
        )
    return kind, np.array(values, object if kind == "names" else np.float64)


#: A column of more different words keeps the most frequent ones, and the others are one.
MOST_CATEGORIES = 50
#: Of such a column a word of fewer rows is among the others.
FEWEST_ROWS = 5


def encoder(frame: Any, *, unknown: str = "error") -> Any:
    """Return a scikit-learn ``ColumnTransformer`` for the columns of a frame, not yet fitted.

    Numbers are standardized, with the median for gaps; words become one-hot columns, with the most
    frequent word for gaps. Of more than 50 different words in a column, as of brands, 49 at most
    have a column each, and those of fewer than 5 rows and the rest have one together. What it
    transforms to is an array in float64, (N, m). `clean` makes such columns, and names those of new
    rows that are missing or too many.

    Parameters
    ----------
    frame
        The columns to encode: a ``DataFrame``, without what is to be predicted.
    unknown
        What a word does that no row to fit on has: ``"error"``, or ``"ignore"``, by which it
        is one of the rest, and where there are none zeros, an input that no network was trained on.

    Examples
    --------
    >>> import pandas
    >>> trees = pandas.DataFrame({"age": [3.0, None, 5.0], "wood": ["oak", "ash", None]})
    >>> encoder(trees).fit_transform(trees).round(2).tolist()
    [[-1.22, 0.0, 1.0], [0.0, 1.0, 0.0], [1.22, 1.0, 0.0]]
    """
    pandas = optional("pandas", "data")
    checks.one_of("unknown", unknown, ("error", "ignore"))
    if not isinstance(frame, pandas.DataFrame):
        raise TypeError(f"frame must be a pandas.DataFrame, got {checks.describe(frame)}")
    if not frame.size:
        raise ValueError(f"frame must have rows and columns, got shape {frame.shape}")
    numbers = [name for name in frame if pandas.api.types.is_numeric_dtype(frame[name])]
    words = [name for name in frame if name not in numbers]
    many = [name for name in words if frame[name].nunique() > MOST_CATEGORIES]
    make_pipeline = optional("sklearn.pipeline", "data").make_pipeline
    SimpleImputer = optional("sklearn.impute", "data").SimpleImputer
    prepared = optional("sklearn.preprocessing", "data")

    def of_words(**rare: Any) -> Any:
        how = "error" if unknown == "error" else "infrequent_if_exist"
        one_hot = prepared.OneHotEncoder(handle_unknown=how, sparse_output=False, **rare)
        return make_pipeline(
            SimpleImputer(strategy="most_frequent", keep_empty_features=True), one_hot
        )

    of_numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), prepared.StandardScaler()
    )
    rare = {"max_categories": MOST_CATEGORIES, "min_frequency": FEWEST_ROWS}
    return optional("sklearn.compose", "data").ColumnTransformer(
        [
            ("numbers", of_numbers, numbers),
            ("words", of_words(), [name for name in words if name not in many]),
            ("many words", of_words(**rare), many),
        ],
        verbose_feature_names_out=False,
    )

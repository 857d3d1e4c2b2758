"""Columns of numbers and words, made into arrays: inputs one-hot, a target of words labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.arrays import MOST

__all__ = [
    "DECIMALS",
    "MISSING",
    "MOST_CATEGORIES",
    "Choice",
    "inputs_of_other_rows",
    "is_number",
    "table_fields",
    "with_decimal_point",
]

#: A column with more different words than this holds names or identifiers, and not categories.
MOST_CATEGORIES = 50
#: What may stand before the decimals of a number.
DECIMALS = (".", ",")
#: What stands for a value that is not there.
MISSING = ("", "?", "NA", "N/A", "<NA>", "NaN", "nan", "null", "NULL")

#: What to do with a column of dates.
DATES = "make numbers of dates, or leave the column out with drop"

#: A column by its name or its 0-based index, or several of them.
Choice = str | int | Sequence[str | int]


@dataclass(frozen=True)
class Words:
    """A column of words: row i holds ``values[codes[i]]``; the values are sorted."""

    codes: Int[Array, "N"]
    values: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)


Column = Float[Array, "N"] | Words


def table_fields(
    columns: Any, target: Choice | None, drop: Choice, categories: Choice, decimal: str
) -> dict[str, Any]:
    """Return the fields of a `Table`; its ``from_columns`` says of what."""
    columns = _columns_by_name(columns)
    checks.one_of("decimal", decimal, DECIMALS)
    names = list(columns)
    dropped = _chosen_columns("drop", drop, names)
    named = _chosen_columns("categories", categories, names)
    kept = [name for name in names if name not in dropped]
    predicted = kept[-1:] if target is None else _chosen_columns("target", target, names)
    inputs = [name for name in kept if name not in predicted]
    if not predicted or not inputs or set(predicted) & set(dropped):
        raise ValueError(
            "columns must hold an input and a target that are not dropped, got columns "
            f"{checks.shown(names)}, drop {dropped} and target {predicted}"
        )
    if "" in kept:
        i = names.index("")
        raise ValueError(
            f"columns[''], column {i}, has no name, like row numbers that were saved along: "
            f"name it, or drop={i}"
        )
    read = _all_numbers_or_words({name: columns[name] for name in kept}, named, decimal)
    x, x_names, values = _one_hot_inputs({name: read[name] for name in inputs})
    y, classes = _numbers_or_labels({name: read[name] for name in predicted})
    return {
        "x": x, "y": y, "names": x_names, "targets": tuple(predicted), "categories": values,
        "classes": classes, "dropped": tuple(dropped),
    }  # fmt: skip


def inputs_of_other_rows(
    columns: Any,
    names: Sequence[str],
    categories: Mapping[str, tuple[str, ...]],
    others: Sequence[str],
    decimal: str,
) -> Float[Array, "B m"]:
    """Return the inputs of a table with these names and categories for other rows.

    `others` are the columns that may be there or not, and are not read.
    """
    columns = _columns_by_name(columns)
    checks.one_of("decimal", decimal, DECIMALS)
    whole = {f"{name}={value}": name for name, values in categories.items() for value in values}
    inputs = list(dict.fromkeys(whole.get(name, name) for name in names))
    missing = [name for name in inputs if name not in columns]
    if missing or {*columns} - {*inputs, *others}:
        unknown = [name for name in columns if name not in (*inputs, *others)]
        raise ValueError(
            f"columns must be {checks.shown(inputs)}, as in the table"
            + (f", with or without {checks.shown(list(others))}" if others else "")
            + (f", got none of {checks.shown(missing)}" if missing else "")
            + (f", got {checks.shown(unknown)}, which it does not know" if unknown else "")
        )
    read = _all_numbers_or_words({name: columns[name] for name in inputs}, [*categories], decimal)
    parts: dict[str, Array] = {}
    for name, column in read.items():
        if isinstance(column, Words) and name in categories:
            codes = _codes_of_table(name, column, categories[name], decimal)
            rows = np.eye(len(categories[name]))[codes].T
            parts |= {
                f"{name}={value}": row for value, row in zip(categories[name], rows, strict=True)
            }
        elif isinstance(column, Words):
            raise ValueError(
                f"columns[{name!r}] must hold numbers, as in the table, got "
                f"{checks.shown(column.values[column.codes[0]])} in row 1 of {len(column):,}"
            )
        else:
            parts[name] = column
    return np.column_stack([parts[name] for name in names])


def _codes_of_table(
    name: str, column: Words, known: tuple[str, ...], decimal: str
) -> Int[Array, "B"]:
    """Return the places of a column's values among those of the table."""
    places = {value: i for i, value in enumerate(known)}
    # where the table read numbers as names, 7 and 7.0 are one
    numbers = {float(value): i for value, i in places.items() if is_number(value)}
    found = []
    for value in column.values:
        word = with_decimal_point(value, decimal)
        number = float(word) if is_number(word) else np.nan
        found.append(places.get(value, numbers.get(number, -1)))
    codes = np.array(found)[column.codes]
    if (codes < 0).any():
        row = (codes < 0).argmax()
        raise ValueError(
            f"columns[{name!r}] must hold {', '.join(map(checks.shown, known))}, the values of the "
            f"table, got {checks.shown(column.values[column.codes[row]])} in row {row + 1:,} of "
            f"{len(column):,}"
        )
    return codes


def _columns_by_name(columns: Any) -> dict[str, Any]:
    try:
        columns = {name: columns[name] for name in columns}
    except Exception:  # whatever is no mapping
        raise TypeError(f"columns must be a dict, got {checks.given(columns)}") from None
    for name in columns:
        checks.text("a name in columns", name)
    return columns


def _all_numbers_or_words(
    columns: dict[str, Any], as_words: list[str], decimal: str
) -> dict[str, Column]:
    """Return the columns as numbers or words, all of one length."""
    read = {
        name: _numbers_or_words(f"columns[{name!r}]", column, name in as_words, decimal)
        for name, column in columns.items()
    }
    lengths = {name: len(column) for name, column in read.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns must have one length, got {checks.shown(lengths)}")
    return read


def _one_hot_inputs(columns: dict[str, Column]) -> tuple[Array, tuple[str, ...], dict[str, Any]]:
    """Return the inputs (N, m), the names of the m columns, and the values of words."""
    parts, names, categories = [], [], {}
    for name, column in columns.items():
        if not isinstance(column, Words):
            parts.append(column)
            names.append(name)
            continue
        values = column.values
        if len(values) > MOST_CATEGORIES:
            raise ValueError(
                f"columns[{name!r}] must hold numbers, or {MOST_CATEGORIES} different words at "
                f"most, got {len(values):,}, {', '.join(map(checks.shown, values[:3]))}, …; leave "
                f"it out with drop=({name!r},)"
            )
        parts.append(np.eye(len(values))[column.codes])
        names += [f"{name}={value}" for value in values]
        categories[name] = values
    return np.column_stack(parts), tuple(names), categories


def _numbers_or_labels(columns: dict[str, Column]) -> tuple[Array, tuple[str, ...]]:
    """Return numbers to predict, (N, k), or labels and the names of their classes."""
    numbers = [column for column in columns.values() if not isinstance(column, Words)]
    if len(numbers) == len(columns):
        return np.column_stack(numbers), ()
    words = {name: column for name, column in columns.items() if isinstance(column, Words)}
    if len(columns) > 1:
        raise ValueError(
            "target must be columns of numbers, or one of words, got several, with words in "
            f"{checks.shown(list(words))}"
        )
    (only,) = words.values()
    return only.codes.astype(np.int64), only.values


def _chosen_columns(what: str, choice: Any, names: list[str]) -> list[str]:
    """Return the names of the columns that were chosen by name or index."""
    accepted = f"one or more of the columns {checks.shown(names)}, or their indices from 0"
    single = not isinstance(choice, (tuple, list))
    found = []
    for one in [choice] if single else choice:
        if isinstance(one, bool) or not isinstance(one, (str, int, np.integer)):
            raise TypeError(f"{what} must be {accepted}, got {checks.given(choice)}")
        if not isinstance(one, str) and 0 <= one < len(names):
            one = names[one]
        if one not in names or one in found:
            raise ValueError(f"{what} must be {accepted}, each once, got {checks.shown(choice)}")
        found.append(one)
    return found


def _numbers_or_words(name: str, column: Any, as_words: bool, decimal: str) -> Column:
    """Return a column as numbers, or as words if it holds any or is to."""
    try:
        if not isinstance(column, (tuple, list, np.ndarray)) and not hasattr(column, "to_numpy"):
            raise TypeError
        array = np.asarray(column)
    except (TypeError, ValueError):  # a list of lists of several lengths
        array = np.zeros((0, 0))
    if array.dtype.kind == "M":
        raise TypeError(f"{name} must hold numbers or words, got dtype {array.dtype}; {DATES}")
    if array.ndim != 1 or not array.size or array.dtype.kind not in "biufUTO":
        raise TypeError(
            f"{name} must be a list or an array, (N,), of numbers or words, N at least 1, "
            f"got {checks.given(column)}"
        )
    if array.dtype.kind in "UTO":
        array = _parsed_words(name, array, as_words, decimal)
    if array.dtype.kind != "O":
        numbers = array.astype(np.float64)
        if not (fine := np.abs(numbers) < MOST).all():
            _refuse_value(name, fine.argmin(), len(numbers), numbers[fine.argmin()])
    if as_words or array.dtype.kind == "O":
        values, codes = np.unique(array, return_inverse=True)
        if not as_words and all(map(_is_date, values)):
            raise ValueError(
                f"{name} must hold numbers or words, got dates, such as {checks.shown(values[0])}; "
                f"{DATES}; if each is to be a category, list it in categories"
            )
        return Words(codes, tuple(map(str, values.tolist())))
    return array.astype(np.float64)


def _parsed_words(name: str, array: Array, as_words: bool, decimal: str) -> Array:
    """Return numbers if each word is one, and else words, as objects; refuse a mixture."""
    values = array.tolist()
    words, numbers = [], []
    for row, value in enumerate(values):
        words.append("" if value is None else str(value).strip())
        numbers.append(with_decimal_point(words[-1], decimal if isinstance(value, str) else "."))
        if words[-1] in MISSING:
            _refuse_value(name, row, len(values))
        if not isinstance(value, (str, Real)):
            advice = f"; {DATES}" if isinstance(value, date) else ""
            raise TypeError(f"{name} must hold numbers or words, got {checks.given(value)}{advice}")
    if as_words or not any(is_number(word.replace(",", "")) for word in {*numbers}):
        return np.array(words, dtype=object)
    fine = {word for word in {*numbers} if is_number(word)}
    if wrong := [row for row, word in enumerate(numbers) if word not in fine]:
        other = DECIMALS[decimal == "."]
        if 2 * sum(is_number(numbers[row].replace(",", ".")) for row in wrong) > len(wrong):
            advice = f"if {other!r} stands before the decimals, say decimal={other!r}"
        elif wrong == [0]:
            advice = "if the first row holds names, say header=True; if units, take it out"
        else:
            advice = "if they are names, list it in categories"
        raise ValueError(
            f"{name} must hold numbers alone, such as 1234{decimal}5 or 1e-3, or words alone, got "
            f"{checks.shown(words[wrong[0]])} in row {wrong[0] + 1:,} of {len(words):,}; {advice}"
        )
    return np.array(numbers, dtype=np.float64)


def _is_date(word: str) -> bool:
    """Whether a word is a date, 2024-03-01 or 1.3.2024, the first also with a time of day."""
    for style in ("%d.%m.%Y", "%d.%m.%y", "%Y-%m-%d"):
        try:
            datetime.strptime(word, style)
        except ValueError:
            continue
        return True
    try:
        datetime.fromisoformat(word)
    except ValueError:
        return False
    return True


def _refuse_value(name: str, row: Any, rows: int, value: float = np.nan) -> NoReturn:
    got = f"holds {value}" if value == value else "has no value"
    raise ValueError(
        f"{name} {got} in row {row + 1:,} of {rows:,}, accepted are words and finite numbers below "
        f"{MOST:g}; put one there, take the row out, or leave the column out with drop"
    )


def with_decimal_point(word: str, decimal: str) -> str:
    """Return a number as Python writes it; what groups thousands is no part of one."""
    return word if decimal == "." else word.translate(str.maketrans(".,", ",."))


def is_number(word: str) -> bool:
    """Whether a cell holds a number, be it one that is not finite."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word  # Python's own way to group digits

"""Text files with a row a line, read as columns by name."""

import csv
import io
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.optional import optional
from ensedu.data.columns import DECIMALS, MISSING, is_number, with_decimal_point
from ensedu.data.row_checks import read_text

__all__ = ["read_columns"]

DELIMITERS = (";", "\t", ",", "|", " ")


def read_columns(
    name: str,
    path: Any,
    delimiter: str | None,
    header: bool | None,
    decimal: str,
    words: Collection[str] = (),
) -> dict[str, Array]:
    """Return the columns of a file by name, as `table` reads them; it says what may be given.

    `name` is what messages call `path`. The columns called as one of `words` are not made numbers.
    """
    pandas = optional("pandas", "data")
    checks.one_of("decimal", decimal, DECIMALS)
    text = read_text(name, path).lstrip("\r\n")
    line = text.partition("\n")[0]
    if delimiter is None:
        likely = [one for one in DELIMITERS[:3] if one in line and one != decimal]
        delimiter = likely[0] if likely else " "
    checks.one_of("delimiter", delimiter, DELIMITERS)
    try:
        first = _split_cells(line, delimiter)
    except csv.Error as error:  # a cell of 100,000 characters
        raise ValueError(f"{name} {checks.shown(path)} must be a table: {error}") from error
    if header is None:
        header = not any(is_number(with_decimal_point(cell, decimal)) for cell in first)
    names = first if checks.boolean("header", header) else _numbered_names(len(first))
    if repeated := [one for one, times in Counter(names).items() if times > 1]:
        raise ValueError(
            f"{name} {checks.shown(path)} names more than one column {repeated[0]!r}; accepted are "
            "different names"
        )
    try:
        frame = pandas.read_csv(
            io.StringIO(text),
            sep=r"\s+" if delimiter == " " else delimiter,
            header=None,
            skiprows=int(header),
            skipinitialspace=True,
            keep_default_na=False,
            na_values=list(MISSING),
            decimal=decimal,
            dtype={i: str for i, one in enumerate(names) if one in words},
            low_memory=False,  # a column is of one type, in a long file too
        )
    except ValueError as error:  # pandas: no rows at all, or rows longer than those before
        problem = str(error).rpartition("C error: ")[2].strip()
        raise ValueError(
            f"{name} {checks.shown(path)} must be a table with rows of one length: {problem}"
        ) from error
    if frame.shape[1] != len(names):
        raise ValueError(
            f"{name} {checks.shown(path)} must have a name for each column, got {len(names)} names "
            f"and {frame.shape[1]} columns"
        )
    if frame.iloc[:, -1].isna().any():  # pandas fills up what is short
        with suppress(csv.Error):  # a cell of 100,000 characters
            _check_lengths(name, path, text, delimiter, header, len(names))
    return {one: frame[i].to_numpy() for i, one in enumerate(names)}


def _check_lengths(
    name: str, path: Any, text: str, delimiter: str, header: bool, columns: int
) -> None:
    """Raise a ``ValueError`` for the first row that has fewer cells than there are columns."""
    if delimiter == " ":
        text = "\n".join(" ".join(line.split()) for line in text.splitlines())
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    filled = (cells for cells in rows if any(map(str.strip, cells[:1])) or len(cells) > 1)
    for number, cells in enumerate(filled, start=1 - header):
        if number and len(cells) < columns:
            raise ValueError(
                f"{name} {checks.shown(path)} must be a table with rows of one length: row "
                f"{number:,} has {len(cells)} of {columns} columns"
            )


def _split_cells(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        line = " ".join(line.split())
    (cells,) = csv.reader([line], delimiter=delimiter, skipinitialspace=True)
    return [cell.strip() for cell in cells]


def _numbered_names(number: int) -> list[str]:
    return [f"column {i + 1}" for i in range(number)]

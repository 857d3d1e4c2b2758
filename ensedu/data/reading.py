"""Anyone's table: a text file with a row a line."""

import csv
import io
from collections import Counter
from os import PathLike

from ensedu import checks
from ensedu.data.columns import MISSING, Choice, is_number
from ensedu.data.inputs import read_text
from ensedu.data.tables import Table
from ensedu.optional import optional

DELIMITERS = (";", "\t", ",", "|", " ")


def table(
    path: str | PathLike[str],
    target: Choice | None = None,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    drop: Choice = (),
    categories: Choice = (),
) -> Table:
    r"""Read a `Table` from a text file: comma-separated, or with blanks as UCI's ``data.txt``.

    What was understood is what the table shows: ``table("trees.csv", "price")`` may be a
    ``Table(3 rows, 3 inputs (wood one-hot), target price)``. Words become zeros and ones, or
    labels, as `Table.from_columns` says. The file is in UTF-8; blank lines are skipped. Needs
    pandas.

    Parameters
    ----------
    path
        The file.
    target
        The name or the 0-based index of the column to predict, or a list of them. The last
        column if it is not given.
    delimiter
        What separates the cells: ``","``, ``";"``, ``"|"``, ``"\t"``, or ``" "`` for any run of
        blanks and tabs. If it is not given, the first of ``;``, tab and ``,`` that is in the first
        line, and else blanks.
    header
        Whether the first line holds names. If it is not given, it does when none of its cells is a
        number. Without names the columns are called ``"column 1"``, ``"column 2"``, ….
    drop
        Names or 0-based indices of columns to leave out. Indices count all columns of the file.
    categories
        Names or indices of columns in which numbers are names: one-hot, or labels if it is the
        target.

    Raises
    ------
    ImportError
        If pandas is not installed.
    TypeError, ValueError
        For a file that cannot be read or is empty, rows of different lengths, a name given twice,
        and whatever `Table.from_columns` does not take: a value that is missing (an empty cell,
        ``?``, ``NA``, ``nan``, …; the message names row and column), infinity, numbers mixed with
        words, more than 50 different words in a column of inputs, an unknown column.
    """
    pandas = optional("pandas", "data")
    text = read_text("path", path).lstrip("\r\n")
    line = text.partition("\n")[0]
    if delimiter is None:
        delimiter = next((one for one in DELIMITERS[:3] if one in line), " ")
    checks.one_of("delimiter", delimiter, DELIMITERS)
    try:
        first = _cells(line, delimiter)
    except csv.Error as error:  # a cell of 100,000 characters
        raise ValueError(f"path {checks.shown(path)} must be a table: {error}") from error
    if header is None:
        header = not any(map(is_number, first))
    names = first if checks.boolean("header", header) else _numbered(len(first))
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        raise ValueError(
            f"path {checks.shown(path)} names more than one column {repeated[0]!r}; accepted are "
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
            low_memory=False,  # a column is of one type, in a long file too
        )
    except ValueError as error:  # pandas: no rows at all, or rows longer than those before
        problem = str(error).rpartition("C error: ")[2].strip()
        raise ValueError(
            f"path {checks.shown(path)} must be a table with rows of one length: {problem}"
        ) from error
    if frame.shape[1] != len(names):
        raise ValueError(
            f"path {checks.shown(path)} must have a name for each column, got {len(names)} names "
            f"and {frame.shape[1]} columns"
        )
    columns = {name: frame[i].to_numpy() for i, name in enumerate(names)}
    return Table.from_columns(columns, target, drop=drop, categories=categories)


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        line = " ".join(line.split())
    (cells,) = csv.reader([line], delimiter=delimiter, skipinitialspace=True)
    return [cell.strip() for cell in cells]


def _numbered(number: int) -> list[str]:
    return [f"column {i + 1}" for i in range(number)]

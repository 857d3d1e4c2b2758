"""Anyone's table: a text file with a row a line."""

from os import PathLike

from ensedu.data.columns import Choice
from ensedu.data.files import read_columns
from ensedu.data.tables import Table


def table(
    path: str | PathLike[str],
    target: Choice | None = None,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    drop: Choice = (),
    categories: Choice = (),
    decimal: str = ".",
) -> Table:
    r"""Read a `Table` from a text file: comma-separated, or with blanks as UCI's ``data.txt``.

    What was understood is what the table shows: ``table("trees.csv", "price")`` may be a
    ``Table(3 rows, 3 inputs (wood one-hot), target price)``. Words become zeros and ones, or
    labels, as `Table.from_columns` says. The file is in UTF-8; blank lines are skipped. Needs
    pandas.

    From a file to predictions for the rows of another, in which the price may be missing::

        trees = table("trees.csv", "price")
        split = trees.split(seed=0)  # train a net on split.x_train and split.y_train
        x = split.standardized(trees.encode("new.csv"))  # what the net takes, (B, m)

    What it predicts is in standardized units: `Split.original` puts it back.

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
        line and is not `decimal`, and else blanks.
    header
        Whether the first line holds names. If it is not given, it does when none of its cells is a
        number: for names such as ``year,2023,2024`` say True. Without names the columns are called
        ``"column 1"``, ``"column 2"``, ….
    drop
        Names or 0-based indices of columns to leave out. Indices count all columns of the file.
    categories
        Names or indices of columns in which numbers or dates are names: one-hot, or labels if it is
        the target.
    decimal
        What stands before the decimals: ``"."``, or ``","`` for 156,4. Thousands are not grouped.

    Raises
    ------
    ImportError
        If pandas is not installed.
    TypeError, ValueError
        For a file that cannot be read or is empty, rows of different lengths, a name given twice,
        and whatever `Table.from_columns` does not take: a value that is missing (an empty cell,
        ``?``, ``NA``, ``nan``, …; the message names row and column), infinity, numbers mixed with
        words, dates, more than 50 different words in a column of inputs, an unknown column.
    """
    columns = read_columns("path", path, delimiter, header, decimal)
    return Table.from_columns(columns, target, drop=drop, categories=categories, decimal=decimal)

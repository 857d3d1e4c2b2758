"""Tables of numbers: inputs with names, and what is to be predicted."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.data.columns import Choice, inputs_of_other_rows, table_fields
from ensedu.data.files import read_columns
from ensedu.data.row_checks import check_features, check_indices, check_targets, read_text
from ensedu.data.splits import Split, Targets, shuffled


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of m inputs, with k numbers to predict or one label; ``len(table)`` is N.

    Attributes
    ----------
    x
        Inputs, raw, (N, m).
    y
        Numbers to predict, raw, (N, k), or labels (N,), integers from 0.
    names
        What the m columns of x are called; a column of words has become several, ``"cut=Ideal"``.
    targets
        What the k columns of y, or the label, are called.
    categories
        For each column of words its values, in the order of their columns of x (one-hot: 1 in the
        column of the row's value, 0 in the others).
    classes
        For labels, what each is called: label i is ``classes[i]``. Empty otherwise.
    dropped
        What the columns are called that were left out.

    Raises
    ------
    TypeError, ValueError
        If these do not belong together, and for numbers that are not finite.

    Examples
    --------
    >>> wood = ["oak", "ash", "oak", "fir"]
    >>> Table.from_columns({"age": [3, 1, 5, 2], "wood": wood, "price": [30, 20, 40, 10]})
    Table(4 rows, 4 inputs (wood one-hot), target price)
    >>> Table.from_columns({"age": [3, 1, 5, 2], "wood": wood})
    Table(4 rows, 1 input, target wood, 3 classes: ash, fir, oak)
    """

    x: Float[Array, "N m"]
    y: Targets
    names: tuple[str, ...]
    targets: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_features("x", self.x)
        check_targets("y", self.y, len(self.x))
        labels = self.y.ndim == 1
        _check_words("names", self.names, self.x.shape[1])
        _check_words("targets", self.targets, 1 if labels else self.y.shape[1])
        _check_words("classes", self.classes, None if labels else 0)
        _check_words("dropped", self.dropped, None)
        if labels and (self.y.min() < 0 or self.y.max() >= len(self.classes)):
            raise ValueError(
                f"classes must name each label of y, from {self.y.min()} to {self.y.max()}, "
                f"got {len(self.classes)}"
            )
        if not isinstance(self.categories, Mapping):
            raise TypeError(f"categories must be a dict, got {checks.given(self.categories)}")
        for name, values in self.categories.items():
            _check_words(f"categories[{checks.shown(name)}]", values, None)
            if absent := {f"{name}={value}" for value in values} - {*self.names}:
                raise ValueError(f"categories must be those of names, got {sorted(absent)[0]!r}")

    @classmethod
    def from_columns(
        cls,
        columns: Any,
        target: Choice | None = None,
        *,
        drop: Choice = (),
        categories: Choice = (),
        decimal: str = ".",
    ) -> "Table":
        """Make a table of columns by name: lists or arrays of numbers or of words.

        A column of words becomes one column of zeros and ones for each of its values, in sorted
        order; as the target it becomes labels. A column of which each word is a number is one of
        numbers. Bools are 0 and 1; blanks around a word do not count.

        Parameters
        ----------
        columns
            A dict from names to columns of one length, or a pandas ``DataFrame``; two or more.
        target
            The name or the 0-based index of the column to predict, or a list of them. The last
            column if it is not given.
        drop
            Names or indices of columns to leave out. Indices count all columns.
        categories
            Names or indices of columns in which numbers or dates are names: one-hot, or labels if
            it is the target. Numbers are sorted as such.
        decimal
            What stands before the decimals in words that are numbers: ``"."``, or ``","`` for
            ``"156,4"``.

        Raises
        ------
        TypeError, ValueError
            For an unknown column, columns of different lengths, fewer than two columns, a value
            that is missing or not finite (the message names the column, and the row, from 1),
            numbers mixed with words or written with other commas, dates, and more than 50 different
            words in a column of inputs.
        """
        return cls(**table_fields(columns, target, drop, categories, decimal))

    def encode(
        self,
        columns: Any,
        *,
        delimiter: str | None = None,
        header: bool | None = None,
        decimal: str = ".",
    ) -> Float[Array, "B m"]:
        """Return the inputs of other rows, raw, (B, m), in the columns of this table's x.

        `Split.standardized` makes of them what a net takes. Columns are found by name; in a file
        without names they are ``"column 1"``, …, so that a place is what counts, also that of
        columns that are not read. The targets and what was dropped may be there or not, and are
        not read.

        Parameters
        ----------
        columns
            A dict from names to columns, a pandas ``DataFrame``, or the path of a file.
        delimiter, header, decimal
            How the file is written, as `table` takes it; in a dict, `decimal` alone counts.

        Raises
        ------
        ImportError
            For a file, if pandas is not installed.
        TypeError, ValueError
            For an input that is missing, a column that this table does not know, a word that is
            none of the values of its column (the message names column, row and word), words in a
            column of numbers, and what `table` does not read.

        Examples
        --------
        >>> wood = {"age": [3, 1, 5], "wood": ["oak", "ash", "fir"], "price": [30, 20, 40]}
        >>> Table.from_columns(wood).encode({"wood": ["fir", "oak"], "age": [7, 9]})
        array([[7., 0., 1., 0.],
               [9., 0., 0., 1.]])
        """
        if isinstance(columns, (str, PathLike)):
            columns = read_columns("columns", columns, delimiter, header, decimal, self.categories)
        others = (*self.targets, *self.dropped)
        return inputs_of_other_rows(columns, self.names, self.categories, others, decimal)

    def rows(self, indices: Int[Array, "n"]) -> "Table":
        """Return the table of some rows, by their indices (n,), each once, in this order.

        Names, categories and classes stay; for the first 100 say ``table.rows(np.arange(100))``.

        Raises
        ------
        TypeError, ValueError
            For anything but an array of integers, for a row that is not there or is given twice.
        """
        chosen = check_indices("indices", indices, len(self))
        return replace(self, x=self.x[chosen], y=self.y[chosen])

    def split(self, seed: int, test: float = 0.1) -> Split:
        """Shuffle the rows by `seed`, and keep a part of them to `test` on.

        As in the benchmark of UCI sets, round(0.9 N) rows, halves up, are there to train on.

        Raises
        ------
        TypeError, ValueError
            For a `seed` that is no integer from 0 up, or a `test` that leaves one side empty.
        """
        return Split(self.x, self.y, *shuffled(seed, len(self), "test", test))

    def split_files(self, train_path: str | PathLike[str], test_path: str | PathLike[str]) -> Split:
        """Split as two files say, ``index_train_0.txt`` and ``index_test_0.txt``.

        They hold 0-based indices of rows, one a line, as ``numpy.savetxt`` writes them, also as
        floats; those that come with the benchmark of UCI sets of Hernández-Lobato and Adams (2015)
        and Gal and Ghahramani (2016) do.

        Raises
        ------
        TypeError, ValueError
            For a file that cannot be read or holds anything else, and for indices that `Split`
            does not take.
        """
        parts = _read_indices("train_path", train_path), _read_indices("test_path", test_path)
        return Split(self.x, self.y, *parts)

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        inputs = _counted(len(self.names), "input")
        if self.categories:
            inputs += f" ({', '.join(self.categories)} one-hot)"
        target = f"{'target' if len(self.targets) == 1 else 'targets'} {', '.join(self.targets)}"
        if self.classes:
            first = ", ".join(self.classes[:10]) + ", …" * (len(self.classes) > 10)
            target += f", {len(self.classes):,} classes: {first}"
        return f"Table({_counted(len(self), 'row')}, {inputs}, {target})"


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def _check_words(name: str, value: Any, number: int | None) -> None:
    """Check that `value` is a tuple of different strings, of so many if that is known."""
    accepted = f"a tuple of {'' if number is None else f'{number} '}different strings"
    if not isinstance(value, tuple) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"{name} must be {accepted}, got {checks.given(value)}")
    if number not in (None, len(value)) or len(set(value)) < len(value):
        raise ValueError(f"{name} must be {accepted}, got {checks.shown(value)}")


def _read_indices(name: str, path: Any) -> Int[Array, "N"]:
    """Return the integers that a file holds."""
    words = read_text(name, path).split()
    for word in words:
        try:
            whole = float(word).is_integer() and abs(float(word)) < 2**53
        except ValueError:
            whole = False
        if not whole:
            raise ValueError(f"{name} must hold integers, got {checks.shown(word)}")
    return np.array([int(float(word)) for word in words])

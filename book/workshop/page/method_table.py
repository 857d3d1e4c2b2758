"""Tables of methods and counts: aligned text in a notebook, a table of the house on a page."""

from collections.abc import Mapping
from typing import Any

from ensedu.common.text_table import Cell, Column, Row, TextTable
from ensedu.counting import Count
from ensedu.methods import METHODS

__all__ = ["method_table"]

MISSING = "–"


def method_table(
    rows: Mapping[str, Mapping[Any, Any]], *, decisive: tuple[str, Any] | None = None
) -> TextTable:
    """Return a table that shows when a notebook cell ends with it.

    Parameters
    ----------
    rows
        Names to what stands in their row: titles of columns to values, the same titles in each. A
        method's key becomes its name, with its color beside it; rows that are all methods come in
        the order of `ensedu.methods.METHODS`. A title may be a pair (group, title): neighbors of
        one group get a common head. A value is an integer, a `Count`, of which its total is shown,
        a string, a pair of strings of which the second explains the first, or None for what is
        missing.
    decisive
        The cell that decides, (row, column): bold on a page, an arrow in text.

    Examples
    --------
    >>> from ensedu import counting
    >>> sizes = [1, 50, 50, 1]
    >>> method_table(
    ...     {
    ...         "batch_ensemble": {"numbers": counting.mlp(sizes, "batch_ensemble", 4)},
    ...         "single": {"numbers": counting.mlp(sizes)},
    ...     }
    ... )
                    numbers
    single network    2,701
    BatchEnsemble     3,812
    """
    if rows.keys() <= METHODS.keys():
        rows = {name: rows[name] for name in METHODS if name in rows}
    titles = [*next(iter(rows.values()))]
    return TextTable(
        tuple(_column(title, [row[title] for row in rows.values()]) for title in titles),
        tuple(
            Row(
                _label(name),
                tuple(Cell(*_text(row[title]), (name, title) == decisive) for title in titles),
                name if name in METHODS else "",
            )
            for name, row in rows.items()
        ),
    )


def _text(value: Any) -> tuple[str, str]:
    """Return a value as a cell shows it, and what explains it."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, str | None):
        return MISSING if value is None else value, ""
    number = value.total if isinstance(value, Count) else value
    return f"{number:,}".replace("-", "−"), ""


def _column(title: Any, values: list[Any]) -> Column:
    group, own = title if isinstance(title, tuple) else ("", title)
    words = all(isinstance(value, str | None) for value in values)
    return Column(_label(own), _label(group), words)


def _label(name: str) -> str:
    """Return a method's name in words; any other name as it is."""
    return METHODS[name].label if name in METHODS else name

"""Tables of methods and numbers: aligned text in a notebook, a table of the house on a page."""

from collections.abc import Mapping
from numbers import Integral
from string import Formatter
from typing import Any

from ensedu.common import checks
from ensedu.common.text_table import Cell, Column, Row, TextTable
from ensedu.counting import Count
from ensedu.methods import METHODS

__all__ = ["method_table"]

MISSING = "–"
MOST_DIGITS = 15


def method_table(
    rows: Mapping[str, Mapping[Any, Any]],
    *,
    columns: Mapping[Any, Any] | None = None,
    decisive: tuple[str, Any] | None = None,
    colors: Mapping[str, str] | None = None,
    caption: str = "",
    corner: str = "",
) -> TextTable:
    """Return a table that shows when a notebook cell ends with it.

    Parameters
    ----------
    rows
        Names to what stands in their row: titles of columns to values. A method's key becomes its
        name, with its color beside it; rows that are all methods come in the order of
        `ensedu.methods.METHODS`. A title may be a pair (group, title): neighbors of one group get
        a common head. A value is an integer, a float, a string, a `Count`, of which its total is
        shown, (low, mean, high) for a number in an interval, a pair of strings of which the second
        explains the first, or None for what is missing.
    columns
        The digits behind the point of a column, or a template of its numbers such as
        ``"{:+,}"``; by default floats have two digits, and integers are shown in full.
    decisive
        The cell that decides, (row, column): bold on a page, an arrow in text.
    colors
        Some of the names to the method whose color they get; a method's own name has it without.
    caption, corner
        What stands above the table, and above the names of its rows.

    Raises
    ------
    TypeError, ValueError
        For no rows or columns, rows that do not all have the columns of the first, a value of
        another kind or not finite, an interval whose mean lies outside, a template that fits no
        number, and a row, column or method that does not exist.

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
    values = _values(rows)
    titles = list(next(iter(values.values())))
    formats = _formats(columns, titles)
    decisive = _decisive(decisive, values, titles)
    own = {name: name for name in values if name in METHODS} | _colors(colors, values)
    checks.text("caption", caption)
    checks.text("corner", corner)
    if values.keys() <= METHODS.keys():
        values = {name: values[name] for name in METHODS if name in values}

    def cell(name: str, title: Any) -> Cell:
        text, aside = _text(f"rows[{name!r}][{title!r}]", values[name][title], formats[title])
        return Cell(text, aside, (name, title) == decisive)

    return TextTable(
        tuple(_column(title, [row[title] for row in values.values()]) for title in titles),
        tuple(
            Row(_label(name), tuple(cell(name, title) for title in titles), own.get(name, ""))
            for name in values
        ),
        caption,
        corner,
    )


def _values(rows: Any) -> dict[str, dict[Any, Any]]:
    """Return the rows as dicts, all with the columns of the first."""
    accepted = "a mapping of names to rows, each a mapping of titles to values, at least one"
    if not isinstance(rows, Mapping):
        raise TypeError(f"rows must be {accepted}, got {checks.describe(rows)}")
    if not rows:
        raise ValueError(f"rows must be {accepted}, got {checks.describe(rows)}")
    values: dict[str, dict[Any, Any]] = {}
    for name, row in rows.items():
        if not isinstance(name, str):
            raise TypeError(f"rows must be {accepted}, got the name {checks.describe(name)}")
        if not isinstance(row, Mapping):
            raise TypeError(f"rows must be {accepted}, got the row {checks.describe(row)}")
        if not row:
            raise ValueError(f"rows must be {accepted}, got the row {row!r}")
        values[name] = {_title("rows", title): value for title, value in row.items()}
    first, *others = values
    for name in others:
        if values[name].keys() != values[first].keys():
            raise ValueError(
                f"rows[{checks.short_repr(name)}] has the columns "
                f"{checks.short_repr(list(values[name]))}, accepted are those of the first row, "
                f"{checks.short_repr(list(values[first]))}"
            )
    return values


def _title(name: str, title: Any) -> Any:
    """Return the title of a column if it is a string, or a pair of them."""
    pair = isinstance(title, tuple) and len(title) == 2
    if not isinstance(title, str) and not (pair and all(isinstance(part, str) for part in title)):
        raise TypeError(
            f"{name}: a title must be a string or a pair (group, title), got "
            f"{checks.describe(title)}"
        )
    return title


def _formats(columns: Any, titles: list[Any]) -> dict[Any, str]:
    """Return the template of each column, empty for the default."""
    if columns is not None and not isinstance(columns, Mapping):
        raise TypeError(
            "columns must be a mapping of titles to digits or templates, "
            f"got {checks.describe(columns)}"
        )
    formats = dict.fromkeys(titles, "")
    for title, value in (columns or {}).items():
        if title not in titles:
            raise ValueError(
                f"columns names the column {checks.short_repr(title)}, "
                f"accepted are {checks.short_repr(titles)}"
            )
        name = f"columns[{title!r}]"
        if isinstance(value, str):
            formats[title] = _template(name, value)
        elif (digits := checks.natural_int(name, value)) <= MOST_DIGITS:
            formats[title] = f"{{:,.{digits}f}}"
        else:
            raise ValueError(
                f"{name} must be at most {MOST_DIGITS} digits or a template, got {value!r}"
            )
    return formats


def _template(name: str, value: str) -> str:
    """Return a template that one number fills, and nothing of that number but itself."""
    try:
        fields = [field for _, field, _, _ in Formatter().parse(value) if field is not None]
    except ValueError:
        fields = []
    if fields != [""]:
        raise ValueError(
            f"{name} must be digits, or a template with one field such as '{{:.1f}} MB', "
            f"got {checks.short_repr(value)}"
        )
    return value


def _decisive(value: Any, values: Mapping[str, Any], titles: list[Any]) -> tuple[Any, Any] | None:
    """Return the cell that decides, if there is one."""
    if value is None:
        return None
    if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[0], str):
        raise TypeError(f"decisive must be (row, column), got {checks.describe(value)}")
    if value[0] not in values or _title("decisive", value[1]) not in titles:
        raise ValueError(
            f"decisive names the cell {checks.short_repr(value)}, accepted are the rows "
            f"{checks.short_repr(list(values))} and the columns {checks.short_repr(titles)}"
        )
    return value


def _colors(value: Any, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the methods whose color rows of other names get."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(
            f"colors must be a mapping of rows to methods, got {checks.describe(value)}"
        )
    for name, method in (value or {}).items():
        if name not in values:
            raise ValueError(
                f"colors names the row {checks.short_repr(name)}, "
                f"accepted are {checks.short_repr(list(values))}"
            )
        checks.one_of(f"colors[{name!r}]", method, METHODS)
    return dict(value or {})


def _number(value: Any) -> int | None:
    """Return an integer, or a Count's total; None for any other value."""
    if isinstance(value, Count):
        return value.total
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def _text(name: str, value: Any, template: str) -> tuple[str, str]:
    """Return a value as a cell shows it, and what explains it, such as its interval."""
    if value is None:
        return MISSING, ""
    if isinstance(value, str):
        return value, ""
    if (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(each, str) for each in value)
    ):
        return value
    if not isinstance(value, tuple):
        return _written(name, value, template), ""
    if len(value) != 3:
        raise ValueError(f"{name} must be (low, mean, high), got {checks.describe(value)}")
    low, mean, high = (checks.real(f"{name}[{i}]", part) for i, part in enumerate(value))
    if not low <= mean <= high:
        raise ValueError(f"{name} must be (low, mean, high) in this order, got {value!r}")
    ends = ", ".join(_written(name, end, template) for end in (low, high))
    return _written(name, mean, template), f"[{ends}]"


def _written(name: str, value: Any, template: str) -> str:
    """Return a number as its column's template writes it."""
    number: float | int | None = _number(value)
    if number is None:
        accepted = "an integer, a float, a string, a Count, (low, mean, high) or None"
        if not hasattr(value, "__float__"):
            raise TypeError(f"{name} must be {accepted}, got {checks.describe(value)}")
        number = checks.real(name, value)
    else:
        checks.natural_int(name, abs(number))  # Python writes no integer that is much longer
    try:
        text = (template or ("{:,}" if isinstance(number, int) else "{:,.2f}")).format(number)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"columns: the template {template!r} does not fit {name}, "
            f"{checks.short_repr(number)}: {error}"
        ) from None
    return text.replace("-", "−")


def _column(title: Any, values: list[Any]) -> Column:
    group, own = title if isinstance(title, tuple) else ("", title)
    words = all(isinstance(value, str) or value is None for value in values)
    return Column(_label(own), _label(group), words)


def _label(name: str) -> str:
    """Return a method's name in words; any other name as it is."""
    return METHODS[name].label if name in METHODS else name

"""A table of pandas whose cells people wrote: its columns made numbers, or names."""

from datetime import timedelta
from typing import Any

import numpy as np

from ensedu.common import checks
from ensedu.common.arrays import MOST
from ensedu.common.checks import optional
from ensedu.data.cells import EPOCH, GAPS, read_cell


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

    Raises
    ------
    ImportError
        If pandas is not installed.
    TypeError, ValueError
        For no frame of named columns; a column that `like` has not, or has alone, or that holds
        nothing, or several kinds or units; a cell that is no name and cannot be read. The message
        names column and row.

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
            raise TypeError(f"{name} must be a DataFrame of named columns, got {checks.given(one)}")
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
        if (np.abs(numbers[~gaps]) < MOST).all():
            return kind or "numbers", numbers
    if not gaps.all() and form == "M" and kind in ("", "dates"):  # in any unit
        epoch = EPOCH if column.dt.tz else EPOCH.replace(tzinfo=None)
        return "dates", ((column - epoch) / timedelta(days=1)).to_numpy(np.float64)
    values: list[Any] = [np.nan] * len(column)
    for row, (cell, gap) in enumerate(zip(column, gaps, strict=True)):
        if gap or str(cell).strip() in GAPS:
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

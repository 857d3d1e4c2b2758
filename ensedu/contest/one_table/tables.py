"""A reader's own table: what is asked for, by which columns, and what about it looks wrong."""

import csv
import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from numpy import ndarray as Array
from scipy.stats import rankdata, skew

from ensedu.common import checks
from ensedu.common.checks import optional
from ensedu.data import clean
from ensedu.data.cleaning import MISSING, MOST_CATEGORIES
from ensedu.sklearn.rows import as_numbers, groups_of_rows, looks_grouped

#: Fewer rows cannot be cut in five splits of four parts; more columns are no measurements.
LEAST_ROWS, MOST_COLUMNS, MOST_CLASSES = 50, 1000, 100
#: So many different whole numbers, or fewer, are classes; fewer groups, or times, are none.
FEW = 10
#: An input that is so many standard deviations above its mean is entered as a logarithm; so is a
#: target whose 99th percentile is so many times its first.
FAR_STDS, LOG_RATIO = 10.0, 100.0
#: A positive target that is more skewed may want its logarithm.
SKEWED = 1.0
#: A column says what the target is if so much of it follows, and rows are in order if so much does.
LEAKAGE, ORDERED = 0.999, 0.3
GAP = "(gap)"
ROW_ID = re.compile(r"(.*[ _-])?(id|index|key|uuid|number|no|nr|row)|unnamed: 0|rownames|#")


@dataclass(frozen=True, kw_only=True, eq=False)
class RowReader:
    """How new rows are read as a table was; it holds none of its rows."""

    #: The labels, in order; none where the target is a number, whose logarithm is learned or not.
    classes: tuple[str, ...] = ()
    log: bool = False
    #: How columns are read, a frame without rows, and of which log(1 + value) is entered.
    like: Any = field(repr=False)
    logs: tuple[str, ...] = ()

    def inputs(self, frame: Any) -> Any:
        """Return new rows as these are; raises as `ensedu.data.clean` does."""
        if missing := [name for name in self.like if name not in frame]:
            raise ValueError(f"frame must have the columns {missing}, got {[*frame][:20]}")
        return self.entered(clean(frame[[*self.like]], like=self.like))

    def entered(self, x: Any) -> Any:
        """Return what `clean` returned, with logarithms where they are entered, and gaps as words.

        A word that is missing often says something, such as that a house has no garage.
        """
        kinds = self.like.attrs["clean"][0]
        x = x.fillna({name: GAP for name in x if kinds[name] == "names"})
        return x.assign(**{name: np.log1p(np.maximum(x[name], 0.0)) for name in self.logs})

    def targets(self, y: Any) -> Float[Array, "n 1"] | Int[Array, " n"]:
        """Return targets of new rows as a contest has them, -1 for a class that none of these had.

        Raises ``ValueError`` for gaps.
        """
        pandas = optional("pandas", "data")
        column = pandas.Series(y).rename("y")
        found = (
            _as_words(column)
            if self.classes
            else np.asarray(as_numbers(column), np.float64)[:, None]
        )
        if gaps := int(pandas.isna(found).sum()):
            raise ValueError(f"y must have a value in each row, got {gaps:,} gaps")
        if self.classes:
            known = {name: i for i, name in enumerate(self.classes)}
            return np.array([known.get(name, -1) for name in found])
        return np.log(np.maximum(found, np.finfo(float).tiny)) if self.log else found

    def as_written(self, x: Any) -> Any:
        """Return inputs with dates as dates, and numbers where their logarithms are entered."""
        pandas, kinds = optional("pandas", "data"), self.like.attrs["clean"][0]
        days = {n: pandas.to_datetime(x[n], unit="D") for n in x if kinds[n] == "dates"}
        return x.assign(**{n: np.expm1(x[n]) for n in self.logs}, **days)


@dataclass(frozen=True, kw_only=True)
class Column:
    """What a column holds, what is done with it, and what else is to know."""

    name: str
    kind: str
    treatment: str
    note: str


@dataclass(frozen=True, kw_only=True)
class TableDescription:
    """What a report says of a table."""

    name: str
    target: str
    task: str
    classes: tuple[str, ...]
    #: Whether the logarithm of the target is learned.
    log: bool = False
    rows: int
    rows_used: int
    columns: tuple[Column, ...]
    #: How splits are cut: ``"random"``, ``"group"`` or ``"time"``, and by which column.
    splits: str
    by: str | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedTable:
    """A table as contestants get it, and what was decided on the way."""

    #: The rows and columns that are used, as they stand in the table.
    frame: Any = field(repr=False)
    reader: RowReader
    #: Those of a `Task`.
    x: Any = field(repr=False)
    y: Float[Array, "N 1"] | Int[Array, " N"] = field(repr=False)
    groups: Int[Array, " N"] | None = field(repr=False)
    time: Float[Array, " N"] | None = field(repr=False)
    description: TableDescription


def read_file(path: str | Path) -> Any:
    """Return a CSV or Parquet file as pandas reads it; the first line says what divides columns.

    ``ValueError`` for a file that cannot be read, and for two columns of one name.
    """
    pandas, path = optional("pandas", "data"), Path(path)
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            optional("pyarrow", None)
            return pandas.read_parquet(path)
        with path.open(encoding="utf-8-sig", newline="") as opened:
            first = opened.readline()
        mark = max(",;\t", key=first.count)
        _check_unique(next(csv.reader([first], delimiter=mark), []))
        return pandas.read_csv(path, sep=mark, low_memory=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a table: {error}") from None


def prepare_table(
    frame: Any, target: str, *, group: str | None = None, time: str | None = None,
    task: str | None = None, positive: bool = False, name: str = "table",
) -> PreparedTable:  # fmt: skip
    """Return a table as contestants get it; parameters and errors are those of `compare`."""
    special = {"target": target, "group": group, "time": time}
    frame, notes = _check_frame(frame, special, task), list[str]()
    rows, gaps = len(frame), _gaps(frame[target])
    if gaps.all():
        raise ValueError(f"target must have values, got gaps in all {rows:,} rows of {target!r}")
    if gaps.any():
        notes.append(f"Rows without {target} are left out: {gaps.sum():,}.")
        frame = frame[~gaps]
    first = np.sort(np.unique(groups_of_rows(frame, None), return_index=True)[1])
    if copies := len(frame) - len(first):
        notes.append(f"Copies of another row are left out: {copies:,}.")
        frame = frame.iloc[first]
    if len(frame) < LEAST_ROWS:
        raise ValueError(
            f"rows must be at least {LEAST_ROWS}, different and with a target, got {len(frame):,}"
        )
    y, classes, log = _read_target(frame[target], task, positive, notes)
    inputs = frame.drop(columns=[*filter(None, special.values())])
    x, columns, reader = _read_inputs(inputs, notes, classes=classes, log=log)
    warnings, groups, when = _target_leaks(x, y), None, None
    if classes and (few := [c for c, n in zip(classes, np.bincount(y), strict=True) if n < FEW]):
        warnings.append(f"Classes with fewer than {FEW} rows: {', '.join(few)}.")
    if time is not None:
        when = _read_time(frame[time])
    elif group is not None:
        groups = frame[group].factorize(sort=True)[0].astype(np.int64)
        if groups.max() + 1 < FEW:
            raise ValueError(f"group must have at least {FEW} values, got {groups.max() + 1}")
    else:
        if len(np.unique(groups_of_rows(x, None))) < len(x):
            notes.append("Rows of equal inputs stay on one side of a split.")
            groups = x.groupby([*x], dropna=False).ngroup().to_numpy(np.int64)
        warnings += _looks_ordered(x, y, columns)
    description = TableDescription(
        name=name, target=target, task="classification" if classes else "regression",
        classes=classes, log=log, rows=rows, rows_used=len(y), columns=columns, by=time or group,
        splits="time" if time else "group" if group else "random", notes=tuple(notes),
        warnings=tuple(warnings),
    )  # fmt: skip
    return PreparedTable(
        frame=frame, reader=reader, x=x, y=y, groups=groups, time=when, description=description
    )


def _check_frame(frame: Any, special: dict[str, str | None], task: str | None) -> Any:
    """Return a frame whose rows are numbered, with the columns that are asked for."""
    if not isinstance(frame, optional("pandas", "data").DataFrame):
        raise TypeError(f"X must be a pandas.DataFrame, got {checks.describe(frame)}")
    if task is not None:
        checks.one_of("task", task, ("regression", "classification"))
    if special["group"] is not None and special["time"] is not None:
        raise ValueError("group must be left out where time is given: a split has one of them")
    frame = frame.rename(columns=str).reset_index(drop=True)
    if len(frame.columns) > MOST_COLUMNS:
        raise ValueError(f"columns must be at most {MOST_COLUMNS:,}, got {len(frame.columns):,}")
    _check_unique([*frame])
    for option, column in special.items():
        if column is not None and column not in frame:
            near = difflib.get_close_matches(str(column), [*frame], 1) or [*frame][:20]
            raise ValueError(f"{option} must be a column, such as {near}, got {column!r}")
        if column is not None and (gaps := _gaps(frame[column])).any() and option != "target":
            raise ValueError(f"{option} must have a value in each row, got {gaps.sum():,} gaps")
    return frame


def _check_unique(names: list[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"columns must have different names, got {twice[0]!r} more than once")


def _gaps(column: Any) -> Any:
    words = column.astype(str).str.strip() if column.dtype.kind == "O" else column
    return (column.isna() | words.isin(MISSING)).to_numpy()


def _as_words(column: Any) -> Any:
    """Return the cells of a column as words."""
    return clean(column.astype("category").to_frame()).iloc[:, 0].to_numpy()


def _read_target(
    column: Any, task: str | None, positive: bool, notes: list[str]
) -> tuple[Shaped[Array, "N ..."], tuple[str, ...], bool]:
    """Return numbers or labels, the classes, and whether the numbers are logarithms."""
    if checks.boolean("positive", positive):
        if task == "classification":
            raise ValueError("positive must be left out for a classification, got True")
        task = "regression"
    as_names = task == "classification" or column.dtype.kind == "b"
    try:
        read = clean((column.astype("category") if as_names else column).to_frame())
    except (TypeError, ValueError) as error:
        fault = str(error).partition(";")[0].replace("frame", "the column")
        raise ValueError(f"target: {fault}") from None
    kind, values = read.attrs["clean"][0][column.name], read.iloc[:, 0].to_numpy()
    found = np.unique(values)
    whole = kind == "numbers" and len(found) <= FEW and (found == np.round(found)).all()
    if len(found) == 1:
        raise ValueError(f"target must have different values, got {found.tolist()[0]!r} alone")
    if kind.startswith(("dates", "times")):
        raise ValueError(f"target must hold numbers or words, got {kind}, {column.iloc[0]!r} first")
    if kind == "names" and task == "regression":
        raise ValueError(f"target must hold numbers for a regression, got {values[0]!r} first")
    if kind == "names" or (task is None and (whole or len(found) == 2)):
        if kind != "names":
            notes.append(f"The {len(found)} numbers of {column.name} are taken for classes.")
        if len(found) > MOST_CLASSES:
            raise ValueError(f"target must have at most {MOST_CLASSES} classes, got {len(found):,}")
        classes, y = np.unique(_as_words(column), return_inverse=True)
        return y.astype(np.int64), (*classes.tolist(),), False
    (low, high), least = np.percentile(values, [1, 99]), values.min()
    if positive and least <= 0:
        raise ValueError(f"positive must be left out for a target with numbers such as {least:g}")
    if log := bool(least > 0 and (positive or high >= LOG_RATIO * low)):
        notes.append(f"{column.name} spans {high / low:,.0f} times: its logarithm is learned.")
    elif least > 0 and skew(values) > SKEWED:
        notes.append(
            f"{column.name} is positive and skewed: give --positive (in Python positive=True) to "
            "learn its logarithm."
        )
    return (np.log(values) if log else values).astype(np.float64)[:, None], (), log


def _read_inputs(
    frame: Any, notes: list[str], **target: Any
) -> tuple[Any, tuple[Column, ...], RowReader]:
    """Return the inputs, what was done with each column, and how new ones are read."""
    x, dayfirst, unread = _cleaned(frame.drop(columns=[c for c in frame if _gaps(frame[c]).all()]))
    if dayfirst is not None:
        notes.append(f"Dates are read with the {'day' if dayfirst else 'month'} first.")
    columns, kinds = list[Column](), x.attrs["clean"][0]
    logs = "log(1 + value), standardized"
    for name, column in frame.items():
        kind, values, note = kinds.get(name, ""), x.get(name), list[str]()
        if why := _left_out(column, kind, values):
            treatment, note = "left out", [why]
        elif kind == "names":
            rest = "the rarest as one" if values.nunique() > MOST_CATEGORIES else "one-hot"
            treatment = f"{values.nunique():,} words, {rest}"
        elif values.min() >= 0 and values.max() > values.mean() + FAR_STDS * values.std():
            treatment = logs
        else:
            treatment = f"{'days since 1970, ' * (kind == 'dates')}standardized"
        if treatment != "left out" and (gaps := values.isna().sum()):
            filled = "a word of their own" if kind == "names" else "the median"
            note.append(f"gaps: {gaps:,}, as {filled}")
        note += ["some cells are no numbers"] * (name in unread)
        columns.append(Column(name=name, kind=kind, treatment=treatment, note="; ".join(note)))
    used = [one.name for one in columns if one.treatment != "left out"]
    if not used:
        raise ValueError("columns must be inputs, at least one, got none that says anything")
    like = x[used].iloc[:0]
    like.attrs["clean"] = kinds, dayfirst
    far = (*(one.name for one in columns if one.treatment == logs),)
    reader = RowReader(like=like, logs=far, **target)
    return reader.entered(x[used]).reset_index(drop=True), (*columns,), reader


def _left_out(column: Any, kind: str, values: Any) -> str:
    """Return why a column is no input, or ""."""
    if not kind:
        return "holds nothing"
    if values.nunique(dropna=kind != "names") == 1:
        return "is constant"
    whole = column.dtype.kind in "iu"
    counts = whole and np.ptp(column.to_numpy()) < 2 * len(column)
    named = whole and ROW_ID.fullmatch(str(column.name).lower())
    if column.is_unique and not column.isna().any() and (kind == "names" or counts or named):
        return "names each row"
    return ""


def _cleaned(frame: Any) -> tuple[Any, bool | None, list[str]]:
    """Return what `clean` makes of a frame, and how; columns of text that it refuses are names.

    Dates such as 01/02/2024 are read in the way in which most columns can be read.
    """

    def refused(names: list[str], dayfirst: bool | None) -> list[str]:
        found = []
        for name in names:
            try:
                clean(frame[[name]], dayfirst=dayfirst)
            except ValueError:
                found.append(name)
        return found

    text = [name for name, column in frame.items() if column.dtype.kind not in "biufM"]
    names, dayfirst = refused(text, None), None
    for first in (False, True) if names else ():
        if len(left := refused(names, first)) < len(names):
            names, dayfirst = left, first
    return clean(frame.astype(dict.fromkeys(names, "category")), dayfirst=dayfirst), dayfirst, names


def _read_time(column: Any) -> Float[Array, " N"]:
    read = _cleaned(column.to_frame())[0].iloc[:, 0]
    if read.dtype.kind != "f" or read.nunique() < FEW:
        raise ValueError(
            f"time must hold dates or numbers, {FEW} different ones or more, got "
            f"{column.iloc[0]!r} first"
        )
    return read.to_numpy()


def _target_leaks(x: Any, y: Shaped[Array, "N ..."]) -> list[str]:
    """Return a warning for each column that nearly says the target by itself."""
    found, ranks = [], rankdata(y)
    for name, column in x.items():
        known, copied = column.notna().to_numpy(), 0.0
        if known.sum() < LEAST_ROWS or column.nunique() < 2:
            continue
        if y.ndim == 1 and column.nunique() <= known.sum() / FEW:
            table = optional("pandas", "data").crosstab(column[known], y[known])
            copied = table.max(axis=1).sum() / known.sum()
        elif y.ndim > 1 and column.dtype.kind == "f":
            copied = abs(np.corrcoef(rankdata(column[known]), ranks[known])[0, 1])
        if copied >= LEAKAGE:
            found.append(f"{name} all but says the target: is it known before the target is?")
    return found


def _looks_ordered(x: Any, y: Shaped[Array, "N ..."], columns: tuple[Column, ...]) -> list[str]:
    """Return warnings of rows that look grouped by a column, or ordered."""
    found, ranks = [], rankdata(y)
    if name := looks_grouped(x, y.ravel()):
        found.append(
            f"Rows look grouped by {name}: if new rows have values there that none of these has, "
            "name it as the group."
        )
    turns = np.diff(ranks)
    if not ((turns <= 0).all() or (turns >= 0).all()):
        if np.corrcoef(ranks[1:], ranks[:-1])[0, 1] > ORDERED:
            found.append(
                "Neighboring rows have like targets: if new rows come later than these, name the "
                "column that orders them as the time, or this report promises too much."
            )
    if dates := [one.name for one in columns if one.kind == "dates"]:
        found.append(
            f"{dates[0]} is a date: if new rows come later than these, name it as the time."
        )
    return found

"""What rows are: an array or a frame, and which of them belong together."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped
from numpy import ndarray as Array
from scipy.stats import f as f_distribution
from scipy.stats import rankdata

from ensedu.common import checks
from ensedu.data import clean

#: Equal rows are copies unless they are so many on average, or one of them this part of all.
MOST_COPIES, MOST_SHARE = 20, 0.05
#: A column groups rows if it has so many values, nearly as often each (by the standard deviation of
#: their frequencies, over the mean), and targets that so large a part of the variance divides.
LEAST_VALUES, MOST_UNEVEN, LEAST_SHARE, LARGEST_P = 20, 0.6, 0.1, 1e-4


def is_frame(X: Any) -> bool:
    """Whether these are named columns of pandas."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def take_rows(X: Any, rows: Int[Array, " some"]) -> Any:
    """Return some rows of an array or a frame."""
    return X.iloc[rows] if is_frame(X) else X[rows]


def check_no_dates(name: str, value: Any) -> None:
    """Check that an array holds no dates, which are numbers in a unit that nobody sees."""
    if getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
        raise TypeError(
            f"{name} must hold numbers, and dates only as columns of a pandas.DataFrame, which are "
            f"read as days, got {checks.describe_array(value)}"
        )


def as_numbers(y: Any) -> Any:
    """Return targets as numbers where they are a column of pandas that people wrote."""
    if not hasattr(y, "to_frame"):
        check_no_dates("y", y)
        return y
    name = str(y.name or "y")
    read = clean(y.to_frame(name))
    (kind,) = read.attrs["clean"][0].values()
    if not kind.startswith(("numbers", "percentages")):
        raise ValueError(
            f"y must hold numbers, got {kind} in {name!r}, {checks.describe(y.iloc[0])} first; "
            "EnsembleClassifier predicts names"
        )
    return read[name].to_numpy()


def one_of_each_row(y: Any, rows: int, what: str) -> Shaped[Array, " B"]:
    """Return targets (B,), a number or a label for each row."""
    y = np.asarray(y, np.float64 if what == "number" else None)
    if y.shape != (rows,):
        raise ValueError(f"y must have a {what} for each of {rows} rows, got {y.shape}")
    return y


def groups_of_rows(X: Any, groups: Any) -> Int[Array, " n"]:
    """Return the number of each row's group, from 0 up; without `groups` equal rows are one.

    Where rows are mostly equal, or one stands for a large part of all, equal rows are no copies but
    what columns of a few values bring about, and each is a group of its own.
    """
    n = len(X)
    if groups is not None:
        values = list(groups.tolist() if hasattr(groups, "tolist") else groups)
        gaps = sum(str(value) in ("None", "nan", "NaT", "<NA>") for value in values)
        if len(values) != n or gaps:
            raise ValueError(
                f"groups must hold a value for each of {n:,} rows, got {len(values):,}, of which "
                f"{gaps:,} are gaps"
            )
        if (number := group_numbers(values)).max() < 2:
            raise ValueError(f"groups must be at least 3, got {number.max() + 1} in {n:,} rows")
        return number
    if is_frame(X):
        X = np.column_stack([column.factorize()[0] for _, column in X.items()])
    number = group_numbers(row.tobytes() for row in np.ascontiguousarray(X + 0))  # and -0.0 is 0.0
    often = np.bincount(number)
    copies = n <= MOST_COPIES * len(often) and often.max() <= max(1, MOST_SHARE * n)
    return number if copies else np.arange(n)


def group_numbers(values: Iterable[Any]) -> Int[Array, " n"]:
    """Return of each value how many other ones came first."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values])


def looks_grouped(X: Any, y: Shaped[Array, " n"]) -> str:
    """Return the name of the column whose values group rows most, as patients do visits, or "".

    Values of a size or a year change targets smoothly, and an identifier does not. So the second
    differences of mean targets, in the order of the values, are compared with what the variance
    within values lets them be. Also, of an ordinary column few values are frequent.
    """
    y = rankdata(y)  # a few extreme targets are no groups
    shares, columns = {"": LEAST_SHARE}, X.items() if is_frame(X) else enumerate(X.T)
    for name, column in columns:
        value = column.factorize(sort=True)[0] if is_frame(X) else np.unique(column, True, True)[2]
        known, value = y[value >= 0], value[value >= 0]
        size = np.bincount(value)
        n, D = len(value), len(size)
        if D < LEAST_VALUES or n < 2 * D or size.std() > MOST_UNEVEN * size.mean():
            continue
        mean = np.bincount(value, known) / size
        within = ((known - mean[value]) ** 2).sum() / (n - D)
        between = (size * (mean - known.mean()) ** 2).sum() / (D - 1)
        share = (between - within) / max(between + (n / D - 1) * within, 1e-300)
        unit = 1 / size[:-2] + 4 / size[1:-1] + 1 / size[2:]
        rough = (np.diff(mean, 2) ** 2 / unit).mean() / max(within, 1e-300)
        if share > max(shares.values()) and f_distribution.sf(rough, D / 2 - 1, n - D) < LARGEST_P:
            shares[str(name)] = share
    return max(shares, key=shares.__getitem__)

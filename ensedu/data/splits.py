"""Tables, and their part to train on and part to test on, both standardized by the first alone."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import LARGEST, check_float64


def check_features(name: str, value: Any) -> Array:
    """Return `value` if it is a float64 array (N, m), neither axis empty, of finite numbers."""
    check_float64(name, value)
    if value.ndim != 2 or not value.size:
        raise ValueError(f"{name} has shape {value.shape}, accepted is (N, m), N and m at least 1")
    if not (np.abs(value) < LARGEST).all():
        row, column = np.argwhere(~(np.abs(value) < LARGEST))[0]
        raise ValueError(
            f"{name} must hold finite numbers below {LARGEST:g}, "
            f"got {value[row, column]} in {name}[{row}, {column}]"
        )
    return value


def check_targets(name: str, value: Any, rows: int) -> Array:
    """Return `value` if it is (N, k) in float64, as `check_features`, or labels (N,), integers."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = _check_integers(name, value, "labels")
    else:
        check_features(name, value)
    if len(value) != rows:
        raise ValueError(f"{name} has {len(value):,} rows, accepted are the {rows:,} of x")
    return value


def check_indices(name: str, value: Any, rows: int) -> Array:
    """Return `value` if it holds different numbers of rows, at least one, from 0 to `rows` - 1."""
    value = _check_integers(name, value, "row indices")
    if value.ndim != 1 or not value.size:
        raise ValueError(f"{name} has shape {value.shape}, accepted is (N,), N at least 1")
    if (low := value.min()) < 0 or (high := value.max()) >= rows:
        got = low if low < 0 else high
        raise ValueError(f"{name} must hold row indices from 0 to {rows - 1}, got {got}")
    values, times = np.unique(value, return_counts=True)
    if len(values) < len(value):
        raise ValueError(f"{name} must hold each row once, got {values[times > 1][0]} repeatedly")
    return value


def check_images(name: str, value: Any, *, stacked: bool = False) -> Array:
    """Return `value` if it is a float64 array of numbers from 0 to 1; (N, H, W) if `stacked`."""
    check_float64(name, value)
    if stacked and (value.ndim != 3 or not value.size):
        raise ValueError(f"{name} has shape {value.shape}, accepted is (N, H, W), none of them 0")
    if not ((value >= 0) & (value <= 1)).all():
        raise ValueError(
            f"{name} must hold numbers from 0 to 1, got {value.min():g} to {value.max():g}"
        )
    return value


def _check_integers(name: str, value: Any, what: str) -> Array:
    if type(value) is not np.ndarray:
        raise TypeError(f"{name} must be a plain NumPy array, got {type(value).__name__}")
    if value.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {value.dtype}, accepted are integers, for {what}")
    return value


Targets = Float[Array, "N k"] | Int[Array, "N"]


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of x and y to train on and to test on, standardized by the rows to train on alone.

    Each column of x, and of y unless it holds labels, becomes ``(column - mean) / std`` with the
    mean and the standard deviation (``ddof=0``) of the training rows. A column that is constant
    there is divided by 1. `original` puts predictions back; an NLL in standardized units is put
    back by adding ``log(split.y_std)``.

    Examples
    --------
    >>> x = np.arange(6.0)[:, None]
    >>> split = Split(x, 2 * x, train=np.array([0, 2, 4]), test=np.array([1, 5]))
    >>> split
    Split(3 rows to train on, 2 to test on)
    >>> split.x_mean, split.y_train.std(axis=0)
    (array([2.]), array([1.]))
    """

    #: All rows, raw, (N, m).
    x: Float[Array, "N m"]
    #: All rows, raw, numbers to predict, (N, k), or integer labels (N,).
    y: Targets
    #: Indices of the rows to train on.
    train: Int[Array, "N_train"]
    #: Indices of the rows to test on, none of them in `train`; what is in neither is left out.
    test: Int[Array, "N_test"]
    #: Inputs of the rows to train on, standardized, (N_train, m).
    x_train: Float[Array, "N_train m"] = field(init=False)
    #: What is to be predicted for them, standardized, (N_train, k), or labels as they are.
    y_train: Float[Array, "N_train k"] | Int[Array, "N_train"] = field(init=False)
    #: Inputs of the rows to test on, standardized by the rows to train on, (N_test, m).
    x_test: Float[Array, "N_test m"] = field(init=False)
    #: The same of y, (N_test, k), or labels as they are; raw it is ``split.y[split.test]``.
    y_test: Float[Array, "N_test k"] | Int[Array, "N_test"] = field(init=False)
    #: Mean of each column of x, raw, in the rows to train on, (m,).
    x_mean: Float[Array, "m"] = field(init=False)
    #: Standard deviation of the same, (m,).
    x_std: Float[Array, "m"] = field(init=False)
    #: Mean of each column of y, raw, in the rows to train on, (k,), or None for labels.
    y_mean: Float[Array, "k"] | None = field(init=False)
    #: Standard deviation of the same, (k,), or None for labels.
    y_std: Float[Array, "k"] | None = field(init=False)

    def __post_init__(self) -> None:
        check_features("x", self.x)
        check_targets("y", self.y, len(self.x))
        check_indices("train", self.train, len(self.x))
        check_indices("test", self.test, len(self.x))
        if (both := np.intersect1d(self.train, self.test)).size:
            raise ValueError(f"test must hold no row of train, got {both[0]} in both")
        for name, array in (("x", self.x), ("y", self.y)):
            mean, std = (None, None) if array.ndim == 1 else _mean_and_std(array[self.train])
            for part in ("train", "test"):
                rows = array[getattr(self, part)]
                rows = rows if mean is None else (rows - mean) / std
                # frozen: plain assignment is refused
                object.__setattr__(self, f"{name}_{part}", rows)
            object.__setattr__(self, f"{name}_mean", mean)
            object.__setattr__(self, f"{name}_std", std)

    @classmethod
    def at_random(cls, x: Float[Array, "N m"], y: Targets, seed: int, test: float = 0.1) -> "Split":
        """Shuffle the rows by `seed`, and keep a part of them to `test` on.

        As in the benchmark of UCI sets, round(0.9 N) rows, halves up, are there to train on.
        """
        check_features("x", x)
        return cls(x, y, *shuffled(seed, len(x), "test", test))

    def validation(self, seed: int, part: float = 0.1) -> "Split":
        """Split the training rows again: a `part` of them is the new split's test rows.

        The test rows of this split are in neither, and the rest alone standardizes: to choose a
        width or a prior, train on the new ``x_train`` and compare on the new ``x_test``, then train
        anew on this split. A net trained on the new split does not take this one's ``x_test``,
        which other rows have standardized, but ``new.standardized(old.x[old.test])``. Only to stop
        early, cut ``x_train`` by hand, as its rows are shuffled: the moments stay those of this
        split, and so does ``x_test``.
        """
        rest, held_out = shuffled(seed, len(self.train), "part", part)
        return Split(self.x, self.y, self.train[rest], self.train[held_out])

    def standardized(self, x: Float[Array, "B m"]) -> Float[Array, "B m"]:
        """Return ``(x - x_mean) / x_std`` of raw x, (B, m): what a net of `x_train` takes."""
        if check_features("x", x).shape[1] != len(self.x_mean):
            raise ValueError(f"x has shape {x.shape}, accepted is (B, {len(self.x_mean)})")
        return (x - self.x_mean) / self.x_std

    def original(
        self, mean: Float[Array, "*B k"], variance: Float[Array, "*B k"]
    ) -> tuple[Float[Array, "*B k"], Float[Array, "*B k"]]:
        """Put predicted means and variances, (B, k) or (M, B, k), back into the units of y."""
        if self.y_mean is None or self.y_std is None:
            raise ValueError("mean must be of numbers, and y of this split holds labels")
        for name, value in (("mean", mean), ("variance", variance)):
            if type(value) is not np.ndarray or value.dtype.kind != "f":
                raise TypeError(
                    f"{name} must be a NumPy array of floats, got {checks.describe(value)}"
                )
            if value.ndim < 2 or value.shape[-1] != len(self.y_std) or value.shape != mean.shape:
                raise ValueError(
                    f"{name} has shape {value.shape}, accepted is (B, {len(self.y_std)}) or "
                    f"(M, B, {len(self.y_std)}), the same for mean and variance"
                )
        return self.y_mean + self.y_std * mean, self.y_std**2 * variance

    def __repr__(self) -> str:
        return f"Split({len(self.train):,} rows to train on, {len(self.test):,} to test on)"


def shuffled(seed: int, rows: int, name: str, part: float) -> tuple[Array, Array]:
    """Shuffle row indices and cut them: round((1 - part) rows), halves up, and the rest.

    `name` is what messages call `part`. Raises ``TypeError`` or ``ValueError`` for what is not
    accepted, and where one of the two is empty.
    """
    rng = np.random.default_rng(checks.natural_int("seed", seed))
    end = int(np.floor((1 - checks.real(name, part, low=0.0, high=1.0)) * rows + 0.5))
    if not 0 < end < rows:
        raise ValueError(f"{name} must leave rows of x on both sides, got {part} of {rows:,} rows")
    order = rng.permutation(rows)
    return order[:end], order[end:]


def _mean_and_std(rows: Float[Array, "N m"]) -> tuple[Float[Array, "m"], Float[Array, "m"]]:
    """Return the mean and the standard deviation of each column, 1 for a constant one."""
    std = rows.std(axis=0)
    # the rounding of a mean leaves a constant a tiny deviation, and a tiny range may have none
    constant = (np.ptp(rows, axis=0) == 0) | (std == 0)
    return np.where(constant, rows[0], rows.mean(axis=0)), np.where(constant, 1.0, std)


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of m inputs, with k numbers to predict; ``len(table)`` is N."""

    #: Inputs, raw, (N, m).
    x: Float[Array, "N m"]
    #: Numbers to predict, raw, (N, k).
    y: Float[Array, "N k"]
    #: What the m columns of x are called; one-hot ones ``"cut=Ideal"``.
    names: tuple[str, ...]
    #: What the k columns of y are called.
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        check_features("x", self.x)
        check_features("y", self.y)
        check_targets("y", self.y, len(self.x))
        for name, value, of in (("names", self.names, self.x), ("targets", self.targets, self.y)):
            _check_words(name, value, of.shape[1])

    def split(self, seed: int, test: float = 0.1) -> Split:
        """Shuffle the rows by `seed`, and keep a part of them to `test` on: `Split.at_random`."""
        return Split.at_random(self.x, self.y, seed, test)

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"Table({len(self):,} rows, {len(self.names)} inputs, {', '.join(self.targets)})"


def _check_words(name: str, value: Any, number: int) -> None:
    """Check that `value` is a tuple of so many different strings."""
    accepted = f"a tuple of {number} different strings"
    if not isinstance(value, tuple) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"{name} must be {accepted}, got {checks.describe(value)}")
    if number != len(value) or len(set(value)) < len(value):
        raise ValueError(f"{name} must be {accepted}, got {checks.short_repr(value)}")

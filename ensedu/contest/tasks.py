"""What contestants are compared on: a table or images, and its rows in four parts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.array_checks import check_array, check_finite, check_float64
from ensedu.common.checks import optional
from ensedu.data import encoder
from ensedu.data.splits import check_targets

#: Splits of a task: every row is in the test part of one of them.
SPLITS = 5
#: The parts of a split's rows, beside a fifth to test on, as parts of all.
SHARES = {"fit": 0.55, "select": 0.15, "calibrate": 0.1}
#: The standard deviation of the noise that is added to standardized inputs of a table.
NOISE = 0.3

Inputs = Float[Array, "_ ..."]
Targets = Float[Array, "_ 1"] | Int[Array, " _"]
Shift = Callable[[Inputs, Generator], Inputs]


def with_noise(x: Inputs, rng: Generator) -> Inputs:
    """Return inputs with normal noise of standard deviation `NOISE`."""
    return x + NOISE * rng.standard_normal(x.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One set of data, and what all contestants have alike on it."""

    #: What files and what readers call it.
    name: str
    label: str
    #: Inputs, a pandas ``DataFrame``, which `ensedu.data.encoder` makes numbers, fitted on the rows
    #: to fit on; or an array (N, ...) that networks take as it is, such as images.
    x: Any
    #: Targets, numbers in float64, (N, 1) or (N,), kept as (N, 1); or labels (N,) from 0 up.
    y: Targets | Float[Array, " _"]
    #: Where it comes from; tasks of one source count as one. By default its name.
    source: str = ""
    #: Rows of one number, (N,), are in one part of a split; by default each row by itself.
    groups: Int[Array, " N"] | None = None
    #: When each row was, (N,), so that a split tests on what came after all that it trains on. Not
    #: together with `groups`.
    time: Float[Array, " N"] | None = None
    #: Widths of the hidden layers; ``"lenet"`` for the filters of LeNet-5.
    hidden: tuple[int, ...] | str = (50, 50)
    #: How many steps all train, to whole epochs, and with how many examples a step.
    steps: int = 1000
    batch_size: int = 32
    #: By name a function (inputs, rng) -> inputs as networks take them, which shifts a test part.
    shifts: Mapping[str, Shift] = field(default_factory=lambda: {"noise": with_noise})
    #: Inputs of another kind, as networks take them; by default a test part's own rows, with each
    #: column in an order of its own.
    ood: Inputs | None = None

    def __post_init__(self) -> None:
        for name in ("name", "label", "source"):
            checks.text(name, getattr(self, name))
        for name in ("steps", "batch_size"):
            checks.positive_int(name, getattr(self, name))
        if isinstance(self.x, np.ndarray):
            check_float64("x", self.x)
            check_finite("x", self.x)
        elif not hasattr(self.x, "iloc"):
            raise TypeError(
                f"x must be a pandas.DataFrame or an array, got {checks.describe(self.x)}"
            )
        if isinstance(self.y, np.ndarray) and self.y.ndim == 1 and self.y.dtype.kind == "f":
            object.__setattr__(self, "y", self.y[:, None])
        check_targets("y", self.y, len(self.x))
        if self.y.ndim != 1 and self.y.shape[1:] != (1,):
            raise ValueError(
                f"y has shape {self.y.shape}, accepted is (N, 1) for numbers, (N,) for labels"
            )
        if self.y.ndim == 1 and self.y.min() < 0:
            raise ValueError(f"y must hold labels from 0 up, got {self.y.min()}")
        if self.groups is not None:
            check_array("groups", self.groups, "iu", "integers", (len(self.y),), like="y")
        if self.time is not None:
            check_array("time", self.time, "f", "floats", (len(self.y),), like="y")
            if self.groups is not None:
                raise ValueError("time must be None where groups are given, got both")
        self._check_networks()
        object.__setattr__(self, "source", self.source or self.name)

    def _check_networks(self) -> None:
        if not self.is_convolutional:
            if not isinstance(self.hidden, (tuple, list)):
                raise TypeError(
                    'hidden must be a tuple of sizes, or "lenet", got '
                    f"{checks.describe(self.hidden)}"
                )
            for i, size in enumerate(self.hidden):
                checks.positive_int(f"hidden[{i}]", size)
        elif self.is_table or not self.num_classes:
            raise ValueError('hidden must be sizes unless x are images, and y labels, got "lenet"')
        axes, accepted = 2, "(N, m)"
        if self.is_convolutional:
            axes, accepted = 4, "(N, channels, height, width)"
        if not self.is_table and self.x.ndim != axes:
            raise ValueError(
                f"x has shape {self.x.shape}, accepted is {accepted} for such networks"
            )
        if not isinstance(self.shifts, Mapping) or not all(map(callable, self.shifts.values())):
            raise TypeError(
                "shifts must be a mapping of names to functions, got "
                f"{checks.describe(self.shifts)}"
            )
        if self.ood is not None:
            check_float64("ood", self.ood)
            if not self.is_table and self.ood.shape[1:] != self.x.shape[1:]:
                raise ValueError(
                    f"ood has shape {self.ood.shape}, accepted is (F, "
                    f"{', '.join(map(str, self.x.shape[1:]))}), as x has"
                )

    @property
    def num_classes(self) -> int:
        """How many classes it has; 0 where it asks for a number."""
        return int(self.y.max()) + 1 if self.y.ndim == 1 else 0

    @property
    def epochs(self) -> int:
        """How often all go through the rows to fit on."""
        return math.ceil(self.steps / math.ceil(SHARES["fit"] * len(self.y) / self.batch_size))

    @property
    def is_table(self) -> bool:
        """Whether inputs are a data frame, which each split encodes by itself."""
        return not isinstance(self.x, np.ndarray)

    @property
    def is_convolutional(self) -> bool:
        """Whether networks are convolutional."""
        return self.hidden == "lenet"

    def rows(self, rows: Int[Array, " B"]) -> Any:
        """Return some rows of x."""
        return self.x.iloc[rows] if self.is_table else self.x[rows]


def rows_of_split(task: Task, split: int) -> dict[str, Int[Array, " rows"]]:
    """Return the rows of each of a split's parts, ``fit``, ``select``, ``calibrate`` and ``test``.

    The test parts of all splits share no row and are all rows together. What is not tested on is
    cut at random, groups whole. By time, rows are six blocks in order, each but the first is tested
    on once, and what came before it is cut in order, too: its last rows calibrate. ``ValueError``
    for groups that are too few, or too large, for each part to have one.
    """
    if not isinstance(task, Task):
        raise TypeError(f"task must be a Task, got {checks.describe(task)}")
    if checks.natural_int("split", split) >= SPLITS:
        raise ValueError(f"split must be from 0 to {SPLITS - 1}, got {split}")
    shares = np.array([*SHARES.values()])
    groups = np.arange(len(task.y)) if task.groups is None else task.groups
    first, inner = np.random.default_rng(SPLITS), np.random.default_rng([SPLITS, split])
    if task.time is None:
        folds = cut(groups, np.ones(SPLITS) / SPLITS, first)
        rest = np.concatenate([rows for i, rows in enumerate(folds) if i != split])
        parts, test = cut(groups[rest], shares / shares.sum(), inner), folds[split]
    else:
        blocks = cut(task.time, np.ones(SPLITS + 1) / (SPLITS + 1), None)
        rest, test = np.concatenate(blocks[: split + 1]), blocks[split + 1]
        parts = cut(task.time[rest], shares / shares.sum(), None)
    found = {name: rest[rows] for name, rows in zip(SHARES, parts, strict=True)}
    found["test"] = test
    if empty := [name for name, rows in found.items() if not len(rows)]:
        raise ValueError(
            f"{task.name}: groups must be so many and so small that each part gets one, got "
            f"{len(np.unique(groups)):,} groups and none for {empty[0]}"
        )
    return found


def cut(
    groups: Shaped[Array, " N"], shares: Float[Array, " parts"], rng: Generator | None
) -> list[Int[Array, " rows"]]:
    """Cut rows at random into parts of nearly these shares; a group goes where its middle lies.

    Without `rng` groups stay in the order of their values.
    """
    _, number = np.unique(groups, return_inverse=True)
    place = number if rng is None else rng.permutation(number.max() + 1)[number]
    order = np.argsort(place, kind="stable")
    first, after = (np.searchsorted(place[order], place[order], side) for side in ("left", "right"))
    part = np.searchsorted(np.cumsum(shares)[:-1] * len(order), (first + after) / 2, side="right")
    return [order[part == i] for i in range(len(shares))]


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitData:
    """One split as networks take it: standardized inputs, and targets, by the rows to fit on.

    `unit` is what one of the standardized targets is worth, 1 for classes; `center` is their 0.
    """

    #: Of each part inputs and targets.
    fit: tuple[Inputs, Targets]
    select: tuple[Inputs, Targets]
    calibrate: tuple[Inputs, Targets]
    test: tuple[Inputs, Targets]
    #: The inputs of `test`, shifted, by the kind of shift.
    shifted: dict[str, Inputs]
    #: Inputs that no example is like.
    ood: Inputs
    center: float = 0.0
    unit: float = 1.0


def split_of(task: Task, split: int) -> SplitData:
    """Return a split of a task, ready to train on; the same at each call.

    ``ValueError`` for targets that are one number in all rows to fit on.
    """
    parts = rows_of_split(task, split)
    rng = np.random.default_rng([SPLITS, split, 1])
    encode = (lambda x: x) if not task.is_table else _encoder(task.rows(parts["fit"]))
    center, unit = 0.0, 1.0
    if not task.num_classes:
        known = task.y[parts["fit"]]
        if known.min() == known.max():
            raise ValueError(
                f"{task.name}: y must differ among the rows to fit on, got {known.min()} alone"
            )
        center, unit = float(known.mean()), float(known.std())
    ready: dict[str, tuple[Inputs, Targets]] = {}
    for name, rows in parts.items():
        y = task.y[rows] if task.num_classes else (task.y[rows] - center) / unit
        ready[name] = encode(task.rows(rows)), y
    test = ready["test"][0]
    ood = task.ood
    if ood is None:
        ood = encode(shuffled_columns(task.rows(parts["test"]), rng))
    shifted = {name: shift(test, rng) for name, shift in task.shifts.items()}
    return SplitData(**ready, shifted=shifted, ood=ood, center=center, unit=unit)


def shuffled_columns(x: Any, rng: Generator) -> Any:
    """Return a table with each column in an order of its own: seen values, unseen rows."""
    if isinstance(x, np.ndarray):
        return rng.permuted(x.reshape(len(x), -1), axis=0).reshape(x.shape)
    pandas = optional("pandas", "data")
    return pandas.DataFrame({name: x[name].array[rng.permutation(len(x))] for name in x})


def _encoder(frame: Any) -> Callable[[Any], Inputs]:
    return encoder(frame, unknown="ignore").fit(frame).transform

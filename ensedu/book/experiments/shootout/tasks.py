"""The five sets of data of the shoot-out: what is learned, and what is asked afterwards."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from torch import nn

from ensedu import counting
from ensedu.book.experiments.bayesian_cnn import LIKE_DIGITS
from ensedu.book.page.digit.drawings import LETTERS, jittered, seen
from ensedu.common import checks
from ensedu.data import (
    Split,
    Table,
    concrete,
    diamonds,
    digits,
    letters,
    mnist5000,
    noisy,
    rotated,
)
from ensedu.torch.models import lenet5

__all__ = ["DEGREES", "NOISE", "SPLITS", "TASKS", "TUNED_ON", "Task", "TaskSplit", "split_of_task"]

#: Splits of each table, and the number of the one that settings are chosen on.
SPLITS, TUNED_ON = 10, 10
#: The five strengths of each shift: of a turn, and of noise, in pixels' or standardized units.
DEGREES = (10.0, 20.0, 30.0, 40.0, 50.0)
NOISE = (0.1, 0.2, 0.3, 0.4, 0.5)
#: Drawn letters, and examples of the test part that are shifted.
FOREIGN, LOOKED = 360, 200


@dataclass(frozen=True, kw_only=True)
class Task:
    """One set of data, and what all contestants have alike on it."""

    label: str
    #: Rows to train on, to fit a temperature or an interval on, and to test on.
    rows: tuple[int, int, int]
    #: Inputs, two hidden layers, outputs; none for LeNet-5.
    sizes: tuple[int, ...]
    epochs: int
    batch_size: int
    starts: int
    #: Sizes of an image.
    image: tuple[int, int] | None = None
    convolutions: bool = False
    #: Whether each split is a sample of its own, which shares no row with another.
    apart: bool = False

    @property
    def classes(self) -> bool:
        """Whether it asks for a class, and else for a number."""
        return self.image is not None

    def scaled(self, scale: float) -> tuple[int, ...]:
        """Return sizes of an MLP, or filters of LeNet-5, times a factor inside."""
        if self.convolutions:
            return tuple(max(1, round(scale * number)) for number in (6, 16))
        inside = (max(1, round(scale * width)) for width in self.sizes[1:-1])
        return (self.sizes[0], *inside, self.sizes[-1])

    def total(self, scale: float) -> int:
        """Return how many parameters one network of that size has."""
        if self.convolutions:
            return counting.count(self.lenet(scale)).total
        return counting.mlp(self.scaled(scale), "single").total

    def lenet(self, scale: float) -> nn.Sequential:
        """Return LeNet-5 with so many times its filters."""
        one, other = self.scaled(scale)
        return lenet5(filters=(one, other))

    def equal_scale(self, networks: int) -> float:
        """Return the scale at which one network has the parameters of so many; 1 % of it wide."""
        wanted = networks * self.total(1.0)
        scales = np.arange(1.0, networks + 1.0, 0.01).tolist()
        return min(scales, key=lambda scale: abs(self.total(scale) - wanted))


TASKS = {
    "digits": Task(
        label="digits", rows=(1197, 240, 360), sizes=(64, 64, 64, 10), epochs=30, batch_size=64,
        starts=5, image=(8, 8),
    ),
    "mnist": Task(
        label="MNIST-5000, MLP", rows=(3500, 500, 1000), sizes=(784, 100, 100, 10), epochs=10,
        batch_size=100, starts=5, image=(28, 28),
    ),
    "concrete": Task(
        label="concrete", rows=(724, 100, 206), sizes=(8, 50, 50, 2), epochs=60, batch_size=64,
        starts=5,
    ),
    "diamonds": Task(
        label="diamonds", rows=(3000, 400, 1500), sizes=(26, 64, 64, 2), epochs=20, batch_size=100,
        starts=5, apart=True,
    ),
    "lenet": Task(
        label="MNIST-5000, LeNet-5", rows=(3500, 500, 1000), sizes=(), epochs=6, batch_size=100,
        starts=3, image=(28, 28), convolutions=True,
    ),
}  # fmt: skip

Inputs = Float[Array, "_ *features"]
Targets = Float[Array, "_ 1"] | Int[Array, " _"]


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskSplit:
    """One split of a task: three parts, inputs that are shifted, and inputs that are foreign.

    Targets that are numbers are standardized; `unit` is what one of them is worth.
    """

    train: tuple[Inputs, Targets]
    held_out: tuple[Inputs, Targets]
    test: tuple[Inputs, Targets]
    #: The first inputs of `test`, shifted, by the kind of shift, the weakest first.
    shifted: dict[str, list[Inputs]] = field(default_factory=dict)
    #: Inputs that no training example is like.
    foreign: Inputs
    unit: float = 1.0


@functools.lru_cache(maxsize=2)
def split_of_task(name: str, split: int) -> TaskSplit:
    """Return a split of a task; raises ``ValueError`` for a `name` that is none."""
    task = TASKS[checks.one_of("name", name, TASKS)]
    if task.image is None:
        return _table(task, TABLES[name](), split)
    return _images(task, digits if name == "digits" else mnist5000, split)


def _images(task: Task, read: Callable[[], tuple[Array, Array]], split: int) -> TaskSplit:
    """Split images at random; letters are foreign."""
    x, y = read()
    size = task.image or ()
    rng = np.random.default_rng([split, 2020])
    rows = np.split(rng.permutation(len(x)), np.cumsum(task.rows))[:3]
    pictures = x.reshape(-1, *size)
    test = pictures[rows[2]]
    shifted = {
        "rotation": [rotated(test[:LOOKED], degrees) for degrees in DEGREES],
        "noise": [noisy(test[:LOOKED], std, rng) for std in NOISE],
    }
    shape = (-1, 1, *size) if task.convolutions else (-1, size[0] * size[1])
    return TaskSplit(
        train=(x[rows[0]].reshape(shape), y[rows[0]]),
        held_out=(x[rows[1]].reshape(shape), y[rows[1]]),
        test=(test.reshape(shape), y[rows[2]]),
        shifted={kind: [each.reshape(shape) for each in found] for kind, found in shifted.items()},
        foreign=_foreign(size[0], rng).reshape(shape),
    )


def _foreign(side: int, rng: np.random.Generator) -> Float[Array, "B pixels"]:
    """Return letters: drawn ones in 8 x 8 pixels, printed ones in 28 x 28."""
    if side == 8:
        hands = list(LETTERS.values())
        return np.stack([seen(jittered(hands[i % len(hands)], rng)) for i in range(FOREIGN)])
    x, names = letters()
    return x[[name not in LIKE_DIGITS for name in names]]


#: No diamond is as long as 3 cm: those that are, and those of length 0, are errors in the data.
LONGEST = 30.0


def sized_diamonds() -> Table:
    """Return the diamonds that have a length, width and depth, 53,917 of 53,940."""
    table = diamonds()
    sizes = table.x[:, [table.names.index(name) for name in "xyz"]]
    kept = ((sizes > 0.0) & (sizes < LONGEST)).all(axis=1)
    return replace(table, x=table.x[kept], y=table.y[kept])


TABLES = {"concrete": concrete, "diamonds": sized_diamonds}


def _table(task: Task, table: Table, split: int) -> TaskSplit:
    """Split the rows of a table at random, or into samples that share no row.

    What is foreign are the rows of the test part, each column in an order of its own: each value
    has been seen, such rows have not.
    """
    rng = np.random.default_rng([split, 2020])
    number = sum(task.rows)
    if task.apart:
        drawn = np.random.default_rng(2020).permutation(len(table))
        order = drawn[number * split : number * (split + 1)]
    else:
        order = rng.permutation(len(table))
    rows = np.split(order, np.cumsum(task.rows))[:3]

    known, other = (Split(table.x, table.y, train=rows[0], test=own) for own in (rows[2], rows[1]))
    some = known.x_test[:LOOKED]
    noise = [some + std * rng.standard_normal(some.shape) for std in NOISE]
    return TaskSplit(
        train=(known.x_train, known.y_train),
        held_out=(other.x_test, other.y_test),
        test=(known.x_test, known.y_test),
        shifted={"noise": noise},
        foreign=np.stack([rng.permutation(column) for column in known.x_test.T], axis=1),
        unit=float(known.y_std[0]),
    )

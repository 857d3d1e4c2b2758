"""What a training plans and writes down, in either backend: minibatches, and a row an epoch."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ensedu.common import checks
from ensedu.common.training_settings import KLWeight

#: An epoch in numbers, by name: its number, the steps so far, the means of losses over it.
EpochRow = dict[str, float | int]


def checked_batch_size(batch_size: Any, examples: int, members: int | None) -> int:
    """Return how many examples a step takes: 32 by default, and all where they are fewer.

    Where `members` split a minibatch it is a multiple of their number.
    """
    if batch_size is None:
        batch_size = min(32, examples) // (members or 1) * (members or 1) or examples
    size = checks.positive_int("batch_size", batch_size)
    if size > examples:
        raise ValueError(
            f"batch_size must be at most the number of examples, {examples}, got {size}"
        )
    if members is not None and size % members:
        raise ValueError(
            f"batch_size must be a multiple of the {members} members that split it, got {size}"
        )
    return size


def number_of_steps(examples: int, batch_size: int, members: int | None) -> int:
    """Return how many minibatches an epoch has; one too small to be split is none."""
    full, rest = divmod(examples, batch_size)
    return full + (rest >= (members or 1))


def check_same_rows(first: str, rows: int, second: str, other: int) -> None:
    """Check that there are as many targets as inputs."""
    if rows != other:
        raise ValueError(f"{second} must have a row for each of {rows} in {first}, got {other}")


def members_to_split(
    net: Any, sizes: Collection[int], repeats: bool, otherwise: str = "split must be False"
) -> int:
    """Return how many members share out a minibatch, where all layers have so many."""
    kind = type(net).__name__
    if repeats:
        raise ValueError(
            f"{otherwise} for a net that repeats its input for samples, got a {kind}; accepted is "
            "one without samples"
        )
    if len(sizes) != 1:
        numbers = ", ".join(map(str, sorted(sizes))) or "none"
        raise ValueError(
            f"{otherwise} for a net without one number of members, got a {kind} with {numbers}"
        )
    return next(iter(sizes))


class History:
    """The rows of a training, one an epoch, and whether it is over."""

    def __init__(
        self, epochs: Any, kl: KLWeight, patience: int | None, rows: Sequence[EpochRow] = ()
    ) -> None:
        self._epochs = checks.positive_int("epochs", epochs)
        if patience is not None and kl.anneal > epochs:
            raise ValueError(
                f"anneal must be at most the {epochs} epochs with patience, got {kl.anneal}"
            )
        if len(rows) > epochs:
            raise ValueError(
                f"epochs must be at least the {len(rows)} of the checkpoint, got {epochs}"
            )
        self._beta, self.patience = kl.beta, patience
        self.rows = list(rows)
        self.step = int(rows[-1]["step"]) if rows else 0
        self._sums, self._examples = dict[str, float](), 0

    @property
    def best(self) -> int | None:
        """The best epoch, of those that ended with the whole KL, counted from 0."""
        rows = enumerate(self.rows)
        whole = [i for i, row in rows if "validation" in row and row["beta"] == self._beta]
        return min(whole, key=lambda i: self.rows[i]["validation"], default=None)

    @property
    def over(self) -> bool:
        """Whether all epochs are done, or the best one is too long ago."""
        best = self.best
        waited = -1 if best is None else len(self.rows) - 1 - best
        patience = math.inf if self.patience is None else self.patience
        return len(self.rows) == self._epochs or waited >= patience

    def add(self, values: Mapping[str, float], examples: int) -> None:
        """Add a step's loss and its parts to the means of their epoch; raise if not finite."""
        self.step += 1
        if not math.isfinite(values["loss"]):
            self.fail(f"loss is {values['loss']} (nll {values['nll']}, kl {values['kl']})")
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value * examples
        self._examples += examples

    def end_epoch(self, beta: float, validation: float | None = None) -> None:
        """Make a row of the epoch, with the last weight of the KL."""
        means = {name: total / self._examples for name, total in self._sums.items()}
        row = {"epoch": len(self.rows) + 1, "step": self.step, **means, "beta": beta}
        if validation is not None:
            row["validation"] = validation
            if not math.isfinite(validation):
                self.fail(f"validation is {validation}")
        self.rows.append(row)
        self._sums, self._examples = {}, 0

    def fail(self, what: str) -> None:
        """Raise the error of a number that is not finite."""
        raise FloatingPointError(
            f"{what} at step {self.step} (epoch {len(self.rows) + 1}): a smaller lr, other data or "
            "another start may help; checkpoints, if there are any, are from before"
        )

"""What a training loop writes down, and how it goes on from there; for both backends."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from ensedu.common import checks
from ensedu.common.training_plan import Plan

__all__ = ["EpochRow", "History", "Keeper", "check_rows"]

#: An epoch in numbers, by name: its number, the steps so far, the means of losses over it.
EpochRow = dict[str, float | int]
#: What each row has.
NAMES = ("epoch", "step", "loss", "nll", "kl", "beta")


@runtime_checkable
class Keeper(Protocol):
    """Keeps the state of a training: what a backend, or a folder, makes of that."""

    def resume(self) -> list[EpochRow]:
        """Return the rows of the training to go on from, none for a new one."""

    def not_finite(self) -> str:
        """Return the name of a parameter that is not finite, "" if all are."""

    def keep(self, rows: list[EpochRow], *, best: bool, last: bool) -> None:
        """Keep the state after an epoch."""

    def restore(self, step: int) -> None:
        """Give the net the weights of its best epoch, after so many steps."""


class History:
    """The rows of a training: how many epochs there were, and whether there will be more."""

    def __init__(self, plan: Plan, keeper: Keeper, epochs: int, patience: int | None) -> None:
        self._epochs = checks.positive_int("epochs", epochs)
        if patience is not None and plan.anneal > epochs:
            raise ValueError(
                f"anneal must be at most the {epochs} epochs with patience, got {plan.anneal}"
            )
        self._beta = plan.beta
        self._keeper, self._patience = keeper, patience
        self.rows = keeper.resume()
        if len(self.rows) > epochs:
            raise ValueError(
                f"epochs must be at least the {len(self.rows)} of the checkpoint, got {epochs}"
            )
        self.step = int(self.rows[-1]["step"]) if self.rows else 0
        self._begin()

    def epochs(self) -> Iterator[None]:
        """Yield once an epoch that is still to come; then the net has the weights that it keeps."""
        while len(self.rows) < self._epochs and not self._has_waited():
            yield
        best = self._best()
        if self._patience is not None and best is not None:
            self._keeper.restore(int(self.rows[best]["step"]))

    def add(self, values: Mapping[str, float], beta: float, examples: int) -> None:
        """Add a step's loss and its parts to the means of their epoch; raise if not finite."""
        self.step += 1
        if not math.isfinite(values["loss"]):
            self._fail(f"loss is {values['loss']} (nll {values['nll']}, kl {values['kl']})")
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value * examples
        self._examples += examples
        self._row["beta"] = beta

    def validate(self, value: float) -> None:
        """Add what validation gave."""
        if not math.isfinite(value):
            self._fail(f"validation is {value}")
        self._row["validation"] = value

    def end_epoch(self) -> None:
        """Make a row of the epoch and keep the state, if every parameter is finite."""
        if name := self._keeper.not_finite():
            self._fail(f"{name} is not finite")
        means = {name: total / self._examples for name, total in self._sums.items()}
        self.rows.append({"epoch": len(self.rows) + 1, "step": self.step, **means, **self._row})
        best = self._best() == len(self.rows) - 1
        last = len(self.rows) == self._epochs or self._has_waited()
        self._keeper.keep(self.rows, best=best, last=last)
        self._begin()

    def _begin(self) -> None:
        self._sums: dict[str, float] = {}
        self._examples = 0
        self._row: EpochRow = {}

    def _best(self) -> int | None:
        """Return the best epoch, of those that ended with the whole KL."""
        rows = enumerate(self.rows)
        whole = [i for i, row in rows if "validation" in row and row["beta"] == self._beta]
        return min(whole, key=lambda i: self.rows[i]["validation"], default=None)

    def _has_waited(self) -> bool:
        best = self._best()
        if self._patience is None or best is None:
            return False
        return len(self.rows) - 1 - best >= self._patience

    def _fail(self, what: str) -> None:
        raise FloatingPointError(
            f"{what} at step {self.step} (epoch {len(self.rows) + 1}): a smaller lr, other data or "
            "another start may help; checkpoints, if there are any, are from before"
        )


def check_rows(rows: Any, steps: int, *, validated: bool) -> list[EpochRow]:
    """Return rows that were kept after so many steps, if a `History` has such rows.

    Raises ``ValueError`` for others: rows have their names and finite numbers, the epochs count
    from 1, there are ever more steps, and `steps` in the end.
    """
    names = (*NAMES, "validation") if validated else NAMES
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"checkpoint must hold a list of rows, got {checks.given(rows)}")
    before = 0
    for epoch, row in enumerate(rows, 1):
        if not isinstance(row, dict) or set(row) != set(names):
            raise ValueError(
                f"checkpoint must hold rows of {', '.join(names)}, got {checks.given(row)}"
            )
        for name, value in row.items():
            kinds = (int,) if name in ("epoch", "step") else (int, float)
            if type(value) not in kinds or not math.isfinite(value):
                raise ValueError(
                    f"checkpoint must hold rows of finite numbers, got {name} = "
                    f"{checks.given(value)} in epoch {epoch}"
                )
        if row["epoch"] != epoch or row["step"] <= before:
            raise ValueError(
                "checkpoint must hold rows of epochs from 1 up, with ever more steps, got epoch "
                f"{row['epoch']} and step {row['step']} after epoch {epoch - 1} and step {before}"
            )
        before = row["step"]
    if before != steps:
        raise ValueError(f"checkpoint must hold rows up to its step {steps}, got up to {before}")
    return rows

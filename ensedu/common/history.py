"""What a training writes down, a row an epoch, and when it is over."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ensedu.common import checks
from ensedu.common.training_settings import KLWeight

#: An epoch in numbers, by name: its number, the steps so far, the means of losses over it.
EpochRow = dict[str, float | int]


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

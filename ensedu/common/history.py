"""What a training loop writes down, and how it goes on from there; for both backends."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ensedu.common import checks
from ensedu.priors import minibatch_kl_weights

Row = dict[str, float | int]


@dataclass
class Plan:
    """The settings of a training, which that of a checkpoint must share."""

    num_examples: int
    batch_size: int
    lr: float
    fast_lr_factor: float
    weight_decay: float
    beta: float
    anneal: int
    #: M where each has its own part of a minibatch.
    split: int | None
    validated: bool
    seed: int
    #: In parts of each input's range.
    adversarial: float = 0.0
    #: The name of the loss, and a fingerprint of the data, for checkpoints alone.
    nll: str = ""
    data: str = ""
    #: How the minibatches share the KL.
    kl_weights: str = "uniform"

    def __post_init__(self) -> None:
        # Plain numbers, which a checkpoint can hold, from any that are given.
        self.batch_size = checks.positive_int("batch_size", self.batch_size)
        if self.batch_size > self.num_examples:
            raise ValueError(
                f"batch_size must be at most the number of examples, {self.num_examples}, "
                f"got {self.batch_size}"
            )
        if self.split is not None and self.batch_size % self.split:
            raise ValueError(
                f"batch_size must be a multiple of the {self.split} members that split it, "
                f"got {self.batch_size}"
            )
        self.lr = checks.real("lr", self.lr, low=0.0)
        self.fast_lr_factor = checks.real("fast_lr_factor", self.fast_lr_factor, low=0.0)
        self.weight_decay = checks.not_negative("weight_decay", self.weight_decay)
        self.beta = checks.not_negative("beta", self.beta)
        self.anneal = checks.natural_int("anneal", self.anneal)
        self.adversarial = checks.not_negative("adversarial", self.adversarial)
        checks.one_of("kl_weights", self.kl_weights, ("uniform", "geometric"))
        self.seed = checks.natural_int("seed", self.seed)
        if self.seed >= 2**64:
            raise ValueError(f"seed must be below 2**64, got {checks.given(self.seed)}")

    @property
    def fast_lr(self) -> float:
        """The learning rate of fast weights."""
        return self.lr * self.fast_lr_factor

    def kl_weight(self, step: int) -> float:
        """Return what the KL weighs at a step, counted from 0."""
        ramp = self.anneal * self._steps
        return self.beta * min(1.0, (step + 1) / ramp if ramp else 1.0)

    def kl_share(self, step: int) -> float:
        """Return what the KL of a step's minibatch is times, 1 on average over an epoch."""
        if self.kl_weights == "uniform":
            return 1.0
        steps = self._steps
        return steps * minibatch_kl_weights(steps, self.kl_weights)[step % steps]

    @property
    def _steps(self) -> int:
        """How many minibatches an epoch has."""
        full, rest = divmod(self.num_examples, self.batch_size)
        return full + (rest >= (self.split or 1))


@runtime_checkable
class Keeper(Protocol):
    """Keeps the state of a training: what a backend, or a folder, makes of that."""

    def resume(self) -> list[Row]:
        """Return the rows of the training to go on from, none for a new one."""

    def not_finite(self) -> str:
        """Return the name of a parameter that is not finite, "" if all are."""

    def keep(self, rows: list[Row], *, best: bool, last: bool) -> None:
        """Keep the state after an epoch."""

    def restore(self, step: int) -> None:
        """Give the net the weights of its best epoch, after so many steps."""


class History:
    """The rows of a training: how many epochs there were, and whether there will be more."""

    def __init__(self, plan: Plan, keeper: Keeper, epochs: int, patience: int | None) -> None:
        self._epochs = checks.positive_int("epochs", epochs)
        if patience is not None and checks.positive_int("patience", patience):
            if not plan.validated:
                raise ValueError(f"patience must be None without validation, got {patience}")
            if plan.anneal > epochs:
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
            self._fail(f"nll of validation is {value}")
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
        self._row: Row = {}

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


def pairs(x: Any, y: Any, validation: Any) -> list[tuple[str, Any, str, Any]]:
    """Return inputs and targets with their names, those of validation too if there are any."""
    if validation is None:
        return [("x", x, "y", y)]
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise TypeError(f"validation must be a pair (x, y) or None, got {checks.given(validation)}")
    return [("x", x, "y", y), ("validation[0]", validation[0], "validation[1]", validation[1])]


def same_rows(first: str, rows: int, second: str, other: int) -> None:
    """Check that there are as many targets as inputs."""
    if rows != other:
        raise ValueError(f"{second} must have a row for each of {rows} in {first}, got {other}")


def members_to_split(net: Any, sizes: Collection[int], repeats: bool) -> int:
    """Return how many members share out a minibatch, where all layers have so many."""
    if repeats:
        raise ValueError(
            "split must be False for a net that repeats its input for samples, got True for a "
            f"{type(net).__name__}; accepted is one without samples"
        )
    if len(sizes) != 1:
        numbers = ", ".join(map(str, sorted(sizes))) or "none"
        raise ValueError(
            "split must be False for a net without one number of members, got True for a "
            f"{type(net).__name__} with {numbers}"
        )
    return next(iter(sizes))

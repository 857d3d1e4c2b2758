"""What the training loops of both backends share: settings, and what is written down."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from os import PathLike
from typing import Any

from ensedu.common import checks

__all__ = ["KLWeight", "SaveTo", "Validation", "minibatch_kl_weights"]

#: An epoch in numbers, by name: its number, the steps so far, the means of losses over it.
EpochRow = dict[str, float | int]


@dataclass(frozen=True)
class KLWeight:
    """How much the KL weighs in the loss of a network with distributions; without any it is 0.

    Parameters
    ----------
    beta
        Its weight, 0 or more: the loss is ``nll + beta · kl / N``.
    anneal
        Over how many epochs it grows to that, linearly step by step (Dusenberry et al. 2020,
        sec. 4); 0 for from the start.

    Raises
    ------
    TypeError, ValueError
        For other values.
    """

    beta: float = 1.0
    anneal: int = 0

    def __post_init__(self) -> None:
        # Plain numbers, which a checkpoint can hold, from any that are given.
        object.__setattr__(self, "beta", checks.not_negative("beta", self.beta))
        object.__setattr__(self, "anneal", checks.natural_int("anneal", self.anneal))

    def at(self, step: int, steps: int | None) -> float:
        """Return what the KL weighs at a step, counted from 0, in epochs of so many `steps`."""
        if not self.anneal or not steps:
            return self.beta
        return self.beta * min(1.0, (step + 1) / (self.anneal * steps))


@dataclass(frozen=True, eq=False)
class Validation:
    """Examples on which a training is judged after each epoch, and when it stops for that.

    Parameters
    ----------
    x, y
        Examples and targets, as `fit` takes them; `x` alone for minibatches (x, y).
    patience
        After how many epochs without a new best to stop, and to go back to the weights of the best
        one, of those that ended with the whole `beta`. Without it there is no end before the last
        epoch, whose weights stay.
    score
        What is computed, less being better. ``"mean"`` is `nll` as it is trained on, the mean over
        members, at one draw. ``"mixture"`` is that of all members and draws combined,
        ``nll(predictions, y, reduction="mixture")``. A function is called with all predictions,
        (S · M, B, …), and targets, and returns a number.
    samples
        S, how often a net that draws is run for predictions; 1 for the mean.

    Raises
    ------
    TypeError, ValueError
        For another `patience`, `score` or number of samples.
    """

    x: Any = field(repr=False)
    y: Any = field(default=None, repr=False)
    _: KW_ONLY
    patience: int | None = None
    score: str | Callable[[Any, Any], Any] = "mean"
    samples: int = 1

    def __post_init__(self) -> None:
        if self.patience is not None:
            checks.positive_int("patience", self.patience)
        if not callable(self.score):
            checks.one_of("score", self.score, ("mean", "mixture"))
        if checks.positive_int("samples", self.samples) > 1 and self.score == "mean":
            raise ValueError(f"samples must be 1 for the score 'mean', got {self.samples}")

    @property
    def score_name(self) -> str:
        """What the score is called."""
        return self.score if isinstance(self.score, str) else function_name(self.score)


@dataclass(frozen=True)
class SaveTo:
    """Where a training is saved, to go on from there, and how often.

    Parameters
    ----------
    folder
        A folder for this training alone.
    every
        After how many epochs it is saved; the last one is in any case.

    Raises
    ------
    TypeError, ValueError
        For other values.
    """

    folder: str | PathLike[str]
    _: KW_ONLY
    every: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.folder, (str, PathLike)):
            raise TypeError(f"folder must be a path, got {checks.given(self.folder)}")
        checks.positive_int("every", self.every)


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


def minibatch_kl_weights(number: int, kind: str = "uniform") -> list[float]:
    """Return which part of the KL each of the minibatches of an epoch bears; they sum to 1.

    Parameters
    ----------
    number
        S, how many minibatches there are.
    kind
        ``"uniform"``: 1/S each. ``"geometric"``: 2^(S - i) / (2^S - 1) for the i-th, from 1: the
        prior speaks first and the data after it (Blundell et al. 2015, sec. 3.4).

    Raises
    ------
    TypeError, ValueError
        For another number or kind.
    """
    number = checks.positive_int("number", number)
    if checks.one_of("kind", kind, ("uniform", "geometric")) == "uniform":
        return [1 / number] * number
    # 2^S does not fit a float from S = 1,024 on; 2^-i does, and is 0 where it does not.
    return [2.0**-i / (1 - 2.0**-number) for i in range(1, number + 1)]


def as_kl_weight(kl: Any) -> KLWeight:
    """Return what is given for `kl`, checked."""
    if not isinstance(kl, KLWeight):
        raise TypeError(f"kl must be a KLWeight, got {checks.given(kl)}")
    return kl


def as_validation(validation: Any) -> Validation | None:
    """Return what is given for `validation`, a pair as a `Validation`."""
    if isinstance(validation, (tuple, list)) and len(validation) == 2:
        return Validation(*validation)
    if not isinstance(validation, (Validation, type(None))):
        raise TypeError(
            "validation must be a pair (x, y), a Validation or None, got "
            f"{checks.given(validation)}"
        )
    return validation


def as_saving(checkpoint: Any) -> SaveTo | None:
    """Return what is given for `checkpoint`, a path as a `SaveTo`."""
    if isinstance(checkpoint, (str, PathLike)):
        return SaveTo(checkpoint)
    if not isinstance(checkpoint, (SaveTo, type(None))):
        raise TypeError(
            f"checkpoint must be a path, a SaveTo or None, got {checks.given(checkpoint)}"
        )
    return checkpoint


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


def function_name(value: Any) -> str:
    """Return what a function is called, with the arguments that `functools.partial` has given."""
    if isinstance(value, partial):
        named = (f"{key}={own!r}" for key, own in value.keywords.items())
        return f"{function_name(value.func)}({', '.join([*map(repr, value.args), *named])})"
    return getattr(value, "__qualname__", type(value).__qualname__)


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

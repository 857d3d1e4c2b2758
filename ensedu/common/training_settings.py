"""The settings of a training that both backends share.

All raise ``TypeError`` or ``ValueError`` for other values.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from os import PathLike
from typing import Any

from ensedu.common import checks

__all__ = ["KLWeight", "SaveTo", "Validation", "minibatch_kl_weights"]


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
    """

    folder: str | PathLike[str]
    _: KW_ONLY
    every: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.folder, (str, PathLike)):
            raise TypeError(f"folder must be a path, got {checks.describe(self.folder)}")
        checks.positive_int("every", self.every)


def minibatch_kl_weights(number: int, kind: str = "uniform") -> list[float]:
    """Return which part of the KL each of the minibatches of an epoch bears; they sum to 1.

    Parameters
    ----------
    number
        S, how many minibatches there are.
    kind
        ``"uniform"``: 1/S each. ``"geometric"``: 2^(S - i) / (2^S - 1) for the i-th, from 1: the
        prior speaks first and the data after it (Blundell et al. 2015, sec. 3.4).
    """
    number = checks.positive_int("number", number)
    if checks.one_of("kind", kind, ("uniform", "geometric")) == "uniform":
        return [1 / number] * number
    # 2^S does not fit a float from S = 1,024 on; 2^-i does, and is 0 where it does not.
    return [2.0**-i / (1 - 2.0**-number) for i in range(1, number + 1)]


def as_kl_weight(kl: Any) -> KLWeight:
    """Return what is given for `kl`, checked."""
    if not isinstance(kl, KLWeight):
        raise TypeError(f"kl must be a KLWeight, got {checks.describe(kl)}")
    return kl


def as_validation(validation: Any) -> Validation | None:
    """Return what is given for `validation`, a pair as a `Validation`."""
    if isinstance(validation, (tuple, list)) and len(validation) == 2:
        return Validation(*validation)
    if not isinstance(validation, (Validation, type(None))):
        raise TypeError(
            "validation must be a pair (x, y), a Validation or None, got "
            f"{checks.describe(validation)}"
        )
    return validation


def as_save_to(checkpoint: Any) -> SaveTo | None:
    """Return what is given for `checkpoint`, a path as a `SaveTo`."""
    if isinstance(checkpoint, (str, PathLike)):
        return SaveTo(checkpoint)
    if not isinstance(checkpoint, (SaveTo, type(None))):
        raise TypeError(
            f"checkpoint must be a path, a SaveTo or None, got {checks.describe(checkpoint)}"
        )
    return checkpoint


def function_name(value: Any) -> str:
    """Return what a function is called, with the arguments that `functools.partial` has given."""
    if isinstance(value, partial):
        named = (f"{key}={own!r}" for key, own in value.keywords.items())
        return f"{function_name(value.func)}({', '.join([*map(repr, value.args), *named])})"
    return getattr(value, "__qualname__", type(value).__qualname__)

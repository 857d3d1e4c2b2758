"""What several experiments use: training on one thread, tries, comparisons over splits."""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import nn

import ensedu.torch
from ensedu import uncertainty
from ensedu.uncertainty.meta_analysis import ALPHA
from workshop.running.machine import one_thread

#: What a table says of a difference, and its interval, if it has one.
Compared = tuple[dict[str, Any], uncertainty.MeanDifference | None]


def fit(net: nn.Module, *given: Any, **options: Any) -> nn.Module:
    """Train as `ensedu.torch.fit` does, on one thread and without a bar; return the network."""
    with one_thread():
        ensedu.torch.fit(net, *given, bar=False, **options)
    return net


class Recorder:
    """Calls `observe` after some steps of a training, and keeps what it returns.

    Parameters
    ----------
    observe
        Takes nothing, and returns what to keep: not the tensors that train, but copies.
    at
        The numbers of steps after which it is called, from 1.
    lr
        From the number of steps that were done to the learning rate of the next; by default that
        of the training.

    Examples
    --------
    >>> import torch
    >>> from ensedu.torch import fit, half_squared_error, mlp
    >>> net, x = mlp([1, 5, 1]), torch.linspace(-1, 1, 8)[:, None]
    >>> recorder = Recorder(lambda: net(x).detach().clone(), at=[1, 3])
    >>> history = fit(
    ...     net, x, x**2, half_squared_error, epochs=3, batch_size=8, optimizer=recorder.optimizer
    ... )
    >>> len(recorder.kept), torch.equal(recorder.kept[1], net(x))
    (2, True)
    """

    def __init__(
        self,
        observe: Callable[[], Any],
        at: Container[int],
        lr: Callable[[int], float] | None = None,
    ) -> None:
        self.kept: list[Any] = []
        self._observe, self._at, self._lr, self._steps = observe, at, lr, 0

    def optimizer(self, groups: Any, lr: float) -> torch.optim.Optimizer:
        """Return what `ensedu.torch.fit` takes as its optimizer."""
        adam = torch.optim.Adam(groups, lr=lr)
        adam.register_step_pre_hook(self._before)
        adam.register_step_post_hook(self._after)
        return adam

    def _before(self, adam: torch.optim.Optimizer, *_: Any) -> None:
        if self._lr is not None:
            rate = self._lr(self._steps)
            for group in adam.param_groups:
                group["lr"] = rate

    def _after(self, *_: Any) -> None:
        self._steps += 1
        if self._steps in self._at:
            self.kept.append(self._observe())


def best_tries(
    rows: Sequence[Mapping[str, Any]],
    tries: Mapping[str, Sequence[Any]],
    *,
    who: str = "contestant",
    key: str = "lr",
    score: str = "nll",
    higher: bool = False,
) -> dict[str, int]:
    """Return the number of each contestant's try with the best mean score, the first of a tie.

    A row says `who` has which try as its `key`, and its score: a number, a list of them, or None
    where training failed. The least is the best, unless `higher`.
    """
    sign, found = -1 if higher else 1, {}
    for name, values in tries.items():
        own = [row for row in rows if row[who] == name]
        scores = [[row[score] for row in own if row[key] == value] for value in values]
        means = [np.inf if None in each else sign * np.mean(each) for each in scores]
        found[name] = int(np.argmin(np.round(means, 12)))
    return found


def differences(
    rows: Sequence[Mapping[str, Any]], reference: str, scores: Sequence[str], *, train: int,
    test: int,
) -> list[Compared]:  # fmt: skip
    """Return an entry for each contestant and score: its mean, and how it differs from one's.

    `rows` have ``contestant``, ``split`` and each score, a number or a list over initial seeds, a
    row for each contestant and split. Differences are those of the same split, means over seeds,
    with the corrected resampled t interval over splits of so many examples to train and to test on
    (Nadeau and Bengio 2003); the reference has none.
    """
    rows = sorted(rows, key=lambda row: row["split"])
    means = {
        (name, score): np.array([np.mean(r[score]) for r in rows if r["contestant"] == name])
        for name in dict.fromkeys(row["contestant"] for row in rows)
        for score in scores
    }
    return [
        (
            {"contestant": name, "score": score, "mean": float(own.mean())},
            None if name == reference
            else uncertainty.corrected_t(own - means[reference, score], train=train, test=test),
        )
        for (name, score), own in means.items()
    ]  # fmt: skip


def compare_pairs(
    values: Mapping[str, Float[Array, "splits *starts"]],
    comparisons: Sequence[tuple[str, str]],
    *,
    train: int,
    test: int,
) -> list[dict[str, Any]]:
    """Return an entry for each (contestant, than) of which both have values, lower being better."""
    found: list[Compared] = [
        (
            {"contestant": name, "than": than},
            uncertainty.corrected_t(values[name] - values[than], train=train, test=test),
        )
        for name, than in comparisons
        if name in values and than in values
    ]
    add_verdicts(found)
    return [entry for entry, _ in found]


def add_verdicts(found: Sequence[Compared], *, higher: Sequence[str] = ()) -> None:
    """Add to each entry its interval, the p-value after Holm's correction of all, and a verdict.

    That is ``"better"`` or ``"worse"`` where the p-value is below `ALPHA`, else ``""``; of an entry
    whose ``"score"`` is in `higher`, more is better. What has no interval stays as it is.
    """
    known = [(entry, one) for entry, one in found if one is not None]
    adjusted = uncertainty.holm([one.p for _, one in known])
    for (entry, one), p in zip(known, adjusted.tolist(), strict=True):
        gain = one.mean if entry.get("score") in higher else -one.mean
        verdict = "" if p >= ALPHA else "better" if gain > 0 else "worse"
        entry |= {"difference": one.mean, "low": one.low, "high": one.high, "p": one.p}
        entry |= {"adjusted": p, "verdict": verdict}

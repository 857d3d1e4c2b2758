"""How a training is judged after an epoch: by the mean of members, or by all of them combined."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.common.training_settings import Validation
from ensedu.torch.base import gpus_of
from ensedu.torch.train.examples import check_examples, rows_of
from ensedu.torch.train.losses import as_columns
from ensedu.torch.train.modes import batches_of_members, in_mode
from ensedu.torch.train.predicting import draws_noise, predict_minibatches
from ensedu.torch.train.streams import Stream
from ensedu.torch.whole.inputs import Inputs, call, to_device
from ensedu.torch.whole.nested_tensors import named_tensors

__all__ = ["Validator", "mean_nll"]

Minibatches = Iterable[tuple[Inputs, Tensor]]


class Validator:
    """Computes the score of a `Validation`; raises for what does not fit before any training."""

    def __init__(
        self, net: nn.Module, nll: Callable[..., Tensor], held: Validation, batch_size: int
    ) -> None:
        self._net, self._nll, self._held, self._size = net, nll, held, batch_size
        if held.y is None:
            self._stream = Stream("x of validation", held.x, net)
        else:
            check_examples(net, "x of validation", held.x, "y of validation", held.y)
        if held.samples > 1 and not draws_noise(net):
            raise ValueError(f"samples must be 1 for a net that draws nothing, got {held.samples}")
        if held.score == "mixture" and not _takes_reduction(nll):
            raise ValueError(
                "score must be 'mean' or a function for an nll that has no reduction, got "
                f"'mixture' and {checks.given(nll)}"
            )

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors, none of a stream, to tell these data from others."""
        held = self._held
        return [] if held.y is None else [own for _, own in named_tensors((held.x, held.y))]

    def score(self) -> float:
        """Return the score; what is drawn for it leaves Torch's generators as they were."""
        if self._held.score == "mean":
            return mean_nll(self._net, self._minibatches(), self._nll)
        targets: list[Tensor] = []

        def inputs() -> Iterator[Inputs]:
            for x, y in self._minibatches():
                targets.append(y)
                yield x

        with torch.random.fork_rng(gpus_of(self._net)):
            outputs = predict_minibatches(self._net, inputs(), samples=self._held.samples)
        y = torch.cat(targets).to(next(self._net.parameters()).device)
        if callable(self._held.score):
            found = checks.function("score", self._held.score, "score(predictions, y)")(outputs, y)
        else:
            words = "nll(predictions, y, reduction='mixture')"
            nll = checks.function("nll", self._nll, words)
            found = nll(outputs, as_columns(y, outputs), reduction="mixture")
        return _one_number(found)

    def _minibatches(self) -> Minibatches:
        if self._held.y is None:
            return self._stream.minibatches()
        return in_order(self._held.x, self._held.y, self._size)


def in_order(x: Inputs, y: Tensor, batch_size: int) -> Iterator[tuple[Inputs, Tensor]]:
    """Yield examples in their order, so many at a time."""
    for start in range(0, len(y), batch_size):
        rows = slice(start, start + batch_size)
        yield rows_of(x, rows, len(y)), y[rows]


def mean_nll(net: nn.Module, minibatches: Minibatches, nll: Callable[..., Tensor]) -> float:
    """Return what `nll` gives in eval mode, the mean over all examples.

    What is drawn for it leaves Torch's generators as they were.
    """
    nll, device = checks.function("nll", nll, "nll(net(x), y)"), next(net.parameters()).device
    total, examples = 0.0, 0
    with (
        in_mode(net, training=False), batches_of_members(net, False), torch.no_grad(),
        torch.random.fork_rng(gpus_of(net)),
    ):  # fmt: skip
        for x, y in minibatches:
            outputs = call(net, to_device(x, device))
            total += float(nll(outputs, as_columns(y.to(device), outputs))) * len(y)
            examples += len(y)
    return total / examples


def _takes_reduction(nll: Callable[..., Tensor]) -> bool:
    """Whether a loss may be called with a reduction, as far as it says."""
    try:
        parameters = inspect.signature(nll).parameters.values()
    except (TypeError, ValueError):  # no function, or one that does not say
        return True
    return any(p.name == "reduction" or p.kind is p.VAR_KEYWORD for p in parameters)


def _one_number(value: Any) -> float:
    with suppress(TypeError, ValueError):
        if getattr(value, "ndim", 0) == 0 and not isinstance(value, str):
            return float(value)
    raise TypeError(
        f"score must return one number, less being better, got {checks.given_array(value)}"
    )

"""The score of an epoch on examples that are held out."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.common.training_settings import Validation
from ensedu.torch.base import gpus_of
from ensedu.torch.inputs import Inputs, call, to_device
from ensedu.torch.losses import as_columns
from ensedu.torch.network import draws_noise
from ensedu.torch.train.batches import Minibatches
from ensedu.torch.train.modes import predicting
from ensedu.torch.train.predicting import predict_minibatches


class Validator:
    """Computes the score of a `Validation`; raises for what does not fit before any training."""

    def __init__(
        self, net: nn.Module, nll: Callable[..., Tensor], held: Validation, batch_size: int | None
    ) -> None:
        size = None if held.y is None else batch_size
        self.batches = Minibatches(" of validation", net, held.x, held.y, batch_size=size)
        self._net, self._nll, self._held = net, nll, held
        if held.samples > 1 and not draws_noise(net):
            raise ValueError(f"samples must be 1 for a net that draws nothing, got {held.samples}")
        if held.score == "mixture" and not _takes_reduction(nll):
            raise ValueError(
                "score must be 'mean' or a function for an nll that has no reduction, got "
                f"'mixture' and {checks.describe(nll)}"
            )

    def score(self) -> float:
        """Return the score; what is drawn for it leaves Torch's generators as they were."""
        with torch.random.fork_rng(gpus_of(self._net)):
            return self._mean() if self._held.score == "mean" else self._of_all()

    def _mean(self) -> float:
        """What `nll` gives in eval mode, the mean over all examples."""
        nll = checks.function("nll", self._nll, "nll(net(x), y)")
        device, total, examples = next(self._net.parameters()).device, 0.0, 0
        with predicting(self._net):
            for x, y in self.batches:
                outputs = call(self._net, to_device(x, device))
                total += float(nll(outputs, as_columns(y.to(device), outputs))) * len(y)
                examples += len(y)
        return total / examples

    def _of_all(self) -> float:
        targets: list[Tensor] = []

        def inputs() -> Iterator[Inputs]:
            for x, y in self.batches:
                targets.append(y)
                yield x

        outputs = predict_minibatches(self._net, inputs(), samples=self._held.samples)
        y = torch.cat(targets).to(next(self._net.parameters()).device)
        if callable(self._held.score):
            score = checks.function("score", self._held.score, "score(predictions, y)")(outputs, y)
        else:
            words = "nll(predictions, y, reduction='mixture')"
            nll = checks.function("nll", self._nll, words)
            score = nll(outputs, as_columns(y, outputs), reduction="mixture")
        return _one_number(score)


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
        f"score must return one number, less being better, got {checks.describe_array(value)}"
    )

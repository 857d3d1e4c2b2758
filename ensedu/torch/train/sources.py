"""Where the minibatches of a training come from: tensors in memory, or a stream."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.network import layers_with_kl
from ensedu.torch.train.examples import check_examples, minibatches
from ensedu.torch.train.streams import Stream
from ensedu.torch.whole.inputs import Inputs
from ensedu.torch.whole.nested_tensors import named_tensors

__all__ = ["Tensors", "source_of"]


class Tensors:
    """Examples in memory, which each epoch shuffles by Torch's generator; as a `Stream` else."""

    length = None

    def __init__(self, net: nn.Module, x: Any, y: Any, batch_size: int, drop_last: bool) -> None:
        self.num_examples: int | None = check_examples(net, "x", x, "y", y)
        self.batch_size = batch_size
        self.generators: dict[str, torch.Generator] = {}
        self._x, self._y, self._drop_last = x, y, drop_last

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors, to tell these data from others."""
        return [own for _, own in named_tensors((self._x, self._y))]

    def minibatches(self, members: int | None = None) -> Iterator[tuple[Inputs, Tensor]]:
        """Yield the minibatches of an epoch."""
        return minibatches(self._x, self._y, self.batch_size, members, self._drop_last)


def source_of(
    net: nn.Module,
    x: Any,
    y: Any,
    *,
    batch_size: int | None,
    drop_last: bool,
    num_examples: int | None,
    counted: bool,
) -> Tensors | Stream:
    """Return where the minibatches come from; without `y` that is a stream."""
    checks.boolean("drop_last", drop_last)
    if num_examples is not None:
        checks.positive_int("num_examples", num_examples)
    if y is not None:
        if num_examples is not None:
            raise ValueError(
                f"num_examples must be None for tensors, whose number is known, got {num_examples}"
            )
        size = 32 if batch_size is None else checks.positive_int("batch_size", batch_size)
        return Tensors(net, x, y, size, drop_last)
    stream = Stream("x", x, net, counted=counted)
    for name, value in (("batch_size", batch_size), ("drop_last", drop_last or None)):
        if value is not None:
            raise ValueError(
                f"{name} must be left out for a stream, which has its own, got "
                f"{checks.given(value)}"
            )
    stream.num_examples = num_examples or stream.num_examples
    if stream.num_examples is None and layers_with_kl(net):
        raise ValueError(
            "num_examples must be given for a net with distributions, whose KL belongs to all "
            "examples of a stream, got None, and no dataset of x that has a length"
        )
    return stream

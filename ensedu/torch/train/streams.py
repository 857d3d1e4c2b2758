"""Examples that come along in minibatches, epoch after epoch: a ``DataLoader``, or its like."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.train.examples import check_examples, with_axis_of_outputs
from ensedu.torch.whole.inputs import Inputs, map_examples

__all__ = ["Stream", "inputs_of", "is_stream"]


def is_stream(x: Any) -> bool:
    """Whether a value may be a stream: whatever is iterable, and neither inputs nor an array."""
    return (
        isinstance(x, Iterable)
        and not isinstance(x, (tuple, str, bytes, bytearray, memoryview, Mapping, type))
        and not hasattr(x, "dtype")
    )


class Stream:
    """Minibatches (x, y), which can be iterated again and again.

    Parameters
    ----------
    name
        What messages call it.
    batches
        A ``DataLoader``, a list, or anything whose ``__iter__`` begins anew.
    net
        The network that they are for.
    counted
        Whether an epoch must have as many minibatches as its length says.

    Raises
    ------
    TypeError, ValueError
        For what is no such thing, at once, and for a minibatch that is no pair, when it comes.
    """

    def __init__(self, name: str, batches: Any, net: nn.Module, *, counted: bool = False) -> None:
        if not is_stream(batches):
            raise TypeError(
                f"{name} must be a stream of minibatches (x, y) where y is left out, such as a "
                f"DataLoader, got {checks.given_array(batches)}"
            )
        if isinstance(batches, Iterator):
            raise ValueError(
                f"{name} must be iterable again and again, got {checks.given(batches)}, which is "
                "at its end after one epoch; accepted is a DataLoader, a list, or an object whose "
                "__iter__ begins anew"
            )
        #: How many minibatches an epoch has, and examples the data; None where nobody says it.
        self.length = _length(batches)
        self.num_examples = _length(getattr(batches, "dataset", None))
        if counted and not self.length:
            raise ValueError(
                f"{name} must have a length for a KL that depends on the minibatches of an epoch, "
                f"got {checks.given(batches)}; accepted is also KLWeight(beta) alone"
            )
        #: Nothing of it is in memory, to tell it from others by.
        self.batch_size, self.tensors = None, list[Tensor]()
        self._name, self._batches, self._net, self._counted = name, batches, net, counted

    @property
    def generators(self) -> dict[str, torch.Generator]:
        """The generator that a loader shuffles by, if it has one of its own."""
        own = getattr(self._batches, "generator", None)
        return {"stream": own} if isinstance(own, torch.Generator) else {}

    def minibatches(self, members: int | None = None) -> Iterator[tuple[Inputs, Tensor]]:
        """Yield the minibatches of an epoch; to M `members` each its own part, (M, B / M, …).

        What M does not divide is left out, of the last minibatch alone.
        """
        number, rest = 0, 0
        for number, batch in enumerate(self._batches, start=1):
            if rest:
                raise ValueError(
                    f"{self._name} must give minibatches that {members} members can share, but for "
                    f"the last, got one with {rest} examples too many before batch {number}"
                )
            x, y = self._checked(number, batch)
            if members is None:
                yield map_examples(Tensor.detach, x, len(y)), y.detach()
                continue
            rest = len(y) % members
            if len(y) >= members:
                yield _dealt_out(x, y, members)
        if not number:
            raise ValueError(
                f"{self._name} must give minibatches in each epoch, got none; accepted is an "
                "object whose __iter__ begins anew"
            )
        if self._counted and number != self.length:
            raise ValueError(
                f"{self._name} must give as many minibatches as its length says, {self.length}, "
                f"for a KL that depends on their number, got {number}"
            )

    def _checked(self, number: int, batch: Any) -> tuple[Inputs, Tensor]:
        if not isinstance(batch, (tuple, list)) or len(batch) != 2:
            raise TypeError(
                f"{self._name} must give pairs (inputs, targets), got {checks.given_array(batch)} "
                f"in batch {number}; a loader's collate_fn can make them"
            )
        x, y = inputs_of(batch[0]), batch[1]
        place = f"in batch {number} of {self._name}"
        check_examples(self._net, f"inputs {place}", x, f"targets {place}", y)
        return x, y


def inputs_of(x: Any) -> Any:
    """Return inputs as they were before a loader made a list of a tuple."""
    return tuple(x) if type(x) is list else x


def _dealt_out(x: Inputs, y: Tensor, members: int) -> tuple[Inputs, Tensor]:
    kept = len(y) // members * members

    def dealt(rows: Tensor) -> Tensor:
        return rows.detach()[:kept].unflatten(0, (members, -1))

    return map_examples(dealt, x, len(y)), dealt(with_axis_of_outputs(y))


def _length(value: Any) -> int | None:
    """Return the length of what has one."""
    try:
        return len(value)
    except (TypeError, NotImplementedError):
        return None

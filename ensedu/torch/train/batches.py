"""Minibatches: rows of tensors dealt out, or a stream of them, checked on their way."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.common.training_loop import check_same_rows, checked_batch_size, number_of_steps
from ensedu.torch.inputs import Inputs, map_examples, number_of_examples
from ensedu.torch.tensor_checks import not_dense
from ensedu.torch.trees import named_tensors

#: How many numbers are looked at at once: data may be in a file that is mapped into memory.
PIECE_SIZE = 2**18


def is_stream(x: Any) -> bool:
    """Whether a value may give minibatches: it is iterable, and neither inputs nor an array."""
    return (
        isinstance(x, Iterable)
        and not isinstance(x, (tuple, str, bytes, bytearray, memoryview, Mapping, type))
        and not hasattr(x, "dtype")
    )


class Minibatches:
    """Minibatches (x, y), which can be iterated again and again.

    Parameters
    ----------
    name
        What messages call it: ``""``, or ``" of validation"``.
    net
        The network that they are for.
    x, y
        Tensors, which are dealt out; without y whatever gives minibatches.
    batch_size
        Of tensors.
    shuffle
        Whether each epoch deals tensors out in another order, drawn from Torch's generator; in
        order, a minibatch has all examples where they are fewer than `batch_size`.
    members
        M where each member has its own part of a minibatch, (M, B / M, …). What M does not divide
        is left out.

    Raises
    ------
    TypeError, ValueError
        For what is no such thing, at once; for a minibatch that is no pair, when it comes.
    """

    def __init__(
        self, name: str, net: nn.Module, x: Any, y: Any, *, batch_size: Any = None,
        shuffle: bool = False, members: int | None = None,
    ) -> None:  # fmt: skip
        self._name, self._net, self._x, self._y = name, net, x, y
        self._shuffle, self._members = shuffle, members
        #: N, a minibatch's examples, and minibatches in an epoch; None where nobody says it.
        self.num_examples: int | None
        self.batch_size: int | None
        self.steps: int | None
        if y is not None:
            self.num_examples = check_examples(net, f"x{name}", x, f"y{name}", y)
            if not shuffle and batch_size is not None:  # as large as those of the training
                batch_size = min(batch_size, self.num_examples)
            self.batch_size = checked_batch_size(batch_size, self.num_examples, members)
            self.steps = number_of_steps(self.num_examples, self.batch_size, members)
            return
        if not is_stream(x):
            raise TypeError(
                f"x{name} must give minibatches (x, y) where y is left out, such as a DataLoader, "
                f"got {checks.describe_array(x)}"
            )
        if isinstance(x, Iterator):
            raise ValueError(
                f"x{name} must be iterable again and again, got {checks.describe(x)}, which is at "
                "its end after one epoch; accepted is a DataLoader, a list, or an object whose "
                "__iter__ begins anew"
            )
        if batch_size is not None:
            raise ValueError(
                "batch_size must be left out for minibatches that have their own, got "
                f"{checks.describe(batch_size)}"
            )
        self.num_examples, self.batch_size = _length(getattr(x, "dataset", None)), None
        self.steps = _length(x)

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors in memory, to tell these data from others."""
        return [] if self._y is None else [x for _, x in named_tensors((self._x, self._y))]

    @property
    def generators(self) -> dict[str, torch.Generator]:
        """The generator that a loader shuffles by, if it has one of its own."""
        own = getattr(self._x, "generator", None)
        return {f"stream{self._name}": own} if isinstance(own, torch.Generator) else {}

    def __iter__(self) -> Iterator[tuple[Inputs, Tensor]]:
        empty = True
        for x, y in self._streamed() if self._y is None else self._grouped_by_member():
            examples = len(y) if self._members is None else len(y) // self._members * self._members
            if examples:
                empty = False
                yield self._for_members(x, y, examples)
        if empty:
            raise ValueError(
                f"x{self._name} must give minibatches in each epoch, got none; accepted is an "
                "object whose __iter__ begins anew"
            )

    def _grouped_by_member(self) -> Iterator[tuple[Inputs, Tensor]]:
        number = len(self._y)
        order = torch.randperm(number) if self._shuffle else None
        for i in range(0, number, self.batch_size or number):
            rows: Any = slice(i, i + (self.batch_size or number))
            rows = rows if order is None else order[rows]
            yield rows_of(self._x, rows, number), self._y[rows]

    def _streamed(self) -> Iterator[tuple[Inputs, Tensor]]:
        for number, batch in enumerate(self._x, start=1):
            if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                raise TypeError(
                    f"x{self._name} must give pairs (inputs, targets), got "
                    f"{checks.describe_array(batch)} in batch {number}; a loader's collate_fn can "
                    "make them"
                )
            x, y = inputs_of(batch[0]), batch[1]
            place = f"in batch {number} of x{self._name}"
            check_examples(self._net, f"inputs {place}", x, f"targets {place}", y)
            yield x, y

    def _for_members(self, x: Inputs, y: Tensor, examples: int) -> tuple[Inputs, Tensor]:
        if self._members is None:
            return map_examples(Tensor.detach, x, len(y)), y.detach()
        shape = (self._members, -1)

        def dealt(rows: Tensor) -> Tensor:
            return rows.detach()[:examples].unflatten(0, shape)

        # A loss tells targets (M, B) from (B, k) by the axis k.
        columns = y[:, None] if y.ndim == 1 and y.is_floating_point() else y
        return map_examples(dealt, x, len(y)), dealt(columns)


def inputs_of(x: Any) -> Any:
    """Return inputs as they were before a loader made a list of a tuple."""
    return tuple(x) if type(x) is list else x


def rows_of(x: Inputs, rows: Tensor | slice | int, examples: int) -> Inputs:
    """Return some rows of all inputs with a row for each of so many examples."""
    return map_examples(lambda own: own[rows], x, examples)


def check_net(net: nn.Module) -> torch.device:
    """Check that a net can be trained, and return its device."""
    if not isinstance(net, nn.Module):
        raise TypeError(f"net must be a torch.nn.Module, got {checks.describe(net)}")
    if lazy := [name for name, p in net.named_parameters() if nn.parameter.is_lazy(p)]:
        raise ValueError(f"net must have seen an input, got parameters without a shape: {lazy}")
    devices = {p.device for p in net.parameters() if p.requires_grad}
    if len(devices) != 1 or devices == {torch.device("meta")}:
        raise ValueError(
            "net must have parameters to train, on one device, got "
            f"{', '.join(sorted(map(str, devices))) or 'none'}"
        )
    return devices.pop()


def check_examples(net: nn.Module, first: str, x: Any, second: str, y: Any) -> int:
    """Check inputs and targets, which are called so, and return how many examples they hold."""
    dtypes = {p.dtype for p in net.parameters() if p.is_floating_point()}
    if isinstance(x, Tensor):
        _check_numbers(first, x, dtypes)
    examples = number_of_examples(first, x)
    for name, leaf in [] if isinstance(x, Tensor) else named_tensors(x, first):
        if leaf.ndim:
            _check_numbers(name, leaf, dtypes)
    _check_numbers(second, y, dtypes)
    check_same_rows(first, examples, second, len(y))
    return examples


def _check_numbers(name: str, value: Any, dtypes: set[torch.dtype]) -> None:
    if not isinstance(value, Tensor) or not_dense(value):
        raise TypeError(f"{name} must be a dense torch.Tensor, got {checks.describe_array(value)}")
    if value.is_meta or value.ndim == 0 or value.numel() == 0:
        raise ValueError(
            f"{name} must hold at least one example, got shape {tuple(value.shape)} on "
            f"{value.device}"
        )
    if value.is_complex() or (value.is_floating_point() and value.dtype not in dtypes):
        known = ", ".join(sorted(map(str, dtypes)))
        raise TypeError(f"{name} has dtype {value.dtype}, accepted is that of the net, {known}")
    if (place := first_not_finite(value)) is not None:
        raise ValueError(f"{name} must hold finite numbers, got {value[place].item()} at {place}")


def first_not_finite(x: Tensor, *, infinite_ok: bool = False) -> tuple[int, ...] | None:
    """Return the index of the first number that is not finite, or is NaN; ``None`` without one."""
    if x.is_floating_point() or x.is_complex():
        for start, piece in _pieces(x):
            numbers = piece.float() if piece.itemsize == 1 else piece  # not all can be asked
            bad = numbers.isnan() if infinite_ok else ~numbers.isfinite()
            if bad.any():
                first, *rest = bad.nonzero()[0].tolist()
                return (start + first, *rest)[: x.ndim]
    return None


def hash_tensors(*tensors: Tensor) -> str:
    """Return a short hash of all numbers, to tell whether data are the same."""
    digest = hashlib.sha256()
    for x in tensors:
        digest.update(f"{tuple(x.shape)} {x.dtype} ".encode())
        for _, piece in _pieces(x.detach()):
            whole = piece.cpu().clone(memory_format=torch.contiguous_format)
            digest.update(whole.flatten().view(torch.uint8).numpy())
    return digest.hexdigest()[:16]


def _pieces(x: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Yield a tensor some rows at a time, with the number of the first."""
    x = x if x.ndim else x[None]
    rows = max(1, PIECE_SIZE // max(1, x[:1].numel()))
    for start in range(0, len(x), rows):
        yield start, x[start : start + rows]


def _length(value: Any) -> int | None:
    """Return the length of what has one."""
    try:
        return len(value)
    except (TypeError, NotImplementedError):
        return None

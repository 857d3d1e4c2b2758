"""Minibatches that go through a network, and what comes out of it, in its mode for that."""

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.common.training import (
    check_same_rows,
    checked_batch_size,
    members_to_split,
    number_of_steps,
)
from ensedu.torch.base import MemberLayer, WeightLayer, not_dense
from ensedu.torch.dropout import MCDropout
from ensedu.torch.network import Tile
from ensedu.torch.trees import (
    Inputs,
    as_arguments,
    call,
    join_nested,
    map_examples,
    map_tensors,
    named_tensors,
    number_of_examples,
    to_device,
)
from ensedu.torch.whole.members import ModelEnsemble

__all__ = [
    "Batches",
    "batches_of_members",
    "check_net",
    "draws_noise",
    "first_not_finite",
    "has_members",
    "hash_of",
    "in_mode",
    "is_stream",
    "number_of_members",
    "predict",
    "predict_minibatches",
    "rows_of",
]

WORDS = {
    ("training", False): "in eval mode", ("training", True): "in training mode",
    ("own_batches", False): "with one batch for all members",
    ("own_batches", True): "with a batch for each member",
}  # fmt: skip


@dataclass(eq=False)
class _Wish:
    """What one thread needs a flag of some modules to be, and what it was before."""

    thread: int
    flag: str
    wanted: bool
    before: dict[nn.Module, bool]


_wishes: list[_Wish] = []
_lock = threading.Lock()


@contextmanager
def batches_of_members(net: nn.Module, wanted: bool) -> Iterator[None]:
    """Let converted models take a batch for each member, or one for all; layers take both."""
    parts: list[Any] = [part for part in net.modules() if hasattr(part, "own_batches")]
    with _flag(parts, "own_batches", wanted):
        for part in parts:
            part.own_batches = wanted
        yield


@contextmanager
def in_mode(net: nn.Module, *, training: bool) -> Iterator[None]:
    """Put each module of a net in training or eval mode, and back into its own."""
    with _flag(net.modules(), "training", training):
        net.train(training)
        yield


@contextmanager
def _flag(parts: Iterable[nn.Module], flag: str, wanted: bool) -> Iterator[None]:
    """Give modules back the flag that they had, once no other thread needs what it is now.

    Raises ``RuntimeError`` where another thread needs another value: modules have one for all.
    """
    own = _Wish(threading.get_ident(), flag, wanted, {p: getattr(p, flag) for p in parts})

    def others() -> list[_Wish]:
        same = (one for one in _wishes if one.flag == flag and one.thread != own.thread)
        return [one for one in same if one.before.keys() & own.before.keys()]

    with _lock:
        for other in others():
            if other.wanted != wanted:
                raise RuntimeError(
                    f"net is used {WORDS[flag, other.wanted]} by another thread, so it cannot be "
                    f"used {WORDS[flag, wanted]}; accepted is a copy for each thread, "
                    "copy.deepcopy(net)"
                )
            own.before |= {p: had for p, had in other.before.items() if p in own.before}
        _wishes.append(own)
    try:
        yield
    finally:
        with _lock:
            _wishes.remove(own)
            needed = {part for other in others() for part in other.before}
            for part, had in own.before.items():
                if part not in needed:
                    setattr(part, flag, had)


#: How many numbers are looked at at once: data may be in a file that is mapped into memory.
PIECE = 2**18


def is_stream(x: Any) -> bool:
    """Whether a value may give minibatches: it is iterable, and neither inputs nor an array."""
    return (
        isinstance(x, Iterable)
        and not isinstance(x, (tuple, str, bytes, bytearray, memoryview, Mapping, type))
        and not hasattr(x, "dtype")
    )


class Batches:
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
                f"got {checks.given_array(x)}"
            )
        if isinstance(x, Iterator):
            raise ValueError(
                f"x{name} must be iterable again and again, got {checks.given(x)}, which is at its "
                "end after one epoch; accepted is a DataLoader, a list, or an object whose "
                "__iter__ begins anew"
            )
        if batch_size is not None:
            raise ValueError(
                "batch_size must be left out for minibatches that have their own, got "
                f"{checks.given(batch_size)}"
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
        for x, y in self._given() if self._y is None else self._dealt_out():
            kept = len(y) if self._members is None else len(y) // self._members * self._members
            if kept:
                empty = False
                yield self._for_members(x, y, kept)
        if empty:
            raise ValueError(
                f"x{self._name} must give minibatches in each epoch, got none; accepted is an "
                "object whose __iter__ begins anew"
            )

    def _dealt_out(self) -> Iterator[tuple[Inputs, Tensor]]:
        number = len(self._y)
        order = torch.randperm(number) if self._shuffle else None
        for i in range(0, number, self.batch_size or number):
            rows: Any = slice(i, i + (self.batch_size or number))
            rows = rows if order is None else order[rows]
            yield rows_of(self._x, rows, number), self._y[rows]

    def _given(self) -> Iterator[tuple[Inputs, Tensor]]:
        for number, batch in enumerate(self._x, start=1):
            if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                raise TypeError(
                    f"x{self._name} must give pairs (inputs, targets), got "
                    f"{checks.given_array(batch)} in batch {number}; a loader's collate_fn can "
                    "make them"
                )
            x, y = inputs_of(batch[0]), batch[1]
            place = f"in batch {number} of x{self._name}"
            check_examples(self._net, f"inputs {place}", x, f"targets {place}", y)
            yield x, y

    def _for_members(self, x: Inputs, y: Tensor, kept: int) -> tuple[Inputs, Tensor]:
        if self._members is None:
            return map_examples(Tensor.detach, x, len(y)), y.detach()
        shape = (self._members, -1)

        def dealt(rows: Tensor) -> Tensor:
            return rows.detach()[:kept].unflatten(0, shape)

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
        raise TypeError(f"net must be a torch.nn.Module, got {checks.given(net)}")
    if lazy := [name for name, p in net.named_parameters() if nn.parameter.is_lazy(p)]:
        raise ValueError(f"net must have seen an input, got parameters without a shape: {lazy}")
    devices = {p.device for p in net.parameters() if p.requires_grad}
    if len(devices) != 1 or devices == {torch.device("meta")}:
        raise ValueError(
            "net must have parameters to train, on one device, got "
            f"{', '.join(sorted(map(str, devices))) or 'none'}"
        )
    return devices.pop()


def has_members(net: nn.Module) -> bool:
    """Return whether a net has members, each of which may have examples of its own."""
    return any(
        isinstance(part, MemberLayer) or getattr(part, "ensemble_size", None) is not None
        for part in net.modules()
    )


def number_of_members(net: Any, otherwise: str) -> int:
    """Return how many members a net has, to deal examples out to; `otherwise` begins the error."""
    parts = list(net.modules())  # a converted model knows it as a whole
    those = [
        part for part in parts if isinstance(part, MemberLayer) or hasattr(part, "own_batches")
    ]
    sizes = {part.ensemble_size for part in those} - {None}
    return members_to_split(net, sizes, any(isinstance(p, Tile) for p in parts), otherwise)


def check_examples(net: nn.Module, first: str, x: Any, second: str, y: Any) -> int:
    """Check inputs and targets, which are called so, and return how many examples they hold."""
    dtypes = {p.dtype for p in net.parameters() if p.is_floating_point()}
    if isinstance(x, Tensor):
        _check_tensor(first, x, dtypes)
    examples = number_of_examples(first, x)
    for name, leaf in [] if isinstance(x, Tensor) else named_tensors(x, first):
        if leaf.ndim:
            _check_tensor(name, leaf, dtypes)
    _check_tensor(second, y, dtypes)
    check_same_rows(first, examples, second, len(y))
    return examples


def _check_tensor(name: str, value: Any, dtypes: set[torch.dtype]) -> None:
    if not isinstance(value, Tensor) or not_dense(value):
        raise TypeError(f"{name} must be a dense torch.Tensor, got {checks.given_array(value)}")
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


def hash_of(*tensors: Tensor) -> str:
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
    rows = max(1, PIECE // max(1, x[:1].numel()))
    for start in range(0, len(x), rows):
        yield start, x[start : start + rows]


def _length(value: Any) -> int | None:
    """Return the length of what has one."""
    try:
        return len(value)
    except (TypeError, NotImplementedError):
        return None


def predict(
    net: nn.Module,
    x: Inputs | Iterable[Any],
    *,
    samples: int = 1,
    batch_size: int | None = None,
    noise: dict[str, Tensor] | None = None,
    targets: bool | None = None,
) -> Any:
    """Run a network in eval mode and without gradients: (B, …) -> (S · M, B, k).

    The first axis is 1 for one network, M for an ensemble, and S times that for `samples` passes,
    draw after draw; what the net's own output has in front of the batch comes out as that one axis.
    Outputs in tuples, lists, dicts and dataclasses stay in them. Each draw is one function: all
    minibatches see the same noise (but where a layer draws for each example, ``per_example=True``
    or ``estimator="local"``: then each minibatch has its own).

    Parameters
    ----------
    net
        A layer, `mlp`, what `ensemble` returns, or any module whose outputs have the batch. It
        keeps its mode.
    x
        B inputs, one batch for all members: a tensor, a tuple of arguments or a dict of named ones.
        Or a stream of such minibatches, such as a ``DataLoader``, which is run through once, in its
        own order. Each minibatch goes to the device of the net; what a file maps into memory is
        read as it comes, and not copied.
    samples
        S, how often to run the net; 1 for a net that draws nothing.
    batch_size
        How many examples to run at once; by default all. A stream has its own.
    noise
        What ``net.noise(...)`` returned, instead of drawing: one pass.
    targets
        Of a stream, whether a minibatch is a pair (x, y), whose y is left out, or holds inputs
        alone. It must be said where a minibatch is a tuple or a list of several parts.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, outputs that are not tensors with the batch, and minibatches of a net
        that draws inside a module without ``noise``.
    RuntimeError
        Where another thread trains the net by `fit`. Threads that predict may do so at once.

    Examples
    --------
    >>> import torch
    >>> from ensedu.torch import mlp, predict
    >>> net = mlp([5, 7, 2], "rank1", 3)
    >>> predict(net, torch.ones(11, 5), samples=4, batch_size=6).shape
    torch.Size([12, 11, 2])
    """
    if not isinstance(net, nn.Module):
        raise TypeError(f"net must be a torch.nn.Module, got {checks.given(net)}")
    if checks.positive_int("samples", samples) > 1 and (noise is not None or not draws_noise(net)):
        why = "one noise" if noise is not None else "a net that draws nothing"
        raise ValueError(f"samples must be 1 for {why}, got {samples}")
    if is_stream(x):
        if batch_size is not None:
            raise ValueError(
                f"batch_size must be None for a stream x, got {checks.given(batch_size)}"
            )
        return predict_minibatches(net, _inputs_of_stream(x, targets), samples=samples, noise=noise)
    if targets is not None:
        raise ValueError(
            f"targets must be None for x that is no stream, got {checks.given(targets)}"
        )
    examples = number_of_examples("x", x)
    size = examples if batch_size is None else checks.positive_int("batch_size", batch_size)
    parts = [rows_of(x, slice(i, i + size), examples) for i in range(0, examples, size)]
    device, draws = _device(net), list[Any]()
    with predicting(net):
        for _ in range(samples):
            own = noise
            if noise is None and len(parts) > 1:
                own = _noise_for_all(net, to_device(parts[0], device))
            runs = [_run(net, to_device(part, device), own) for part in parts]
            draws.append(join_nested(runs, "the output of net", 1))
    return join_nested(draws, "the output of net", 0)


def predict_minibatches(
    net: nn.Module, x: Iterable[Inputs], *, samples: int, noise: dict[str, Tensor] | None = None
) -> Any:
    """Return the predictions for inputs that come along, each run by all draws at once."""
    device, noises, outputs = _device(net), [noise] * samples, list[Any]()
    with predicting(net):
        for part in x:
            inputs = to_device(part, device)
            if not outputs and noise is None:
                noises = [_noise_for_all(net, inputs) for _ in range(samples)]
            runs = [_run(net, inputs, own) for own in noises]
            outputs.append(join_nested(runs, "the output of net", 0))
    if not outputs:
        raise ValueError("x must give a minibatch, got none")
    return join_nested(outputs, "the output of net", 1)


@contextmanager
def predicting(net: nn.Module) -> Iterator[None]:
    """Let a net predict: in eval mode, one batch for all members, without gradients."""
    with batches_of_members(net, False), in_mode(net, training=False), torch.no_grad():
        yield


def _device(net: nn.Module) -> torch.device | None:
    return next((parameter.device for parameter in net.parameters()), None)


def draws_noise(net: nn.Module) -> bool:
    """Whether two passes of a network in eval mode differ, by layers of this package."""
    return any(map(_module_draws, net.modules()))


def _module_draws(module: nn.Module) -> bool:
    if isinstance(module, ModelEnsemble):
        return module.draws
    return isinstance(module, (WeightLayer, MCDropout)) and hasattr(module, "noise")


def _inputs_of_stream(x: Iterable[Any], targets: bool | None) -> Iterator[Inputs]:
    """Yield what a stream gives, without targets."""
    if targets is not None:
        checks.boolean("targets", targets)
    for number, batch in enumerate(x, start=1):
        if targets:
            if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                raise TypeError(
                    f"x must give pairs (inputs, targets) with targets=True, got "
                    f"{checks.given_array(batch)} in batch {number}"
                )
            batch = batch[0]
        elif targets is None and isinstance(batch, (tuple, list)) and len(batch) > 1:
            raise ValueError(
                f"targets must be True or False for x that gives several parts, got None with "
                f"{len(batch)} parts in batch {number}: True where it is a pair (inputs, targets), "
                "False where all are inputs"
            )
        inputs = inputs_of(batch)
        number_of_examples(f"inputs in batch {number} of x", inputs)
        yield inputs


def _noise_for_all(net: Any, x: Inputs) -> dict[str, Tensor] | None:
    """Draw the noise of all minibatches; None where nothing is, or for each example."""
    if not draws_noise(net) or _draws_for_each_example(net):
        return None
    if not hasattr(net, "noise"):
        raise ValueError(
            f"batch_size must be None and x no stream for a {type(net).__name__}, which draws but "
            "has no noise() to draw once for all minibatches; accepted is an "
            "ensedu.torch.Sequential"
        )
    # A converted model takes its inputs, and has the axes; a layer takes their shape.
    if hasattr(net, "leading"):
        args, kwargs = as_arguments(x)
        return net.noise(None, *args, **kwargs)
    return net.noise(None, tuple(x.shape) if isinstance(x, Tensor) else None)


def _draws_for_each_example(net: nn.Module) -> bool:
    return any(
        getattr(part, "per_example", False) or getattr(part, "estimator", "weights") != "weights"
        for part in net.modules()
    )


def _run(net: Any, x: Inputs, noise: dict[str, Tensor] | None) -> Any:
    """Return the outputs of one draw, with one axis in front of the batch."""
    outputs = call(net, x) if noise is None else call(net, x, noise=noise)
    if not named_tensors(outputs, "the output"):
        raise TypeError(f"net must return tensors, got {checks.given(outputs)}")
    examples = number_of_examples("x", x)
    return map_tensors(lambda _, y: _with_one_leading_axis(net, y, examples), outputs, "the output")


def _with_one_leading_axis(net: Any, y: Tensor, examples: int) -> Tensor:
    """Flatten what stands in front of the batch."""
    axes = [axis for axis in _axes_before_batch(net, y) if 0 <= axis < y.ndim]
    fitting = [axis for axis in axes if y.shape[axis] == examples]
    if len(fitting) != 1:
        which = (
            "which has two axes of that length" if fitting else "which has no such axis in place"
        )
        raise ValueError(
            f"net must return (M, B, ...) or (B, ...), got shape {tuple(y.shape)} for {examples} "
            f"examples, {which}"
        )
    leading = fitting[0]
    return y.flatten(0, leading - 1) if leading > 1 else y if leading else y[None]


def _axes_before_batch(net: nn.Module, y: Tensor) -> set[int]:
    """Return how many axes may stand in front of the batch: by what a net adds, and by its end."""
    parts = list(net.modules())
    wholes: list[Any] = [part for part in parts if hasattr(part, "leading")]
    tiles = [part for part in parts if isinstance(part, Tile)]
    layers = [part for part in parts if isinstance(part, WeightLayer)]
    if wholes:  # in one that was converted, layers have axes of their own
        return {len(wholes[0].leading)}
    if tiles:
        return {1 + (tiles[0].ensemble_size is not None)}
    added = int(any(isinstance(layer, MemberLayer) for layer in layers))
    return {added, *(y.ndim + layer.batch_axis for layer in layers[-1:])}

"""What a network gives in its mode for that: eval mode, one batch for all, without gradients."""

from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.base import Ensemble, MemberLayer, WeightLayer, depends_on_input
from ensedu.torch.inputs import Inputs, as_arguments, call, number_of_examples, to_device
from ensedu.torch.network import draws_noise
from ensedu.torch.train.batches import inputs_of, is_stream, rows_of
from ensedu.torch.train.modes import predicting
from ensedu.torch.trees import join_trees, map_tensors, named_tensors


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
        raise TypeError(f"net must be a torch.nn.Module, got {checks.describe(net)}")
    if checks.positive_int("samples", samples) > 1 and (noise is not None or not draws_noise(net)):
        why = "one noise" if noise is not None else "a net that draws nothing"
        raise ValueError(f"samples must be 1 for {why}, got {samples}")
    if is_stream(x):
        if batch_size is not None:
            raise ValueError(
                f"batch_size must be None for a stream x, got {checks.describe(batch_size)}"
            )
        return predict_minibatches(net, _inputs_of_stream(x, targets), samples=samples, noise=noise)
    if targets is not None:
        raise ValueError(
            f"targets must be None for x that is no stream, got {checks.describe(targets)}"
        )
    examples = number_of_examples("x", x)
    size = examples if batch_size is None else checks.positive_int("batch_size", batch_size)
    parts = [rows_of(x, slice(i, i + size), examples) for i in range(0, examples, size)]
    return predict_minibatches(net, parts, samples=samples, noise=noise, alone=len(parts) == 1)


def predict_minibatches(
    net: nn.Module, x: Iterable[Inputs], *, samples: int, noise: dict[str, Tensor] | None = None,
    alone: bool = False,
) -> Any:  # fmt: skip
    """Return the predictions for inputs that come along, each run by all draws at once.

    Noise that all minibatches share is drawn first, but for one that comes `alone`.
    """
    device = next((parameter.device for parameter in net.parameters()), None)
    noises, outputs = [noise] * samples, list[Any]()
    with predicting(net):
        for part in x:
            inputs = to_device(part, device)
            if not outputs and noise is None and not alone:
                noises = [_noise_for_all(net, inputs) for _ in range(samples)]
            runs = [_run(net, inputs, own) for own in noises]
            outputs.append(join_trees(runs, "the output of net", 0))
    if not outputs:
        raise ValueError("x must give a minibatch, got none")
    return join_trees(outputs, "the output of net", 1)


def _inputs_of_stream(x: Iterable[Any], targets: bool | None) -> Iterator[Inputs]:
    """Yield what a stream gives, without targets."""
    if targets is not None:
        checks.boolean("targets", targets)
    for number, batch in enumerate(x, start=1):
        if targets:
            if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                raise TypeError(
                    f"x must give pairs (inputs, targets) with targets=True, got "
                    f"{checks.describe_array(batch)} in batch {number}"
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
    if not draws_noise(net) or any(map(depends_on_input, net.modules())):
        return None
    if not hasattr(net, "noise"):
        raise ValueError(
            f"batch_size must be None and x no stream for a {type(net).__name__}, which draws but "
            "has no noise() to draw once for all minibatches; accepted is an "
            "ensedu.torch.Sequential"
        )
    # A converted model, which may be compiled, takes its inputs; a layer takes their shape.
    if isinstance(getattr(net, "_orig_mod", net), Ensemble):
        args, kwargs = as_arguments(x)
        return net.noise(None, *args, **kwargs)
    return net.noise(None, tuple(x.shape) if isinstance(x, Tensor) else None)


def _run(net: Any, x: Inputs, noise: dict[str, Tensor] | None) -> Any:
    """Return the outputs of one draw, with one axis in front of the batch."""
    outputs = call(net, x) if noise is None else call(net, x, noise=noise)
    if not named_tensors(outputs, "the output"):
        raise TypeError(f"net must return tensors, got {checks.describe(outputs)}")
    examples = number_of_examples("x", x)
    return map_tensors(lambda _, y: _with_one_leading_axis(net, y, examples), outputs, "the output")


def _with_one_leading_axis(net: Any, y: Tensor, examples: int) -> Tensor:
    """Flatten what stands in front of the batch."""
    axes = [axis for axis in _leading_axis_counts(net, y) if 0 <= axis < y.ndim]
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


def _leading_axis_counts(net: nn.Module, y: Tensor) -> set[int]:
    """Return how many axes may stand in front of the batch: by who adds them, and by a net's end.

    Models of others that have `leading` say so, too: it is all that is asked of them here.
    """
    adds: Any = next((part for part in net.modules() if hasattr(part, "leading")), None)
    if adds is not None and not isinstance(adds, MemberLayer):
        return {len(adds.leading)}
    # A layer takes what members and samples have in front of it already.
    last = [part for part in net.modules() if isinstance(part, WeightLayer)][-1:]
    return {int(adds is not None), *(y.ndim + layer.batch_axis for layer in last)}

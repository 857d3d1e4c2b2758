"""Predictions of any network, one row a member and sample."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.base import MemberLayer, WeightLayer, gpus_of, not_dense
from ensedu.torch.dropout import MCDropout
from ensedu.torch.network import Tile
from ensedu.torch.train.losses import as_columns
from ensedu.torch.train.modes import batches_of_members, in_mode
from ensedu.torch.whole.flat_parts import FlatPart

__all__ = ["draws_noise", "mean_nll", "predict"]


def predict(
    net: nn.Module,
    x: Tensor,
    *,
    samples: int = 1,
    batch_size: int | None = None,
    noise: dict[str, Tensor] | None = None,
) -> Tensor:
    """Run a network in eval mode and without gradients: (B, …) -> (S · M, B, k).

    The first axis is 1 for one network, M for an ensemble, and S times that for `samples` passes,
    draw after draw; what the net's own output has in front of the batch comes out as that one axis.
    Each draw is one function: all minibatches see the same noise (but where a layer draws for each
    example, ``per_example=True`` or ``estimator="local"``: then each minibatch has its own).

    Parameters
    ----------
    net
        A layer, `mlp`, what `ensemble` returns, or any module that maps (B, …) to a tensor. It
        keeps its mode.
    x
        B inputs, one batch for all members.
    samples
        S, how often to run the net; 1 for a net that draws nothing.
    batch_size
        How many examples to run at once; by default all.
    noise
        What ``net.noise(...)`` returned, instead of drawing: one pass.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, outputs that are not a tensor with the batch, and minibatches of a net
        that draws inside a module without ``noise``.
    RuntimeError
        Where another thread trains the net, or is in a pass of it in training mode. Threads that
        predict may do so at once.

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
    if not isinstance(x, Tensor) or not_dense(x):
        raise TypeError(f"x must be a dense torch.Tensor, got {checks.given_array(x)}")
    if x.ndim < 1 or not len(x):
        raise ValueError(f"x must be (B, ...) with at least one example, got {tuple(x.shape)}")
    size = len(x) if batch_size is None else checks.positive_int("batch_size", batch_size)
    if checks.positive_int("samples", samples) > 1 and (noise is not None or not draws_noise(net)):
        why = "one noise" if noise is not None else "a net that draws nothing"
        raise ValueError(f"samples must be 1 for {why}, got {samples}")
    with (
        batches_of_members(net, False, guarded=True),
        in_mode(net, training=False, guarded=True), torch.no_grad(),
    ):  # fmt: skip
        passes = [_one_pass(net, x.split(size), noise) for _ in range(samples)]
    return torch.cat(passes)


def mean_nll(
    net: nn.Module, x: Tensor, y: Tensor, nll: Callable[[Any, Tensor], Tensor], *, batch_size: int
) -> float:
    """Return what `nll` gives in eval mode, the mean over all examples, a minibatch at a time.

    What is drawn for it leaves Torch's generators as they were.
    """
    nll, device = checks.function("nll", nll, "nll(net(x), y)"), next(net.parameters()).device
    total = 0.0
    with (
        in_mode(net, training=False), batches_of_members(net, False), torch.no_grad(),
        torch.random.fork_rng(gpus_of(net)),
    ):  # fmt: skip
        for inputs, targets in zip(x.split(batch_size), y.split(batch_size), strict=True):
            outputs = net(inputs.to(device))
            total += float(nll(outputs, as_columns(targets.to(device), outputs))) * len(inputs)
    return total / len(x)


def draws_noise(net: nn.Module) -> bool:
    """Whether two passes of a network in eval mode differ, by layers of this package."""
    return any(map(_module_draws, net.modules()))


def _module_draws(module: nn.Module) -> bool:
    if isinstance(module, FlatPart):
        return module.draws
    return isinstance(module, (WeightLayer, MCDropout)) and hasattr(module, "noise")


def _one_pass(net: Any, batches: tuple[Tensor, ...], noise: dict[str, Tensor] | None) -> Tensor:
    """Return the outputs of one draw, (S · M, B, …)."""
    if noise is None and len(batches) > 1 and draws_noise(net) and not _draws_for_each_example(net):
        noise = _noise_for_all(net, batches[0])
    outputs = [net(x) if noise is None else net(x, noise=noise) for x in batches]
    return torch.cat(
        [_with_one_leading_axis(net, y, len(x)) for x, y in zip(batches, outputs, strict=True)], 1
    )


def _draws_for_each_example(net: nn.Module) -> bool:
    return any(
        getattr(part, "per_example", False) or getattr(part, "estimator", "weights") != "weights"
        for part in net.modules()
    )


def _noise_for_all(net: Any, x: Tensor) -> dict[str, Tensor]:
    if not hasattr(net, "noise"):
        raise ValueError(
            f"batch_size must be None or all of x for a {type(net).__name__}, which draws but has "
            "no noise() to draw once for all minibatches; accepted is an ensedu.torch.Sequential"
        )
    # A converted model takes its inputs, and has the axes; a layer takes their shape.
    return net.noise(None, x if hasattr(net, "leading") else tuple(x.shape))


def _with_one_leading_axis(net: Any, y: Any, examples: int) -> Tensor:
    """Flatten what stands in front of the batch."""
    if not isinstance(y, Tensor):
        raise TypeError(
            f"net must return a tensor, got a {type(y).__name__}; accepted is a module around it "
            "that returns one"
        )
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

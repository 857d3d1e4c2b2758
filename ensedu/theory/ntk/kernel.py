"""The tangent kernel of a network at hand, and how members train where it stays as it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import check_float64
from ensedu.common.checks import optional
from ensedu.theory.ntk.network import EmbeddedEnsemble


@dataclass(frozen=True, eq=False)
class Kernel:
    """The parts of a tangent kernel, of B inputs and C others: arrays, or tensors.

    ``Θ_ij(x, x′) = γ/M Θ^com_ij(x, x′) + δ_ij Θ^ind_i(x, x′)`` says how a step down member j's loss
    at x′ moves member i's output at x: by the weights that all share, and by its own modulations
    (Velikanov et al. 2022).
    """

    #: Θ^com of each pair of members, from the shared weights.
    shared: Float[Any, "M M B C"]
    #: Θ^ind of each member, from its modulations.
    own: Float[Any, "M B C"]

    def total(self, gamma: float = 1.0) -> Float[Any, "M M B C"]:
        """Θ at this γ: 1 for the mean of the members' losses, M for their sum."""
        members = [*range(len(self.own))]
        kernel = checks.real("gamma", gamma) / len(members) * self.shared
        kernel[members, members] += self.own
        return kernel


def tangent(
    net: EmbeddedEnsemble,
    x: Float[Array, "B m"],
    other: Float[Array, "C m"] | None = None,
    *,
    block_size: int = 256,
    bar: bool = False,
) -> Kernel:
    """Return the kernel of a network at hand: layer by layer, (X Xᵀ) ∘ (Δ Δᵀ).

    The gradient of f in W is the product of a layer's input and of the slope of f in its output,
    so that no Jacobian is ever formed: what is kept is (M, B, n) for each layer, beside the kernel.
    Without other inputs it is that of x with itself, in about half the time. So many inputs of x as
    `block_size` says are multiplied at a time, which has no effect on the result; a `bar` shows
    blocks as they are done (with tqdm).
    """
    if not isinstance(net, EmbeddedEnsemble):
        raise TypeError(f"net must be an EmbeddedEnsemble, got {checks.describe(net)}")
    if other is not None:
        net.check_inputs("other", other)
    here = net.forward_pass(x)
    there = here if other is None else net.forward_pass(other)
    M, B, C = net.ensemble_size, here.outputs.shape[1], there.outputs.shape[1]
    shared, own = np.zeros((M, M, B, C)), np.zeros((M, B, C))
    offsets = [net.bias_std**2] * (len(net.weights) - 1) + [0.0]
    pairs = [(i, j) for i in range(M) for j in range(i if other is None else 0, M)]
    for rows in row_blocks(B, block_size, bar):
        for layer, offset in enumerate(offsets):
            inputs, others = here.inputs[layer][:, rows], there.inputs[layer]
            slopes = here.slopes[layer][:, rows], there.slopes[layer]
            # The first layer's inputs are the same for all members.
            alike = inputs[0] @ others[0].T if len(inputs) == 1 else None
            for i, j in pairs:
                products = inputs[i] @ others[j].T if alike is None else alike
                shared[i, j, rows] += (products + offset) * (slopes[0][i] @ slopes[1][j].T)
        for pair, others in zip(here.modulation_slopes, there.modulation_slopes, strict=True):
            for first, second in zip(pair, others, strict=True):
                own[:, rows] += first[:, rows] @ second.swapaxes(1, 2)
    if other is None:
        for i, j in pairs:
            shared[j, i] = shared[i, j].T
    return Kernel(shared, own)


def row_blocks(number: int, block_size: int, bar: bool) -> Iterator[slice]:
    """Yield the rows of each block, and show how many are done."""
    starts = range(0, number, checks.positive_int("block_size", block_size))
    shown = optional("tqdm", "torch").tqdm if checks.boolean("bar", bar) else iter
    for start in shown(starts):
        yield slice(start, start + block_size)


def flow(
    kernel: Float[Array, "M M B B"],
    start: Float[Array, "M B"],
    targets: Float[Array, " B"],
    times: Sequence[float],
) -> Float[Array, "T M B"]:
    """Return the members' outputs on the training inputs at each of these times.

    ``f(t) = y + exp(-Θ t / B) (f(0) - y)``: under a kernel that stays as it is, every member's
    distance from the targets shrinks as ``d(f - y)/dt = -Θ (f - y) / B``, by its loss
    ``½ mean_x (f_i - y)²``. A step of gradient descent takes a time of its learning rate.

    The `kernel` is Θ as `Kernel.total` gives it, symmetric; `start` is f(0), as ``net(x)``, the
    targets are y, the same for all members, and times are numbers from 0 up.
    """
    for name, array in (("kernel", kernel), ("start", start), ("targets", targets)):
        check_float64(name, array)
    M, B = start.shape if start.ndim == 2 else (0, 0)
    if kernel.shape != (M, M, B, B) or targets.shape != (B,):
        raise ValueError(
            f"kernel has shape {kernel.shape}, start {start.shape} and targets {targets.shape}, "
            "accepted are (M, M, B, B), (M, B) and (B,)"
        )
    matrix = kernel.transpose(0, 2, 1, 3).reshape(M * B, M * B)
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10 * np.abs(matrix).max()):
        raise ValueError("kernel must be symmetric: that of x with itself, not with other inputs")
    if isinstance(times, (str, bytes)) or not isinstance(times, Sequence):
        raise TypeError(f"times must be a sequence of numbers, got {checks.describe(times)}")
    moments = np.array([checks.not_negative(f"times[{i}]", t) for i, t in enumerate(times)])
    rates, directions = np.linalg.eigh((matrix + matrix.T) / 2)
    begin = directions.T @ (start - targets).ravel()
    shrunk = np.exp(-np.outer(moments, rates) / B) * begin  # (T, M B)
    return targets + (shrunk @ directions.T).reshape(-1, M, B)


def modes(ensemble_size: int, ratio: float | int, gamma: float | int = 1.0) -> tuple[float, float]:
    """Return how fast members move together and apart, where Θ^com_ij = χ Θ^com_ii for all j ≠ i.

    Relative to one network of that kernel: the mean of the members at ``γ (1 + (M - 1) χ) / M``,
    every difference of two at ``γ (1 - χ) / M``. At χ = 0 both are γ / M: no member sees another.
    At χ = 1 differences stay as they are. The `ratio` χ is from -1 / (M - 1), below which there is
    no such kernel, to 1; γ is 1 for the mean of the members' losses, M for their sum.

    Examples
    --------
    >>> modes(4, 0.0, gamma=4.0)
    (1.0, 1.0)
    >>> modes(4, 1.0)
    (1.0, 0.0)
    """
    M = checks.positive_int("ensemble_size", ensemble_size)
    share, factor = checks.real("ratio", ratio), checks.real("gamma", gamma, low=0.0)
    if not (-1 / (M - 1) if M > 1 else -1) <= share <= 1:
        raise ValueError(f"ratio must be from -1 / (M - 1) to 1, got {ratio!r} for M = {M}")
    return factor * (1 + (M - 1) * share) / M, factor * (1 - share) / M

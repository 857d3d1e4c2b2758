"""The tangent kernel of a network at hand."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
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

    Parameters
    ----------
    net
        From `embedded`.
    x, other
        Inputs; without others, of x with itself, in about half the time.
    block_size
        How many inputs of x are multiplied at a time, a positive integer: no effect on the result.
    bar
        Show blocks as they are done (with tqdm).
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

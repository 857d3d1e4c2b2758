"""Tangent kernels of embedded ensembles: of one at hand, and in the limit of infinite width.

``Θ_ij(x, x′) = γ/M Θ^com_ij(x, x′) + δ_ij Θ^ind_i(x, x′)`` says how a step down member j's loss at
x′ moves member i's output at x: by the weights that all share, and by its own modulations
(Velikanov et al. 2022).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.arrays import check_float64
from ensedu.common.checks import optional
from ensedu.theory.ntk.embedded import EmbeddedEnsemble, one_for_each_layer
from ensedu.theory.ntk.gaussian import ACTIVATIONS
from ensedu.theory.ntk.modulations import ONES, SIGNS, Modulation

__all__ = ["Kernel", "Limit", "limit", "tangent"]


@dataclass(frozen=True, eq=False)
class Kernel:
    """The parts of a tangent kernel, of B inputs and C others."""

    #: Θ^com of each pair of members, from the shared weights.
    shared: Float[Array, "M M B C"]
    #: Θ^ind of each member, from its modulations.
    own: Float[Array, "M B C"]

    def total(self, gamma: float = 1.0) -> Float[Array, "M M B C"]:
        """Θ at this γ: 1 for the mean of the members' losses, M for their sum."""
        M = len(self.own)
        found = checks.real("gamma", gamma) / M * self.shared
        found[np.arange(M), np.arange(M)] += self.own
        return found


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

    Raises
    ------
    TypeError, ValueError
        For anything but a network and inputs (B, m) and (C, m) of its features.
    """
    if not isinstance(net, EmbeddedEnsemble):
        raise TypeError(f"net must be an EmbeddedEnsemble, got {checks.given(net)}")
    if other is not None:
        net.check_inputs("other", other)
    one = net.forward_pass(x)
    two = one if other is None else net.forward_pass(other)
    M, B, C = net.ensemble_size, one.outputs.shape[1], two.outputs.shape[1]
    shared, own = np.zeros((M, M, B, C)), np.zeros((M, B, C))
    offsets = [net.bias_std**2] * (len(net.weights) - 1) + [0.0]
    pairs = [(i, j) for i in range(M) for j in range(i if other is None else 0, M)]
    for rows in row_blocks(B, block_size, bar):
        for layer, offset in enumerate(offsets):
            inputs, others = one.inputs[layer][:, rows], two.inputs[layer]
            slopes = one.slopes[layer][:, rows], two.slopes[layer]
            # The first layer's inputs are the same for all members.
            alike = inputs[0] @ others[0].T if len(inputs) == 1 else None
            for i, j in pairs:
                products = inputs[i] @ others[j].T if alike is None else alike
                shared[i, j, rows] += (products + offset) * (slopes[0][i] @ slopes[1][j].T)
        for pair, others in zip(one.modulated, two.modulated, strict=True):
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


@dataclass(frozen=True, eq=False)
class Limit:
    """What an ensemble is at infinite width, of two members: the same, and different ones."""

    #: E[f_i f_j], for j = i and j ≠ i.
    covariance: tuple[Float[Array, "B C"], Float[Array, "B C"]]
    #: Θ^com_ij, for j = i and j ≠ i.
    shared: tuple[Float[Array, "B C"], Float[Array, "B C"]]
    #: Θ^ind_i.
    own: Float[Array, "B C"]


def limit(
    x: Float[Array, "B m"],
    other: Float[Array, "C m"] | None = None,
    *,
    hidden_layers: int,
    u: Modulation | Sequence[Modulation] = SIGNS,
    v: Modulation | Sequence[Modulation] = ONES,
    activation: str = "relu",
    bias_std: float = 0.0,
) -> Limit:
    """Return the covariance of outputs and the kernel as the hidden layers grow, one after another.

    By recursion over layers: the first two moments of u, and an average over v, of normal
    integrals (`ensedu.theory.ntk.gaussian`). Arguments are those of `embedded`, with a number of
    `hidden_layers` for sizes.

    Raises
    ------
    TypeError, ValueError
        For a bad argument.
    """
    check_float64("x", x)
    other = x if other is None else other
    check_float64("other", other)
    if x.ndim != 2 or other.ndim != 2 or x.shape[1] != other.shape[1]:
        raise ValueError(
            f"x has shape {x.shape} and other {other.shape}, accepted are (B, m) and (C, m)"
        )
    layers = checks.positive_int("hidden_layers", hidden_layers)
    checks.one_of("activation", activation, ACTIVATIONS)
    std, sizes = checks.not_negative("bias_std", bias_std), [1] * layers
    if not np.isfinite(offset := std * std):
        raise ValueError(f"bias_std must have a finite square, got {bias_std!r}")
    pairs = zip(one_for_each_layer("u", u, sizes), one_for_each_layer("v", v, sizes), strict=True)
    m = x.shape[1]
    cross = x @ other.T / m + offset
    # Of one member with itself, and of two.
    covariance, shared, own = [cross, cross], [cross, cross], np.zeros_like(cross)
    a, b = ((z**2).sum(axis=1) / m + offset for z in (x, other))
    for layer, (by_u, by_v) in enumerate(pairs, start=1):
        offset = offset if layer < layers else 0.0
        mean, square = by_u.moments
        same = _averaged_moments(activation, by_v, a[:, None], b, covariance[0], together=True)
        apart = _averaged_moments(activation, by_v, a[:, None], b, covariance[1], together=False)
        own = square * same["slope"] * own + same["value"] + square * same["scaled_slope"]
        a, b = (
            square * _averaged_moments(activation, by_v, c, c, c, together=True)["value"] + offset
            for c in (a, b)
        )
        moments = ((square, same), (mean**2, apart))
        shared = [
            factor * found["value"] + offset + factor * found["slope"] * before
            for (factor, found), before in zip(moments, shared, strict=True)
        ]
        covariance = [factor * found["value"] + offset for factor, found in moments]
    return Limit((covariance[0], covariance[1]), (shared[0], shared[1]), own)


def _averaged_moments(
    activation: str, by: Modulation, a: Array, b: Array, c: Array, *, together: bool
) -> dict[str, Array]:
    """Average the moments over v of two members, or of one that is the same in both places.

    Of s = v z and t = v′ z′, with the chain rule's factors: v v′ for the slopes in z, none for
    those in v.
    """
    found: dict[str, Array] = {}
    values, chances = by.points
    for v, chance in zip(values, chances, strict=True):
        rows = [(v, 1.0)] if together else zip(values, chances, strict=True)
        for w, other in rows:
            if v * w == 0:
                raise ValueError("v must not be 0, got a distribution that may be")
            moments = ACTIVATIONS[activation].moments(v**2 * a, w**2 * b, v * w * c)
            parts = {
                "value": moments.value,
                "slope": v * w * moments.slope,
                "scaled_slope": moments.scaled_slope / (v * w),
            }
            for name, part in parts.items():
                found[name] = found.get(name, 0) + chance * other * part
    return found

"""What covariances and kernels become as the layers grow, one after another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import check_float64
from ensedu.theory.ntk.units import ACTIVATIONS, ALL_ONES, SIGNS, Modulation, layer_modulations


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
    v: Modulation | Sequence[Modulation] = ALL_ONES,
    activation: str = "relu",
    bias_std: float = 0.0,
) -> Limit:
    """Return the covariance of outputs and the kernel as the hidden layers grow, one after another.

    By recursion over layers: the first two moments of u, and an average over v, of normal
    integrals (`ensedu.theory.ntk`). Arguments are those of `embedded`, with a number of
    `hidden_layers` for sizes.
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
    pairs = zip(layer_modulations("u", u, sizes), layer_modulations("v", v, sizes), strict=True)
    m = x.shape[1]
    cross = x @ other.T / m + offset
    # Of one member with itself, and of two.
    covariance, shared, own = [cross, cross], [cross, cross], np.zeros_like(cross)
    a, b = ((z**2).sum(axis=1) / m + offset for z in (x, other))
    for layer, (by_u, by_v) in enumerate(pairs, start=1):
        offset = offset if layer < layers else 0.0
        mean, square = by_u.moments
        same = _averaged_moments(activation, by_v, a[:, None], b, covariance[0], together=True)
        two = _averaged_moments(activation, by_v, a[:, None], b, covariance[1], together=False)
        own = square * same["slope"] * own + same["value"] + square * same["scaled_slope"]
        a, b = (
            square * _averaged_moments(activation, by_v, c, c, c, together=True)["value"] + offset
            for c in (a, b)
        )
        moments = ((square, same), (mean**2, two))
        shared = [
            factor * averages["value"] + offset + factor * averages["slope"] * before
            for (factor, averages), before in zip(moments, shared, strict=True)
        ]
        covariance = [factor * averages["value"] + offset for factor, averages in moments]
    return Limit((covariance[0], covariance[1]), (shared[0], shared[1]), own)


def _averaged_moments(
    activation: str, by: Modulation, a: Array, b: Array, c: Array, *, together: bool
) -> dict[str, Array]:
    """Average the moments over v of two members, or of one that is the same in both places.

    Of s = v z and t = v′ z′, with the chain rule's factors: v v′ for the slopes in z, none for
    those in v.
    """
    sums: dict[str, Array] = {}
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
                sums[name] = sums.get(name, 0) + chance * other * part
    return sums

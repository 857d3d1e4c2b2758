"""Perturbations of a weight matrix, full and rank-1, and what they make of the score.

A draw of a matrix W, (m, n), is ``V = W ∘ (1 + Z)``, with Z, (m, n), of mean 0: every entry of W
is scaled by a random number close to 1. Such a perturbation has *multiplicative covariance*::

    Cov(V_aj, V_a'j') = W_aj Σ_aj,a'j' W_a'j'       with Σ = Cov(Z), here (m, n, m, n)

A *full* one draws Z from N(0, Σ), for any Σ. A *rank-1* one draws two vectors, ``V = W ∘ r sᵀ``
(Dusenberry et al. 2020, sec. 3), and its Σ is that of `separable`. How the gradient of a loss
varies with V is, to the first order in Z, a matter of Σ alone::

    from ensedu.numpy import mlp

    rng = np.random.default_rng(0)
    net, x, labels = mlp([7, 5], rng=rng), rng.standard_normal((11, 7)), np.arange(11) % 5
    W, r_cov, s_cov = net.layers[0].params["weight"], 0.01 * np.eye(7), 0.01 * np.eye(5)
    full = multiplicative(W, separable(r_cov, s_cov), rng=rng, draws=1000)  # (1000, 7, 5)
    pair = rank1(W, r_cov, s_cov, rng=rng, draws=1000)
    score = Score(net, x, labels, layer=0)
    both = sample_covariance(score(full)), sample_covariance(score(pair))  # nearly equal
    limit = first_order(hessian(score, W), entry_covariance(W, separable(r_cov, s_cov)))  # of both

Matrices are made vectors row by row, entry (a, j) at place ``a n + j``. NumPy, in float64. All
raise ``TypeError`` or ``ValueError`` for other shapes and dtypes, for numbers that are not finite,
and for what is no covariance: not symmetric, or with a negative eigenvalue.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.array_checks import (
    check_array,
    check_finite,
    check_float64,
    check_floats,
    check_rng,
)
from ensedu.numpy.linear import Linear
from ensedu.numpy.losses import softmax_cross_entropy
from ensedu.numpy.network import Sequential

__all__ = [
    "Score",
    "entry_covariance",
    "first_order",
    "hessian",
    "multiplicative",
    "rank1",
    "sample_covariance",
    "separable",
]

#: Of the largest eigenvalue: an eigenvalue of a covariance that is further below 0 is an error.
SLACK = 1e-9

Covariance = Float[Array, "m n m n"]


def separable(r_cov: Float[Array, "m m"], s_cov: Float[Array, "n n"] | None = None) -> Covariance:
    """The covariance of r sᵀ, ``E[r_a r_a'] E[s_j s_j'] - 1``.

    r and s are independent of each other, of mean 1, and of any law with these covariances. Without
    `s_cov` s stands still, and the result is (m, 1, m, 1), which fits any n.
    """
    check_covariances(r_cov, s_cov)
    s_cov = np.zeros((1, 1)) if s_cov is None else s_cov
    return (np.multiply.outer(1 + r_cov, 1 + s_cov) - 1).transpose(0, 2, 1, 3)


def entry_covariance(
    weight: Float[Array, "m n"], relative: Float[Array, "m n_ m n_"]
) -> Float[Array, "mn mn"]:
    """The covariance of ``V = W ∘ (1 + Z)``, ``W_aj Σ_aj,a'j' W_a'j'``, for vectors of entries."""
    relative = check_relative(weight, relative)
    scaled = relative * np.multiply.outer(weight, weight)
    return scaled.reshape(weight.size, weight.size)


def sample_covariance(samples: Float[Array, "S *axes"]) -> Float[Array, "mn mn"]:
    """The covariance of two samples or more, each made a vector, with the divisor S - 1."""
    check_float64("samples", samples)
    if samples.ndim < 2 or len(samples) < 2 or samples.size == 0:
        raise ValueError(f"samples has shape {samples.shape}, accepted is (S, m, n), S at least 2")
    check_finite("samples", samples)
    return np.atleast_2d(np.cov(samples.reshape(len(samples), -1), rowvar=False))


def check_weight(weight: Any) -> None:
    """Check that W is a matrix (m, n) of finite float64."""
    check_float64("weight", weight)
    check_floats("weight", weight, ("m", "n"))


def check_relative(weight: Any, relative: Any) -> Covariance:
    """Return a checked Σ with all its axes."""
    check_weight(weight)
    check_float64("relative", relative)
    m, n = weight.shape
    if relative.shape not in ((m, n, m, n), (m, 1, m, 1)):
        raise ValueError(
            f"relative has shape {relative.shape}, accepted is {(m, n, m, n)} or {(m, 1, m, 1)}, "
            f"for a weight {(m, n)}"
        )
    own = relative.shape[0] * relative.shape[1]
    symmetric_root("relative", relative.reshape(own, own))
    return np.broadcast_to(relative, (m, n, m, n))


def check_covariances(r_cov: Any, s_cov: Any, shape: tuple[int, int] | None = None) -> None:
    """Check the covariances of r and s, of a weight of this shape."""
    like = "" if shape is None else "weight"
    for name, value, size in zip(
        ("r_cov", "s_cov"), (r_cov, s_cov), shape or ("m", "n"), strict=True
    ):
        if name == "r_cov" or value is not None:
            check_float64(name, value)
            check_array(name, value, "f", "floats", (size, size), like=like)
            symmetric_root(name, value)


def symmetric_root(name: str, covariance: Float[Array, "p p"]) -> Float[Array, "p p"]:
    """Return the symmetric root of what must be a covariance."""
    if covariance.shape[0] != covariance.shape[1]:
        raise ValueError(f"{name} has shape {covariance.shape}, accepted is a square")
    check_finite(name, covariance)
    most = float(np.abs(covariance).max())
    uneven = float(np.abs(covariance - covariance.T).max())
    if uneven > SLACK * most:
        raise ValueError(f"{name} must be symmetric, got entries that differ by {uneven:.2g}")
    values, vectors = np.linalg.eigh(covariance)
    if values[0] < -SLACK * most * len(covariance):
        raise ValueError(
            f"{name} must be a covariance, without negative eigenvalues, got {values[0]:.2g}"
        )
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def multiplicative(
    weight: Float[Array, "m n"], relative: Float[Array, "m n_ m n_"], *, rng: Generator, draws: int
) -> Float[Array, "S m n"]:
    """Draw ``W ∘ (1 + Z)`` with Z from N(0, Σ): as many normal numbers as W has entries each.

    `relative` is Σ, as `separable` returns it; (m, 1, m, 1) moves rows as a whole.
    """
    relative = check_relative(weight, relative)
    size = weight.size
    root = symmetric_root("relative", relative.reshape(size, size))
    draws, rng = checks.positive_int("draws", draws), check_rng("rng", rng)
    moved = rng.standard_normal((draws, size)) @ root  # Z
    return weight * (1 + moved.reshape(draws, *weight.shape))


def rank1(
    weight: Float[Array, "m n"],
    r_cov: Float[Array, "m m"],
    s_cov: Float[Array, "n n"] | None = None,
    *,
    rng: Generator,
    draws: int,
) -> Float[Array, "S m n"]:
    """Draw ``W ∘ r sᵀ`` with normal r and s of mean 1: m + n numbers, or m where s stands still.

    Covariances are given as to `separable`, all else as to `multiplicative`.
    """
    check_weight(weight)
    check_covariances(r_cov, s_cov, weight.shape)
    draws, rng = checks.positive_int("draws", draws), check_rng("rng", rng)
    r = 1 + rng.standard_normal((draws, len(r_cov))) @ symmetric_root("r_cov", r_cov)
    scaled = weight * r[:, :, None]
    if s_cov is None:
        return scaled
    s = 1 + rng.standard_normal((draws, len(s_cov))) @ symmetric_root("s_cov", s_cov)
    return scaled * s[:, None, :]


#: Numbers in the activations of draws that go through a network at a time: a cache holds them.
NUMBERS_AT_ONCE = 400_000


class Score:
    """The score of one layer's matrix: how a log density grows with each of its entries.

    Called with matrices (S, m, n) it returns ``-∂L/∂V`` of each, (S, m, n), where
    ``L(V) = mean NLL of the examples + ½ λ |V|²``: the score of an average example, with its share
    of a normal prior. All else of the network stands still.

    Parameters
    ----------
    network
        A `Sequential` that maps (B, features) to (B, k), of which `layer` is a `Linear`. What is
        behind it takes more axes in front: `Linear` and activations do. It is copied.
    x, targets
        Examples, as the network and the loss take them.
    layer
        Which of ``network.layers`` is perturbed.
    loss
        One of `ensedu.numpy.losses`, ``loss(outputs, targets, reduction="sum")``.
    decay
        λ, 0 or more.

    Attributes
    ----------
    weight
        W as it stands in the network, (m, n).
    """

    def __init__(
        self,
        network: Sequential,
        x: Float[Array, "B features"],
        targets: Array,
        *,
        layer: int,
        loss: Callable[..., Any] = softmax_cross_entropy,
        decay: float = 0.0,
    ) -> None:
        if not isinstance(network, Sequential):
            raise TypeError(f"network must be a Sequential, got {checks.describe(network)}")
        place = checks.natural_int("layer", layer)
        chosen = network.layers[place] if place < len(network.layers) else None
        if type(chosen) is not Linear:
            linear = [str(i) for i, own in enumerate(network.layers) if type(own) is Linear]
            raise ValueError(
                f"layer must be the place of a Linear, one of {', '.join(linear) or 'none'}, "
                f"got {place}"
            )
        check_float64("x", x)
        if x.ndim < 2 or len(x) == 0:
            raise ValueError(f"x has shape {x.shape}, accepted is (B, features) with no size 0")
        layers = copy.deepcopy(network.layers)
        self._inputs = Sequential(*layers[:place]).forward(x)  # (B, m)
        self._after = Sequential(*layers[place + 1 :])
        self._bias: Any = chosen.params.get("bias", np.zeros(chosen.out_features)).copy()
        self._loss = checks.function("loss", loss, "loss(outputs of x, targets)")
        self._targets = targets
        self._decay = checks.not_negative("decay", decay)
        self.weight = chosen.params["weight"].copy()
        self(self.weight[None])  # targets that do not fit are told now

    def __call__(self, matrices: Float[Array, "S m n"]) -> Float[Array, "S m n"]:
        check_float64("matrices", matrices)
        m, n = self.weight.shape
        if matrices.ndim != 3 or matrices.shape[1:] != (m, n) or len(matrices) == 0:
            raise ValueError(f"matrices has shape {matrices.shape}, accepted is (S, {m}, {n})")
        step = max(1, NUMBERS_AT_ONCE // (len(self._inputs) * max(m, n)))
        parts = [self._of_some(matrices[i : i + step]) for i in range(0, len(matrices), step)]
        return np.concatenate(parts)

    def _of_some(self, matrices: Float[Array, "S m n"]) -> Float[Array, "S m n"]:
        outputs = self._after.forward(self._inputs @ matrices + self._bias)  # (S, B, k)
        _, grad = self._loss(outputs, self._targets, reduction="sum")  # of each draw's mean
        self._after.zero_grad()  # of these weights nobody asks the gradient
        grad = self._after.backward(grad)  # (S, B, n)
        return -(self._inputs.T @ grad + self._decay * matrices)


def hessian(
    score: Callable[[Float[Array, "S m n"]], Float[Array, "S m n"]],
    weight: Float[Array, "m n"],
    *,
    step: float = 1e-4,
) -> Float[Array, "mn mn"]:
    """The Hessian of the loss at W, by central differences of its score; symmetric.

    A `score` is called as a `Score` is. An entry goes a `step` to either side: the error is a sixth
    of its square times the third derivative of the score, and the rounding of the score over it.
    """
    check_weight(weight)
    step = checks.real("step", step, low=0.0)
    size = weight.size
    moves = step * np.eye(size).reshape(size, *weight.shape)
    sides = np.concatenate([weight + moves, weight - moves])
    scores = checks.function("score", score, "score(matrices)")(sides)
    if np.shape(scores) != sides.shape:
        raise ValueError(f"score must return shape {sides.shape}, got {np.shape(scores)}")
    rows = (scores[size:] - scores[:size]).reshape(size, size) / (2 * step)
    return (rows + rows.T) / 2


def first_order(
    curvature: Float[Array, "p mn"], covariance: Float[Array, "mn mn"]
) -> Float[Array, "p p"]:
    """``H C Hᵀ``: the covariance of the score where it is a straight line, ``-H vec(V - W)``.

    H is the Hessian, or any rows of derivatives by vec(V), and C the covariance of vec(V), as
    `entry_covariance` returns it.
    """
    for name, value in {"curvature": curvature, "covariance": covariance}.items():
        check_float64(name, value)
    if curvature.ndim != 2 or covariance.shape != 2 * curvature.shape[1:]:
        raise ValueError(
            f"curvature has shape {curvature.shape} and covariance {covariance.shape}, "
            "accepted are (p, mn) and (mn, mn)"
        )
    return curvature @ covariance @ curvature.T

"""The score that perturbations of a layer's matrix move, and how far to the first order."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.arrays import check_float64
from ensedu.numpy.linear import Linear
from ensedu.numpy.losses import softmax_cross_entropy
from ensedu.numpy.network import Sequential
from ensedu.theory.perturbations.covariances import check_weight

__all__ = ["Score", "first_order", "hessian"]

#: Numbers in the activations of draws that go through a network at a time: a cache holds them.
AT_ONCE = 400_000


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

    Raises
    ------
    TypeError, ValueError
        For another argument; when called, for anything but matrices (S, m, n).
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
            raise TypeError(f"network must be a Sequential, got {checks.given(network)}")
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
        step = max(1, AT_ONCE // (len(self._inputs) * max(m, n)))
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

    Parameters
    ----------
    score
        As `Score`: ``-∂L/∂V`` of matrices (S, m, n).
    weight
        W.
    step
        How far an entry goes to either side. The error is a sixth of its square times the third
        derivative of the score, and the rounding of the score over `step`.

    Raises
    ------
    TypeError, ValueError
        For another argument, and a score of another shape.
    """
    check_weight(weight)
    step = checks.real("step", step, low=0.0)
    size = weight.size
    moves = step * np.eye(size).reshape(size, *weight.shape)
    sides = np.concatenate([weight + moves, weight - moves])
    found = checks.function("score", score, "score(matrices)")(sides)
    if np.shape(found) != sides.shape:
        raise ValueError(f"score must return shape {sides.shape}, got {np.shape(found)}")
    rows = (found[size:] - found[:size]).reshape(size, size) / (2 * step)
    return (rows + rows.T) / 2


def first_order(
    curvature: Float[Array, "p mn"], covariance: Float[Array, "mn mn"]
) -> Float[Array, "p p"]:
    """``H C Hᵀ``: the covariance of the score where it is a straight line, ``-H vec(V - W)``.

    Parameters
    ----------
    curvature
        H, the Hessian, or any rows of derivatives by vec(V).
    covariance
        C, that of vec(V), as `spread_of` returns it.

    Raises
    ------
    TypeError, ValueError
        For arrays of other shapes or dtypes.
    """
    for name, value in {"curvature": curvature, "covariance": covariance}.items():
        check_float64(name, value)
    if curvature.ndim != 2 or covariance.shape != 2 * curvature.shape[1:]:
        raise ValueError(
            f"curvature has shape {curvature.shape} and covariance {covariance.shape}, "
            "accepted are (p, mn) and (mn, mn)"
        )
    return curvature @ covariance @ curvature.T

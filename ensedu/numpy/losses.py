"""Losses of ensembles: first each member's and example's NLL, then one number and its gradient.

Each takes the outputs of all members, (M, B, k) or (S, M, B, k), or of one network, (B, k), and
targets for the B examples; with an axis M in front, each member has targets, and examples, of its
own. With ℓ_ib the NLL of member i and example b in nats, `reduction` says
what becomes of it; the gradient has the shape of the outputs:

- ``"none"``: ℓ itself, (M, B), and the gradient of each ℓ_ib;
- ``"mean"``: the mean over members and examples;
- ``"sum"``: the sum over members of their means over examples (and samples), so that each learns
  as if alone;
- ``"mixture"``: the mean over b of ``-log (1/M) Σ_i exp(-ℓ_ib)`` (Lakshminarayanan et al. 2017,
  sec. 2.4; Dusenberry et al. 2020, sec. 3.3). By Jensen's inequality it is never above the mean;
  with one member they are equal.
"""

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray as Array

from ensedu.common import checks, layer_checks
from ensedu.common.array_checks import check_float64
from ensedu.numpy.variational import sigmoid, softplus

Loss = tuple[float | Float[Array, "*M B"], Float[Array, "*M B k"]]


def half_squared_error(
    outputs: Float[Array, "*M B k"], targets: Float[Array, "*M_B_k"], *, reduction: str = "mean"
) -> Loss:
    """``ℓ = ½ |y - f(x)|²``, the NLL of N(f(x), 1) without its constant ½ k log 2π.

    Parameters
    ----------
    outputs
        Predictions f(x), (M, B, k) or (B, k).
    targets
        y, (B, k), or (B,) for k = 1; (M, B, k) where each member has examples of its own.
    reduction
        ``"none"``, ``"mean"``, ``"sum"`` or ``"mixture"``.
    """
    residual = outputs - _targets(outputs, targets, heads=1)
    return reduce(0.5 * (residual**2).sum(axis=-1), residual, reduction)


def gaussian_nll(
    outputs: Float[Array, "*M B heads"],
    targets: Float[Array, "*M_B_k"],
    *,
    reduction: str = "mean",
    beta: float = 0.0,
) -> Loss:
    """``ℓ = Σ ½ log 2πσ² + (y - μ)² / (2σ²)`` (Lakshminarayanan et al. 2017, eq. 1).

    The constant ½ log 2π is kept, so that this is the NLL of a density.

    Parameters
    ----------
    outputs
        Heads, (M, B, 2k) or (B, 2k): k means μ, then k raw variances v; σ² = softplus(v) + 1e-6.
    targets, reduction
        As for `half_squared_error`.
    beta
        From 0 to 1: each summand is weighted by σ^(2 beta), held constant (β-NLL, Seitzer et al.
        2022, eq. 5), so that examples of a large variance do not stop teaching the mean. Above 0
        it is no NLL of a density, and has no mixture.
    """
    beta = layer_checks.nll_exponent(beta, reduction)
    targets = _targets(outputs, targets, heads=2)
    mean, raw = np.split(outputs, 2, axis=-1)
    variance = softplus(raw) + 1e-6
    scaled = (mean - targets) / variance
    nll = 0.5 * np.log(2 * np.pi * variance) + 0.5 * scaled * (mean - targets)
    grad_variance = 0.5 / variance - 0.5 * scaled**2
    weight = variance**beta
    grad = np.concatenate([weight * scaled, weight * grad_variance * sigmoid(raw)], axis=-1)
    return reduce((weight * nll).sum(axis=-1), grad, reduction)


def softmax_cross_entropy(
    outputs: Float[Array, "*M B k"], targets: Integer[Array, "*M_B"], *, reduction: str = "mean"
) -> Loss:
    """``ℓ = -log softmax(f(x))_y``; the mixture averages the members' probabilities.

    Parameters
    ----------
    outputs
        Logits f(x), (M, B, k) or (B, k).
    targets
        Class labels y, integers from 0 to k - 1, (B,), or (M, B) where each member has examples of
        its own.
    reduction
        As for `half_squared_error`.
    """
    check_float64("outputs", outputs)
    if type(targets) is not np.ndarray or targets.dtype.kind not in "iu":
        kind = getattr(targets, "dtype", type(targets).__name__)
        raise TypeError(f"targets must be a NumPy array of integer labels, got {kind}")
    layer_checks.check_labels(outputs.shape, targets.shape)
    if targets.size:
        layer_checks.check_label_range(int(targets.min()), int(targets.max()), outputs.shape[-1])
    log_probabilities = outputs - np.logaddexp.reduce(outputs, axis=-1, keepdims=True)
    chosen = np.broadcast_to(targets, outputs.shape[:-1])[..., None]
    of_targets = np.take_along_axis(log_probabilities, chosen, axis=-1)
    grad = np.exp(log_probabilities)
    np.put_along_axis(grad, chosen, np.expm1(of_targets), axis=-1)
    return reduce(-of_targets[..., 0], grad, reduction)


def reduce(nll: Float[Array, "*M B"], grad: Float[Array, "*M B k"], reduction: str) -> Loss:
    """Turn each member's and example's NLL, and its gradient, into a loss and its gradient.

    The mean weighs every member by 1/M, the sum by 1; the gradient of the mixture weighs member i
    by its responsibility for the example, ``softmax_i(-ℓ_ib)``.
    """
    checks.one_of("reduction", reduction, ("none", "mean", "sum", "mixture"))
    check_float64("nll", nll)
    check_float64("grad", grad)
    if nll.ndim == 0 or grad.shape[:-1] != nll.shape:
        raise ValueError(
            f"nll has shape {nll.shape} and grad {grad.shape}, accepted are (M, B) and (M, B, k)"
        )
    if nll.size == 0:
        raise ValueError(
            f"nll of outputs of shape {grad.shape} is empty, accepted is at least one example"
        )
    if reduction == "none":
        return nll, grad
    examples = nll.shape[-1]
    components = nll.reshape(-1, examples)  # (S M, B), also for a single network
    if reduction == "mixture":
        log_sum = np.logaddexp.reduce(-components, axis=0)  # (B,)
        weights = np.exp(-components - log_sum)
        loss = (np.log(len(components)) - log_sum).mean()
    else:
        share = nll.shape[-2] if reduction == "sum" and nll.ndim > 1 else 1
        weights = np.full_like(components, share / len(components))
        loss = components.mean() * share
    return float(loss), grad * (weights.reshape(nll.shape) / examples)[..., None]


def _targets(outputs: Array, targets: Array, heads: int) -> Float[Array, "*M B k"]:
    """Return the targets with an axis k, checked against the outputs."""
    check_float64("outputs", outputs)
    check_float64("targets", targets)
    layer_checks.check_targets(outputs.shape, targets.shape, heads)
    return targets[:, None] if targets.ndim == 1 else targets

"""Losses of ensembles: the average of the members' NLL, or the NLL of their mixture.

Each takes the outputs of all members, (M, B, k), or of one network, (B, k), and returns the loss,
a mean over the B examples in nats, with its gradient in the shape of the outputs.

For member i and example b let ℓ_ib be the NLL. ``over_members="average"`` is the mean of ℓ_ib;
``"mixture"`` is the mean over b of ``-log (1/M) Σ_i exp(-ℓ_ib)`` (Lakshminarayanan et al. 2017,
sec. 2.4; Dusenberry et al. 2020, sec. 3.3). By Jensen's inequality the mixture is never above the
average; with one member they are equal.
"""

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from ensedu import _checks
from ensedu.numpy.base import check_array
from ensedu.numpy.variational import sigmoid, softplus


def squared_error(
    outputs: Float[Array, "*M B k"], targets: Float[Array, "B k"], *, over_members: str = "average"
) -> tuple[float, Float[Array, "*M B k"]]:
    """``ℓ = ½ |y - f(x)|²``, the NLL of N(f(x), 1) without its constant ½ k log 2π.

    Parameters
    ----------
    outputs
        Predictions f(x), (M, B, k) or (B, k).
    targets
        y, (B, k), of the same dtype.
    over_members
        ``"average"`` or ``"mixture"``.

    Raises
    ------
    TypeError, ValueError
        For other shapes or dtypes, or an unknown `over_members`.
    """
    _check_outputs(outputs, targets, outputs_per_target=1)
    residual = outputs - targets
    return _combine(0.5 * (residual**2).sum(axis=-1), residual, over_members)


def gaussian_nll(
    outputs: Float[Array, "*M B heads"],
    targets: Float[Array, "B k"],
    *,
    over_members: str = "average",
) -> tuple[float, Float[Array, "*M B heads"]]:
    """``ℓ = Σ ½ log 2πσ² + (y - μ)² / (2σ²)`` (Lakshminarayanan et al. 2017, eq. 1).

    The constant ½ log 2π is kept, so that this is the NLL of a density.

    Parameters
    ----------
    outputs
        Heads, (M, B, 2k) or (B, 2k): k means μ, then k raw variances v; σ² = softplus(v) + 1e-6.
    targets
        y, (B, k), of the same dtype.
    over_members
        ``"average"`` or ``"mixture"``.

    Raises
    ------
    TypeError, ValueError
        For other shapes or dtypes, or an unknown `over_members`.
    """
    _check_outputs(outputs, targets, outputs_per_target=2)
    mean, raw = np.split(outputs, 2, axis=-1)
    variance = softplus(raw) + np.asarray(1e-6, raw.dtype)
    scaled = (mean - targets) / variance
    nll = 0.5 * np.log(2 * np.pi * variance) + 0.5 * scaled * (mean - targets)
    grad_variance = 0.5 / variance - 0.5 * scaled**2
    grad = np.concatenate([scaled, grad_variance * sigmoid(raw)], axis=-1)
    return _combine(nll.sum(axis=-1), grad, over_members)


def softmax_cross_entropy(
    outputs: Float[Array, "*M B k"], targets: Int[Array, "B"], *, over_members: str = "average"
) -> tuple[float, Float[Array, "*M B k"]]:
    """``ℓ = -log softmax(f(x))_y``; the mixture averages the members' probabilities.

    Parameters
    ----------
    outputs
        Logits f(x), (M, B, k) or (B, k).
    targets
        Class labels y, (B,), integers from 0 to k - 1.
    over_members
        ``"average"`` or ``"mixture"``.

    Raises
    ------
    TypeError, ValueError
        For other shapes or dtypes, a label out of range, or an unknown `over_members`.
    """
    check_array("outputs", outputs)
    if not isinstance(targets, np.ndarray) or not np.issubdtype(targets.dtype, np.integer):
        given = getattr(targets, "dtype", type(targets).__name__)
        raise TypeError(f"targets must be a NumPy array of integer labels, got {given}")
    if outputs.ndim not in (2, 3) or targets.shape != outputs.shape[-2:-1]:
        raise ValueError(
            f"outputs have shape {outputs.shape} and targets {targets.shape}, accepted are "
            "(M, B, k) or (B, k) with (B,)"
        )
    k = outputs.shape[-1]
    if targets.size and not 0 <= targets.min() <= targets.max() < k:
        raise ValueError(
            f"targets hold labels from {targets.min()} to {targets.max()}, "
            f"accepted are 0 to {k - 1}"
        )
    log_normalizer = np.logaddexp.reduce(outputs, axis=-1, keepdims=True)
    log_probabilities = outputs - log_normalizer
    rows = np.arange(len(targets))
    grad = np.exp(log_probabilities)
    grad[..., rows, targets] -= 1
    return _combine(-log_probabilities[..., rows, targets], grad, over_members)


def _check_outputs(outputs: Array, targets: Array, outputs_per_target: int) -> None:
    check_array("outputs", outputs)
    check_array("targets", targets, outputs.dtype)
    heads = "k" if outputs_per_target == 1 else f"{outputs_per_target}k"
    fits = outputs.ndim in (2, 3) and targets.ndim == 2
    if not fits or outputs.shape[-2:] != (len(targets), outputs_per_target * targets.shape[1]):
        raise ValueError(
            f"outputs have shape {outputs.shape} and targets {targets.shape}, accepted are "
            f"(M, B, {heads}) or (B, {heads}) with (B, k)"
        )


def _combine(
    nll: Float[Array, "*M B"], grad: Float[Array, "*M B k"], over_members: str
) -> tuple[float, Float[Array, "*M B k"]]:
    """Turn each member's and example's NLL and gradient into one loss and its gradient.

    The average weighs every member by 1/M; the gradient of the mixture weighs member i by its
    responsibility for the example, ``softmax_i(-ℓ_ib)``.
    """
    _checks.one_of("over_members", over_members, ("average", "mixture"))
    examples = nll.shape[-1]
    if examples == 0:
        raise ValueError(f"outputs have shape {grad.shape}, accepted is at least one example")
    by_member = nll.reshape(-1, examples)  # (M, B), also for a single network
    if over_members == "average":
        weights = np.full_like(by_member, 1 / len(by_member))
        loss = by_member.mean()
    else:
        log_sum = np.logaddexp.reduce(-by_member, axis=0)  # (B,)
        weights = np.exp(-by_member - log_sum)
        loss = (np.log(len(by_member)) - log_sum).mean()
    return float(loss), grad * (weights.reshape(nll.shape) / examples)[..., None]

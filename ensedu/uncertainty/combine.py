"""From the outputs of members to one prediction: the uniform mixture of their distributions."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.uncertainty import score_checks

__all__ = ["averaged", "gaussian_heads", "mixture", "softmax"]


def gaussian_heads(
    outputs: Float[Any, "*M B heads"],
) -> tuple[Float[Array, "*M B k"], Float[Array, "*M B k"]]:
    """Return the mean and the variance of each member: ``σ² = softplus(raw) + 1e-6``.

    The outputs are 2k: k means, then k raw variances (Lakshminarayanan et al. 2017, sec. 2.2.1).

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = gaussian_heads(np.array([[[3.0, 0.0]]]))
    >>> mean.item(), round(variance.item(), 6)
    (3.0, 0.693148)
    """
    outputs = score_checks.floats("outputs", outputs, ("M", "B", "2k"), ("B", "2k"))
    if outputs.shape[-1] % 2:
        raise ValueError(
            f"outputs must have k means and k raw variances, (M, B, 2k), got shape {outputs.shape}"
        )
    mean, raw = np.split(outputs, 2, axis=-1)
    return mean, np.logaddexp(0, raw) + 1e-6  # softplus, without overflow


def softmax(logits: Float[Any, "*M B k"]) -> Float[Array, "*M B k"]:
    """Return the probabilities ``exp(z_c) / Σ_c' exp(z_c')`` of logits z, without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.array([[0.0, np.log(3.0)]])).round(6)
    array([[0.25, 0.75]])
    """
    logits = score_checks.floats("logits", logits, ("M", "B", "k"), ("B", "k"))
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def mixture(
    mean: Float[Any, "*M B k"], variance: Float[Any, "*M B k"]
) -> tuple[Float[Array, "B k"], Float[Array, "B k"]]:
    """Return the mean and the variance of the uniform mixture of Gaussian members.

    ``μ* = mean_i μ_i`` and ``σ*² = mean_i (σ_i² + μ_i²) - μ*²`` (Lakshminarayanan et al. 2017, sec.
    2.4), computed as ``mean_i (σ_i² + (μ_i - μ*)²)``, which a large mean does not round away.

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = mixture(np.array([[[1.0]], [[3.0]]]), np.array([[[0.5]], [[1.5]]]))
    >>> mean.item(), variance.item()
    (2.0, 2.0)
    """
    mean, variance = score_checks.gaussians(mean, variance)
    center = mean.mean(axis=0)
    return center, (variance + (mean - center) ** 2).mean(axis=0)


def averaged(probabilities: Float[Any, "*M B k"]) -> Float[Array, "B k"]:
    """Return the class probabilities of the uniform mixture: the average over members.

    Examples
    --------
    >>> import numpy as np
    >>> averaged(np.array([[[1.0, 0.0]], [[0.5, 0.5]]]))
    array([[0.75, 0.25]])
    """
    return score_checks.averaged("probabilities", probabilities)

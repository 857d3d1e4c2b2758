"""Local reparameterization: outputs are drawn in place of weights (Kingma et al. 2015, sec. 2.3).

Of one example x, the output x W + b of random, independent weights is normal itself: its mean is
``x W_mean + b_mean``, its variance ``x² W_std² + b_std²``.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.numpy.base import sum_to
from ensedu.numpy.variational import sigmoid, softplus


def forward(
    params: dict[str, Array], x: Float[Array, "*S B m"], noise: Float[Array, "*S B n"]
) -> tuple[Float[Array, "*S B n"], Any]:
    """Return ``mean + √variance ∘ ε``, and what `backward` needs."""
    stds = {k: softplus(params[f"{k}_rho"]) for k in ("weight", "bias") if f"{k}_rho" in params}
    mean, variance = x @ params["weight_mean"], x**2 @ stds["weight"] ** 2
    if "bias" in stds:
        mean, variance = mean + params["bias_mean"], variance + stds["bias"] ** 2
    std = np.sqrt(variance)
    return mean + std * noise, (std, stds)


def backward(
    params: dict[str, Array], grad: Float[Array, "*S B n"], x: Float[Array, "*S B m"],
    noise: Float[Array, "*S B n"], kept: Any,
) -> tuple[Float[Array, "*S B m"], dict[str, Array]]:  # fmt: skip
    """Return the gradient of the input, and those of the means and ρ by name."""
    std, stds = kept
    # d√variance / dvariance; a variance of 0 (no input, no bias) gets no gradient.
    grad_variance = np.divide(grad * noise, 2 * std, out=np.zeros_like(std), where=std > 0)
    by_mean = {"weight": x.mT @ grad, "bias": grad}
    by_variance = {"weight": (x**2).mT @ grad_variance, "bias": grad_variance}
    grads = {}
    for k, own in stds.items():
        grads[f"{k}_mean"] = sum_to(by_mean[k], own.shape)
        slope = 2 * own * sigmoid(params[f"{k}_rho"])  # dσ²/dρ
        grads[f"{k}_rho"] = sum_to(by_variance[k], own.shape) * slope
    grad_x = grad @ params["weight_mean"].T + 2 * x * (grad_variance @ (stds["weight"] ** 2).T)
    return grad_x, grads

"""Normal distributions with a trained mean and standard deviation σ = softplus(ρ)."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import _checks
from ensedu.priors import Normal


def softplus(rho: Float[Array, "..."]) -> Float[Array, "..."]:
    """``log(1 + exp(ρ))``, without overflow."""
    return np.logaddexp(0, rho).astype(rho.dtype)


def sigmoid(rho: Float[Array, "..."]) -> Float[Array, "..."]:
    """``1 / (1 + exp(-ρ))``, the derivative of `softplus`, without overflow."""
    return (0.5 * (1 + np.tanh(0.5 * rho))).astype(rho.dtype)


def inverse_softplus(scale: float) -> float:
    """The ρ of a standard deviation: ``log(exp(σ) - 1)``."""
    return float(scale + np.log(-np.expm1(-scale)))


def draw(params: dict[str, Array], name: str, noise: Float[Array, "..."]) -> Float[Array, "..."]:
    """The reparameterized sample ``mean + softplus(ρ) ∘ ε`` (Kingma and Welling 2014, sec. 2.4)."""
    return params[f"{name}_mean"] + softplus(params[f"{name}_rho"]) * noise


def check_prior(prior: Normal) -> Normal:
    """Return `prior` if the closed form of the KL is known for it."""
    if not isinstance(prior, Normal):
        raise TypeError(f"prior must be an ensedu.priors.Normal, got {prior!r}")
    return prior


def normal_kl(mean: Float[Array, "..."], rho: Float[Array, "..."], prior: Normal) -> Array:
    """KL(N(mean, softplus(rho)²) ‖ prior) of every entry, in nats; the shape of `mean`.

    With t = σ / scale, it is ``½ (t² - 1 - 2 log t + ((mean - loc) / scale)²)``, exactly 0 at
    t = 1, mean = loc; t² - 1 is taken as a product, because t² rounds away what log t keeps.
    """
    ratio = softplus(rho) / prior.scale
    spread = (ratio - 1) * (ratio + 1) - 2 * np.log(ratio)
    return 0.5 * (spread + ((mean - prior.loc) / prior.scale) ** 2)


def normal_kl_backward(
    mean: Float[Array, "..."], rho: Float[Array, "..."], prior: Normal
) -> tuple[Array, Array]:
    """The derivatives of `normal_kl` with respect to mean and ρ."""
    scale = softplus(rho)
    grad_scale = scale / prior.scale**2 - 1 / scale
    return (mean - prior.loc) / prior.scale**2, grad_scale * sigmoid(rho)


def kl(params: dict[str, Array], names: tuple[str, ...], prior: Normal) -> float:
    """The sum of `normal_kl` over all entries of the named distributions."""
    return float(
        sum(normal_kl(params[f"{k}_mean"], params[f"{k}_rho"], prior).sum() for k in names)
    )


def add_kl_gradient(
    params: dict[str, Array],
    grads: dict[str, Array],
    names: tuple[str, ...],
    prior: Normal,
    scale: float,
) -> None:
    """Add the gradient of ``scale * kl`` to `grads`, which ``backward`` must have filled."""
    scale = _checks.real("scale", scale)
    if not grads:
        raise ValueError(
            "kl_backward: scale was given before any gradient it could be added to; "
            "accepted after backward(grad), which replaces grads"
        )
    for name in names:
        mean, rho = f"{name}_mean", f"{name}_rho"
        grad_mean, grad_rho = normal_kl_backward(params[mean], params[rho], prior)
        grads[mean] = grads[mean] + scale * grad_mean
        grads[rho] = grads[rho] + scale * grad_rho

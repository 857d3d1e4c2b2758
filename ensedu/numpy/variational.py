"""Normal distributions with a trained mean and standard deviation σ = softplus(ρ)."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.priors import Normal, check_prior

__all__ = ["check_prior", "draw", "inverse_softplus", "kl", "kl_gradient", "sigmoid", "softplus"]


def softplus(rho: Float[Array, "..."]) -> Float[Array, "..."]:
    """``log(1 + exp(ρ))``, without overflow."""
    return np.logaddexp(0, rho)


def sigmoid(rho: Float[Array, "..."]) -> Float[Array, "..."]:
    """``1 / (1 + exp(-ρ))``, the derivative of `softplus`, without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * rho))


def inverse_softplus(std: float) -> float:
    """The ρ of a standard deviation: ``log(exp(σ) - 1)``."""
    return float(std + np.log(-np.expm1(-std)))


def draw(
    mean: Float[Array, "..."], rho: Float[Array, "..."], noise: Float[Array, "..."]
) -> Float[Array, "..."]:
    """The reparameterized sample ``mean + softplus(ρ) ∘ ε`` (Kingma and Welling 2014, sec. 2.4)."""
    return mean + softplus(rho) * noise


def kl(params: dict[str, Array], name: str, prior: Normal) -> Float[Array, "..."]:
    """KL(N(mean, softplus(rho)²) ‖ prior) of every entry of a named distribution, in nats.

    With t = σ / scale, it is ``½ (t² - 1 - 2 log t + ((mean - loc) / scale)²)``, exactly 0 at
    t = 1, mean = loc; t² - 1 is taken as a product, because t² rounds away what log t keeps.
    """
    mean, t = params[f"{name}_mean"], softplus(params[f"{name}_rho"]) / prior.scale
    spread = (t - 1) * (t + 1) - 2 * np.log(t)
    return 0.5 * (spread + ((mean - prior.loc) / prior.scale) ** 2)


def kl_gradient(
    params: dict[str, Array], name: str, prior: Normal, weight: float
) -> dict[str, Float[Array, "..."]]:
    """The gradient of ``weight * kl(…).sum()`` with respect to mean and ρ, by their names."""
    mean, rho = params[f"{name}_mean"], params[f"{name}_rho"]
    std = softplus(rho)
    grad_std = std / prior.scale**2 - 1 / std
    return {
        f"{name}_mean": weight * (mean - prior.loc) / prior.scale**2,
        f"{name}_rho": weight * grad_std * sigmoid(rho),
    }

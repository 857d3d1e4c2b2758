"""Normal distributions with a trained mean and standard deviation σ = softplus(ρ)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.priors import Normal


def softplus(rho: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """``log(1 + exp(ρ))``; Torch's own switches to ρ at 20, too early for float64."""
    return nn.functional.softplus(rho, threshold=40.0)


def inverse_softplus(std: float) -> float:
    """The ρ of a standard deviation: ``log(exp(σ) - 1)``."""
    return std + math.log(-math.expm1(-std))


def normal_kl(
    mean: Float[Tensor, "..."], rho: Float[Tensor, "..."], prior: Normal
) -> Float[Tensor, "..."]:
    """KL(N(mean, softplus(rho)²) ‖ prior) of every entry, in nats; the shape of `mean`.

    With t = σ / scale, it is ``½ (t² - 1 - 2 log t + ((mean - loc) / scale)²)``, exactly 0 at
    t = 1, mean = loc; t² - 1 is taken as a product, because t² rounds away what log t keeps.
    """
    ratio = softplus(rho) / prior.scale
    spread = (ratio - 1) * (ratio + 1) - 2 * torch.log(ratio)
    return 0.5 * (spread + ((mean - prior.loc) / prior.scale) ** 2)

"""Normal distributions with a trained mean and standard deviation σ = softplus(ρ)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.priors import Normal, Prior
from ensedu.torch.base import WeightLayer
from ensedu.torch.tensor_checks import shape_in


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
    ratio, shift = softplus(rho), mean
    # For the usual prior N(0, 1) neither does anything, and in a small layer each step counts.
    if prior.loc != 0:
        shift = shift - prior.loc
    if prior.scale != 1:
        ratio, shift = ratio / prior.scale, shift / prior.scale
    spread = torch.sub((ratio - 1) * (ratio + 1), torch.log(ratio), alpha=2)
    return 0.5 * torch.addcmul(spread, shift, shift)


def sampled_kl(
    mean: Float[Tensor, "*axes"], rho: Float[Tensor, "*axes"], prior: Prior,
    noise: Float[Tensor, "*S_axes"],
) -> Float[Tensor, "*axes"]:  # fmt: skip
    """``-½ log 2πeσ² - log p(mean + σ ε)`` of every entry, in nats, for the `noise` ε.

    Its mean over draws is KL(N(mean, σ²) ‖ prior) (Blundell et al. 2015, eq. 2); noise may have
    axes of samples in front.
    """
    std = softplus(rho)
    log_p = prior.log_density(mean + std * noise, torch)
    log_p = log_p.flatten(0, noise.ndim - mean.ndim).unflatten(0, (-1, *mean.shape[:1])).mean(0)
    return -0.5 * math.log(2 * math.pi * math.e) - torch.log(std) - log_p


def entry_kl(
    mean: Float[Tensor, "*axes"], rho: Float[Tensor, "*axes"], prior: Prior,
    noise: Float[Tensor, "*S_axes"] | None = None,
) -> Float[Tensor, "*axes"]:  # fmt: skip
    """KL(N(mean, softplus(rho)²) ‖ prior) of every entry: `normal_kl` if closed, else from noise.

    Raises ``TypeError`` where the noise is needed and not given.
    """
    if prior.has_closed_kl:
        return normal_kl(mean, rho, prior)
    if noise is None:
        raise TypeError(f"noise must be a tensor for a {type(prior).__name__} prior, got None")
    return sampled_kl(mean, rho, prior, noise)


class VariationalLayer(WeightLayer):
    """What layers with a mean and a ρ of some arrays share: their KL."""

    draws = True
    prior: Prior
    #: The arrays that have a distribution, as attributes …_mean and …_rho.
    drawn: tuple[str, ...]

    def _kl_of_entries(self, noise: dict[str, Tensor] | None) -> dict[str, Tensor]:
        """Return the KL of every entry, by name: in the axes of noise where that is needed."""
        pairs = {
            k: (mean, getattr(self, f"{k}_rho"))
            for k in self.drawn
            if (mean := getattr(self, f"{k}_mean")) is not None
        }
        if noise is None and self.prior.has_closed_kl:
            return {k: normal_kl(*pair, self.prior) for k, pair in pairs.items()}
        pairs = {k: tuple(map(self._noise_axes, pair)) for k, pair in pairs.items()}
        shapes = {k: tuple(mean.shape) for k, (mean, _) in pairs.items()}
        if noise is not None:
            first = next(iter(shapes))
            shape = shape_in(noise, first)
            samples = shape[: -len(shapes[first])]
            self._check_noise(noise, {k: (*samples, *shape) for k, shape in shapes.items()})
        else:
            noise = {k: self._randn(None, *shape) for k, shape in shapes.items()}
        return {k: entry_kl(*pair, self.prior, noise[k]) for k, pair in pairs.items()}

    def _noise_axes(self, parameter: Tensor) -> Tensor:
        """The axes in which noise is drawn and given."""
        return parameter

"""Normal distributions with a trained mean and standard deviation σ = softplus(ρ)."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.numpy.base import Noise, WeightLayer, sum_to
from ensedu.priors import Prior


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


def entry_kl(
    mean: Float[Array, "*axes"], rho: Float[Array, "*axes"], prior: Prior,
    noise: Float[Array, "*S_axes"] | None = None,
) -> Float[Array, "*axes"]:  # fmt: skip
    """KL(N(mean, softplus(rho)²) ‖ prior) of every entry, in nats.

    To a normal, with t = σ / scale, it is ``½ (t² - 1 - 2 log t + ((mean - loc) / scale)²)``,
    exactly 0 at t = 1, mean = loc; t² - 1 is taken as a product, because t² rounds away what log t
    keeps. To another prior it is ``-½ log 2πeσ² - log p(mean + σ ε)`` of the `noise` ε, whose mean
    over draws is the KL (Blundell et al. 2015, eq. 2); noise may have axes of samples in front.
    """
    std = softplus(rho)
    if prior.has_closed_kl:
        t = std / prior.scale
        return 0.5 * ((t - 1) * (t + 1) - 2 * np.log(t) + ((mean - prior.loc) / prior.scale) ** 2)
    log_p = prior.log_density(mean + std * noise, np)
    return -0.5 * np.log(2 * np.pi * np.e) - np.log(std) - _mean_to(log_p, mean)


def entry_kl_gradient(
    mean: Float[Array, "*axes"], rho: Float[Array, "*axes"], prior: Prior,
    noise: Float[Array, "*S_axes"] | None = None,
) -> tuple[Float[Array, "*axes"], Float[Array, "*axes"]]:  # fmt: skip
    """The gradient of ``entry_kl(…).sum()`` with respect to mean and ρ."""
    std = softplus(rho)
    if prior.has_closed_kl:
        grad_mean, pull = (mean - prior.loc) / prior.scale**2, std / prior.scale**2
    else:
        slope = -prior.slope(mean + std * noise, np)
        grad_mean, pull = _mean_to(slope, mean), _mean_to(slope * noise, mean)
    return grad_mean, (pull - 1 / std) * sigmoid(rho)


class VariationalLayer(WeightLayer):
    """What layers with a mean and a ρ of some arrays share: their KL, and its gradient."""

    prior: Prior
    #: The arrays that have a distribution, as params["…_mean"] and params["…_rho"].
    _drawn: tuple[str, ...]

    def _divergence(self, noise: Noise | None) -> dict[str, Array]:
        """Return the KL of every entry, by name."""
        return {k: entry_kl(*own) for k, own in self._entries(noise).items()}

    def _divergence_backward(self, weight: float, noise: Noise | None) -> None:
        """Add the gradient of ``weight`` times the sum of all entries' KL."""
        for k, own in self._entries(noise).items():
            grad_mean, grad_rho = entry_kl_gradient(*own)
            self._add(**{f"{k}_mean": weight * grad_mean, f"{k}_rho": weight * grad_rho})

    def _entries(self, noise: Noise | None) -> dict[str, tuple[Any, ...]]:
        """Return what `entry_kl` takes, by name; noise is drawn if it is needed and not given."""
        pairs = {k: (self.params[f"{k}_mean"], self.params[f"{k}_rho"]) for k in self._drawn}
        shapes = {k: mean.shape for k, (mean, _) in pairs.items()}
        if noise is not None:
            first = self._drawn[0]
            samples = self._noise_shape(noise, first)[: -len(shapes[first])]
            noise = self._checked(noise, {k: (*samples, *shape) for k, shape in shapes.items()})
        elif not self.prior.has_closed_kl:
            noise = {k: self._normal(None, *shape) for k, shape in shapes.items()}
        return {k: (*pair, self.prior, noise and noise[k]) for k, pair in pairs.items()}


def _mean_to(values: Array, like: Array) -> Array:
    """The mean over the axes of samples in front of those of `like`."""
    return values.mean(axis=tuple(range(values.ndim - like.ndim)))


def local_forward(
    params: dict[str, Array], x: Float[Array, "*S B m"], noise: Float[Array, "*S B n"]
) -> tuple[Float[Array, "*S B n"], Any]:
    """Draw outputs in place of weights; return them, and what `local_backward` needs.

    Of one example x, the output x W + b of random, independent weights is normal itself, with mean
    ``x W_mean + b_mean`` and variance ``x² W_std² + b_std²`` (Kingma et al. 2015, sec. 2.3).
    """
    stds = {k: softplus(params[f"{k}_rho"]) for k in ("weight", "bias") if f"{k}_rho" in params}
    mean, variance = x @ params["weight_mean"], x**2 @ stds["weight"] ** 2
    if "bias" in stds:
        mean, variance = mean + params["bias_mean"], variance + stds["bias"] ** 2
    std = np.sqrt(variance)
    return mean + std * noise, (std, stds)


def local_backward(
    params: dict[str, Array], grad: Float[Array, "*S B n"], x: Float[Array, "*S B m"],
    noise: Float[Array, "*S B n"], cached: Any,
) -> tuple[Float[Array, "*S B m"], dict[str, Array]]:  # fmt: skip
    """Return the gradient of the input, and those of the means and ρ by name."""
    std, stds = cached
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

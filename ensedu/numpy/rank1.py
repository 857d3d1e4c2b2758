"""A BatchEnsemble whose fast weights are distributions: the rank-1 Bayesian layer."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.numpy import variational
from ensedu.numpy.base import Noise
from ensedu.numpy.batch_ensemble import BatchEnsembleLinear, ModulatedConv
from ensedu.numpy.windows import Size
from ensedu.priors import DROPOUT_STD, Normal, Prior, check_prior


class Rank1Linear(BatchEnsembleLinear, variational.VariationalLayer):
    """A `BatchEnsembleLinear` that draws r and s anew in each forward pass.

    Dusenberry et al. 2020, eq. 3: ``r = r_mean + softplus(r_rho) ∘ ε``, and s alike; W (m, n) and
    b (M, n) are point estimates. An input (S, M, B, m) gives each of its S samples a draw.

    Parameters
    ----------
    in_features, out_features, ensemble_size, rng, bias
        As for `BatchEnsembleLinear`; `rng` also draws the noise.
    prior
        Of each entry of r and s, of `ensedu.priors`.
    init, init_std
        Where the means of r and s start. Under a narrow prior around 1, each entry that starts at
        -1 costs 2 / scale² nats.
    posterior_std
        Standard deviation at which each entry starts; by default Gaussian dropout's at rate 0.001.
    per_example
        Draw r and s for each example, as edward2 does, instead of once per member and batch.
    """

    method: ClassVar = "rank1"
    _drawn = ("r", "s")

    def __init__(
        self, in_features: int, out_features: int, ensemble_size: int, *, rng: Generator,
        prior: Prior = Normal(1.0, 0.1), init: str = "normal", init_std: float = 0.1,
        posterior_std: float = DROPOUT_STD, per_example: bool = False, bias: bool = True,
    ) -> None:  # fmt: skip
        start: dict[str, Any] = {"init": init, "init_std": init_std, "bias": bias}
        super().__init__(in_features, out_features, ensemble_size, rng=rng, **start)
        self.prior = check_prior(prior)
        self.posterior_std = checks.real("posterior_std", posterior_std, low=0.0)
        self.per_example = checks.boolean("per_example", per_example)
        rho = variational.inverse_softplus(self.posterior_std)
        for k in "rs":
            mean = self.params.pop(k)  # (M, m) or (M, n)
            self.params |= {f"{k}_mean": mean, f"{k}_rho": np.full_like(mean, rho)}

    def noise(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> Noise:
        """Draw the noise ε of r, (S, M, m), and s, (S, M, n), with B before m, n per example."""
        shape = (1, self.in_features) if input_shape is None else input_shape
        shapes = self._noise_shapes(self._input_shape(shape))
        return {k: self._normal(rng, *shape) for k, shape in shapes.items()}

    def forward(self, x: Float[Array, "*S_M B m"], noise: Noise | None = None) -> Array:
        x = self._input(x)
        noise = self.noise(None, x.shape) if noise is None else noise
        r, s, self._noise = self._draw(noise, x.shape)
        return self._modulated_product(x, r, s)  # (S, M, B, n)

    def _add_fast(self, grad_r: Array, grad_s: Array) -> None:
        for k, grad in (("r", grad_r), ("s", grad_s)):
            slope = variational.sigmoid(self.params[f"{k}_rho"])  # dσ/dρ
            self._add(**{f"{k}_mean": self._by_member(grad)})
            self._add(**{f"{k}_rho": self._by_member(grad * self._noise[k]) * slope})

    def weight_matrices(self, noise: Noise | None = None) -> Float[Array, "*S_M_B m n"]:
        """The matrices W ∘ r_i s_iᵀ of one draw: (M, m, n), or (M, B, m, n) per example."""
        noise = self.noise() if noise is None else noise
        shape = self._noise_shape(noise, "r")
        r, s, _ = self._draw(noise, shape if self.per_example else (*shape[:-1], 1, 1))
        matrices = self.params["weight"] * r[..., :, None] * s[..., None, :]  # (M, 1 or B, m, n)
        return matrices if self.per_example else matrices[..., 0, :, :]

    def kl(self, noise: Noise | None = None) -> Float[Array, " M"]:
        """KL(q(r_i, s_i) ‖ prior) of each member, in nats; their mean bounds the mixture's KL.

        Closed form for a normal prior, else drawn: from `noise` of r, (M, m) or (S, M, m), and s.
        """
        return sum(entries.sum(axis=1) for entries in self._divergence(noise).values())

    def kl_backward(self, weight: float = 1.0, noise: Noise | None = None) -> None:
        """Add the gradient of ``weight * kl(noise).mean()`` to ``grads``."""
        self._divergence_backward(checks.real("weight", weight) / self.ensemble_size, noise)

    def _noise_shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        leading = (*shape[:-3], self.ensemble_size, *shape[-2:-1][: self.per_example])
        return {"r": (*leading, self.in_features), "s": (*leading, self.out_features)}

    def _draw(self, noise: Noise, shape: tuple[int, ...]) -> tuple[Array, Array, Noise]:
        """Return r, s and ε, (S, M, 1 or B, …) each, for an input of this shape."""
        noise = self._checked(noise, self._noise_shapes(shape))
        noise = {k: eps if self.per_example else eps[..., None, :] for k, eps in noise.items()}
        p = {name: self.params[name][:, None] for name in ("r_mean", "r_rho", "s_mean", "s_rho")}
        r, s = (variational.draw(p[f"{k}_mean"], p[f"{k}_rho"], noise[k]) for k in "rs")
        return r, s, noise


class Rank1Conv2d(ModulatedConv, Rank1Linear):
    """A `BatchEnsembleConv2d` that draws r and s anew in each pass (Dusenberry et al. 2020, eq. 3).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, ensemble_size, stride, padding, rng, bias
        As for `BatchEnsembleConv2d`.
    prior, init, init_std, posterior_std, per_example
        As for `Rank1Linear`.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, ensemble_size: int, *,
        rng: Generator, stride: Size = 1, padding: Size = 0, prior: Prior = Normal(1.0, 0.1),
        init: str = "normal", init_std: float = 0.1, posterior_std: float = DROPOUT_STD,
        per_example: bool = False, bias: bool = True,
    ) -> None:  # fmt: skip
        sizes = self._geometry(in_channels, out_channels, kernel_size, stride, padding)
        start: dict[str, Any] = {"init": init, "init_std": init_std, "bias": bias}
        options: dict[str, Any] = {"posterior_std": posterior_std, "per_example": per_example}
        super().__init__(*sizes, ensemble_size, rng=rng, prior=prior, **start, **options)
        self._cut_to_channels("r_mean", "r_rho")

    def noise(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> Noise:
        """Draw ε of r, (S, M, C_in), and s, (S, M, C_out), with B before the last per example."""
        shape = (1, self.in_channels, *self.kernel_size) if input_shape is None else input_shape
        shapes = self._noise_shapes(self._image_shape(shape)[:-2])
        return {k: self._normal(rng, *shape) for k, shape in shapes.items()}

    def forward(self, x: Float[Array, "*S_M B C_in H W"], noise: Noise | None = None) -> Array:
        x = self._images(x)
        noise = self.noise(None, x.shape) if noise is None else noise
        r, s, self._noise = self._draw(noise, x.shape[:-2])
        return self._modulated_product(x, r, s)

    def weight_matrices(
        self, noise: Noise | None = None
    ) -> Float[Array, "*S_M_B C_in C_out kh kw"]:
        """The kernels of one draw: (M, C_in, C_out, kh, kw), or (M, B, …) per example."""
        noise = self.noise() if noise is None else noise
        shape = self._noise_shape(noise, "r")
        r, s, _ = self._draw(noise, shape if self.per_example else (*shape[:-1], 1, 1))
        kernels = self._member_kernels(r, s)  # (M, 1 or B, …)
        return kernels if self.per_example else kernels[..., 0, :, :, :, :]

    def _noise_shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        by_window = super()._noise_shapes(shape)  # r for each entry of one
        return by_window | {"r": (*by_window["r"][:-1], self.in_channels)}

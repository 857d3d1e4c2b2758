"""A distribution over every weight: the mean-field layer of Bayes by Backprop."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.numpy import variational
from ensedu.numpy.base import Noise, sum_to
from ensedu.numpy.windows import ConvLayer, Size
from ensedu.priors import Normal, Prior, check_prior


class MeanFieldLinear(variational.VariationalLayer):
    """``y = x W + b`` with ``W = weight_mean + softplus(weight_rho) ∘ ε``, and b alike.

    Blundell et al. 2015, sec. 3.2. All means and ρ are trained: weight (m, n) and bias (n,).
    An input (S, B, m) gives each of its S leading indices a sample of its own; (B, m) gets one.

    Parameters
    ----------
    in_features, out_features
        m and n, positive integers.
    prior
        Of each weight and bias, of `ensedu.priors`.
    posterior_std
        Standard deviation at which every weight and bias starts, above 0.
    estimator
        ``"weights"`` draws one weight for a batch. ``"local"`` draws each output from its own
        normal distribution, N(x W_mean, x² W_std²) (local reparameterization, Kingma et al. 2015,
        sec. 2.3): the same for each example alone, but independent examples, and gradients that
        vary less. Noise of the weights makes one function of either.
    rng, bias
        As for `Linear`, where the means start; `rng` is also the default source of noise.
    """

    method: ClassVar = "mean_field"

    def __init__(
        self, in_features: int, out_features: int, *, rng: Generator,
        prior: Prior = Normal(0.0, 1.0), posterior_std: float = 0.01,
        estimator: str = "weights", bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, rng)
        self.prior = check_prior(prior)
        self.posterior_std = checks.real("posterior_std", posterior_std, low=0.0)
        self.estimator = checks.one_of("estimator", estimator, ("weights", "local"))
        rho = variational.inverse_softplus(self.posterior_std)
        self._shapes: dict[str, tuple[int, ...]] = {"weight": (self.in_features, self.out_features)}
        if checks.boolean("bias", bias):
            self._shapes["bias"] = (self.out_features,)
        self._drawn = tuple(self._shapes)
        for name, shape in self._shapes.items():
            self.params[f"{name}_mean"] = self._uniform(*shape)
            self.params[f"{name}_rho"] = np.full(shape, rho)

    def noise(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> Noise:
        """Draw the noise ε of the weight, (m, n), and the bias, (n,); S of each for (S, B, m).

        With an `input_shape` and ``estimator="local"``, draw that of the output, (…, B, n).
        """
        shape = (1, self.in_features) if input_shape is None else input_shape
        *samples, batch, _ = self._input_shape(shape)
        if self.estimator == "local" and input_shape is not None:
            return {"output": self._normal(rng, *samples, batch, self.out_features)}
        return {name: self._normal(rng, *samples, *shape) for name, shape in self._shapes.items()}

    def forward(
        self, x: Float[Array, "*S B m"], noise: Noise | None = None
    ) -> Float[Array, "*S B n"]:
        x = self._input(x)
        noise = self.noise(None, x.shape) if noise is None else noise
        if self.estimator == "local" and isinstance(noise, dict) and "output" in noise:
            noise = self._checked(noise, {"output": (*x.shape[:-1], self.out_features)})
            y, cached = variational.local_forward(self.params, x, noise["output"])
            self._cache = x, noise, cached, y.shape
            return y
        drawn, noise = self._draw(noise, x.shape[:-2])
        y = x @ drawn["weight"]  # (S, B, n) or (B, n)
        if "bias" in drawn:
            y += drawn["bias"][..., None, :]
        self._cache = x, noise, drawn["weight"], y.shape
        return y

    def backward(self, grad: Float[Array, "*S B n"]) -> Float[Array, "*S B m"]:
        x, noise, weight = self._recall(grad)
        if "output" in noise:
            grad_x, grads = variational.local_backward(
                self.params, grad, x, noise["output"], weight
            )
            self._add(**grads)
            return grad_x
        grads = {"weight": x.mT @ grad, "bias": grad.sum(axis=-2)}  # by sample
        for name, shape in self._shapes.items():
            slope = variational.sigmoid(self.params[f"{name}_rho"])  # dσ/dρ
            self._add(**{f"{name}_mean": sum_to(grads[name], shape)})
            self._add(**{f"{name}_rho": sum_to(grads[name] * noise[name], shape) * slope})
        return grad @ weight.mT

    def weight_matrices(self, noise: Noise | None = None) -> Float[Array, "S m n"]:
        """The sampled matrices, (S, m, n); S = 1 for noise without a leading axis."""
        noise = self.noise() if noise is None else noise
        drawn, _ = self._draw(noise, self._noise_shape(noise, "weight")[:-2])
        return drawn["weight"].reshape(-1, self.in_features, self.out_features)

    def kl(self, noise: Noise | None = None) -> float:
        """KL(q(weight, bias) ‖ prior) in nats: closed form for a normal prior, else drawn.

        Then `noise` is that of the weights, as ``noise()`` draws it; by default the layer's own.
        """
        return float(sum(entries.sum() for entries in self._divergence(noise).values()))

    def kl_backward(self, weight: float = 1.0, noise: Noise | None = None) -> None:
        """Add the gradient of ``weight * kl(noise)`` to ``grads``."""
        self._divergence_backward(checks.real("weight", weight), noise)

    def _draw(self, noise: Noise, leading: tuple[int, ...]) -> tuple[Noise, Noise]:
        """Return the sampled weight and bias, and a copy of the noise."""
        noise = self._checked(noise, {k: (*leading, *shape) for k, shape in self._shapes.items()})
        p = self.params
        drawn = {
            k: variational.draw(p[f"{k}_mean"], p[f"{k}_rho"], eps) for k, eps in noise.items()
        }
        return drawn, noise


class MeanFieldConv2d(ConvLayer, MeanFieldLinear):
    """A convolution whose every weight and bias is ``mean + softplus(ρ) ∘ ε``.

    Blundell et al. 2015, sec. 3.2, for kernels (Shridhar et al. 2019). Means and ρ are
    (C_in · kh · kw, C_out) and (C_out,). An input (S, B, C_in, H, W) gives each of its S leading
    indices a sample of its own; (B, C_in, H, W) gets one.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, rng, bias
        As for `Conv2d`.
    prior, posterior_std, estimator
        As for `MeanFieldLinear`; ``"local"`` draws the output of each position apart, though all
        have one kernel.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, *, rng: Generator,
        stride: Size = 1, padding: Size = 0, prior: Prior = Normal(0.0, 1.0),
        posterior_std: float = 0.01, estimator: str = "weights", bias: bool = True,
    ) -> None:  # fmt: skip
        sizes = self._geometry(in_channels, out_channels, kernel_size, stride, padding)
        options: dict[str, Any] = {"posterior_std": posterior_std, "estimator": estimator}
        super().__init__(*sizes, rng=rng, prior=prior, bias=bias, **options)

    def noise(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> Noise:
        """Draw ε of the kernels, (C_in, C_out, kh, kw), and the bias, (C_out,); S for (S, B, …).

        With an `input_shape` and ``estimator="local"``, draw that of the output's images.
        """
        shape = () if input_shape is None else self._image_shape(input_shape)
        if self.estimator == "local" and shape:
            return {"output": self._normal(rng, *self.output_shape(shape))}
        shapes = self._own_shapes(shape[:-4])
        return {name: self._normal(rng, *own) for name, own in shapes.items()}

    def forward(self, x: Float[Array, "*S B C_in H W"], noise: Noise | None = None) -> Array:
        x = self._images(x)
        noise = self.noise(None, x.shape) if noise is None else noise
        if self.estimator == "local" and isinstance(noise, dict) and "output" in noise:
            images = self._checked(noise, {"output": self.output_shape(x.shape)})["output"]
            rows = np.moveaxis(images, -3, -1).reshape(*x.shape[:-4], -1, self.out_channels)
            return super().forward(x, {"output": rows})
        return super().forward(x, self._rows_of(noise, x.shape[:-4]))

    def weight_matrices(self, noise: Noise | None = None) -> Float[Array, "S C_in C_out kh kw"]:
        """The sampled kernels, (S, C_in, C_out, kh, kw); S = 1 for noise without a leading axis."""
        noise = self.noise() if noise is None else noise
        return super().weight_matrices(self._rows_of(noise))

    def _entries(self, noise: Noise | None) -> dict[str, tuple[Any, ...]]:
        return super()._entries(None if noise is None else self._rows_of(noise))

    def _own_shapes(self, leading: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        kernels = (self.in_channels, self.out_channels, *self.kernel_size)
        shapes = {"weight": kernels, "bias": (self.out_channels,)}
        return {name: (*leading, *shapes[name]) for name in self._drawn}

    def _rows_of(self, noise: Noise, leading: tuple[int, ...] | None = None) -> Noise:
        """Check noise of kernels, and lay it out as the matrix that they are kept in."""
        if leading is None:
            leading = self._noise_shape(noise, "weight")[:-4]
        noise = self._checked(noise, self._own_shapes(leading))
        return noise | {"weight": self._matrix(noise["weight"])}

"""A distribution over every weight: the mean-field layers of Bayes by Backprop."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.priors import Normal, Prior, check_prior
from ensedu.torch.conv import ConvLayer
from ensedu.torch.products import LinearLayer
from ensedu.torch.tensor_checks import shape_in
from ensedu.torch.variational import VariationalLayer, inverse_softplus, softplus

ESTIMATORS = ("weights", "local", "flipout")


class MeanFieldLayer(VariationalLayer):
    """The parameters of its layers, mean and ρ of every weight and bias, and what they do."""

    method: ClassVar = "mean_field"
    drawn = ("weight", "bias")

    def _make_parameters(
        self, prior: Prior, posterior_std: float, estimator: str, bias: bool
    ) -> None:
        self.prior = check_prior(prior)
        self.posterior_std = self._check_std("posterior_std", posterior_std)
        self.estimator = checks.one_of("estimator", estimator, ESTIMATORS)
        self.weight_mean = self._empty_parameter(*self.weight_shape)
        self.weight_rho = self._empty_parameter(*self.weight_shape)
        self.bias_mean, self.bias_rho = self._empty_bias(bias), self._empty_bias(bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all means anew, and set every standard deviation to `posterior_std`."""
        self._uniform_(self.weight_mean, self.bias_mean)
        for rho in (self.weight_rho, self.bias_rho):
            if rho is not None:
                nn.init.constant_(rho, inverse_softplus(self.posterior_std))

    def noise(
        self,
        generator: torch.Generator | None = None,
        input_shape: tuple[int, ...] | None = None,
    ) -> dict[str, Tensor]:
        """Draw the noise ε of the weight, (m, n), and the bias, (n,).

        With the `input_shape` of S batches, draw (S, m, n) and (S, n). The axes are the book's, as
        in `ensedu.numpy`, so that one draw serves both; a convolution's weight has its kernel's
        two axes behind them, and m is one group's number of channels.

        With an `input_shape` and ``estimator="local"``, draw the noise of the output; for
        ``"flipout"`` also signs of each example's inputs and outputs.
        """
        shape = self._check_input_shape(input_shape)
        if shape and self.estimator == "local":
            return {"output": self._randn(generator, *self._output_shape(shape))}
        signs = self._sign_shapes(shape) if shape and self.estimator == "flipout" else {}
        leading = shape[: self.batch_axis]
        # In the order in which the weight is stored, so that one pass combines the two.
        eps = self._randn(generator, *leading, *self.weight_shape)
        noise = {"weight": eps.transpose(len(leading), len(leading) + 1)}
        if self.bias_mean is not None:
            noise["bias"] = self._randn(generator, *leading, self.out_features)
        for name, own in signs.items():
            noise[name] = torch.where(self._randn(generator, *own) < 0, -1.0, 1.0).to(eps.dtype)
        return noise

    def forward(
        self, x: Float[Tensor, "*any"], noise: dict[str, Tensor] | None = None
    ) -> Float[Tensor, "*any_out"]:
        self._check_input(x, self.weight_mean)
        if noise is None:
            noise = self.noise(None, x.shape)
            if self.estimator == "weights":  # as it was drawn, it fits
                return self._product(x, *self._moved(*self._eps_of(noise)))
        # Noise of the weights alone makes one function of any layer.
        if self.estimator == "local" and isinstance(noise, dict) and "output" in noise:
            return self._local(x, noise)
        if self.estimator == "flipout" and isinstance(noise, dict) and "input_signs" in noise:
            return self._flipout(x, noise)
        return self._product(x, *self._draw(noise, tuple(x.shape[: self.batch_axis])))

    def _product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Apply one sampled weight, or one for each leading index of x."""
        single = weight.ndim == len(self.weight_shape)
        return (self.apply_weight if single else self.apply_weights)(x, weight, bias)

    def _local(self, x: Tensor, noise: dict[str, Tensor]) -> Tensor:
        """Draw outputs of mean x W_mean and variance x² W_std² (Kingma et al. 2015, sec. 2.3)."""
        self._check_noise(noise, {"output": self._output_shape(tuple(x.shape))})
        rows, leading = x.flatten(0, self.batch_axis), x.shape[: self.batch_axis + 1]
        bias = None if self.bias_rho is None else softplus(self.bias_rho).square()
        mean = self.apply_weight(rows, self.weight_mean, self.bias_mean)
        variance = self.apply_weight(rows.square(), softplus(self.weight_rho).square(), bias)
        # A variance of 0 (no input, no bias) gets no gradient.
        std = variance.clamp_min(torch.finfo(variance.dtype).tiny).sqrt()
        y = mean.unflatten(0, leading)
        return y + std.unflatten(0, leading) * noise["output"].to(y.dtype)

    def _flipout(self, x: Tensor, noise: dict[str, Tensor]) -> Tensor:
        """One draw for a batch, turned by random signs for each example (Wen et al. 2018, eq. 4).

        ``W_mean + (W_std ∘ ε) ∘ a_b c_bᵀ`` has the distribution of W for each example b alone.
        """
        leading, signs = tuple(x.shape[: self.batch_axis]), self._sign_shapes(tuple(x.shape))
        eps, of_bias = self._checked_eps(noise, leading, signs)
        weight = softplus(self.weight_rho) * eps
        bias = None if of_bias is None else softplus(self.bias_rho) * of_bias
        before, after = (self.over_pixels(noise[name]).to(x.dtype) for name in signs)
        rows = x.flatten(0, self.batch_axis)
        mean = self.apply_weight(rows, self.weight_mean, self.bias_mean)
        product = self.apply_weights if leading else self.apply_weight
        turned = product(x * before, weight, bias)
        return mean.unflatten(0, x.shape[: self.batch_axis + 1]) + turned * after

    def _sign_shapes(self, input_shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        examples = input_shape[: self.batch_axis + 1]
        return {
            "input_signs": (*examples, self.in_features),
            "output_signs": (*examples, self.out_features),
        }

    def stored_weights(
        self, noise: dict[str, Tensor] | None = None
    ) -> Float[Tensor, "S n m *kernel"]:
        """`weight_matrices` with the axes of a plain layer's weight."""
        noise = self.noise() if noise is None else noise
        shape = shape_in(noise, "weight")
        weight, _ = self._draw(noise, shape[: -len(self.weight_shape)])
        return weight if weight.ndim > len(self.weight_shape) else weight[None]

    def kl(self, noise: dict[str, Tensor] | None = None) -> Float[Tensor, ""]:
        """KL(q(weight, bias) ‖ prior) in nats: closed form for a normal prior, else drawn.

        Then `noise` is that of the weights, as ``noise()`` draws it; by default Torch's own.
        """
        first, *rest = (entries.sum() for entries in self._kl_of_entries(noise).values())
        return sum(rest, first)

    def _noise_axes(self, parameter: Tensor) -> Tensor:
        return parameter.transpose(0, 1) if parameter.ndim > 1 else parameter

    def _draw(
        self, noise: dict[str, Tensor], leading: tuple[int, ...]
    ) -> tuple[Tensor, Tensor | None]:
        """Return the sampled weight, as it is stored, and bias, with these leading axes."""
        return self._moved(*self._checked_eps(noise, leading, {}))

    def _moved(self, eps: Tensor, of_bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return ``mean + softplus(rho) ∘ ε`` of weight and bias."""
        weight = torch.addcmul(self.weight_mean, softplus(self.weight_rho), eps)
        if of_bias is None:
            return weight, None
        return weight, torch.addcmul(self.bias_mean, softplus(self.bias_rho), of_bias)

    def _checked_eps(
        self,
        noise: dict[str, Tensor],
        leading: tuple[int, ...],
        others: dict[str, tuple[int, ...]],
    ) -> tuple[Tensor, Tensor | None]:
        """Return ε of the weight, as it is stored, and of the bias, after a check of all noise."""
        n, m, *kernel = self.weight_shape
        shapes = {"weight": (*leading, m, n, *kernel), "bias": (*leading, self.out_features)}
        if self.bias_mean is None:
            del shapes["bias"]
        self._check_noise(noise, shapes | others)
        return self._eps_of(noise)

    def _eps_of(self, noise: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """Return ε of the weight, as it is stored, and of the bias."""
        behind = len(self.weight_shape)
        return noise["weight"].transpose(-behind, 1 - behind), noise.get("bias")


class MeanFieldLinear(LinearLayer, MeanFieldLayer):
    """``y = x W + b`` with ``W = weight_mean + softplus(weight_rho) ∘ ε``, and b alike.

    Blundell et al. 2015, sec. 3.2. ``weight_mean`` and ``weight_rho`` are (n, m), ``bias_mean``
    and ``bias_rho`` (n,). An input (S, B, m) gives each of its S leading indices a sample of its
    own; (B, m) gets one. Samples in training and in eval mode.

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
        normal distribution, N(x W_mean, x² W_std²) (local reparameterization, Kingma et al. 2015):
        the same distribution for each example alone, but independent examples, and gradients that
        vary less. ``"flipout"`` turns one weight's deviation from its mean by random signs for each
        example (Wen et al. 2018): the weight's distribution for each example, other examples
        uncorrelated.
    bias, device, dtype
        As for ``nn.Linear``, where the means start too.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        prior: Prior = Normal(0.0, 1.0),
        posterior_std: float = 0.01,
        estimator: str = "weights",
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        self._make_parameters(prior, posterior_std, estimator, bias)

    def _output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*input_shape[:-1], self.out_features)


class MeanFieldConv2d(ConvLayer, MeanFieldLayer):
    """A convolution whose every weight and bias is ``mean + softplus(rho) ∘ ε``.

    Blundell et al. 2015, sec. 3.2, for the kernels of a convolution: ``weight_mean`` and
    ``weight_rho`` are (C_out, C_in / groups, K, K), ``bias_mean`` and ``bias_rho`` (C_out,). An
    input (S, B, C_in, H, W) gives each of its S leading indices a sample of its own;
    (B, C_in, H, W) gets one. The output has the same axes. Samples in training and in eval mode.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, bias, device, dtype, geometry
        As for ``nn.Conv2d``, whose geometry is ``stride``, ``padding``, ``dilation``, ``groups``
        and ``padding_mode``.
    prior, posterior_std, estimator
        As for `MeanFieldLinear`; ``"local"`` draws outputs for each position too, ``"flipout"`` has
        one sign for each channel of an image.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        *,
        prior: Prior = Normal(0.0, 1.0),
        posterior_std: float = 0.01,
        estimator: str = "weights",
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **geometry: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, device=device, dtype=dtype, **geometry
        )
        self._make_parameters(prior, posterior_std, estimator, bias)

    def _output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*input_shape[:-3], self.out_features, *self.output_size(*input_shape[-2:]))

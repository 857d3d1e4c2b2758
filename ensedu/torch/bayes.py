"""A distribution over every weight: the mean-field layers of Bayes by Backprop."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ensedu import _checks
from ensedu.priors import Normal
from ensedu.torch.base import ConvLayer, LinearLayer, WeightLayer
from ensedu.torch.variational import check_prior, inverse_softplus, normal_kl, softplus


class _Bayes(WeightLayer):
    """What the two layers share: a mean and a standard deviation of every weight and bias."""

    roles: ClassVar = {
        "weight_mean": "shared",
        "weight_rho": "scales",
        "bias_mean": "biases",
        "bias_rho": "biases",
    }

    def _set_up(
        self, prior: Normal, init_scale: float, local_reparameterization: bool, bias: bool
    ) -> None:
        self.prior = check_prior(prior)
        self.init_scale = _checks.real("init_scale", init_scale, low=0.0)
        self.local_reparameterization = _checks.boolean(
            "local_reparameterization", local_reparameterization
        )
        self.weight_mean = self._empty(*self.weight_shape)
        self.weight_rho = self._empty(*self.weight_shape)
        has_bias = _checks.boolean("bias", bias)
        self.bias_mean = self._empty(self.outputs) if has_bias else None
        self.bias_rho = self._empty(self.outputs) if has_bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all means anew, and set every standard deviation to `init_scale`."""
        self._uniform_(self.weight_mean, self.bias_mean)
        for rho in (self.weight_rho, self.bias_rho):
            if rho is not None:
                nn.init.constant_(rho, inverse_softplus(self.init_scale))

    def sample(
        self,
        generator: torch.Generator | None = None,
        input_shape: tuple[int, ...] | None = None,
    ) -> dict[str, Tensor]:
        """Draw the noise ε of the weight, (m, n), and the bias, (n,).

        With the `input_shape` of S batches, draw (S, m, n) and (S, n). The axes are the book's, as
        in `ensedu.numpy`, so that one sample serves both; a convolution's weight has its kernel's
        two axes behind them, and m is one group's number of channels.

        With an `input_shape` and ``local_reparameterization=True``, draw the noise of the output.
        """
        if input_shape and self.local_reparameterization:
            return {"output": self._randn(generator, *self._output_shape(tuple(input_shape)))}
        leading = tuple(input_shape[: self.batch_axis]) if input_shape else ()
        # In the order in which the weight is stored, so that one pass combines the two.
        noise = self._randn(generator, *leading, *self.weight_shape)
        sample = {"weight": noise.transpose(len(leading), len(leading) + 1)}
        if self.bias_mean is not None:
            sample["bias"] = self._randn(generator, *leading, self.outputs)
        return sample

    def kl(self) -> Float[Tensor, ""]:
        """KL(q(weight, bias) ‖ prior) in nats, closed form."""
        total = normal_kl(self.weight_mean, self.weight_rho, self.prior).sum()
        if self.bias_mean is None:
            return total
        return total + normal_kl(self.bias_mean, self.bias_rho, self.prior).sum()

    @property
    def _noise_shape(self) -> tuple[int, ...]:
        n, m, *kernel = self.weight_shape
        return (m, n, *kernel)

    def _draw(
        self, sample: dict[str, Tensor], leading: tuple[int, ...]
    ) -> tuple[Tensor, Tensor | None]:
        """Return the sampled weight, as it is stored, and the sampled bias."""
        shapes = {"weight": (*leading, *self._noise_shape), "bias": (*leading, self.outputs)}
        if self.bias_mean is None:
            del shapes["bias"]
        self._check_sample(sample, shapes)
        noise = sample["weight"].transpose(len(leading), len(leading) + 1)
        weight = softplus(self.weight_rho) * noise + self.weight_mean
        if self.bias_mean is None:
            return weight, None
        return weight, softplus(self.bias_rho) * sample["bias"] + self.bias_mean

    def _variances(self) -> tuple[Tensor, Tensor | None]:
        """The variances of the weight, as it is stored, and of the bias."""
        bias = None if self.bias_rho is None else softplus(self.bias_rho).square()
        return softplus(self.weight_rho).square(), bias

    def _sampled_matrices(self, sample: dict[str, Tensor] | None) -> Tensor:
        """The sampled matrices with the book's axes and one leading axis S, of length 1 or more."""
        sample = self.sample() if sample is None else sample
        leading = ()
        if isinstance(sample, dict) and isinstance(sample.get("weight"), Tensor):
            leading = tuple(sample["weight"].shape[: -len(self.weight_shape)])
        weight, _ = self._draw(sample, leading)
        return self._matrices(weight if leading else weight[None])


class BayesLinear(LinearLayer, _Bayes):
    """``y = x W + b`` with ``W = weight_mean + softplus(weight_rho) ∘ ε``, and b alike.

    Blundell et al. 2015, sec. 3.2. ``weight_mean`` and ``weight_rho`` are (n, m), ``bias_mean``
    and ``bias_rho`` (n,). An input (S, B, m) gives each of its S leading indices a sample of its
    own; (B, m) gets one. Samples in training and in eval mode.

    Parameters
    ----------
    in_features, out_features
        m and n, positive integers.
    prior
        `ensedu.priors.Normal` of each weight and bias.
    init_scale
        Standard deviation at which every weight and bias starts, above 0.
    local_reparameterization
        Draw each output from its own normal distribution, N(x W_mean, x² W_scale²), instead of
        one weight for a batch (Kingma et al. 2015): the same distribution for each example alone,
        but independent examples, and gradients that vary less.
    bias
        Whether there is a bias.
    device, dtype
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
        prior: Normal = Normal(0.0, 1.0),
        init_scale: float = 0.01,
        local_reparameterization: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        self._set_up(prior, init_scale, local_reparameterization, bias)

    def forward(
        self,
        x: Float[Tensor, "S B m"] | Float[Tensor, "B m"],
        sample: dict[str, Tensor] | None = None,
    ) -> Float[Tensor, "S B n"] | Float[Tensor, "B n"]:
        self._check_input(x, self.weight_mean)
        sample = self.sample(None, x.shape) if sample is None else sample
        if isinstance(sample, dict) and "output" in sample:
            self._check_sample(sample, {"output": self._output_shape(x.shape)})
            mean = F.linear(x, self.weight_mean, self.bias_mean)
            variance = F.linear(x.square(), *self._variances())
            return drawn_output(mean, variance, sample["output"])
        weight, bias = self._draw(sample, x.shape[:-2])
        if x.ndim == 2:
            return F.linear(x, weight, bias)
        if bias is None:
            return torch.bmm(x, weight.mT)
        return torch.baddbmm(bias[:, None], x, weight.mT)

    def _output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*input_shape[:-1], self.outputs)

    def weight_matrices(self, sample: dict[str, Tensor] | None = None) -> Float[Tensor, "S m n"]:
        """The sampled matrices, (S, m, n); S = 1 for a sample without a leading axis."""
        return self._sampled_matrices(sample)


class BayesConv2d(ConvLayer, _Bayes):
    """A convolution whose every weight and bias is ``mean + softplus(rho) ∘ ε``.

    Blundell et al. 2015, sec. 3.2, for the kernels of a convolution: ``weight_mean`` and
    ``weight_rho`` are (C_out, C_in / groups, k, k), ``bias_mean`` and ``bias_rho`` (C_out,). An
    input (S, B, C_in, H, W) gives each of its S leading indices a sample of its own;
    (B, C_in, H, W) gets one. The output has the same axes. Samples in training and in eval mode.

    Parameters
    ----------
    in_channels, out_channels
        C_in and C_out, positive integers.
    kernel_size
        Side k of a square kernel, or ``(height, width)``.
    prior, init_scale, local_reparameterization
        As for `BayesLinear`; outputs are drawn for each position too.
    bias
        Whether there is a bias.
    device, dtype
        As for ``nn.Conv2d``.
    geometry
        ``stride``, ``padding``, ``dilation``, ``groups``, ``padding_mode``, as for ``nn.Conv2d``.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        *,
        prior: Normal = Normal(0.0, 1.0),
        init_scale: float = 0.01,
        local_reparameterization: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **geometry: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, device=device, dtype=dtype, **geometry
        )
        self._set_up(prior, init_scale, local_reparameterization, bias)

    def forward(
        self,
        x: Float[Tensor, "S B C_in H W"] | Float[Tensor, "B C_in H W"],
        sample: dict[str, Tensor] | None = None,
    ) -> Float[Tensor, "S B C_out H_out W_out"] | Float[Tensor, "B C_out H_out W_out"]:
        self._check_input(x, self.weight_mean)
        sample = self.sample(None, x.shape) if sample is None else sample
        if isinstance(sample, dict) and "output" in sample:
            self._check_sample(sample, {"output": self._output_shape(x.shape)})
            images = x.flatten(0, -4)
            mean = self._convolve(images, self.weight_mean, self.bias_mean)
            variance = self._convolve(images.square(), *self._variances())
            noise = sample["output"].flatten(0, -4)
            return drawn_output(mean, variance, noise).unflatten(0, x.shape[:-3])
        weight, bias = self._draw(sample, x.shape[:-4])
        return (self._convolve if x.ndim == 4 else self._convolve_each)(x, weight, bias)

    def _output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*input_shape[:-3], self.outputs, *self.output_size(*input_shape[-2:]))

    def weight_matrices(
        self, sample: dict[str, Tensor] | None = None
    ) -> Float[Tensor, "S C_in C_out kh kw"]:
        """The sampled kernels, (S, C_in, C_out, k, k), zero between groups; S = 1 for one."""
        return self._sampled_matrices(sample)


def drawn_output(
    mean: Float[Tensor, "*any"], variance: Float[Tensor, "*any"], noise: Float[Tensor, "*any"]
) -> Float[Tensor, "*any"]:
    """``mean + √variance ∘ noise``; a variance of 0 (no input, no bias) gets no gradient."""
    scale = variance.clamp_min(torch.finfo(variance.dtype).tiny).sqrt()
    return mean + scale * noise.to(mean.dtype)

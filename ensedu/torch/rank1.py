"""A BatchEnsemble whose fast weights are distributions: the rank-1 Bayesian layer."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu import _checks
from ensedu.priors import Normal
from ensedu.torch.base import ConvLayer, LinearLayer, WeightLayer, channels
from ensedu.torch.batch_ensemble import fast_weights_
from ensedu.torch.products import modulated_product
from ensedu.torch.variational import check_prior, inverse_softplus, normal_kl, softplus

DROPOUT_SCALE = (0.001 / 0.999) ** 0.5  # the standard deviation of Gaussian dropout at rate 0.001


class _Rank1(WeightLayer):
    """What the two layers share: one weight, and distributions of r and s a member."""

    roles: ClassVar = {
        "weight": "shared",
        "r_mean": "per_member",
        "r_rho": "scales",
        "s_mean": "per_member",
        "s_rho": "scales",
        "bias": "biases",
    }

    def _set_up(
        self,
        ensemble_size: int,
        prior: Normal,
        init: str,
        init_std: float,
        init_scale: float,
        per_example: bool,
        bias: bool,
    ) -> None:
        M = self.ensemble_size = _checks.positive_int("ensemble_size", ensemble_size)
        self.prior = check_prior(prior)
        self.init = _checks.one_of("init", init, ("signs", "normal"))
        self.init_std = _checks.real("init_std", init_std, low=0.0)
        self.init_scale = _checks.real("init_scale", init_scale, low=0.0)
        self.per_example = _checks.boolean("per_example", per_example)
        self.weight = self._empty(*self.weight_shape)
        self.r_mean, self.r_rho = self._empty(M, self.inputs), self._empty(M, self.inputs)
        self.s_mean, self.s_rho = self._empty(M, self.outputs), self._empty(M, self.outputs)
        self.bias = self._empty(M, self.outputs) if _checks.boolean("bias", bias) else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self._uniform_(self.weight, self.bias)
        for mean, rho in ((self.r_mean, self.r_rho), (self.s_mean, self.s_rho)):
            fast_weights_(mean, self.init, self.init_std)
            nn.init.constant_(rho, inverse_softplus(self.init_scale))

    def sample(
        self,
        generator: torch.Generator | None = None,
        input_shape: tuple[int, ...] | None = None,
    ) -> dict[str, Tensor]:
        """Draw the noise ε of r, (M, inputs), and of s, (M, outputs).

        With the `input_shape` of a batch of B and ``per_example=True``, draw (M, B, inputs) and
        (M, B, outputs).
        """
        batch = (input_shape[self.batch_axis],) if self.per_example and input_shape else ()
        return {
            "r": self._randn(generator, self.ensemble_size, *batch, self.inputs),
            "s": self._randn(generator, self.ensemble_size, *batch, self.outputs),
        }

    def kl(self, over_members: str = "mean") -> Float[Tensor, ""]:
        """KL(q(r, s) ‖ prior) in nats, closed form: the mean over members, or their sum.

        For the mixture of the members, the mean of their KLs is an upper bound (convexity).
        """
        _checks.one_of("over_members", over_members, ("mean", "sum"))
        total = (
            normal_kl(self.r_mean, self.r_rho, self.prior).sum()
            + normal_kl(self.s_mean, self.s_rho, self.prior).sum()
        )
        return total / self.ensemble_size if over_members == "mean" else total

    def _fast_weights(
        self, sample: dict[str, Tensor], batch: int | None = None
    ) -> tuple[Float[Tensor, "M *B m"], Float[Tensor, "M *B n"]]:
        """Return r and s, for each member or for each example of each."""
        leading: tuple[int, ...] = (self.ensemble_size,)
        per_example = isinstance(sample, dict) and getattr(sample.get("r"), "ndim", 0) == 3
        if per_example:
            leading += (sample["r"].shape[1] if batch is None else batch,)
        self._check_sample(sample, {"r": (*leading, self.inputs), "s": (*leading, self.outputs)})

        def draw(mean: Tensor, rho: Tensor, noise: Tensor) -> Tensor:
            scale = softplus(rho)
            return mean[:, None] + scale[:, None] * noise if per_example else mean + scale * noise

        return (
            draw(self.r_mean, self.r_rho, sample["r"]),
            draw(self.s_mean, self.s_rho, sample["s"]),
        )


class Rank1Linear(LinearLayer, _Rank1):
    """``y_i = ((x_i ∘ r_i) W) ∘ s_i + b_i``, r_i and s_i drawn anew in each forward pass.

    Dusenberry et al. 2020, eq. 3: ``r = r_mean + softplus(r_rho) ∘ ε``, s alike; weight (n, m)
    and bias (M, n) are point estimates. Samples in training and in eval mode.

    Parameters
    ----------
    in_features, out_features, ensemble_size
        m, n and M, positive integers.
    prior
        `ensedu.priors.Normal` of each entry of r and s.
    init, init_std
        Where the means of r and s start, as for `BatchEnsembleLinear`. Under a narrow prior
        around 1, each entry that starts at -1 costs 2 / scale² nats.
    init_scale
        Standard deviation at which every entry of r and s starts, above 0. The default is that
        of Gaussian dropout at rate 0.001.
    per_example
        Draw r and s for each example, as edward2 does, instead of once per member and batch.
    bias
        Whether there is a bias.
    device, dtype
        As for ``nn.Linear``.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        ensemble_size: int,
        *,
        prior: Normal = Normal(1.0, 0.1),
        init: str = "normal",
        init_std: float = 0.1,
        init_scale: float = DROPOUT_SCALE,
        per_example: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        self._set_up(ensemble_size, prior, init, init_std, init_scale, per_example, bias)

    def forward(
        self,
        x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
        sample: dict[str, Tensor] | None = None,
    ) -> Float[Tensor, "M B n"]:
        self._check_input(x, self.weight, self.ensemble_size)
        sample = self.sample(None, x.shape) if sample is None else sample
        r, s = self._fast_weights(sample, x.shape[-2])
        return modulated_product(x, self.weight, r, s, self.bias)

    def weight_matrices(self, sample: dict[str, Tensor] | None = None) -> Float[Tensor, "M *B m n"]:
        """The matrices W ∘ r_i s_iᵀ of one draw: (M, m, n), or (M, B, m, n) per example."""
        sample = self.sample() if sample is None else sample
        r, s = self._fast_weights(sample)
        return self._matrices(self.weight) * r[..., :, None] * s[..., None, :]


class Rank1Conv2d(ConvLayer, _Rank1):
    """``y_i = conv(x_i ∘ r_i, W) ∘ s_i + b_i``, r_i and s_i drawn anew in each forward pass.

    Dusenberry et al. 2020: r scales the input channels and s the output channels, as in
    `BatchEnsembleConv2d`, with ``r = r_mean + softplus(r_rho) ∘ ε``, s alike. Takes
    (M, B, C_in, H, W) or (B, C_in, H, W) and returns (M, B, C_out, H_out, W_out). Samples in
    training and in eval mode.

    Parameters
    ----------
    in_channels, out_channels
        C_in and C_out, positive integers.
    kernel_size
        Side k of a square kernel, or ``(height, width)``.
    ensemble_size
        Number of members M, a positive integer.
    prior, init, init_std, init_scale, per_example
        As for `Rank1Linear`.
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
        ensemble_size: int,
        *,
        prior: Normal = Normal(1.0, 0.1),
        init: str = "normal",
        init_std: float = 0.1,
        init_scale: float = DROPOUT_SCALE,
        per_example: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **geometry: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, device=device, dtype=dtype, **geometry
        )
        self._set_up(ensemble_size, prior, init, init_std, init_scale, per_example, bias)

    def forward(
        self,
        x: Float[Tensor, "M B C_in H W"] | Float[Tensor, "B C_in H W"],
        sample: dict[str, Tensor] | None = None,
    ) -> Float[Tensor, "M B C_out H_out W_out"]:
        self._check_input(x, self.weight, self.ensemble_size)
        sample = self.sample(None, x.shape) if sample is None else sample
        r, s = self._fast_weights(sample, x.shape[-4])
        return self._convolve_modulated(x, self.weight, r, s, self.bias)

    def weight_matrices(
        self, sample: dict[str, Tensor] | None = None
    ) -> Float[Tensor, "M *B C_in C_out kh kw"]:
        """The kernels of one draw: (M, C_in, C_out, k, k), or (M, B, …) per example."""
        sample = self.sample() if sample is None else sample
        r, s = self._fast_weights(sample)
        return self._matrices(self.weight) * channels(r[..., None]) * channels(s[..., None, :])

"""A BatchEnsemble whose fast weights are distributions: the rank-1 Bayesian layer."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.priors import DROPOUT_STD, Normal, Prior, check_prior
from ensedu.torch.base import MemberLayer
from ensedu.torch.batch_ensemble import fast_weights_
from ensedu.torch.conv import ConvLayer
from ensedu.torch.products import LinearLayer
from ensedu.torch.tensor_checks import shape_in
from ensedu.torch.variational import VariationalLayer, inverse_softplus, softplus


class Rank1Layer(MemberLayer, VariationalLayer):
    """The parameters of its layers: one weight, and distributions of r and s a member."""

    method: ClassVar = "rank1"
    array_of_members: ClassVar = "r_mean"
    drawn = ("r", "s")

    def _make_parameters(
        self,
        ensemble_size: int,
        prior: Prior,
        init: str,
        init_std: float,
        posterior_std: float,
        per_example: bool,
        bias: bool,
    ) -> None:
        M = checks.positive_int("ensemble_size", ensemble_size)
        self.prior = check_prior(prior)
        self.init = checks.one_of("init", init, ("signs", "normal"))
        self.init_std = checks.real("init_std", init_std, low=0.0)
        self.posterior_std = self._check_std("posterior_std", posterior_std)
        self.per_example = checks.boolean("per_example", per_example)
        self.weight = self._empty_parameter(*self.weight_shape)
        self.r_mean = self._empty_parameter(M, self.in_features)
        self.r_rho = self._empty_parameter(M, self.in_features)
        self.s_mean = self._empty_parameter(M, self.out_features)
        self.s_rho = self._empty_parameter(M, self.out_features)
        self.bias = self._empty_bias(bias, M)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self._uniform_(self.weight, self.bias)
        for mean, rho in ((self.r_mean, self.r_rho), (self.s_mean, self.s_rho)):
            fast_weights_(mean, self.init, self.init_std)
            nn.init.constant_(rho, inverse_softplus(self.posterior_std))

    def noise(
        self,
        generator: torch.Generator | None = None,
        input_shape: tuple[int, ...] | None = None,
    ) -> dict[str, Tensor]:
        """Draw the noise ε of r, (M, inputs), and of s, (M, outputs).

        For an input with an axis of samples, (S, M, B, …), draw (S, M, inputs) and (S, M, outputs);
        with ``per_example=True``, B stands before the last axis.
        """
        shape = self._check_input_shape(input_shape, self.ensemble_size)
        shapes = self.noise_shapes(shape or (1,) * -self.batch_axis)
        return {name: self._randn(generator, *shape) for name, shape in shapes.items()}

    def noise_shapes(self, input_shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """The shapes of what `noise` draws for an input of this shape."""
        samples = tuple(input_shape[: self.batch_axis - 1])
        batch = (input_shape[self.batch_axis],) if self.per_example else ()
        leading = (*samples, self.ensemble_size, *batch)
        return {"r": (*leading, self.in_features), "s": (*leading, self.out_features)}

    def forward(
        self, x: Float[Tensor, "*S_M_B_inputs"], noise: dict[str, Tensor] | None = None
    ) -> Float[Tensor, "*S_M_B_outputs"]:
        # Weight (n, m), r (M, m), s (M, n), bias (M, n); per example r (M, B, m) and s (M, B, n).
        r, s = self._fast_weights_for(x, noise)
        if not self._has_samples(x):
            return self.modulated_product(x, self.weight, r, s, self.bias)
        x, r, s, bias = self._samples_as_members(x, r, s)
        y = self.modulated_product(x, self.weight, r, s, bias)  # (S M, B, n)
        return y.unflatten(0, (-1, self.ensemble_size))

    def stored_weights(
        self, noise: dict[str, Tensor] | None = None
    ) -> Float[Tensor, "*S_M_B_n_m_kernel"]:
        """`weight_matrices` with the axes of a plain layer's weight."""
        noise = self.noise() if noise is None else noise
        r, s = self._fast_weights(noise, self._input_shape(shape_in(noise, "r")))
        return self.modulated_weights(self.weight, r, s)

    def kl(self, noise: dict[str, Tensor] | None = None) -> Float[Tensor, " M"]:
        """KL(q(r_i, s_i) ‖ prior) of each member, in nats; their mean bounds the mixture's KL.

        Closed form for a normal prior, else drawn: from `noise` of r, (M, inputs) or
        (S, M, inputs), and s, by default Torch's own.
        """
        return sum(entries.sum(1) for entries in self._kl_of_entries(noise).values())

    def _input_shape(self, noise: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of an input for which r has noise of this shape."""
        leading = noise[:-1] if self.per_example else (*noise[:-1], 1)
        return (*leading, *[1] * (-1 - self.batch_axis))

    def _fast_weights_for(
        self, x: Tensor, noise: dict[str, Tensor] | None
    ) -> tuple[Float[Tensor, "*S_M_B m"], Float[Tensor, "*S_M_B n"]]:
        """Check an input, and return its r and s, drawn where there is no noise."""
        self._check_input(x, self.weight, self.ensemble_size)
        noise = self.noise(None, x.shape) if noise is None else noise
        return self._fast_weights(noise, tuple(x.shape))

    def _samples_as_members(self, x: Tensor, r: Tensor, s: Tensor) -> list[Tensor | None]:
        """Flatten (S, M, …) to (S M, …), and give each sample of a member that member's bias."""
        bias = None if self.bias is None else self.bias.repeat(x.shape[0], 1)
        return [x.flatten(0, 1), r.flatten(0, 1), s.flatten(0, 1), bias]

    def _fast_weights(
        self, noise: dict[str, Tensor], shape: tuple[int, ...]
    ) -> tuple[Float[Tensor, "*S_M_B m"], Float[Tensor, "*S_M_B n"]]:
        """Return r and s for an input of this shape."""
        self._check_noise(noise, self.noise_shapes(shape))

        def draw(mean: Tensor, rho: Tensor, eps: Tensor) -> Tensor:
            std = softplus(rho)
            if self.per_example:
                mean, std = mean[:, None], std[:, None]
            return mean + std * eps

        return (
            draw(self.r_mean, self.r_rho, noise["r"]),
            draw(self.s_mean, self.s_rho, noise["s"]),
        )


class Rank1Linear(LinearLayer, Rank1Layer):
    """``y_i = ((x_i ∘ r_i) W) ∘ s_i + b_i``, r_i and s_i drawn anew in each forward pass.

    Dusenberry et al. 2020, eq. 3: ``r = r_mean + softplus(r_rho) ∘ ε``, s alike; weight (n, m)
    and bias (M, n) are point estimates. Samples in training and in eval mode.

    Parameters
    ----------
    in_features, out_features, ensemble_size, bias, device, dtype
        As for `BatchEnsembleLinear`, which also says what is raised.
    prior
        Of each entry of r and s, of `ensedu.priors`.
    init, init_std
        Where the means of r and s start, as for `BatchEnsembleLinear`. Under a narrow prior
        around 1, each entry that starts at -1 costs 2 / scale² nats.
    posterior_std
        Standard deviation at which every entry of r and s starts, above 0. The default is that
        of Gaussian dropout at rate 0.001.
    per_example
        Draw r and s for each example, as edward2 does, instead of once per member and batch.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        ensemble_size: int,
        *,
        prior: Prior = Normal(1.0, 0.1),
        init: str = "normal",
        init_std: float = 0.1,
        posterior_std: float = DROPOUT_STD,
        per_example: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        self._make_parameters(
            ensemble_size, prior, init, init_std, posterior_std, per_example, bias
        )


class Rank1Conv2d(ConvLayer, Rank1Layer):
    """``y_i = conv(x_i ∘ r_i, W) ∘ s_i + b_i``, r_i and s_i drawn anew in each forward pass.

    Dusenberry et al. 2020: r scales the input channels and s the output channels, as in
    `BatchEnsembleConv2d`, with ``r = r_mean + softplus(r_rho) ∘ ε``, s alike. Takes
    (M, B, C_in, H, W) or (B, C_in, H, W) and returns (M, B, C_out, H_out, W_out). Samples in
    training and in eval mode.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, bias, device, dtype, geometry
        As for ``nn.Conv2d``, whose geometry is ``stride``, ``padding``, ``dilation``, ``groups``
        and ``padding_mode``.
    ensemble_size, prior, init, init_std, posterior_std, per_example
        As for `Rank1Linear`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        ensemble_size: int,
        *,
        prior: Prior = Normal(1.0, 0.1),
        init: str = "normal",
        init_std: float = 0.1,
        posterior_std: float = DROPOUT_STD,
        per_example: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **geometry: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, device=device, dtype=dtype, **geometry
        )
        self._make_parameters(
            ensemble_size, prior, init, init_std, posterior_std, per_example, bias
        )

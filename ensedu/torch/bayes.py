"""A distribution over every weight: the mean-field layer of Bayes by Backprop."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu import _checks
from ensedu.priors import Normal
from ensedu.torch.base import WeightLayer
from ensedu.torch.variational import check_prior, inverse_softplus, normal_kl, softplus


class BayesLinear(WeightLayer):
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
    bias
        Whether there is a bias.
    device, dtype
        As for ``nn.Linear``, where the means start too.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
    """

    roles: ClassVar = {
        "weight_mean": "shared",
        "weight_rho": "scales",
        "bias_mean": "biases",
        "bias_rho": "biases",
    }

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        prior: Normal = Normal(0.0, 1.0),
        init_scale: float = 0.01,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, device, dtype)
        self.prior = check_prior(prior)
        self.init_scale = _checks.real("init_scale", init_scale, low=0.0)
        self.weight_mean = self._empty(self.out_features, self.in_features)
        self.weight_rho = self._empty(self.out_features, self.in_features)
        has_bias = _checks.boolean("bias", bias)
        self.bias_mean = self._empty(self.out_features) if has_bias else None
        self.bias_rho = self._empty(self.out_features) if has_bias else None
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

        With an `input_shape` of (S, B, m), draw (S, m, n) and (S, n). The axes are the book's, as
        in `ensedu.numpy`, so that one sample serves both.
        """
        leading = tuple(input_shape[:-2]) if input_shape else ()
        weight = self._randn(generator, *leading, self.in_features, self.out_features)
        if self.bias_mean is None:
            return {"weight": weight}
        return {"weight": weight, "bias": self._randn(generator, *leading, self.out_features)}

    def forward(
        self,
        x: Float[Tensor, "S B m"] | Float[Tensor, "B m"],
        sample: dict[str, Tensor] | None = None,
    ) -> Float[Tensor, "S B n"] | Float[Tensor, "B n"]:
        self._check_input(x)
        sample = self.sample(None, x.shape) if sample is None else sample
        y = x @ self._draw(sample, x.shape[:-2])
        if self.bias_mean is None:
            return y
        bias = self.bias_mean + softplus(self.bias_rho) * sample["bias"]  # (S, n) or (n,)
        return y + bias[..., None, :]

    def weight_matrices(self, sample: dict[str, Tensor] | None = None) -> Float[Tensor, "S m n"]:
        """The sampled matrices, (S, m, n); S = 1 for a sample without a leading axis."""
        sample = self.sample() if sample is None else sample
        leading = ()
        if isinstance(sample, dict) and isinstance(sample.get("weight"), Tensor):
            leading = tuple(sample["weight"].shape[:-2])
        return self._draw(sample, leading).reshape(-1, self.in_features, self.out_features)

    def kl(self) -> Float[Tensor, ""]:
        """KL(q(weight, bias) ‖ prior) in nats, closed form."""
        total = normal_kl(self.weight_mean, self.weight_rho, self.prior).sum()
        if self.bias_mean is None:
            return total
        return total + normal_kl(self.bias_mean, self.bias_rho, self.prior).sum()

    def _draw(self, sample: dict[str, Tensor], leading: tuple[int, ...]) -> Float[Tensor, "*S m n"]:
        m, n = self.in_features, self.out_features
        shapes = {"weight": (*leading, m, n), "bias": (*leading, n)}
        if self.bias_mean is None:
            del shapes["bias"]
        self._check_sample(sample, shapes)
        return self.weight_mean.T + softplus(self.weight_rho).T * sample["weight"]

    def extra_repr(self) -> str:
        bias = "" if self.bias_mean is not None else ", bias=False"
        return super().extra_repr() + bias

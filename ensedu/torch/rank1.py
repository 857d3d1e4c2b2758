"""A BatchEnsemble whose fast weights are distributions: the rank-1 Bayesian layer."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu import _checks
from ensedu.priors import Normal
from ensedu.torch.base import WeightLayer
from ensedu.torch.batch_ensemble import fast_weights_, modulated_product
from ensedu.torch.variational import check_prior, inverse_softplus, normal_kl, softplus


class Rank1Linear(WeightLayer):
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

    roles: ClassVar = {
        "weight": "shared",
        "r_mean": "per_member",
        "r_rho": "scales",
        "s_mean": "per_member",
        "s_rho": "scales",
        "bias": "biases",
    }

    def __init__(
        self,
        in_features: int,
        out_features: int,
        ensemble_size: int,
        *,
        prior: Normal = Normal(1.0, 0.1),
        init: str = "normal",
        init_std: float = 0.1,
        init_scale: float = (0.001 / 0.999) ** 0.5,
        per_example: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, device, dtype)
        M = self.ensemble_size = _checks.positive_int("ensemble_size", ensemble_size)
        self.prior = check_prior(prior)
        self.init = _checks.one_of("init", init, ("signs", "normal"))
        self.init_std = _checks.real("init_std", init_std, low=0.0)
        self.init_scale = _checks.real("init_scale", init_scale, low=0.0)
        self.per_example = _checks.boolean("per_example", per_example)
        self.weight = self._empty(self.out_features, self.in_features)
        self.r_mean, self.r_rho = self._empty(M, self.in_features), self._empty(M, self.in_features)
        self.s_mean = self._empty(M, self.out_features)
        self.s_rho = self._empty(M, self.out_features)
        self.bias = self._empty(M, self.out_features) if _checks.boolean("bias", bias) else None
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
        """Draw the noise ε of r, (M, m), and of s, (M, n).

        With `input_shape` (its last two entries are B and m) and ``per_example=True``, draw
        (M, B, m) and (M, B, n).
        """
        batch = tuple(input_shape[-2:-1]) if self.per_example and input_shape else ()
        return {
            "r": self._randn(generator, self.ensemble_size, *batch, self.in_features),
            "s": self._randn(generator, self.ensemble_size, *batch, self.out_features),
        }

    def forward(
        self,
        x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
        sample: dict[str, Tensor] | None = None,
    ) -> Float[Tensor, "M B n"]:
        self._check_input(x, self.ensemble_size)
        sample = self.sample(None, x.shape) if sample is None else sample
        r, s = self._fast_weights(sample, x.shape[-2])
        y = modulated_product(x, self.weight, r, s)
        return y if self.bias is None else y + self.bias[:, None]

    def weight_matrices(self, sample: dict[str, Tensor] | None = None) -> Float[Tensor, "M *B m n"]:
        """The matrices W ∘ r_i s_iᵀ of one draw: (M, m, n), or (M, B, m, n) per example."""
        sample = self.sample() if sample is None else sample
        r, s = self._fast_weights(sample)
        matrices = self.weight.T * r[..., :, None] * s[..., None, :]  # (M, 1 or B, m, n)
        return matrices if sample["r"].ndim == 3 else matrices[:, 0]

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
    ) -> tuple[Float[Tensor, "M #B m"], Float[Tensor, "M #B n"]]:
        """Return r and s, each with an axis for the batch, of length 1 or B."""
        leading: tuple[int, ...] = (self.ensemble_size,)
        if isinstance(sample, dict) and getattr(sample.get("r"), "ndim", 0) == 3:
            leading += (sample["r"].shape[1] if batch is None else batch,)
        self._check_sample(
            sample, {"r": (*leading, self.in_features), "s": (*leading, self.out_features)}
        )
        noise = {k: eps if eps.ndim == 3 else eps[:, None] for k, eps in sample.items()}
        r = self.r_mean[:, None] + softplus(self.r_rho)[:, None] * noise["r"]
        s = self.s_mean[:, None] + softplus(self.s_rho)[:, None] * noise["s"]
        return r, s

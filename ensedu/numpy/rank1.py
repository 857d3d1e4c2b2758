"""A BatchEnsemble whose fast weights are distributions: the rank-1 Bayesian layer."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import _checks
from ensedu.numpy import modulation, variational
from ensedu.numpy.base import MemberLayer
from ensedu.numpy.batch_ensemble import fast_weights
from ensedu.priors import Normal


class Rank1Linear(MemberLayer):
    """``y_i = ((x_i ∘ r_i) W) ∘ s_i + b_i``, r_i and s_i drawn anew in each forward pass.

    Dusenberry et al. 2020, eq. 3: ``r = r_mean + softplus(r_rho) ∘ ε``, and s alike; W (m, n) and
    b (M, n) are point estimates.

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
    rng, dtype
        As for `Linear`; `rng` is also the default source of noise.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input that is neither (B, m) nor (M, B, m).
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
        rng: Generator,
        prior: Normal = Normal(1.0, 0.1),
        init: str = "normal",
        init_std: float = 0.1,
        init_scale: float = (0.001 / 0.999) ** 0.5,
        per_example: bool = False,
        dtype: np.typing.DTypeLike = np.float64,
    ) -> None:
        super().__init__(in_features, out_features, ensemble_size, rng, dtype)
        M, m, n = self.ensemble_size, self.in_features, self.out_features
        self.prior = variational.check_prior(prior)
        self.init = _checks.one_of("init", init, ("signs", "normal"))
        self.init_std = _checks.real("init_std", init_std, low=0.0)
        self.init_scale = _checks.real("init_scale", init_scale, low=0.0)
        self.per_example = _checks.boolean("per_example", per_example)
        rho = variational.inverse_softplus(self.init_scale)
        self.params["weight"] = self._uniform(m, n)
        for name, size in (("r", m), ("s", n)):
            self.params[f"{name}_mean"] = fast_weights(
                self.rng, (M, size), self.init, self.init_std, self.dtype
            )
            self.params[f"{name}_rho"] = np.full((M, size), rho, self.dtype)
        self.params["bias"] = self._uniform(M, n)

    def sample(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> dict[str, Array]:
        """Draw the noise ε of r, (M, m), and of s, (M, n).

        With `input_shape` (its last two entries are B and m) and ``per_example=True``, draw
        (M, B, m) and (M, B, n).
        """
        M = self.ensemble_size
        batch = tuple(input_shape[-2:-1]) if self.per_example and input_shape else ()
        return {
            "r": self._normal(rng, M, *batch, self.in_features),
            "s": self._normal(rng, M, *batch, self.out_features),
        }

    def forward(
        self,
        x: Float[Array, "M B m"] | Float[Array, "B m"],
        sample: dict[str, Array] | None = None,
    ) -> Float[Array, "M B n"]:
        self._check_input(x)
        sample = self.sample(None, x.shape) if sample is None else sample
        r, s, noise = self._fast_weights(sample, x.shape[-2])
        y = modulation.forward(x, self.params["weight"], r, s) + self.params["bias"][:, None]
        self._cache = x, noise, r, s, y.shape
        return y

    def backward(self, grad: Float[Array, "M B n"]) -> Float[Array, "M B m"] | Float[Array, "B m"]:
        x, noise, r, s = self._recall(grad, self.dtype)
        grad_x, grad_weight, grad_r, grad_s = modulation.backward(
            grad, x, self.params["weight"], r, s
        )
        self.grads = {"weight": grad_weight}
        for name, grad_draw in (("r", grad_r), ("s", grad_s)):
            slope = variational.sigmoid(self.params[f"{name}_rho"])  # dσ/dρ
            self.grads[f"{name}_mean"] = grad_draw.sum(axis=1)
            self.grads[f"{name}_rho"] = (grad_draw * noise[name]).sum(axis=1) * slope
        self.grads["bias"] = grad.sum(axis=1)
        return grad_x

    def weight_matrices(self, sample: dict[str, Array] | None = None) -> Float[Array, "M *B m n"]:
        """The matrices W ∘ r_i s_iᵀ of one draw: (M, m, n), or (M, B, m, n) per example."""
        sample = self.sample() if sample is None else sample
        r, s, _ = self._fast_weights(sample)
        matrices = self.params["weight"] * r[..., :, None] * s[..., None, :]  # (M, 1 or B, m, n)
        return matrices if sample["r"].ndim == 3 else matrices[:, 0]

    def kl(self, over_members: str = "mean") -> float:
        """KL(q(r, s) ‖ prior) in nats, closed form: the mean over members, or their sum.

        For the mixture of the members, the mean of their KLs is an upper bound (convexity).
        """
        share = self._kl_share(over_members)
        return share * variational.kl(self.params, ("r", "s"), self.prior)

    def kl_backward(self, scale: float = 1.0, over_members: str = "mean") -> None:
        """Add the gradient of ``scale * kl(over_members)`` to ``grads``; after ``backward``."""
        share = self._kl_share(over_members) * _checks.real("scale", scale)
        variational.add_kl_gradient(self.params, self.grads, ("r", "s"), self.prior, share)

    def _kl_share(self, over_members: str) -> float:
        _checks.one_of("over_members", over_members, ("mean", "sum"))
        return 1 / self.ensemble_size if over_members == "mean" else 1.0

    def _fast_weights(
        self, sample: dict[str, Array], batch: int | None = None
    ) -> tuple[Float[Array, "M #B m"], Float[Array, "M #B n"], dict[str, Array]]:
        """Return r, s and their noise, each with an axis for the batch, of length 1 or B."""
        leading: tuple[int, ...] = (self.ensemble_size,)
        if isinstance(sample, dict) and np.ndim(sample.get("r")) == 3:
            leading += (np.shape(sample["r"])[1] if batch is None else batch,)
        self._check_sample(
            sample, {"r": (*leading, self.in_features), "s": (*leading, self.out_features)}
        )
        noise = {k: eps if eps.ndim == 3 else eps[:, None] for k, eps in sample.items()}
        means = {k: value[:, None] for k, value in self.params.items() if k[0] in "rs"}
        return (
            variational.draw(means, "r", noise["r"]),
            variational.draw(means, "s", noise["s"]),
            noise,
        )

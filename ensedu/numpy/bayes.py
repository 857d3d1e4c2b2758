"""A distribution over every weight: the mean-field layer of Bayes by Backprop."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import _checks
from ensedu.numpy import variational
from ensedu.numpy.base import WeightLayer, check_array
from ensedu.priors import Normal


class BayesLinear(WeightLayer):
    """``y = x W + b`` with ``W = weight_mean + softplus(weight_rho) ∘ ε``, and b alike.

    Blundell et al. 2015, sec. 3.2. All means and ρ are trained: weight (m, n) and bias (n,).
    An input (S, B, m) gives each of its S leading indices a sample of its own; (B, m) gets one.

    Parameters
    ----------
    in_features, out_features
        m and n, positive integers.
    prior
        `ensedu.priors.Normal` of each weight and bias.
    init_scale
        Standard deviation at which every weight and bias starts, above 0.
    rng, dtype
        As for `Linear`, where the means start; `rng` is also the default source of noise.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input that is neither (B, m) nor (S, B, m).
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
        rng: Generator,
        prior: Normal = Normal(0.0, 1.0),
        init_scale: float = 0.01,
        dtype: np.typing.DTypeLike = np.float64,
    ) -> None:
        super().__init__(in_features, out_features, rng, dtype)
        m, n = self.in_features, self.out_features
        self.prior = variational.check_prior(prior)
        self.init_scale = _checks.real("init_scale", init_scale, low=0.0)
        rho = variational.inverse_softplus(self.init_scale)
        self.params["weight_mean"] = self._uniform(m, n)
        self.params["weight_rho"] = np.full((m, n), rho, self.dtype)
        self.params["bias_mean"] = self._uniform(n)
        self.params["bias_rho"] = np.full(n, rho, self.dtype)

    def sample(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> dict[str, Array]:
        """Draw the noise ε of the weight, (m, n), and the bias, (n,).

        With an `input_shape` of (S, B, m), draw (S, m, n) and (S, n).
        """
        leading = tuple(input_shape[:-2]) if input_shape else ()
        return {
            "weight": self._normal(rng, *leading, self.in_features, self.out_features),
            "bias": self._normal(rng, *leading, self.out_features),
        }

    def forward(
        self,
        x: Float[Array, "S B m"] | Float[Array, "B m"],
        sample: dict[str, Array] | None = None,
    ) -> Float[Array, "S B n"] | Float[Array, "B n"]:
        check_array("BayesLinear: input x", x, self.dtype)
        _checks.batch("BayesLinear", x.shape, self.in_features)
        sample = self.sample(None, x.shape) if sample is None else sample
        self._check_noise(sample, x.shape[:-2])
        weight = variational.draw(self.params, "weight", sample["weight"])  # (S, m, n) or (m, n)
        bias = variational.draw(self.params, "bias", sample["bias"])  # (S, n) or (n,)
        y = x @ weight + bias[..., None, :]
        self._cache = x, sample, weight, y.shape
        return y

    def backward(
        self, grad: Float[Array, "S B n"] | Float[Array, "B n"]
    ) -> Float[Array, "S B m"] | Float[Array, "B m"]:
        x, sample, weight = self._recall(grad, self.dtype)
        self.grads = {}
        for name, grad_draw in (("weight", x.mT @ grad), ("bias", grad.sum(axis=-2))):
            mean, rho = self.params[f"{name}_mean"], self.params[f"{name}_rho"]
            by_sample = (-1, *mean.shape)  # one leading axis, also for a single sample
            self.grads[f"{name}_mean"] = grad_draw.reshape(by_sample).sum(axis=0)
            grad_scale = (grad_draw * sample[name]).reshape(by_sample).sum(axis=0)
            self.grads[f"{name}_rho"] = grad_scale * variational.sigmoid(rho)
        return grad @ weight.mT

    def weight_matrices(self, sample: dict[str, Array] | None = None) -> Float[Array, "S m n"]:
        """The sampled matrices, (S, m, n); S = 1 for a sample without a leading axis."""
        sample = self.sample() if sample is None else sample
        leading = np.shape(sample.get("weight"))[:-2] if isinstance(sample, dict) else ()
        self._check_noise(sample, leading)
        weight = variational.draw(self.params, "weight", sample["weight"])
        return weight.reshape(-1, self.in_features, self.out_features)

    def kl(self) -> float:
        """KL(q(weight, bias) ‖ prior) in nats, closed form."""
        return variational.kl(self.params, ("weight", "bias"), self.prior)

    def kl_backward(self, scale: float = 1.0) -> None:
        """Add the gradient of ``scale * kl()`` to ``grads``; after ``backward``."""
        variational.add_kl_gradient(self.params, self.grads, ("weight", "bias"), self.prior, scale)

    def _check_noise(self, sample: dict[str, Array], leading: tuple[int, ...]) -> None:
        m, n = self.in_features, self.out_features
        self._check_sample(sample, {"weight": (*leading, m, n), "bias": (*leading, n)})

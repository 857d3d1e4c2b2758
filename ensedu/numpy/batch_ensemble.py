"""One shared weight and two fast-weight vectors a member, W_i = W ∘ r_i s_iᵀ."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import _checks
from ensedu.numpy import modulation
from ensedu.numpy.base import MemberLayer


class BatchEnsembleLinear(MemberLayer):
    """``y_i = ((x_i ∘ r_i) W) ∘ s_i + b_i`` (Wen et al. 2020, eq. 3 and 5).

    The weight W (m, n) is shared; member i owns r_i (m,), s_i (n,) and b_i (n,).

    Parameters
    ----------
    in_features, out_features, ensemble_size
        m, n and M, positive integers.
    init
        Where r and s start: ``"signs"``, +1 or -1 with equal chance, or ``"normal"``,
        N(1, init_std²).
    init_std
        Standard deviation for ``"normal"``, above 0.
    rng, dtype
        As for `Linear`.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input that is neither (B, m) nor (M, B, m).
    """

    roles: ClassVar = {"weight": "shared", "r": "per_member", "s": "per_member", "bias": "biases"}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        ensemble_size: int,
        *,
        rng: Generator,
        init: str = "signs",
        init_std: float = 0.5,
        dtype: np.typing.DTypeLike = np.float64,
    ) -> None:
        super().__init__(in_features, out_features, ensemble_size, rng, dtype)
        M, m, n = self.ensemble_size, self.in_features, self.out_features
        self.init = _checks.one_of("init", init, ("signs", "normal"))
        self.init_std = _checks.real("init_std", init_std, low=0.0)
        self.params["weight"] = self._uniform(m, n)
        self.params["r"] = fast_weights(self.rng, (M, m), self.init, self.init_std, self.dtype)
        self.params["s"] = fast_weights(self.rng, (M, n), self.init, self.init_std, self.dtype)
        self.params["bias"] = self._uniform(M, n)

    def forward(self, x: Float[Array, "M B m"] | Float[Array, "B m"]) -> Float[Array, "M B n"]:
        self._check_input(x)
        r, s = self.params["r"][:, None], self.params["s"][:, None]  # (M, 1, m), (M, 1, n)
        y = modulation.forward(x, self.params["weight"], r, s) + self.params["bias"][:, None]
        self._cache = x, y.shape
        return y

    def backward(self, grad: Float[Array, "M B n"]) -> Float[Array, "M B m"] | Float[Array, "B m"]:
        x = self._recall(grad, self.dtype)
        r, s = self.params["r"][:, None], self.params["s"][:, None]
        grad_x, grad_weight, grad_r, grad_s = modulation.backward(
            grad, x, self.params["weight"], r, s
        )
        self.grads = {
            "weight": grad_weight,
            "r": grad_r.sum(axis=1),
            "s": grad_s.sum(axis=1),
            "bias": grad.sum(axis=1),
        }
        return grad_x

    def weight_matrices(self, sample: None = None) -> Float[Array, "M m n"]:
        """The members' matrices W ∘ r_i s_iᵀ, (M, m, n), which ``forward`` never forms."""
        return self.params["weight"] * self.params["r"][:, :, None] * self.params["s"][:, None, :]


def fast_weights(
    rng: Generator, shape: tuple[int, int], init: str, init_std: float, dtype: np.dtype
) -> Float[Array, "M features"]:
    """Random signs, or normal entries around 1."""
    if init == "signs":
        return rng.choice([-1.0, 1.0], shape).astype(dtype)
    return rng.normal(1.0, init_std, shape).astype(dtype)

"""M fully connected layers that share nothing, y_i = x_i W_i + b_i."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.numpy.base import MemberLayer, sum_to


class DeepEnsembleLinear(MemberLayer):
    """``y_i = x_i W_i + b_i`` for M members in one batched product.

    W is (M, m, n), b is (M, n); every entry is drawn on its own from U(-1/√m, 1/√m), so the
    members start apart (Lakshminarayanan et al. 2017, sec. 2.4: random initialization is what
    makes members differ).

    Parameters
    ----------
    in_features, out_features, ensemble_size
        m, n and M, positive integers.
    rng, dtype
        As for `Linear`.

    Raises
    ------
    TypeError, ValueError
        For a bad size, `rng` or `dtype`, and for an input that is neither (B, m) nor (M, B, m).
    """

    roles: ClassVar = {"weight": "per_member", "bias": "biases"}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        ensemble_size: int,
        *,
        rng: Generator,
        dtype: np.typing.DTypeLike = np.float64,
    ) -> None:
        super().__init__(in_features, out_features, ensemble_size, rng, dtype)
        M, m, n = self.ensemble_size, self.in_features, self.out_features
        self.params["weight"] = self._uniform(M, m, n)
        self.params["bias"] = self._uniform(M, n)

    def forward(self, x: Float[Array, "M B m"] | Float[Array, "B m"]) -> Float[Array, "M B n"]:
        self._check_input(x)
        y = x @ self.params["weight"] + self.params["bias"][:, None]  # (M, B, n)
        self._cache = x, y.shape
        return y

    def backward(self, grad: Float[Array, "M B n"]) -> Float[Array, "M B m"] | Float[Array, "B m"]:
        x = self._recall(grad, self.dtype)
        self.grads = {"weight": x.mT @ grad, "bias": grad.sum(axis=1)}  # (M, m, n), (M, n)
        return sum_to(grad @ self.params["weight"].mT, x.shape)

    def weight_matrices(self, sample: None = None) -> Float[Array, "M m n"]:
        """Every member's own matrix, (M, m, n)."""
        return self.params["weight"].copy()

"""One shared weight and two fast-weight vectors a member, W_i = W ∘ r_i s_iᵀ."""

from typing import ClassVar

from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import checks
from ensedu.numpy.base import MemberLayer, sum_to


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
    rng, bias
        As for `Linear`.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input that is neither (B, m) nor (M, B, m) nor (S, M, B, m).
    """

    method: ClassVar = "batch_ensemble"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        ensemble_size: int,
        *,
        rng: Generator,
        init: str = "signs",
        init_std: float = 0.5,
        bias: bool = True,
    ) -> None:
        super().__init__(in_features, out_features, ensemble_size, rng)
        M, m, n = self.ensemble_size, self.in_features, self.out_features
        self.init = checks.one_of("init", init, ("signs", "normal"))
        self.init_std = checks.real("init_std", init_std, low=0.0)
        self.params["weight"] = self._uniform(m, n)
        self.params["r"] = self._fast_weights(M, m)
        self.params["s"] = self._fast_weights(M, n)
        if checks.boolean("bias", bias):
            self.params["bias"] = self._uniform(M, n)

    def forward(self, x: Float[Array, "*S_M B m"]) -> Float[Array, "*S M B n"]:
        return self._modulated(self._input(x), self.params["r"][:, None], self.params["s"][:, None])

    def _modulated(
        self, x: Float[Array, "*S_M B m"], r: Float[Array, "*S M #B m"],
        s: Float[Array, "*S M #B n"],
    ) -> Float[Array, "*S2 M B n"]:  # fmt: skip
        """Scale by r, multiply by the one shared weight, scale by s (Wen et al. 2020, eq. 5)."""
        product = (x * r) @ self.params["weight"]  # (M, B, n)
        y = product * s
        if "bias" in self.params:
            y += self.params["bias"][:, None]
        self._cache = x, r, s, product, y.shape
        return y

    def backward(self, grad: Float[Array, "*S M B n"]) -> Float[Array, "*S_M B m"]:
        x, r, s, product = self._recall(grad)
        weight = self.params["weight"]
        grad_product = grad * s  # (M, B, n)
        grad_scaled = grad_product @ weight.T  # (M, B, m)
        rows, grad_rows = (x * r).reshape(-1, len(weight)), grad_product.reshape(-1, len(weight.T))
        self._add(weight=rows.T @ grad_rows)
        self._add_fast(grad_scaled * x, grad * product)
        if "bias" in self.params:
            self._add(bias=self._by_member(grad))
        return sum_to(grad_scaled * r, x.shape)

    def _add_fast(self, grad_r: Array, grad_s: Array) -> None:
        """Add the gradients of r and s, which come for each example."""
        self._add(r=self._by_member(grad_r), s=self._by_member(grad_s))

    def _by_member(self, grad: Float[Array, "*S M B k"]) -> Float[Array, "M k"]:
        return sum_to(grad, (self.ensemble_size, 1, grad.shape[-1]))[:, 0]

    def weight_matrices(self, noise: None = None) -> Float[Array, "M m n"]:
        """The members' matrices W ∘ r_i s_iᵀ, (M, m, n), which ``forward`` never forms."""
        self._no_noise(noise)
        return self.params["weight"] * self.params["r"][:, :, None] * self.params["s"][:, None, :]

    def _fast_weights(self, *shape: int) -> Float[Array, "M features"]:
        """Draw random signs, or normal entries around 1."""
        if self.init == "signs":
            return self.rng.choice([-1.0, 1.0], shape)
        return self.rng.normal(1.0, self.init_std, shape)

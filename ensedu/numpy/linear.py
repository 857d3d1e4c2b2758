"""The fully connected layer, y = x W + b."""

from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.numpy.base import WeightLayer


class Linear(WeightLayer):
    """``y = x W + b``: (..., m) -> (..., n), with W (m, n) and b (n,).

    Parameters
    ----------
    in_features, out_features
        m and n, positive integers.
    rng
        Draws W and b from U(-1/√m, 1/√m), as ``nn.Linear`` does.
    bias
        Whether there is a bias.
    """

    def __init__(
        self, in_features: int, out_features: int, *, rng: Generator, bias: bool = True
    ) -> None:
        super().__init__(in_features, out_features, rng)
        self.params["weight"] = self._uniform(self.in_features, self.out_features)
        if checks.boolean("bias", bias):
            self.params["bias"] = self._uniform(self.out_features)

    def forward(self, x: Float[Array, "*axes m"]) -> Float[Array, "*axes n"]:
        x = self._input(x)
        y = x @ self.params["weight"]  # (..., n)
        if "bias" in self.params:
            y += self.params["bias"]
        self._cache = x, y.shape
        return y

    def backward(self, grad: Float[Array, "*axes n"]) -> Float[Array, "*axes m"]:
        x = self._recall(grad)
        rows, grad_rows = x.reshape(-1, self.in_features), grad.reshape(-1, self.out_features)
        self._add(weight=rows.T @ grad_rows)
        if "bias" in self.params:
            self._add(bias=grad_rows.sum(axis=0))
        return grad @ self.params["weight"].T

    def weight_matrices(self, noise: None = None) -> Float[Array, "1 m n"]:
        """The one weight matrix, (1, m, n)."""
        self._no_noise(noise)
        return self.params["weight"][None].copy()

    def _check_shape(self, shape: tuple[int, ...], what: str) -> None:
        if not shape or shape[-1] != self.in_features:
            raise ValueError(f"Linear: {what} {shape}, accepted is (..., {self.in_features})")

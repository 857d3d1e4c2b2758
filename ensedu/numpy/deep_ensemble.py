"""M fully connected layers that share nothing, y_i = x_i W_i + b_i, or M convolutions."""

from typing import ClassVar

from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.numpy.base import MemberLayer, sum_to
from ensedu.numpy.windows import ConvLayer, Size


class DeepEnsembleLinear(MemberLayer):
    """``y_i = x_i W_i + b_i`` for M members in one batched product.

    W is (M, m, n), b is (M, n); every entry is drawn on its own from U(-1/√m, 1/√m), so the
    members start apart (Lakshminarayanan et al. 2017, sec. 2.4: random initialization is what
    makes members differ).

    Parameters
    ----------
    in_features, out_features, ensemble_size
        m, n and M, positive integers.
    rng, bias
        As for `Linear`.
    """

    method: ClassVar = "deep_ensemble"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        ensemble_size: int,
        *,
        rng: Generator,
        bias: bool = True,
    ) -> None:
        super().__init__(in_features, out_features, ensemble_size, rng)
        M, m, n = self.ensemble_size, self.in_features, self.out_features
        self.params["weight"] = self._uniform(M, m, n)
        if checks.boolean("bias", bias):
            self.params["bias"] = self._uniform(M, n)

    def forward(self, x: Float[Array, "*S_M B m"]) -> Float[Array, "*S M B n"]:
        x = self._input(x)
        y = x @ self.params["weight"]  # (M, B, n)
        if "bias" in self.params:
            y += self.params["bias"][:, None]
        self._cache = x, y.shape
        return y

    def backward(self, grad: Float[Array, "*S M B n"]) -> Float[Array, "*S_M B m"]:
        x = self._recall(grad)
        M, m, n = self.params["weight"].shape
        self._add(weight=sum_to(x.mT @ grad, (M, m, n)))
        if "bias" in self.params:
            self._add(bias=sum_to(grad, (M, 1, n))[:, 0])
        return sum_to(grad @ self.params["weight"].mT, x.shape)

    def weight_matrices(self, noise: None = None) -> Float[Array, "M m n"]:
        """Every member's own matrix, (M, m, n)."""
        self._no_noise(noise)
        return self.params["weight"].copy()


class DeepEnsembleConv2d(ConvLayer, DeepEnsembleLinear):
    """M convolutions that share nothing: (B, C_in, H, W), or (M, B, …), -> (M, B, C_out, …).

    Lakshminarayanan et al. 2017. W is (M, C_in · kh · kw, C_out), b is (M, C_out).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, rng, bias
        As for `Conv2d`.
    ensemble_size
        M, a positive integer.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, ensemble_size: int, *,
        rng: Generator, stride: Size = 1, padding: Size = 0, bias: bool = True,
    ) -> None:  # fmt: skip
        sizes = self._geometry(in_channels, out_channels, kernel_size, stride, padding)
        super().__init__(*sizes, ensemble_size, rng=rng, bias=bias)

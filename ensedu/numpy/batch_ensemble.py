"""One shared weight and two fast-weight vectors a member, W_i = W ∘ r_i s_iᵀ."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.numpy.base import MemberLayer, sum_to
from ensedu.numpy.windows import ConvLayer, Size


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
        return self._modulated_product(
            self._input(x), self.params["r"][:, None], self.params["s"][:, None]
        )

    def _modulated_product(
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


class ModulatedConv(ConvLayer):
    """Base of the convolutions between r and s, in front of `BatchEnsembleLinear` or its heir.

    r and s have a number for each channel, not for each entry of a window, so they multiply images
    before and after one shared convolution. The layer behind draws r and s, and adds up gradients.
    """

    def _cut_to_channels(self, *names: str) -> None:
        """Keep one number for each channel, of those drawn for each entry of a window."""
        for name in names:
            self.params[name] = self.params[name][:, : self.in_channels].copy()

    def _modulated_product(
        self, x: Float[Array, "*S_M B C_in H W"], r: Float[Array, "*S M #B C_in"],
        s: Float[Array, "*S M #B C_out"],
    ) -> Float[Array, "*S2 M B C_out H_out W_out"]:  # fmt: skip
        r, s = r[..., None, None], s[..., None, None]
        xr = x * r  # (M, B, C_in, H, W)
        rows = self._to_rows(xr)
        product = self._to_images(rows @ self.params["weight"], xr.shape)  # (M, B, C_out, …)
        y = product * s
        if "bias" in self.params:
            y += self.params["bias"][:, None, :, None, None]
        self._cache = x, r, s, rows, product, y.shape
        return y

    def backward(self, grad: Float[Array, "*S M B C_out H_out W_out"]) -> Array:
        x, r, s, rows, product = self._recall(grad)
        grad_rows = np.moveaxis(grad * s, -3, -1).reshape(*rows.shape[:-1], self.out_channels)
        windows, pixels = (a.reshape(-1, a.shape[-1]) for a in (rows, grad_rows))
        self._add(weight=windows.T @ pixels)
        shape = (*grad.shape[:-3], *x.shape[-3:])
        grad_xr = self._from_rows(grad_rows @ self.params["weight"].T, shape)  # (M, B, C_in, H, W)
        self._add_fast((grad_xr * x).sum(axis=(-2, -1)), (grad * product).sum(axis=(-2, -1)))
        if "bias" in self.params:
            self._add(bias=self._by_member(grad.sum(axis=(-2, -1))))
        return sum_to(grad_xr * r, x.shape)

    def _member_kernels(
        self, r: Float[Array, "*axes C_in"], s: Float[Array, "*axes C_out"]
    ) -> Float[Array, "*axes C_in C_out kh kw"]:
        """The shared kernels W ∘ r sᵀ, a factor for each pair of channels."""
        shared = self._kernels(self.params["weight"])
        return shared * (r[..., :, None] * s[..., None, :])[..., None, None]


class BatchEnsembleConv2d(ModulatedConv, BatchEnsembleLinear):
    """``y_i = conv(x_i ∘ r_i, W) ∘ s_i + b_i``, a factor for each channel (Wen et al. 2020, eq. 5).

    (B, C_in, H, W), or (M, B, …), -> (M, B, C_out, H_out, W_out). W (C_in · kh · kw, C_out) is
    shared; member i owns r_i (C_in,), s_i (C_out,) and b_i (C_out,).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, rng, bias
        As for `Conv2d`.
    ensemble_size, init, init_std
        As for `BatchEnsembleLinear`.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, ensemble_size: int, *,
        rng: Generator, stride: Size = 1, padding: Size = 0, init: str = "signs",
        init_std: float = 0.5, bias: bool = True,
    ) -> None:  # fmt: skip
        sizes = self._geometry(in_channels, out_channels, kernel_size, stride, padding)
        start: dict[str, Any] = {"init": init, "init_std": init_std, "bias": bias}
        super().__init__(*sizes, ensemble_size, rng=rng, **start)
        self._cut_to_channels("r")

    def forward(self, x: Float[Array, "*S_M B C_in H W"]) -> Array:
        x = self._images(x)
        return self._modulated_product(x, self.params["r"][:, None], self.params["s"][:, None])

    def weight_matrices(self, noise: None = None) -> Float[Array, "M C_in C_out kh kw"]:
        """The members' kernels W ∘ r_i s_iᵀ, (M, C_in, C_out, kh, kw)."""
        self._no_noise(noise)
        return self._member_kernels(self.params["r"], self.params["s"])

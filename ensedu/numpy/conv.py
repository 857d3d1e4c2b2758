"""The convolutions: each is its fully connected layer, applied to every window of an image.

Weights are kept as that layer keeps them, one row for each of the C_in · kh · kw numbers of a
window: channel by channel, and in it row by row; ``weight_matrices()`` gives kernels.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.numpy.base import Noise, sum_to
from ensedu.numpy.batch_ensemble import BatchEnsembleLinear
from ensedu.numpy.deep_ensemble import DeepEnsembleLinear
from ensedu.numpy.linear import Linear
from ensedu.numpy.mean_field import MeanFieldLinear
from ensedu.numpy.rank1 import Rank1Linear
from ensedu.numpy.windows import Windows
from ensedu.priors import DROPOUT_STD, Normal, Prior

Size = int | tuple[int, int]


class Conv2d(Windows, Linear):
    """``y = conv(x, W) + b``: (B, C_in, H, W) -> (B, C_out, H_out, W_out), or (S, B, …).

    Parameters
    ----------
    in_channels, out_channels
        C_in and C_out, positive integers.
    kernel_size, stride, padding
        An integer, or a pair for height and width; padding is by zeros.
    rng, bias
        As for `Linear`: W (C_in · kh · kw, C_out) and b (C_out,) start as ``nn.Conv2d`` does.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another dtype than float64, of other channels, or
        smaller than the kernel.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, *, rng: Generator,
        stride: Size = 1, padding: Size = 0, bias: bool = True,
    ) -> None:  # fmt: skip
        sizes = self._geometry(in_channels, out_channels, kernel_size, stride, padding)
        super().__init__(*sizes, rng=rng, bias=bias)


class DeepEnsembleConv2d(Windows, DeepEnsembleLinear):
    """M convolutions that share nothing: (B, C_in, H, W), or (M, B, …), -> (M, B, C_out, …).

    Lakshminarayanan et al. 2017. W is (M, C_in · kh · kw, C_out), b is (M, C_out).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, rng, bias
        As for `Conv2d`.
    ensemble_size
        M, a positive integer.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, ensemble_size: int, *,
        rng: Generator, stride: Size = 1, padding: Size = 0, bias: bool = True,
    ) -> None:  # fmt: skip
        sizes = self._geometry(in_channels, out_channels, kernel_size, stride, padding)
        super().__init__(*sizes, ensemble_size, rng=rng, bias=bias)


class BatchEnsembleConv2d(Windows, BatchEnsembleLinear):
    """``y_i = conv(x_i ∘ r_i, W) ∘ s_i + b_i``, a factor for each channel (Wen et al. 2020, eq. 5).

    (B, C_in, H, W), or (M, B, …), -> (M, B, C_out, H_out, W_out). W (C_in · kh · kw, C_out) is
    shared; member i owns r_i (C_in,), s_i (C_out,) and b_i (C_out,).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, rng, bias
        As for `Conv2d`.
    ensemble_size, init, init_std
        As for `BatchEnsembleLinear`.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
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

    def _cut_to_channels(self, *names: str) -> None:
        """Keep one number for each channel, of those drawn for each entry of a window."""
        for name in names:
            self.params[name] = self.params[name][:, : self.in_channels].copy()

    def forward(self, x: Float[Array, "*S_M B C_in H W"]) -> Array:
        x = self._images(x)
        return self._modulated(x, self.params["r"][:, None], self.params["s"][:, None])

    def _modulated(
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

    def weight_matrices(self, noise: None = None) -> Float[Array, "M C_in C_out kh kw"]:
        """The members' kernels W ∘ r_i s_iᵀ, (M, C_in, C_out, kh, kw)."""
        self._no_noise(noise)
        return self._modulate(self.params["r"], self.params["s"])

    def _modulate(
        self, r: Float[Array, "*axes C_in"], s: Float[Array, "*axes C_out"]
    ) -> Float[Array, "*axes C_in C_out kh kw"]:
        shared = self._kernels(self.params["weight"])
        return shared * (r[..., :, None] * s[..., None, :])[..., None, None]


class Rank1Conv2d(BatchEnsembleConv2d, Rank1Linear):
    """A `BatchEnsembleConv2d` that draws r and s anew in each pass (Dusenberry et al. 2020, eq. 3).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, ensemble_size, stride, padding, rng, bias
        As for `BatchEnsembleConv2d`.
    prior, init, init_std, posterior_std, per_example
        As for `Rank1Linear`.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, ensemble_size: int, *,
        rng: Generator, stride: Size = 1, padding: Size = 0, prior: Prior = Normal(1.0, 0.1),
        init: str = "normal", init_std: float = 0.1, posterior_std: float = DROPOUT_STD,
        per_example: bool = False, bias: bool = True,
    ) -> None:  # fmt: skip
        sizes = self._geometry(in_channels, out_channels, kernel_size, stride, padding)
        start: dict[str, Any] = {"init": init, "init_std": init_std, "bias": bias}
        options: dict[str, Any] = {"posterior_std": posterior_std, "per_example": per_example}
        Rank1Linear.__init__(self, *sizes, ensemble_size, rng=rng, prior=prior, **start, **options)
        self._cut_to_channels("r_mean", "r_rho")

    def noise(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> Noise:
        """Draw ε of r, (S, M, C_in), and s, (S, M, C_out), with B before the last per example."""
        one = (1, self.in_channels, *self.kernel_size)
        shape = self._image_shape(one if input_shape is None else input_shape)
        shapes = self._noise_shapes(shape[:-2])
        return {k: self._normal(rng, *shape) for k, shape in shapes.items()}

    def forward(self, x: Float[Array, "*S_M B C_in H W"], noise: Noise | None = None) -> Array:
        x = self._images(x)
        noise = self.noise(None, x.shape) if noise is None else noise
        r, s, self._noise = self._draw(noise, x.shape[:-2])
        return self._modulated(x, r, s)

    def weight_matrices(
        self, noise: Noise | None = None
    ) -> Float[Array, "*S_M_B C_in C_out kh kw"]:
        """The kernels of one draw: (M, C_in, C_out, kh, kw), or (M, B, …) per example."""
        noise = self.noise() if noise is None else noise
        given = self._noise_shape(noise, "r")
        r, s, _ = self._draw(noise, given if self.per_example else (*given[:-1], 1, 1))
        kernels = self._modulate(r, s)  # (M, 1 or B, …)
        return kernels if self.per_example else kernels[..., 0, :, :, :, :]

    def _noise_shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        found = super()._noise_shapes(shape)
        return found | {"r": (*found["r"][:-1], self.in_channels)}


class MeanFieldConv2d(Windows, MeanFieldLinear):
    """A convolution whose every weight and bias is ``mean + softplus(ρ) ∘ ε``.

    Blundell et al. 2015, sec. 3.2, for kernels (Shridhar et al. 2019). Means and ρ are
    (C_in · kh · kw, C_out) and (C_out,). An input (S, B, C_in, H, W) gives each of its S leading
    indices a sample of its own; (B, C_in, H, W) gets one.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, rng, bias
        As for `Conv2d`.
    prior, posterior_std, estimator
        As for `MeanFieldLinear`; ``"local"`` draws the output of each position apart, though all
        have one kernel.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, *, rng: Generator,
        stride: Size = 1, padding: Size = 0, prior: Prior = Normal(0.0, 1.0),
        posterior_std: float = 0.01, estimator: str = "weights", bias: bool = True,
    ) -> None:  # fmt: skip
        sizes = self._geometry(in_channels, out_channels, kernel_size, stride, padding)
        options: dict[str, Any] = {"posterior_std": posterior_std, "estimator": estimator}
        super().__init__(*sizes, rng=rng, prior=prior, bias=bias, **options)

    def noise(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> Noise:
        """Draw ε of the kernels, (C_in, C_out, kh, kw), and the bias, (C_out,); S for (S, B, …).

        With an `input_shape` and ``estimator="local"``, draw that of the output's images.
        """
        shape = () if input_shape is None else self._image_shape(input_shape)
        if self.estimator == "local" and shape:
            return {"output": self._normal(rng, *self.output_shape(shape))}
        shapes = self._own_shapes(shape[:-4])
        return {name: self._normal(rng, *own) for name, own in shapes.items()}

    def forward(self, x: Float[Array, "*S B C_in H W"], noise: Noise | None = None) -> Array:
        x = self._images(x)
        noise = self.noise(None, x.shape) if noise is None else noise
        if self.estimator == "local" and isinstance(noise, dict) and "output" in noise:
            images = self._checked(noise, {"output": self.output_shape(x.shape)})["output"]
            rows = np.moveaxis(images, -3, -1).reshape(*x.shape[:-4], -1, self.out_channels)
            return super().forward(x, {"output": rows})
        return super().forward(x, self._rows_of(noise, x.shape[:-4]))

    def weight_matrices(self, noise: Noise | None = None) -> Float[Array, "S C_in C_out kh kw"]:
        """The sampled kernels, (S, C_in, C_out, kh, kw); S = 1 for noise without a leading axis."""
        noise = self.noise() if noise is None else noise
        return super().weight_matrices(self._rows_of(noise))

    def _entries(self, noise: Noise | None) -> dict[str, tuple[Any, ...]]:
        return super()._entries(None if noise is None else self._rows_of(noise))

    def _own_shapes(self, leading: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        kernels = (self.in_channels, self.out_channels, *self.kernel_size)
        shapes = {"weight": kernels, "bias": (self.out_channels,)}
        return {name: (*leading, *shapes[name]) for name in self._drawn}

    def _rows_of(self, noise: Noise, leading: tuple[int, ...] | None = None) -> Noise:
        """Check noise of kernels, and lay it out as the matrix that they are kept in."""
        if leading is None:
            leading = self._noise_shape(noise, "weight")[:-4]
        noise = self._checked(noise, self._own_shapes(leading))
        return noise | {"weight": self._matrix(noise["weight"])}

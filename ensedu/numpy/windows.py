"""Images cut into windows, for pooling and convolutions, a fully connected layer on each of them.

Weights are kept as that layer keeps them, one row for each of the C_in · kh · kw numbers of a
window: channel by channel, and in it row by row; ``weight_matrices()`` gives kernels.
"""

import math
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks, layer_checks
from ensedu.common.array_checks import check_float64
from ensedu.numpy.base import Layer
from ensedu.numpy.linear import Linear

Pair = tuple[int, int]
Size = int | Pair


class ImageLayer(Layer):
    """Base of the layers that read windows of images: (…, C, H, W) -> (…, C_out, H_out, W_out)."""

    kernel_size: Pair
    stride: Pair
    padding: Pair

    def output_size(self, height: int, width: int) -> Pair:
        """Return the height and width of the output for images of `height` by `width`."""
        pairs = zip((height, width), self.kernel_size, self.stride, self.padding, strict=True)
        rows, columns = ((size + 2 * pad - k) // step + 1 for size, k, step, pad in pairs)
        return rows, columns

    def _images(self, x: Array) -> Array:
        """Check images and copy them: what happens to them later must not reach ``backward``."""
        check_float64(f"{type(self).__name__}: input x", x)
        self._check_images(x.shape, "input x has shape")
        return x.copy()

    def _check_images(self, shape: tuple[int, ...], what: str) -> None:
        height, width = (self.kernel_size[i] - 2 * self.padding[i] for i in (0, 1))
        if len(shape) < 3 or shape[-2] < max(1, height) or shape[-1] < max(1, width):
            raise ValueError(
                f"{type(self).__name__}: {what} {shape}, accepted are images (…, C, H, W) of at "
                f"least {max(1, height)} by {max(1, width)} pixels"
            )

    def _image_shape(self, value: tuple[int, ...]) -> tuple[int, ...]:
        """Check the shape of images that are not there yet."""
        shape = checks.array_shape("input_shape", value)
        self._check_images(shape, "input_shape is")
        return shape

    def _cut(self, x: Float[Array, "*axes C H W"]) -> Float[Array, "*axes H_out W_out C kh kw"]:
        """Cut images, after zeros on all sides, into windows of the kernel's size."""
        around = [(0, 0)] * (x.ndim - 2) + [(size, size) for size in self.padding]
        windows = np.lib.stride_tricks.sliding_window_view(
            np.pad(x, around), self.kernel_size, axis=(-2, -1)
        )
        down, right = self.stride
        return np.moveaxis(windows[..., ::down, ::right, :, :], -5, -3)

    def _add_up(
        self, windows: Float[Array, "*axes H_out W_out C kh kw"], height: int, width: int
    ) -> Float[Array, "*axes C H W"]:
        """Add windows up where they lie in images of this size: the transpose of `_cut`."""
        *axes, rows, columns, channels, kh, kw = windows.shape
        (top, left), (down, right) = self.padding, self.stride
        y = np.zeros((*axes, channels, height + 2 * top, width + 2 * left))
        for i, j in product(range(kh), range(kw)):
            lies = slice(i, i + down * rows, down), slice(j, j + right * columns, right)
            y[..., *lies] += np.moveaxis(windows[..., i, j], -1, -3)
        return y[..., top : top + height, left : left + width]


class ConvLayer(ImageLayer):
    """Base of the convolutions, in front of the fully connected layer that they are on windows.

    A window of C_in · kh · kw numbers is a row of that layer's input, a position of the image one
    of its examples: ``forward`` turns images into rows, calls it, and turns its rows into images.
    Of a ``class Conv2d(ConvLayer, Linear)`` that layer, ``super()`` below, is `Linear`.
    """

    #: The shapes of the latest images, in and out; in ``_cache`` is what the layer on rows keeps.
    _image_shapes: tuple[Any, Any] = None, None

    def _geometry(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any
    ) -> Pair:
        """Check and keep what a convolution is; return the inputs and outputs of its matrix."""
        self.in_channels = checks.positive_int("in_channels", in_channels)
        self.out_channels = checks.positive_int("out_channels", out_channels)
        self.kernel_size = checks.pair("kernel_size", kernel_size)
        self.stride = checks.pair("stride", stride)
        self.padding = checks.pair("padding", padding, low=0)
        return self.in_channels * math.prod(self.kernel_size), self.out_channels

    def forward(self, x: Float[Array, "*axes C_in H W"], *noise: Any) -> Array:
        x = self._images(x)
        rows = super().forward(self._to_rows(x), *noise)
        y = self._to_images(rows, x.shape)
        self._image_shapes = x.shape, y.shape
        return y

    def backward(self, grad: Float[Array, "*axes C_out H_out W_out"]) -> Array:
        x_shape, y_shape = self._image_shapes
        self._check_grad(grad, y_shape)
        *_, rows_shape = self._cache
        grad_rows = super().backward(np.moveaxis(grad, -3, -1).reshape(rows_shape))
        return self._from_rows(grad_rows, x_shape)

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        shape = self._image_shape(input_shape)
        *axes, _, height, width = shape
        if members := getattr(self, "ensemble_size", None):
            axes = [*axes[:-2], members, axes[-1]]
        return (*axes, self.out_channels, *self.output_size(height, width))

    def weight_matrices(self, noise: Any = None) -> Float[Array, "*M C_in C_out kh kw"]:
        """Every member's or sample's kernels, (M, C_in, C_out, kh, kw)."""
        return self._kernels(super().weight_matrices(noise))

    def _kernels(
        self, matrix: Float[Array, "*axes C_in_kh_kw C_out"]
    ) -> Float[Array, "*axes C_in C_out kh kw"]:
        """Give a matrix, whose rows are channels, then the kernel's rows and columns, its axes."""
        shape = (*matrix.shape[:-2], self.in_channels, *self.kernel_size, self.out_channels)
        return np.moveaxis(matrix.reshape(shape), -1, -3)

    def _matrix(
        self, kernels: Float[Array, "*axes C_in C_out kh kw"]
    ) -> Float[Array, "*axes C_in_kh_kw C_out"]:
        shape = (*kernels.shape[:-4], self.in_features, self.out_features)
        return np.moveaxis(kernels, -3, -1).reshape(shape)

    def _to_rows(self, x: Float[Array, "*axes C_in H W"]) -> Float[Array, "*rows C_in_kh_kw"]:
        """A row a window: (…, B, C_in, H, W) -> (…, B · H_out · W_out, C_in · kh · kw)."""
        return self._cut(x).reshape(*x.shape[:-4], -1, self.in_features)

    def _from_rows(
        self, rows: Float[Array, "*rows C_in_kh_kw"], shape: tuple[int, ...]
    ) -> Float[Array, "*axes C_in H W"]:
        """Add the windows' rows up to images of this shape: the transpose of `_to_rows`."""
        size = self.output_size(*shape[-2:])
        windows = rows.reshape(*shape[:-3], *size, self.in_channels, *self.kernel_size)
        return self._add_up(windows, *shape[-2:])

    def _to_images(
        self, rows: Float[Array, "*rows C_out"], shape: tuple[int, ...]
    ) -> Float[Array, "*axes C_out H_out W_out"]:
        """Lay out a row a window as the images that come of an input of this shape."""
        size = self.output_size(*shape[-2:])
        images = rows.reshape(*rows.shape[:-2], *shape[-4:-3], *size, self.out_channels)
        return np.moveaxis(images, -1, -3)

    def _check_images(self, shape: tuple[int, ...], what: str) -> None:
        members = getattr(self, "ensemble_size", None)
        example = (self.in_channels, "H", "W")
        layer_checks.check_batch(type(self).__name__, shape, example, members, what)
        super()._check_images(shape, what)

    def __repr__(self) -> str:
        words = [str(self.in_channels), str(self.out_channels)]
        words += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        words += [f"padding={self.padding}"]
        if hasattr(self, "ensemble_size"):
            words.append(f"ensemble_size={self.ensemble_size}")
        return f"{type(self).__name__}({', '.join(words)})"


class Conv2d(ConvLayer, Linear):
    """``y = conv(x, W) + b``: (B, C_in, H, W) -> (B, C_out, H_out, W_out), or (S, B, …).

    Parameters
    ----------
    in_channels, out_channels
        C_in and C_out, positive integers.
    kernel_size, stride, padding
        An integer, or a pair for height and width; padding is by zeros.
    rng, bias
        As for `Linear`: W (C_in · kh · kw, C_out) and b (C_out,) start as ``nn.Conv2d`` does.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, *, rng: Generator,
        stride: Size = 1, padding: Size = 0, bias: bool = True,
    ) -> None:  # fmt: skip
        sizes = self._geometry(in_channels, out_channels, kernel_size, stride, padding)
        super().__init__(*sizes, rng=rng, bias=bias)


class Pooling(ImageLayer):
    """Base of the layers that make one number of each window of each channel."""

    padding = (0, 0)

    def __init__(
        self, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] | None = None
    ) -> None:
        super().__init__()
        self.kernel_size = checks.pair("kernel_size", kernel_size)
        self.stride = self.kernel_size if stride is None else checks.pair("stride", stride)

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        shape = self._image_shape(input_shape)
        return (*shape[:-2], *self.output_size(*shape[-2:]))

    def _windows(self, x: Float[Array, "*axes H W"]) -> Float[Array, "*axes H_out W_out k"]:
        """A row of numbers for each window of each channel."""
        windows = self._cut(x[..., None, :, :])
        return windows.reshape(*windows.shape[:-3], math.prod(self.kernel_size))

    def _from_windows(
        self, windows: Float[Array, "*axes H_out W_out k"], shape: tuple[int, ...]
    ) -> Float[Array, "*axes H W"]:
        """Add them up where they came from."""
        windows = windows.reshape(*windows.shape[:-1], 1, *self.kernel_size)
        return self._add_up(windows, *shape[-2:])[..., 0, :, :]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, stride={self.stride})"


class MaxPool2d(Pooling):
    """The largest number of each window: (…, H, W) -> (…, H_out, W_out).

    Parameters
    ----------
    kernel_size
        Side of a square window, or ``(height, width)``.
    stride
        Steps from one window to the next; by default windows lie side by side.
    """

    def forward(self, x: Float[Array, "*axes H W"]) -> Float[Array, "*axes H_out W_out"]:
        windows = self._windows(self._images(x))
        largest = windows.argmax(axis=-1)[..., None]  # of equal ones the first, as in Torch
        y = np.take_along_axis(windows, largest, axis=-1)[..., 0]
        self._cache = largest, x.shape, y.shape
        return y

    def backward(self, grad: Float[Array, "*axes H_out W_out"]) -> Float[Array, "*axes H W"]:
        largest, shape = self._recall(grad)
        windows = np.zeros((*grad.shape, math.prod(self.kernel_size)))
        np.put_along_axis(windows, largest, grad[..., None], axis=-1)
        return self._from_windows(windows, shape)


class AvgPool2d(Pooling):
    """The mean of each window: (…, H, W) -> (…, H_out, W_out); takes what `MaxPool2d` takes."""

    def forward(self, x: Float[Array, "*axes H W"]) -> Float[Array, "*axes H_out W_out"]:
        y = self._windows(self._images(x)).mean(axis=-1)
        self._cache = x.shape, y.shape
        return y

    def backward(self, grad: Float[Array, "*axes H_out W_out"]) -> Float[Array, "*axes H W"]:
        shape, area = self._recall(grad), math.prod(self.kernel_size)
        return self._from_windows(np.repeat(grad[..., None] / area, area, axis=-1), shape)


class Flatten(Layer):
    """Lay out each image in a row: (…, C, H, W) -> (…, C · H · W)."""

    #: The arguments of Torch's layer of this name.
    start_dim, end_dim = -3, -1

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        shape = checks.array_shape("input_shape", input_shape)
        return self._row("input_shape is", shape)

    def forward(self, x: Float[Array, "*axes"]) -> Float[Array, "*rows"]:
        check_float64("Flatten: input x", x)
        y = x.reshape(self._row("input x has shape", x.shape)).copy()
        self._cache = x.shape, y.shape
        return y

    def backward(self, grad: Float[Array, "*rows"]) -> Float[Array, "*axes"]:
        shape = self._recall(grad)
        return grad.reshape(shape)

    def _row(self, what: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(shape) < 3:
            raise ValueError(f"Flatten: {what} {shape}, accepted is (…, C, H, W)")
        return (*shape[:-3], math.prod(shape[-3:]))

    def __repr__(self) -> str:
        return "Flatten()"

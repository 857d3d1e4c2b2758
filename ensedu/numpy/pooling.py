"""What stands between convolutions, and behind the last: pooling, and images laid out in a row."""

import math

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.arrays import check_float64
from ensedu.numpy.base import Layer
from ensedu.numpy.windows import OnImages


class Pooling(OnImages):
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
        return (*shape[:-2], *self.output_size(shape[-2], shape[-1]))

    def _windows(self, x: Float[Array, "*axes H W"]) -> Float[Array, "*axes H_out W_out k"]:
        """A row of numbers for each window of each channel."""
        windows = self._unfold(x[..., None, :, :])
        return windows.reshape(*windows.shape[:-3], math.prod(self.kernel_size))

    def _from_windows(
        self, windows: Float[Array, "*axes H_out W_out k"], shape: tuple[int, ...]
    ) -> Float[Array, "*axes H W"]:
        """Add them up where they came from."""
        apart = windows.reshape(*windows.shape[:-1], 1, *self.kernel_size)
        return self._fold(apart, shape)[..., 0, :, :]

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

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input that is no array of images, or of smaller ones.
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
    """The mean of each window: (…, H, W) -> (…, H_out, W_out).

    Parameters
    ----------
    kernel_size
        Side of a square window, or ``(height, width)``.
    stride
        Steps from one window to the next; by default windows lie side by side.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input that is no array of images, or of smaller ones.
    """

    def forward(self, x: Float[Array, "*axes H W"]) -> Float[Array, "*axes H_out W_out"]:
        y = self._windows(self._images(x)).mean(axis=-1)
        self._cache = x.shape, y.shape
        return y

    def backward(self, grad: Float[Array, "*axes H_out W_out"]) -> Float[Array, "*axes H W"]:
        shape, area = self._recall(grad), math.prod(self.kernel_size)
        return self._from_windows(np.repeat(grad[..., None] / area, area, axis=-1), shape)


class Flatten(Layer):
    """Lay out each image in a row: (…, C, H, W) -> (…, C · H · W).

    Raises ``TypeError`` or ``ValueError`` for an input that is no array of images.
    """

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

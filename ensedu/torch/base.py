"""What the Torch layers share: sizes, checks, where parameters start, the two kinds of product."""

import math
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ensedu import _checks

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class WeightLayer(nn.Module):
    """Base of all layers with weights: what does not depend on the kind of product."""

    #: The role in `ensedu.counting` of each parameter.
    roles: ClassVar[dict[str, str]] = {}
    #: The axis of a layer's input that counts the examples.
    batch_axis: ClassVar[int]
    #: The shape in which one member's weight is stored, and how many inputs one output sums.
    weight_shape: tuple[int, ...]
    fan_in: int
    #: How many numbers describe an example's inputs (for r) and its outputs (for s, biases).
    inputs: int
    outputs: int

    def __init__(self, device: torch.device | str | None, dtype: torch.dtype | None) -> None:
        super().__init__()
        if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise TypeError(f"dtype must be a floating-point torch.dtype or None, got {dtype!r}")
        self._factory = {"device": device, "dtype": dtype}

    def _empty(self, *shape: int) -> nn.Parameter:
        return nn.Parameter(torch.empty(shape, **self._factory))

    def _uniform_(self, *parameters: nn.Parameter | None) -> None:
        """Fill with U(-1/√fan_in, 1/√fan_in), where Torch's own layers start weight and bias."""
        bound = self.fan_in**-0.5
        for parameter in parameters:
            if parameter is not None:
                nn.init.uniform_(parameter, -bound, bound)

    def _check_sample(self, sample: Any, shapes: dict[str, tuple[int, ...]]) -> None:
        """Check that `sample` has just the tensors named in `shapes`, of those shapes."""
        like = next(self.parameters())
        _checks.sample(sample, shapes, lambda name, x: check_tensor(name, x, like))

    def _randn(self, generator: torch.Generator | None, *shape: int) -> Tensor:
        check_generator(generator)
        like = next(self.parameters())
        return torch.randn(shape, generator=generator, device=like.device, dtype=like.dtype)

    def _repr_end(self) -> str:
        size = f", ensemble_size={self.ensemble_size}" if hasattr(self, "ensemble_size") else ""
        bias = getattr(self, "bias", None) is None and getattr(self, "bias_mean", None) is None
        return size + (", bias=False" if bias else "")


class LinearLayer(WeightLayer):
    """Base of the fully connected layers: the weight is (n, m), as ``nn.Linear`` stores it."""

    batch_axis = -2

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(device, dtype)
        self.in_features = self.inputs = _checks.positive_int("in_features", in_features)
        self.out_features = self.outputs = _checks.positive_int("out_features", out_features)
        self.weight_shape, self.fan_in = (self.outputs, self.inputs), self.inputs

    def _check_input(self, x: Any, like: Tensor, members: int | None = None) -> None:
        layer = type(self).__name__
        check_tensor(layer + ": input x", x, like)
        _checks.batch(layer, x.shape, self.in_features, members)

    def _matrices(self, weight: Float[Tensor, "*any n m"]) -> Float[Tensor, "*any m n"]:
        """Give stored weights the book's axes."""
        return weight.mT

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return sizes + self._repr_end()


class ConvLayer(WeightLayer):
    """Base of the convolutions: the weight is (C_out, C_in / groups, k, k), as in ``nn.Conv2d``."""

    batch_axis = -4

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(device, dtype)
        self.in_channels = self.inputs = _checks.positive_int("in_channels", in_channels)
        self.out_channels = self.outputs = _checks.positive_int("out_channels", out_channels)
        self.kernel_size = _checks.pair("kernel_size", kernel_size)
        self.stride = _checks.pair("stride", stride)
        self.dilation = _checks.pair("dilation", dilation)
        self.groups = _checks.positive_int("groups", groups)
        self.padding_mode = _checks.one_of("padding_mode", padding_mode, PADDING_MODES)
        self.padding = _padding(padding, self.stride)
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(
                    f"groups must divide {name}, got groups {self.groups} and "
                    f"{name} {getattr(self, name)}"
                )
        self.weight_shape = (self.outputs, self.inputs // self.groups, *self.kernel_size)
        self.fan_in = self.weight_shape[1] * self.kernel_size[0] * self.kernel_size[1]

    def _check_input(self, x: Any, like: Tensor, members: int | None = None) -> None:
        layer = type(self).__name__
        check_tensor(layer + ": input x", x, like)
        _checks.images(layer, x.shape, self.in_channels, members)

    def _convolve(
        self,
        x: Float[Tensor, "N C_in H W"],
        weight: Float[Tensor, "C_out C_in_of_a_group kh kw"],
        bias: Float[Tensor, " C_out"] | None = None,
        repeats: int = 1,
    ) -> Float[Tensor, "N C_out H_out W_out"]:
        """One convolution with this layer's geometry; `repeats` layers stand side by side."""
        padding = self.padding
        if self.padding_mode != "zeros":
            x, padding = F.pad(x, self._both_sides(), mode=self.padding_mode), 0
        groups = repeats * self.groups
        return F.conv2d(x, weight, bias, self.stride, padding, self.dilation, groups)

    def _convolve_modulated(
        self,
        x: Float[Tensor, "M B C_in H W"] | Float[Tensor, "B C_in H W"],
        weight: Float[Tensor, "C_out C_in_of_a_group kh kw"],
        r: Float[Tensor, "M *B C_in"],
        s: Float[Tensor, "M *B C_out"],
        bias: Float[Tensor, "M C_out"] | None,
    ) -> Float[Tensor, "M B C_out H_out W_out"]:
        """``conv(x_i, W ∘ r_i s_iᵀ) + b_i`` for each member i, the cheaper of two equal forms."""
        if r.ndim == 2 and x.ndim == 4 and self._folds(x.shape):
            each = weight * channels(s[:, :, None]) * channels(r[:, None])
            return self._convolve_each(x, each, bias)
        if r.ndim == 2:
            r, s = r[:, None], s[:, None]
        xr = x * channels(r).to(x.dtype)
        z = self._convolve(xr.flatten(0, 1), weight).unflatten(0, xr.shape[:2])
        y = z * channels(s).to(z.dtype)
        return y if bias is None else y + channels(bias[:, None]).to(z.dtype)

    def _folds(self, shape: tuple[int, ...]) -> bool:
        """Whether one convolution with M C_out kernels is cheaper than scaled copies of a batch.

        Only where all members read the same images and channels: else each needs a group of
        channels of its own, and a grouped convolution may be much slower than a shared one.
        """
        B, _, *size = shape
        pixels = self.inputs * math.prod(size) + self.outputs * math.prod(self.output_size(*size))
        return self.groups == 1 and B * pixels > 2 * math.prod(self.weight_shape)

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Return the height and width of the output for images of `height` by `width`."""
        left, right, top, bottom = self._both_sides()
        padded = (height + top + bottom, width + left + right)
        return tuple(
            (size - dilation * (k - 1) - 1) // stride + 1
            for size, k, stride, dilation in zip(
                padded, self.kernel_size, self.stride, self.dilation, strict=True
            )
        )

    def _convolve_each(
        self,
        x: Float[Tensor, "M B C_in H W"] | Float[Tensor, "B C_in H W"],
        weight: Float[Tensor, "M C_out C_in_of_a_group kh kw"],
        bias: Float[Tensor, "M C_out"] | None,
    ) -> Float[Tensor, "M B C_out H_out W_out"]:
        """A weight for each member: they are groups of channels of one convolution."""
        M = len(weight)
        stacked = weight.flatten(0, 1), None if bias is None else bias.flatten()
        if x.ndim == 4 and self.groups == 1:
            y = self._convolve(x, *stacked)  # all members read the same channels
        else:
            side_by_side = x.expand(M, *x.shape[-4:]).transpose(0, 1).flatten(1, 2)
            y = self._convolve(side_by_side, *stacked, repeats=M)  # (B, M C_out, H_out, W_out)
        return y.unflatten(1, (M, self.outputs)).transpose(0, 1)

    def _both_sides(self) -> tuple[int, int, int, int]:
        """The padding (left, right, top, bottom) in numbers."""
        sides = []
        for i in (1, 0):
            if self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                sides += [total // 2, total - total // 2]
            else:
                sides += [0, 0] if self.padding == "valid" else [self.padding[i]] * 2
        return tuple(sides)

    def _matrices(
        self, weight: Float[Tensor, "*any C_out C_in_of_a_group kh kw"]
    ) -> Float[Tensor, "*any C_in C_out kh kw"]:
        """Give stored weights the book's axes, with zeros between the groups."""
        blocks = weight.transpose(-3, -4)
        if self.groups == 1:
            return blocks
        i, o = self.inputs // self.groups, self.outputs // self.groups
        dense = blocks.new_zeros(*weight.shape[:-4], self.inputs, self.outputs, *self.kernel_size)
        for g, block in enumerate(blocks.split(o, dim=-3)):
            dense[..., g * i : (g + 1) * i, g * o : (g + 1) * o, :, :] = block
        return dense

    def extra_repr(self) -> str:
        # As nn.Conv2d: what stands at its default is not said.
        words = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        defaults = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
        for name, default in (defaults | {"padding_mode": "zeros"}).items():
            value = getattr(self, name)
            words += [f"{name}={value!r}"] if value != default else []
        return ", ".join(words) + self._repr_end()


def channels(vectors: Float[Tensor, "*any C"]) -> Float[Tensor, "*any C 1 1"]:
    """Vectors with one entry a channel, ready to multiply images."""
    return vectors[..., None, None]


def _padding(value: Any, stride: tuple[int, int]) -> str | tuple[int, int]:
    if not isinstance(value, str):
        return _checks.pair("padding", value, low=0)
    _checks.one_of("padding", value, ("valid", "same"))
    if value == "same" and stride != (1, 1):
        raise ValueError(f"padding must be numbers for a stride of {stride}, got 'same'")
    return value


def check_tensor(name: str, value: Any, like: Tensor | None = None) -> None:
    """Check that `value` is a floating-point tensor of the dtype of `like`.

    Under autocast the products cast their own operands, so any floating dtype passes.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if like is not None and value.dtype == like.dtype:
        return
    if not value.is_floating_point():
        raise TypeError(f"{name} has dtype {value.dtype}, accepted is a floating-point dtype")
    if like is not None and not torch.is_autocast_enabled(value.device.type):
        raise TypeError(f"{name} has dtype {value.dtype}, accepted is {like.dtype}")


def check_generator(generator: Any) -> None:
    """Check that `generator` is a ``torch.Generator`` or ``None`` (Torch's global one)."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(
            f"generator must be a torch.Generator or None, got {type(generator).__name__}"
        )

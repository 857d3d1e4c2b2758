"""Layers of images: Torch's own, with all axes in front of the batch, and the base of convolutions.

`ConvLayer` knows geometry, and convolutions with one weight or one a member; those with
W ∘ r sᵀ are made of them in `ensedu.torch.products`.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_input, conv2d_weight

from ensedu.common import checks
from ensedu.torch.base import WeightLayer
from ensedu.torch.products import either_form
from ensedu.torch.tensor_checks import check_tensor

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class ImageLayer(nn.Module):
    """Base of the layers that keep all leading axes: (B, C, H, W), (M, B, C, H, W) and more.

    Raises ``TypeError`` or ``ValueError`` for an input that is no tensor of images.
    """

    def forward(self, x: Float[Tensor, "*axes C H W"]) -> Float[Tensor, "*axes C2 H_out W_out"]:
        name = f"{type(self).__name__}: input x"
        check_tensor(name, x)
        if x.ndim < 3:
            raise ValueError(f"{name} has shape {tuple(x.shape)}, accepted is (…, C, H, W)")
        if x.ndim == 3:
            return super().forward(x)
        y = super().forward(x.flatten(0, -4))
        return y.reshape(*x.shape[:-3], *y.shape[1:])


class Conv2d(ImageLayer, nn.Conv2d):
    """``nn.Conv2d`` that keeps all leading axes: (B, C, H, W), (S, B, C, H, W) and more."""


class MaxPool2d(ImageLayer, nn.MaxPool2d):
    """``nn.MaxPool2d`` that keeps all leading axes: (B, C, H, W), (M, B, C, H, W) and more."""


class AvgPool2d(ImageLayer, nn.AvgPool2d):
    """``nn.AvgPool2d`` that keeps all leading axes: (B, C, H, W), (M, B, C, H, W) and more."""


class ConvLayer(WeightLayer):
    """Base of the convolutions: the weight is (C_out, C_in / groups, K, K), as in ``nn.Conv2d``."""

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
        self.in_channels = self.in_features = checks.positive_int("in_channels", in_channels)
        self.out_channels = self.out_features = checks.positive_int("out_channels", out_channels)
        self.kernel_size = checks.pair("kernel_size", kernel_size)
        self.stride = checks.pair("stride", stride)
        self.dilation = checks.pair("dilation", dilation)
        self.groups = checks.positive_int("groups", groups)
        self.padding_mode = checks.one_of("padding_mode", padding_mode, PADDING_MODES)
        self.padding = _padding(padding, self.stride)
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(
                    f"groups must divide {name}, got groups {self.groups} and "
                    f"{name} {getattr(self, name)}"
                )
        self.weight_shape = (self.out_features, self.in_features // self.groups, *self.kernel_size)
        self.fan_in = self.weight_shape[1] * self.kernel_size[0] * self.kernel_size[1]

    def _example_axes(self) -> tuple[int | str, ...]:
        return (self.in_channels, "H", "W")

    def apply_weight(
        self,
        x: Float[Tensor, "*N C_in H W"],
        weight: Float[Tensor, "C_out C_in_of_a_group kh kw"],
        bias: Float[Tensor, " C_out"] | None = None,
    ) -> Float[Tensor, "*N C_out H_out W_out"]:
        """One convolution with this layer's geometry; members in front of examples are some."""
        if x.ndim > 4:
            y = self.apply_weight(x.flatten(0, -4), weight, bias)
            return y.unflatten(0, x.shape[:-3])
        padding = self.padding
        if self.padding_mode != "zeros":
            x, padding = self._pad(x), 0
        return F.conv2d(x, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _pad(self, x: Float[Tensor, "N C_in H W"]) -> Float[Tensor, "N C_in H_padded W_padded"]:
        mode = "constant" if self.padding_mode == "zeros" else self.padding_mode
        return F.pad(x, self._both_sides(), mode=mode)

    def modulated_product(
        self,
        x: Float[Tensor, "M B C_in H W"] | Float[Tensor, "B C_in H W"],
        weight: Float[Tensor, "C_out C_in_of_a_group kh kw"],
        r: Float[Tensor, "M *B C_in"],
        s: Float[Tensor, "M *B C_out"],
        bias: Float[Tensor, "M C_out"] | None,
        *,
        memory_saving: bool = False,
    ) -> Float[Tensor, "M B C_out H_out W_out"]:
        """``conv(x_i, W ∘ r_i s_iᵀ) + b_i`` for each member i (Wen et al. 2020, eq. 3 and 5)."""
        return either_form(self, x, weight, r, s, bias, memory_saving)

    def folds(self, x: Tensor, weight: Tensor, memory_saving: bool) -> bool:
        """Whether fold is cheaper for this input, by `fold_pays`."""
        return self.fold_pays(x.shape[-4:])

    def fold_pays(self, shape: tuple[int, ...]) -> bool:
        """Whether a convolution with each member's kernels is cheaper than scaled images.

        Only without groups, where a factor for each channel fits the axes of the weight.
        """
        B, _, *size = shape
        pixels = self.in_features * math.prod(size) + self.out_features * math.prod(
            self.output_size(*size)
        )
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

    def apply_weights(
        self,
        x: Float[Tensor, "M B C_in H W"] | Float[Tensor, "B C_in H W"],
        weight: Float[Tensor, "M C_out C_in_of_a_group kh kw"],
        bias: Float[Tensor, "M C_out"] | None,
    ) -> Float[Tensor, "M B C_out H_out W_out"]:
        """A weight for each member."""
        if x.ndim == 4 and self.groups == 1:  # all members read the same channels
            y = self.apply_weight(x, weight.flatten(0, 1), None if bias is None else bias.flatten())
            return y.unflatten(1, weight.shape[:2]).transpose(0, 1)
        M = len(weight)
        biases = [None] * M if bias is None else bias
        own = zip(x.expand(M, *x.shape[-4:]), weight, biases, strict=True)
        # One convolution with a group of channels a member takes up to four times as long.
        return torch.stack([self.apply_weight(*arguments) for arguments in own])

    def gradients(
        self,
        grad: Float[Tensor, "*N C_out H_out W_out"],
        x: Float[Tensor, "*N C_in H W"],
        weight: Float[Tensor, "C_out C_in_of_a_group kh kw"],
        needs_x: bool = True,
    ) -> tuple[Tensor | None, Tensor]:
        """Those of `apply_weight` in x, if it needs one, and in the weight."""
        if x.ndim > 4:
            rows = self.gradients(grad.flatten(0, -4), x.flatten(0, -4), weight)
            return rows[0].view(x.shape), rows[1]
        padding, pull = self.padding, None
        if isinstance(padding, str) or self.padding_mode != "zeros":
            x, pull = torch.func.vjp(self._pad, x)
            padding = 0
        geometry = (self.stride, padding, self.dilation, self.groups)
        grad_weight = conv2d_weight(x, weight.shape, grad, *geometry)
        if not needs_x:
            return None, grad_weight
        grad_x = conv2d_input(x.shape, weight, grad, *geometry)
        return grad_x if pull is None else pull(grad_x)[0], grad_weight

    def gradients_each(
        self, grad: Tensor, x: Tensor, weight: Tensor, needs_x: bool, _: bool
    ) -> tuple[Tensor | None, Tensor]:
        """Those of `apply_weights` without groups."""
        if x.ndim == 4:  # all members read the same channels
            rows = grad.transpose(0, 1).flatten(1, 2)  # (B, M C_out, H_out, W_out)
            grad_x, grad_weight = self.gradients(rows, x, weight.flatten(0, 1), needs_x)
            return grad_x, grad_weight.view(weight.shape)
        members = zip(grad, x, weight, strict=True)
        grads_x, grads_weight = zip(
            *(self.gradients(*one, needs_x) for one in members), strict=True
        )
        return torch.stack(grads_x) if needs_x else None, torch.stack(grads_weight)

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

    def over_pixels(self, vectors: Float[Tensor, "*any C"]) -> Float[Tensor, "*any C 1 1"]:
        """Vectors with one entry a channel, ready to multiply images or kernels."""
        return vectors[..., None, None]

    def in_book_axes(
        self, weight: Float[Tensor, "*any C_out C_in_of_a_group kh kw"]
    ) -> Float[Tensor, "*any C_in C_out kh kw"]:
        """Give stored weights the book's axes, with zeros between the groups."""
        blocks = weight.transpose(-3, -4)
        if self.groups == 1:
            return blocks
        i, o = self.in_features // self.groups, self.out_features // self.groups
        dense = blocks.new_zeros(
            *weight.shape[:-4], self.in_features, self.out_features, *self.kernel_size
        )
        for g, block in enumerate(blocks.split(o, dim=-3)):
            dense[..., g * i : (g + 1) * i, g * o : (g + 1) * o, :, :] = block
        return dense

    def modulated_weights(
        self,
        weight: Float[Tensor, "C_out C_in_of_a_group kh kw"],
        r: Float[Tensor, "*any C_in"],
        s: Float[Tensor, "*any C_out"],
    ) -> Float[Tensor, "*any C_out C_in_of_a_group kh kw"]:
        """``W ∘ r sᵀ`` as weights are stored: an output channel reads the inputs of its group."""
        rows = r[..., None, :]
        if self.groups > 1:
            rows = r.unflatten(-1, (self.groups, -1))
            rows = rows.repeat_interleave(self.out_features // self.groups, dim=-2)
        return weight * self.over_pixels(s[..., None]) * self.over_pixels(rows)

    def extra_repr(self) -> str:
        # As nn.Conv2d: what stands at its default is not said.
        words = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        defaults = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
        for name, default in (defaults | {"padding_mode": "zeros"}).items():
            value = getattr(self, name)
            words += [f"{name}={value!r}"] if value != default else []
        return ", ".join(words) + self._repr_of_members_and_bias()


def _padding(value: Any, stride: tuple[int, int]) -> str | tuple[int, int]:
    if not isinstance(value, str):
        return checks.pair("padding", value, low=0)
    checks.one_of("padding", value, ("valid", "same"))
    if value == "same" and stride != (1, 1):
        raise ValueError(f"padding must be numbers for a stride of {stride}, got 'same'")
    return value

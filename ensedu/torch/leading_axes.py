"""Torch's own layers of images, which also take members and samples in front of the batch."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from ensedu.torch.base import check_tensor


class Conv2d(nn.Conv2d):
    """``nn.Conv2d`` that keeps all leading axes: (B, C, H, W), (S, B, C, H, W) and more.

    Raises ``TypeError`` or ``ValueError`` for an input that is no tensor of images.
    """

    def forward(self, x: Float[Tensor, "*axes C H W"]) -> Float[Tensor, "*axes C2 H_out W_out"]:
        return _over_leading_axes("Conv2d", super().forward, x)


class MaxPool2d(nn.MaxPool2d):
    """``nn.MaxPool2d`` that keeps all leading axes: (B, C, H, W), (M, B, C, H, W) and more.

    Raises ``TypeError`` or ``ValueError`` for an input that is no tensor of images.
    """

    def forward(self, x: Float[Tensor, "*axes C H W"]) -> Float[Tensor, "*axes C H_out W_out"]:
        return _over_leading_axes("MaxPool2d", super().forward, x)


class AvgPool2d(nn.AvgPool2d):
    """``nn.AvgPool2d`` that keeps all leading axes: (B, C, H, W), (M, B, C, H, W) and more.

    Raises ``TypeError`` or ``ValueError`` for an input that is no tensor of images.
    """

    def forward(self, x: Float[Tensor, "*axes C H W"]) -> Float[Tensor, "*axes C H_out W_out"]:
        return _over_leading_axes("AvgPool2d", super().forward, x)


def _over_leading_axes(name: str, layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    check_tensor(f"{name}: input x", x)
    if x.ndim < 3:
        raise ValueError(f"{name}: input x has shape {tuple(x.shape)}, accepted is (…, C, H, W)")
    if x.ndim == 3:
        return layer(x)
    y = layer(x.flatten(0, -4))
    return y.reshape(*x.shape[:-3], *y.shape[1:])

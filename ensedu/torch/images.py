"""Torch's own layers of images, with members and samples in front of the batch."""

from jaxtyping import Float
from torch import Tensor, nn

from ensedu.torch.tensor_checks import check_tensor


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

"""Dropout that stays on: each mask is a thinned network, a sample to average over."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.common import checks, layer_checks
from ensedu.torch.tensor_checks import check_dense, check_device, check_generator, check_tensor

#: Torch's own modules that drop.
DROPOUT_MODULES = (
    nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout,
)  # fmt: skip


def checked_mask(noise: Any, shape: tuple[int, ...], feature_axes: int) -> Tensor:
    """Return the mask in `noise` for an input of this shape: one a batch, or one an example."""
    if isinstance(noise, dict) and isinstance(noise.get("mask"), Tensor):
        check_dense("noise['mask']", noise["mask"])
    return layer_checks.dropout_mask(noise, shape, feature_axes, Tensor)


def drop(x: Tensor, mask: Tensor, p: float) -> Tensor:
    """Set x to 0 where a mask is, and divide the rest by 1 - p, in the dtype of x."""
    return x * (mask.to(x) / (1 - p))


class MCDropout(nn.Module):
    """Set each unit to 0 with probability p, multiply the rest by 1 / (1 - p), always.

    Gal and Ghahramani 2016. An input (S, B, features) gives each of its S leading indices a mask
    of its own, (B, features) gets one; a mask is shared by the batch, so that it is one network.

    Parameters
    ----------
    p
        Probability of dropping a unit, 0 <= p < 1.
    per_example
        Draw a mask for each example, as ``nn.Dropout`` does.
    feature_axes
        How many axes one example has: 1 for (B, features), 3 for images (B, C, H, W).

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input without a batch axis before its features.
    """

    draws = True

    def __init__(self, p: float = 0.1, *, per_example: bool = False, feature_axes: int = 1) -> None:
        super().__init__()
        self.p = checks.fraction("p", p)
        self.per_example = checks.boolean("per_example", per_example)
        self.feature_axes = checks.positive_int("feature_axes", feature_axes)

    def noise(
        self,
        generator: torch.Generator | None = None,
        input_shape: tuple[int, ...] | None = None,
        *,
        device: torch.device | str | None = None,
    ) -> dict[str, Tensor]:
        """Draw a mask of bools, True where a unit stays, for an input of this shape."""
        check_generator(generator)
        device = check_device(device)
        shape = layer_checks.dropout_input_shape("input_shape", input_shape, self.feature_axes)
        if not self.per_example:
            shape[-self.feature_axes - 1] = 1
        source = {} if generator is None else {"generator": generator}
        device = generator.device if device is None and generator is not None else device
        return {"mask": torch.rand(shape, **source, device=device) >= self.p}

    def forward(
        self, x: Float[Tensor, "*axes"], noise: dict[str, Tensor] | None = None
    ) -> Float[Tensor, "*axes"]:
        check_tensor("MCDropout: input x", x)
        layer_checks.dropout_input_shape("MCDropout: input x", x.shape, self.feature_axes)
        noise = self.noise(None, x.shape, device=x.device) if noise is None else noise
        mask = checked_mask(noise, x.shape, self.feature_axes)
        return drop(x, mask, self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"

"""Dropout that stays on: each mask is a thinned network, a sample to average over."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu import _checks
from ensedu.torch.base import check_generator, check_tensor


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

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input that is neither (B, features) nor (S, B, features).
    """

    def __init__(self, p: float = 0.1, *, per_example: bool = False) -> None:
        super().__init__()
        self.p = _checks.fraction("p", p)
        self.per_example = _checks.boolean("per_example", per_example)

    def sample(
        self,
        generator: torch.Generator | None = None,
        input_shape: tuple[int, ...] | None = None,
        *,
        device: torch.device | str | None = None,
    ) -> dict[str, Tensor]:
        """Draw a mask of bools, True where a unit stays, for an input of shape `input_shape`."""
        if input_shape is None:
            raise ValueError(
                "input_shape must be the input's shape, (B, features) or (S, B, features), got None"
            )
        check_generator(generator)
        *leading, batch, features = input_shape
        shape = (*leading, batch if self.per_example else 1, features)
        return {"mask": torch.rand(shape, generator=generator, device=device) >= self.p}

    def forward(
        self,
        x: Float[Tensor, "S B features"] | Float[Tensor, "B features"],
        sample: dict[str, Tensor] | None = None,
    ) -> Float[Tensor, "S B features"] | Float[Tensor, "B features"]:
        check_tensor("MCDropout: input x", x)
        _checks.batch("MCDropout", x.shape)
        sample = self.sample(None, x.shape, device=x.device) if sample is None else sample
        return x * (_checks.mask(sample, x.shape).to(x.dtype) / (1 - self.p))

    def extra_repr(self) -> str:
        return f"p={self.p}"

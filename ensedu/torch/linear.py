"""What all fully connected layers share: sizes, axes, products with one weight or one a member."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ensedu.common import checks
from ensedu.torch.base import WeightLayer
from ensedu.torch.products import modulated_product, modulated_weights, stacked_product


class LinearLayer(WeightLayer):
    """Base of the fully connected layers: a weight is (n, m), as ``nn.Linear`` stores it."""

    batch_axis = -2
    #: ``x_i (W ∘ r_i s_iᵀ) + b_i`` for each member i, and the ``W ∘ r_i s_iᵀ`` as they are stored.
    modulated_product = staticmethod(modulated_product)
    modulated_weights = staticmethod(modulated_weights)

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(device, dtype)
        self.in_features = self.inputs = checks.positive_int("in_features", in_features)
        self.out_features = self.outputs = checks.positive_int("out_features", out_features)
        self.weight_shape, self.fan_in = (self.outputs, self.inputs), self.inputs

    def _example_axes(self) -> tuple[int | str, ...]:
        return (self.in_features,)

    def apply_weight(
        self, x: Float[Tensor, "B m"], weight: Float[Tensor, "n m"], bias: Tensor | None
    ) -> Float[Tensor, "B n"]:
        """``x W + b`` with one weight."""
        return F.linear(x, weight, bias)

    def apply_weights(
        self,
        x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
        weight: Float[Tensor, "M n m"],
        bias: Float[Tensor, "M n"] | None,
    ) -> Float[Tensor, "M B n"]:
        """``x_i W_i + b_i`` with a weight for each member i."""
        return stacked_product(x, weight, None if bias is None else bias.unsqueeze(1))

    def in_book_axes(self, weight: Float[Tensor, "*any n m"]) -> Float[Tensor, "*any m n"]:
        """Stored weights as the book writes them."""
        return weight.mT

    def over_pixels(self, vectors: Float[Tensor, "*any m"]) -> Float[Tensor, "*any m"]:
        """Vectors ready to multiply examples, which have no axes behind their features."""
        return vectors

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return sizes + self._repr_of_members_and_bias()

"""The products of fully connected layers: one weight, one a member, one modulated."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ensedu.common import checks
from ensedu.torch.base import WeightLayer
from ensedu.torch.products import modulated, modulated_product, product_each


class LinearLayer(WeightLayer):
    """Base of the fully connected layers: a weight is (n, m), as ``nn.Linear`` stores it."""

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
        self.in_features = self.inputs = checks.positive_int("in_features", in_features)
        self.out_features = self.outputs = checks.positive_int("out_features", out_features)
        self.weight_shape, self.fan_in = (self.outputs, self.inputs), self.inputs

    def _example(self) -> tuple[int | str, ...]:
        return (self.in_features,)

    def _one(
        self, x: Float[Tensor, "B m"], weight: Float[Tensor, "n m"], bias: Tensor | None
    ) -> Float[Tensor, "B n"]:
        return F.linear(x, weight, bias)

    def _each(
        self,
        x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
        weight: Float[Tensor, "M n m"],
        bias: Float[Tensor, "M n"] | None,
    ) -> Float[Tensor, "M B n"]:
        return product_each(x, weight, None if bias is None else bias.unsqueeze(1))

    def _modulated(
        self,
        x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
        weight: Float[Tensor, "n m"],
        r: Float[Tensor, "M *B m"],
        s: Float[Tensor, "M *B n"],
        bias: Float[Tensor, "M n"] | None,
        memory_saving: bool = False,
    ) -> Float[Tensor, "M B n"]:
        return modulated_product(x, weight, r, s, bias, memory_saving=memory_saving)

    def _matrices(self, weight: Float[Tensor, "*any n m"]) -> Float[Tensor, "*any m n"]:
        """Give stored weights the book's axes."""
        return weight.mT

    def modulate(
        self,
        weight: Float[Tensor, "n m"],
        r: Float[Tensor, "*any m"],
        s: Float[Tensor, "*any n"],
    ) -> Float[Tensor, "*any n m"]:
        """``W ∘ r sᵀ`` as weights are stored."""
        return modulated(weight, r, s)

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return sizes + self._repr_end()

"""M fully connected layers that share nothing, as one batched product."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from ensedu import _checks
from ensedu.torch.base import WeightLayer


class DeepEnsembleLinear(WeightLayer):
    """``y_i = x_i W_i + b_i`` for M members: (M, B, m) or (B, m) -> (M, B, n).

    Lakshminarayanan et al. 2017. ``weight`` is (M, n, m), ``bias`` (M, n); every entry starts in
    U(-1/√m, 1/√m), as ``nn.Linear`` does.

    Parameters
    ----------
    in_features, out_features, ensemble_size
        m, n and M, positive integers.
    bias
        Whether there is a bias.
    device, dtype
        As for ``nn.Linear``.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
    """

    roles: ClassVar = {"weight": "per_member", "bias": "biases"}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        ensemble_size: int,
        *,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, device, dtype)
        M = self.ensemble_size = _checks.positive_int("ensemble_size", ensemble_size)
        self.weight = self._empty(M, self.out_features, self.in_features)
        self.bias = self._empty(M, self.out_features) if _checks.boolean("bias", bias) else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self._uniform_(self.weight, self.bias)

    def forward(self, x: Float[Tensor, "M B m"] | Float[Tensor, "B m"]) -> Float[Tensor, "M B n"]:
        self._check_input(x, self.ensemble_size)
        x = x.expand(self.ensemble_size, -1, -1)
        if self.bias is None:
            return torch.bmm(x, self.weight.mT)
        return torch.baddbmm(self.bias[:, None], x, self.weight.mT)

    def weight_matrices(self, sample: None = None) -> Float[Tensor, "M m n"]:
        """Every member's own matrix, (M, m, n)."""
        return self.weight.mT

"""M layers that share nothing."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from ensedu.common import checks
from ensedu.torch.base import MemberLayer
from ensedu.torch.conv import ConvLayer
from ensedu.torch.products import LinearLayer


class DeepEnsembleLayer(MemberLayer):
    """The parameters of its layers, M weights and M biases, and what they do."""

    method: ClassVar = "deep_ensemble"
    array_of_members: ClassVar = "weight"

    def _make_parameters(self, ensemble_size: int, bias: bool) -> None:
        M = checks.positive_int("ensemble_size", ensemble_size)
        self.weight = self._empty_parameter(M, *self.weight_shape)
        self.bias = self._empty_bias(bias, M)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self._uniform_(self.weight, self.bias)

    def forward(self, x: Float[Tensor, "*any"]) -> Float[Tensor, "*any_out"]:
        self._check_input(x, self.weight, self.ensemble_size)
        if self._has_samples(x):
            return self._samples_as_examples(x)
        return self.apply_weights(x, self.weight, self.bias)

    def stored_weights(self, noise: None = None) -> Float[Tensor, "M n m *kernel"]:
        """`weight_matrices` with the axes of a plain layer's weight."""
        return self.weight.clone()


class DeepEnsembleLinear(LinearLayer, DeepEnsembleLayer):
    """``y_i = x_i W_i + b_i`` for M members: (M, B, m) or (B, m) -> (M, B, n).

    Lakshminarayanan et al. 2017. ``weight`` is (M, n, m), ``bias`` (M, n); every entry starts in
    U(-1/√m, 1/√m), as ``nn.Linear`` does. (S, M, B, m) gives (S, M, B, n).

    Parameters
    ----------
    in_features, out_features, ensemble_size
        m, n and M, positive integers.
    bias, device, dtype
        As for ``nn.Linear``.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input of another shape or dtype.
    """

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
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        self._make_parameters(ensemble_size, bias)


class DeepEnsembleConv2d(ConvLayer, DeepEnsembleLayer):
    """M convolutions that share nothing: (M, B, C_in, H, W) or (B, C_in, H, W) -> (M, B, C_out, …).

    Lakshminarayanan et al. 2017. ``weight`` is (M, C_out, C_in / groups, K, K), ``bias``
    (M, C_out); every entry starts where ``nn.Conv2d`` starts its own.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, bias, device, dtype, geometry
        As for ``nn.Conv2d``, whose geometry is ``stride``, ``padding``, ``dilation``, ``groups``
        and ``padding_mode``.
    ensemble_size
        M, a positive integer.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        ensemble_size: int,
        *,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **geometry: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, device=device, dtype=dtype, **geometry
        )
        self._make_parameters(ensemble_size, bias)

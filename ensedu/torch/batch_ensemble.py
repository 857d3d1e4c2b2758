"""One shared weight and two fast-weight vectors a member, W_i = W ∘ r_i s_iᵀ."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.base import MemberLayer
from ensedu.torch.conv import ConvLayer
from ensedu.torch.products import LinearLayer


class BatchEnsembleLayer(MemberLayer):
    """The parameters of its layers: one weight, and r, s and a bias a member."""

    method: ClassVar = "batch_ensemble"
    array_of_members: ClassVar = "r"

    def _make_parameters(
        self, ensemble_size: int, init: str, init_std: float, memory_saving: bool, bias: bool
    ) -> None:
        M = checks.positive_int("ensemble_size", ensemble_size)
        self.init = checks.one_of("init", init, ("signs", "normal"))
        self.init_std = checks.real("init_std", init_std, low=0.0)
        self.memory_saving = checks.boolean("memory_saving", memory_saving)
        self.weight = self._empty_parameter(*self.weight_shape)
        self.r = self._empty_parameter(M, self.in_features)
        self.s = self._empty_parameter(M, self.out_features)
        self.bias = self._empty_bias(bias, M)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self._uniform_(self.weight, self.bias)
        fast_weights_(self.r, self.init, self.init_std)
        fast_weights_(self.s, self.init, self.init_std)

    def forward(self, x: Float[Tensor, "*S_M_B_inputs"]) -> Float[Tensor, "*S_M_B_outputs"]:
        self._check_input(x, self.weight, self.ensemble_size)
        if self._has_samples(x):
            return self._samples_as_examples(x)
        # Weight (n, m), r (M, m), s (M, n), bias (M, n): eq. 5, ((x ∘ r) W) ∘ s + b, is computed by
        # `scale` of ensedu.torch.products.
        return self.modulated_product(
            x, self.weight, self.r, self.s, self.bias, memory_saving=self.memory_saving
        )

    def stored_weights(self, noise: None = None) -> Float[Tensor, "M n m *kernel"]:
        """`weight_matrices` with the axes of a plain layer's weight."""
        return self.modulated_weights(self.weight, self.r, self.s)


class BatchEnsembleLinear(LinearLayer, BatchEnsembleLayer):
    """``y_i = ((x_i ∘ r_i) W) ∘ s_i + b_i``: (M, B, m) or (B, m) -> (M, B, n).

    Wen et al. 2020, eq. 3 and 5. ``weight`` is (n, m) as in ``nn.Linear``; ``r`` (M, m), ``s``
    (M, n) and ``bias`` (M, n) belong to the members. (S, M, B, m) gives (S, M, B, n).

    Parameters
    ----------
    in_features, out_features, ensemble_size
        m, n and M, positive integers.
    init
        Where r and s start: ``"signs"``, +1 or -1 with equal chance, or ``"normal"``,
        N(1, init_std²).
    init_std
        Standard deviation for ``"normal"``, above 0.
    memory_saving
        Store nothing for the backward pass but the input and the parameters, see
        `ensedu.torch.products`. Costs a product where the batch is small.
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
        init: str = "signs",
        init_std: float = 0.5,
        memory_saving: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        self._make_parameters(ensemble_size, init, init_std, memory_saving, bias)


class BatchEnsembleConv2d(ConvLayer, BatchEnsembleLayer):
    """``y_i = conv(x_i ∘ r_i, W) ∘ s_i + b_i``: (M, B, C_in, H, W) or (B, C_in, H, W) in.

    Wen et al. 2020, eq. 5: r scales the input channels, s the output channels, so that member i's
    kernel from channel a to channel b is the shared one times ``r_i[a] s_i[b]``. ``weight`` is
    (C_out, C_in / groups, K, K) as in ``nn.Conv2d``; ``r`` (M, C_in), ``s`` (M, C_out) and
    ``bias`` (M, C_out) belong to the members. Returns (M, B, C_out, H_out, W_out).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, bias, device, dtype, geometry
        As for ``nn.Conv2d``, whose geometry is ``stride``, ``padding``, ``dilation``, ``groups``
        and ``padding_mode``.
    ensemble_size, init, init_std, memory_saving
        As for `BatchEnsembleLinear`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        ensemble_size: int,
        *,
        init: str = "signs",
        init_std: float = 0.5,
        memory_saving: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **geometry: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, device=device, dtype=dtype, **geometry
        )
        self._make_parameters(ensemble_size, init, init_std, memory_saving, bias)


def fast_weights_(parameter: nn.Parameter, init: str, std: float) -> None:
    """Fill with random signs, or with normal entries around 1."""
    with torch.no_grad():
        if init == "signs":
            parameter.bernoulli_(0.5).mul_(2).sub_(1)
        else:
            parameter.normal_(1.0, std)

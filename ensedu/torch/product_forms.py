"""The two equal forms of ``x (W ∘ r sᵀ)``, in plain operations."""

import torch
from jaxtyping import Float
from torch import Tensor

from ensedu.torch.stacked_product import stacked_product


def scale(
    x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
    weight: Float[Tensor, "n m"],
    r: Float[Tensor, "M #B m"],
    s: Float[Tensor, "M #B n"],
    bias: Float[Tensor, "M 1 n"] | None,
) -> Float[Tensor, "M B n"]:
    """``((x ∘ r) W) ∘ s + b`` (Wen et al. 2020, eq. 5)."""
    z = (x * r) @ weight.mT
    if z.dtype != s.dtype:  # under autocast, whose result is as short as that of nn.Linear
        s, bias = s.to(z.dtype), None if bias is None else bias.to(z.dtype)
    return z * s if bias is None else torch.addcmul(bias, z, s)


def fold(
    x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
    weight: Float[Tensor, "n m"],
    r: Float[Tensor, "M m"],
    s: Float[Tensor, "M n"],
    bias: Float[Tensor, "M 1 n"] | None,
) -> Float[Tensor, "M B n"]:
    """``x (W ∘ r sᵀ) + b``, a product a member."""
    return stacked_product(x, modulated_weights(weight, r, s), bias)


def modulated_weights(
    weight: Float[Tensor, "n m"], r: Float[Tensor, "*any m"], s: Float[Tensor, "*any n"]
) -> Float[Tensor, "*any n m"]:
    """Each member's matrix ``W ∘ r_i s_iᵀ``, as weights are stored."""
    return weight * (s.unsqueeze(-1) * r.unsqueeze(-2))

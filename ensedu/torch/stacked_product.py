"""The product with a weight for each member, in one call."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function

# Beyond, the gradient of members' weights by hand takes less than a copy of its transpose.
MANY_COLUMNS = 64


def stacked_product(
    x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
    weight: Float[Tensor, "M n m"],
    bias: Float[Tensor, "M 1 n"] | None,
) -> Float[Tensor, "M B n"]:
    """``x_i W_i + b_i`` with a weight for each member i."""
    x = x.expand(len(weight), *x.shape[-2:])
    by_hand = x.shape[-1] > MANY_COLUMNS and torch.is_grad_enabled()
    if by_hand and not torch.compiler.is_compiling():
        return StackedProduct.apply(x, weight, bias)
    return plain_stacked_product(x, weight, bias)


def plain_stacked_product(
    x: Float[Tensor, "M B m"],
    weight: Float[Tensor, "M n m"],
    bias: Float[Tensor, "M 1 n"] | None,
) -> Float[Tensor, "M B n"]:
    """`stacked_product` in plain operations."""
    return torch.bmm(x, weight.mT) if bias is None else torch.baddbmm(bias, x, weight.mT)


class StackedProduct(Function):
    """`plain_stacked_product`, whose backward pass makes the gradient of W as W is stored.

    Autograd makes its transpose, which then has to be copied, and with few outputs is slow.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return plain_stacked_product(x, weight, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, weight, bias = inputs
        ctx.bias_dtype = None if bias is None else bias.dtype
        ctx.save_for_backward(x, weight)
        ctx.save_for_forward(x, weight)

    @staticmethod
    def jvp(ctx: Any, x_move: Tensor, weight_move: Tensor, bias_move: Tensor | None) -> Tensor:
        x, weight = ctx.saved_tensors
        of_weight = plain_stacked_product(x, weight_move, None)
        return plain_stacked_product(x_move, weight, bias_move) + of_weight

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        # The products run in the precision of the forward pass, which autocast may have lowered.
        if ctx.needs_input_grad[0]:
            grad_x = torch.bmm(grad, weight.to(grad.dtype)).to(x.dtype)
        if ctx.needs_input_grad[1]:
            grad_weight = torch.bmm(grad.mT, x.to(grad.dtype)).to(weight.dtype)
        if ctx.needs_input_grad[2]:
            grad_bias = grad.sum(1, keepdim=True).to(ctx.bias_dtype)
        return grad_x, grad_weight, grad_bias

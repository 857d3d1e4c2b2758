"""Backward passes by hand of scale and fold, which find nothing stored but the arguments."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from ensedu.torch.product_forms import fold, modulated_weights, scale


def saving_memory(
    form: Callable[..., Tensor], by_hand: Callable[..., Tensor], *arguments: Tensor | None
) -> Tensor:
    """`form` of `arguments`, with nothing stored for the backward pass but them.

    `by_hand` is `form` with a backward pass of its own, which no compiler can trace; a compiler is
    told to run `form` again. Without gradients there is nothing to save.
    """
    if not torch.is_grad_enabled() or torch.compiler.is_exporting():
        return form(*arguments)
    if torch.compiler.is_compiling():
        return checkpoint(form, *arguments, use_reentrant=False)
    return by_hand(*arguments)


class MemorySaving(Function):
    """A product whose backward pass finds nothing stored but its arguments."""

    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)


def directional_derivative(
    form: Any, arguments: tuple[Any, ...], tangents: tuple[Any, ...]
) -> Tensor:
    """The derivative along `tangents` of a product that is linear in each of x, W, r and s."""
    *factors, _ = arguments
    *moves, bias_move = tangents
    return sum(
        form(*factors[:i], move, *factors[i + 1 :], None if i else bias_move)
        for i, move in enumerate(moves)
    )


class MemorySavingScale(MemorySaving):
    """`scale`, whose backward pass computes ``(x ∘ r) W`` again."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None) -> Tensor:
        return scale(x, weight, r, s, bias)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        return directional_derivative(scale, ctx.saved_tensors, tangents)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, r, s, bias = ctx.saved_tensors
        # The products run in the precision of the forward pass, which autocast may have lowered.
        low = weight.to(grad.dtype)
        xr = (x * r).to(grad.dtype)
        # What is done with is given up, so that little is held at once.
        grad_s = (grad * F.linear(xr, low)).sum_to_size(s.shape).to(s.dtype)
        grad_z = grad * s.to(grad.dtype)
        grad_weight = (grad_z.flatten(0, 1).mT @ xr.flatten(0, 1)).to(weight.dtype)
        del xr
        grad_xr = grad_z @ low
        del grad_z
        grad_r = (grad_xr * x.to(grad.dtype)).sum_to_size(r.shape).to(r.dtype)
        grad_x = (grad_xr * r.to(grad.dtype)).sum_to_size(x.shape).to(x.dtype)
        grad_bias = None if bias is None else grad.sum_to_size(bias.shape).to(bias.dtype)
        return grad_x, grad_weight, grad_r, grad_s, grad_bias


class MemorySavingFold(MemorySaving):
    """`fold`, whose backward pass forms the matrices again.

    It needs one product for the gradients of W, r and s together: with P_i = x_iᵀ g_i they are
    sums over entries of P_i ∘ r_i s_iᵀ and of P_i ∘ W.
    """

    @staticmethod
    def forward(x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None) -> Tensor:
        return fold(x, weight, r, s, bias)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        return directional_derivative(fold, ctx.saved_tensors, tangents)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, r, s, bias = ctx.saved_tensors
        # The products run in the precision of the forward pass, which autocast may have lowered.
        batch = x.to(grad.dtype).expand(len(r), *x.shape[-2:])
        grad_x = grad_weight = grad_r = grad_s = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.bmm(grad, modulated_weights(weight, r, s).to(grad.dtype))
            grad_x = grad_x.sum_to_size(x.shape).to(x.dtype)
        if any(ctx.needs_input_grad[1:4]):
            product = torch.bmm(grad.mT, batch)  # (M, n, m), as weights are stored
            scaled = product * r[:, None]
            grad_weight = (scaled * s[:, :, None]).sum(0)
            grad_s = (scaled * weight).sum(-1)
            grad_r = torch.bmm(s[:, None], product * weight)[:, 0]
        if bias is not None:
            grad_bias = grad.sum(1, keepdim=True).to(bias.dtype)
        return grad_x, grad_weight, grad_r, grad_s, grad_bias

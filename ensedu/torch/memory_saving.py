"""Backward passes by hand of scale and fold, which find nothing stored but the arguments.

They are written once for matrices and for convolutions: `product` is a layer, `LinearLayer` or a
`ConvLayer`, which says what both are, and has the gradients of each.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint


def saving_memory(
    form: Callable[..., Tensor], gradients: Callable[..., Any], product: Any,
    *arguments: Tensor | None,
) -> Tensor:  # fmt: skip
    """`form` of `arguments` by a `product`, with nothing stored for the backward pass but them.

    A backward pass by hand, `gradients`, no compiler can trace; a compiler is told to run `form`
    again. Without gradients there is nothing to save.
    """
    if not torch.is_grad_enabled() or torch.compiler.is_exporting():
        return form(*arguments, product)
    if torch.compiler.is_compiling():
        return checkpoint(form, *arguments, product, use_reentrant=False)
    return MemorySaving.apply(form, gradients, product, *arguments)


class MemorySaving(Function):
    """A product `form` whose backward pass finds nothing stored but its arguments x, W, r, s and b.

    ``gradients(grad, needs, product, *arguments)`` returns theirs, at least of those that need one.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(form: Any, gradients: Any, product: Any, *arguments: Tensor | None) -> Tensor:
        return form(*arguments, product)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.form, ctx.gradients, ctx.product, *arguments = inputs
        ctx.save_for_backward(*arguments)
        ctx.save_for_forward(*arguments)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        # Linear in each of x, W, r and s.
        *factors, _ = ctx.saved_tensors
        *moves, bias_move = tangents[3:]
        return sum(
            ctx.form(*factors[:i], move, *factors[i + 1 :], None if i else bias_move, ctx.product)
            for i, move in enumerate(moves)
        )

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        needs = ctx.needs_input_grad[3:]
        return None, None, None, *ctx.gradients(grad, needs, ctx.product, *ctx.saved_tensors)


def scale_gradients(
    grad: Tensor, needs: tuple[bool, ...], product: Any,
    x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """Those of ``((x ∘ r) W) ∘ s + b``, which compute ``(x ∘ r) W`` again."""
    # The products run in the precision of the forward pass, which autocast may have lowered.
    low, r_row, s_row = weight.to(grad.dtype), product.over_pixels(r), product.over_pixels(s)
    xr = (x * r_row).to(grad.dtype)
    grad_s = (grad * product.apply_weight(xr, low)).sum_to_size(s_row.shape)
    grad_s = grad_s.view(s.shape).to(s.dtype)
    grad_z = grad * s_row.to(grad.dtype)
    grad_xr, grad_weight = product.gradients(grad_z, xr, low)
    del grad_z, xr  # what is done with is given up, so that little is held at once
    grad_r = (grad_xr * x.to(grad.dtype)).sum_to_size(r_row.shape).view(r.shape).to(r.dtype)
    grad_x = (grad_xr * r_row.to(grad.dtype)).sum_to_size(x.shape).to(x.dtype)
    return grad_x, grad_weight.to(weight.dtype), grad_r, grad_s, _bias_gradient(grad, bias)


def fold_gradients(
    grad: Tensor, needs: tuple[bool, ...], product: Any,
    x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """Those of ``x (W ∘ r sᵀ) + b``, which form the matrices again.

    They need one product for the gradients of W, r and s together: with P_i = x_iᵀ g_i they are
    sums over entries of P_i ∘ r_i s_iᵀ and of P_i ∘ W.
    """
    # The products run in the precision of the forward pass, which autocast may have lowered.
    each = (
        product.modulated_weights(weight, r, s).to(grad.dtype)
        if needs[0]
        else weight.expand(len(r), *weight.shape)  # its shape is all that is read
    )
    grad_x, of_each = product.gradients_each(
        grad, x.to(grad.dtype), each, needs[0], any(needs[1:4])
    )
    del each
    grad_weight = grad_r = grad_s = None
    if grad_x is not None:
        grad_x = grad_x.sum_to_size(x.shape).to(x.dtype)
    if of_each is not None:  # (M, n, m, *kernel), as weights are stored
        scaled = of_each * product.over_pixels(r[:, None])
        grad_weight = (scaled * product.over_pixels(s[:, :, None])).sum(0)
        grad_s = (scaled * weight).flatten(2).sum(-1)
        pairs = of_each * weight
        pairs = pairs.flatten(3).sum(-1) if pairs.ndim > 3 else pairs
        grad_r = torch.bmm(s[:, None], pairs)[:, 0]
    return grad_x, grad_weight, grad_r, grad_s, _bias_gradient(grad, bias)


def _bias_gradient(grad: Float[Tensor, "M B n *pixels"], bias: Tensor | None) -> Tensor | None:
    if bias is None:
        return None
    return grad.sum((1, *range(3, grad.ndim))).view(bias.shape).to(bias.dtype)

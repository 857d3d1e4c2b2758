"""The backward passes of scaled and of folded convolutions, by hand: nothing stored but arguments.

Those of fully connected layers stand beside their products, in `ensedu.torch.products`.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.grad import conv2d_input, conv2d_weight


def scale_gradients(
    layer: Any, grad: Tensor, needs: tuple[bool, ...],
    x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """Those of ``conv(x ∘ r, W) ∘ s + b``, which convolve again."""
    over_pixels = layer.over_pixels
    # The products run in the precision of the forward pass, which autocast may have lowered.
    low = weight.to(grad.dtype)
    xr = (x * over_pixels(r)).to(grad.dtype)
    rows = xr.flatten(0, 1)
    grad_s = sum_to_channels(grad * layer.apply_weight(rows, low).view(grad.shape), s)
    grad_z = (grad * over_pixels(s).to(grad.dtype)).flatten(0, 1)
    grad_xr, grad_weight = convolution_gradients(layer, grad_z, rows, low)
    # What is done with is given up, so that little is held at once.
    del grad_z, rows
    grad_xr = grad_xr.view(xr.shape)
    del xr
    grad_r = sum_to_channels(grad_xr * x.to(grad.dtype), r)
    grad_x = (grad_xr * over_pixels(r).to(grad.dtype)).sum_to_size(x.shape).to(x.dtype)
    grad_bias = None if bias is None else grad.sum((1, 3, 4)).to(bias.dtype)
    return grad_x, grad_weight.to(weight.dtype), grad_r, grad_s, grad_bias


def fold_gradients(
    layer: Any, grad: Tensor, needs: tuple[bool, ...],
    x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """Those of ``conv(x, W ∘ r sᵀ) + b``, which form the members' kernels again."""
    needs_x = needs[0]
    # The products run in the precision of the forward pass, which autocast may have lowered.
    kernels, images = layer.modulated_weights(weight, r, s).to(grad.dtype), x.to(grad.dtype)
    if x.ndim == 4:  # all members read the same channels
        rows = grad.transpose(0, 1).flatten(1, 2)  # (B, M C_out, H_out, W_out)
        grad_x, product = convolution_gradients(layer, rows, images, kernels.flatten(0, 1), needs_x)
        product = product.view(kernels.shape)
    else:
        members = [
            convolution_gradients(layer, *of_member, needs_x)
            for of_member in zip(grad, images, kernels, strict=True)
        ]
        grads_x, products = zip(*members, strict=True)
        grad_x, product = torch.stack(grads_x) if needs_x else None, torch.stack(products)
    r_row, s_row = layer.over_pixels(r[:, None]), layer.over_pixels(s[:, :, None])
    scaled = product * r_row
    grad_weight = (scaled * s_row).sum(0)
    grad_s = (scaled * weight).sum((2, 3, 4))
    grad_r = (product * s_row * weight).sum((1, 3, 4))
    grad_x = None if grad_x is None else grad_x.to(x.dtype)
    grad_bias = None if bias is None else grad.sum((1, 3, 4)).to(bias.dtype)
    return grad_x, grad_weight, grad_r, grad_s, grad_bias


def sum_to_channels(product: Float[Tensor, "M B C H W"], like: Float[Tensor, "M #B C"]) -> Tensor:
    """Sum over positions, and over examples where they share the factors of `like`."""
    return product.sum((3, 4)).sum_to_size(like.shape).to(like.dtype)


def convolution_gradients(
    layer: Any,
    grad: Float[Tensor, "N C_out H_out W_out"],
    x: Float[Tensor, "N C_in H W"],
    weight: Float[Tensor, "C_out C_in_of_a_group kh kw"],
    needs_x: bool = True,
) -> tuple[Tensor | None, Tensor]:
    """The gradients of one convolution of this layer in x, if it needs one, and in the weight."""
    padding, pull = layer.padding, None
    if isinstance(padding, str) or layer.padding_mode != "zeros":
        x, pull = torch.func.vjp(layer._pad, x)
        padding = 0
    geometry = (layer.stride, padding, layer.dilation, layer.groups)
    grad_weight = conv2d_weight(x, weight.shape, grad, *geometry)
    if not needs_x:
        return None, grad_weight
    grad_x = conv2d_input(x.shape, weight, grad, *geometry)
    return grad_x if pull is None else pull(grad_x)[0], grad_weight

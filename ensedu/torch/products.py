"""``x (W ∘ r sᵀ)`` for all members, in the cheaper of two equal forms: scale or fold.

*Scale* multiplies activations, ``((x ∘ r) W) ∘ s``, B (m + n) numbers a member. *Fold* multiplies
the weight, ``x (W ∘ r sᵀ)``, m n numbers a member, each in two steps. All else is the same matrix
products, but for one: the gradient of scale's r needs that of x, whether or not x wants one. Each
form also has a backward pass by hand, which finds nothing stored but the arguments.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

# Beyond so many entries fold forms its matrices again rather than keep them, and is as fast.
FEW_ENTRIES = 2**17
# Beyond, a product with a weight takes longer than the steps in which fold multiplies it.
MANY_ROWS = 64


def modulated_product(
    x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
    weight: Float[Tensor, "n m"],
    r: Float[Tensor, "M m"] | Float[Tensor, "M B m"],
    s: Float[Tensor, "M n"] | Float[Tensor, "M B n"],
    bias: Float[Tensor, "M n"] | None = None,
    *,
    memory_saving: bool = False,
) -> Float[Tensor, "M B n"]:
    """``x_i (W ∘ r_i s_iᵀ) + b_i`` for each member i (Wen et al. 2020, eq. 3 and 5).

    With r and s for each example, (M, B, m) and (M, B, n), a member has no one matrix, and scale
    is the only form. With `memory_saving`, the backward pass finds nothing stored but the
    arguments. Fold never stores more, except that it keeps matrices of few entries. Otherwise,
    under ``torch.compile``, the compiler decides what to store.
    """
    bias = None if bias is None else bias.unsqueeze(1)
    n, m = weight.shape
    trains = torch.is_grad_enabled()
    # Folding for that alone would hold matrices of all members, so not where memory is saved.
    spares_product = trains and not (memory_saving or x.requires_grad)
    folded = r.ndim == 2 and not needs_one_form() and fold_pays(x.shape[-2], m, n, spares_product)
    if r.ndim == 2 and not folded:
        r, s = r.unsqueeze(1), s.unsqueeze(1)
    form, gradients = (fold, fold_gradients) if folded else (scale, scale_gradients)
    # A compiler decides on its own whether to keep many matrices.
    many = folded and len(r) * m * n > FEW_ENTRIES and not torch.compiler.is_compiling()
    if memory_saving or many:
        return saving_memory(form, gradients, x, weight, r, s, bias)
    return form(x, weight, r, s, bias)


def fold_pays(
    batch: int, in_features: int, out_features: int, spares_product: bool = False
) -> bool:
    """Whether fold is cheaper than scale for `batch` examples: B (m + n) > 2 m n.

    Where it also spares a product, many examples are enough.
    """
    scaled, folded = batch * (in_features + out_features), 2 * in_features * out_features
    return scaled > folded or (spares_product and batch > MANY_ROWS)


def needs_one_form() -> bool:
    """Whether a graph is exported, which has to be the same for every batch: it scales.

    What that costs beyond the product grows with the batch as the product does.
    """
    return torch.compiler.is_exporting()


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


def saving_memory(
    form: Callable[..., Tensor], gradients: Callable[..., Any], *arguments: Tensor | None
) -> Tensor:
    """`form` of `arguments`, with nothing stored for the backward pass but them.

    A backward pass by hand, `gradients`, no compiler can trace; a compiler is told to run `form`
    again. Without gradients there is nothing to save.
    """
    if not torch.is_grad_enabled() or torch.compiler.is_exporting():
        return form(*arguments)
    if torch.compiler.is_compiling():
        return checkpoint(form, *arguments, use_reentrant=False)
    return MemorySaving.apply(form, gradients, *arguments)


class MemorySaving(Function):
    """A product `form` whose backward pass finds nothing stored but its arguments x, W, r, s and b.

    ``gradients(grad, needs, *arguments)`` returns theirs, at least of those that need one.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(form: Any, gradients: Any, *arguments: Tensor | None) -> Tensor:
        return form(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.form, ctx.gradients, *arguments = inputs
        ctx.save_for_backward(*arguments)
        ctx.save_for_forward(*arguments)

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, *tangents: Tensor | None) -> Tensor:
        # Linear in each of x, W, r and s.
        *factors, _ = ctx.saved_tensors
        *moves, bias_move = tangents
        return sum(
            ctx.form(*factors[:i], move, *factors[i + 1 :], None if i else bias_move)
            for i, move in enumerate(moves)
        )

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        needs = ctx.needs_input_grad[2:]
        return None, None, *ctx.gradients(grad, needs, *ctx.saved_tensors)


def scale_gradients(
    grad: Tensor, needs: tuple[bool, ...],
    x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """Those of `scale`, which compute ``(x ∘ r) W`` again."""
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


def fold_gradients(
    grad: Tensor, needs: tuple[bool, ...],
    x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """Those of `fold`, which form the matrices again.

    They need one product for the gradients of W, r and s together: with P_i = x_iᵀ g_i they are
    sums over entries of P_i ∘ r_i s_iᵀ and of P_i ∘ W.
    """
    # The products run in the precision of the forward pass, which autocast may have lowered.
    batch = x.to(grad.dtype).expand(len(r), *x.shape[-2:])
    grad_x = grad_weight = grad_r = grad_s = grad_bias = None
    if needs[0]:
        grad_x = torch.bmm(grad, modulated_weights(weight, r, s).to(grad.dtype))
        grad_x = grad_x.sum_to_size(x.shape).to(x.dtype)
    if any(needs[1:4]):
        product = torch.bmm(grad.mT, batch)  # (M, n, m), as weights are stored
        scaled = product * r[:, None]
        grad_weight = (scaled * s[:, :, None]).sum(0)
        grad_s = (scaled * weight).sum(-1)
        grad_r = torch.bmm(s[:, None], product * weight)[:, 0]
    if bias is not None:
        grad_bias = grad.sum(1, keepdim=True).to(bias.dtype)
    return grad_x, grad_weight, grad_r, grad_s, grad_bias

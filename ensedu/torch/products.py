"""``x (W ∘ r sᵀ)`` for all members, in the cheaper of two equal forms: scale or fold.

*Scale* multiplies activations, ``((x ∘ r) W) ∘ s``, B (m + n) numbers a member. *Fold* multiplies
the weight, ``x (W ∘ r sᵀ)``, m n numbers a member, each in two steps. All else is the same matrix
products, but for one: the gradient of scale's r needs that of x, whether or not x wants one. Each
form also has a backward pass by hand, in `ensedu.torch.memory_saving`. `LinearLayer` says what a
product is, and `ensedu.torch.conv.ConvLayer` what a convolution is, of the same two forms.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from ensedu.common import checks
from ensedu.torch.base import WeightLayer
from ensedu.torch.memory_saving import fold_gradients, saving_memory, scale_gradients

# Beyond so many entries fold forms its matrices again rather than keep them, and is as fast.
FEW_ENTRIES = 2**17
# Beyond, a product with a weight takes longer than the steps in which fold multiplies it.
MANY_ROWS = 64


def modulated_weights(
    weight: Float[Tensor, "n m"], r: Float[Tensor, "*any m"], s: Float[Tensor, "*any n"]
) -> Float[Tensor, "*any n m"]:
    """Each member's matrix ``W ∘ r_i s_iᵀ``, as weights are stored."""
    return weight * (s.unsqueeze(-1) * r.unsqueeze(-2))


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
    return either_form(LinearLayer, x, weight, r, s, bias, memory_saving)


def either_form(
    product: Any, x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None,
    memory_saving: bool,
) -> Tensor:  # fmt: skip
    """`modulated_product` by a layer, of whose input, weight and output other axes are behind."""
    folded = r.ndim == 2 and not needs_one_form() and product.folds(x, weight, memory_saving)
    if r.ndim == 2 and not folded:
        r, s = r.unsqueeze(1), s.unsqueeze(1)
    form, gradients = (fold, fold_gradients) if folded else (scale, scale_gradients)
    # Kernels are small beside their images. A compiler decides itself whether to keep matrices.
    many = folded and weight.ndim == 2 and len(r) * weight.numel() > FEW_ENTRIES
    if memory_saving or (many and not torch.compiler.is_compiling()):
        return saving_memory(form, gradients, product, x, weight, r, s, bias)
    return form(x, weight, r, s, bias, product)


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
    x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None, product: Any
) -> Tensor:  # fmt: skip
    """``((x ∘ r) W) ∘ s + b`` (Wen et al. 2020, eq. 5), with r (M, #B, m) and s (M, #B, n)."""
    r = r if r.dtype == x.dtype else r.to(x.dtype)
    z = product.apply_weight(x * product.over_pixels(r), weight)
    if z.dtype != s.dtype:  # under autocast, whose result is as short as that of nn.Linear
        s, bias = s.to(z.dtype), None if bias is None else bias.to(z.dtype)
    s = product.over_pixels(s)
    return z * s if bias is None else torch.addcmul(product.over_pixels(bias.unsqueeze(1)), z, s)


def fold(
    x: Tensor, weight: Tensor, r: Tensor, s: Tensor, bias: Tensor | None, product: Any
) -> Tensor:  # fmt: skip
    """``x (W ∘ r sᵀ) + b``, a product a member, with r (M, m) and s (M, n)."""
    return product.apply_weights(x, product.modulated_weights(weight, r, s), bias)


class LinearLayer(WeightLayer):
    """Base of the fully connected layers: a weight is (n, m), as ``nn.Linear`` stores it."""

    batch_axis = -2
    #: ``x_i (W ∘ r_i s_iᵀ) + b_i`` for each member i, and the ``W ∘ r_i s_iᵀ`` as they are stored.
    modulated_product = staticmethod(modulated_product)
    modulated_weights = staticmethod(modulated_weights)

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(device, dtype)
        self.in_features = checks.positive_int("in_features", in_features)
        self.out_features = checks.positive_int("out_features", out_features)
        self.weight_shape, self.fan_in = (self.out_features, self.in_features), self.in_features

    def _example_axes(self) -> tuple[int | str, ...]:
        return (self.in_features,)

    def in_book_axes(self, weight: Float[Tensor, "*any n m"]) -> Float[Tensor, "*any m n"]:
        """Stored weights as the book writes them."""
        return weight.mT

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return sizes + self._repr_of_members_and_bias()

    @staticmethod
    def over_pixels(vectors: Float[Tensor, "*any m"]) -> Float[Tensor, "*any m"]:
        """Vectors ready to multiply examples, which have no axes behind their features."""
        return vectors

    @staticmethod
    def apply_weight(
        x: Float[Tensor, "*any m"], weight: Float[Tensor, "n m"], bias: Tensor | None = None
    ) -> Float[Tensor, "*any n"]:
        """``x W + b`` with one weight."""
        return F.linear(x, weight, bias)

    @staticmethod
    def apply_weights(
        x: Float[Tensor, "M B m"] | Float[Tensor, "B m"],
        weight: Float[Tensor, "M n m"],
        bias: Float[Tensor, "M n"] | None,
    ) -> Float[Tensor, "M B n"]:
        """``x_i W_i + b_i`` with a weight for each member i."""
        return stacked_product(x, weight, None if bias is None else bias.unsqueeze(1))

    @staticmethod
    def folds(x: Tensor, weight: Tensor, memory_saving: bool) -> bool:
        """Whether fold is cheaper for this input, by `fold_pays`."""
        # Folding for that alone would hold matrices of all members, so not where memory is saved.
        spares_product = torch.is_grad_enabled() and not (memory_saving or x.requires_grad)
        n, m = weight.shape
        return fold_pays(x.shape[-2], m, n, spares_product)

    @staticmethod
    def gradients(grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Those of `apply_weight` in x and in the weight."""
        return grad @ weight, grad.flatten(0, -2).mT @ x.flatten(0, -2)

    @staticmethod
    def gradients_each(
        grad: Tensor, x: Tensor, weight: Tensor, needs_x: bool, needs_weight: bool
    ) -> tuple[Tensor | None, Tensor | None]:
        """Those of `apply_weights`, but for what needs none."""
        grad_x = torch.bmm(grad, weight) if needs_x else None
        batch = x.expand(len(grad), *x.shape[-2:])
        return grad_x, torch.bmm(grad.mT, batch) if needs_weight else None


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
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        # The products run in the precision of the forward pass, which autocast may have lowered.
        low = x.to(grad.dtype), weight.to(grad.dtype)
        grad_x, grad_weight = LinearLayer.gradients_each(grad, *low, needs_x, needs_weight)
        grad_x = None if grad_x is None else grad_x.to(x.dtype)
        grad_weight = None if grad_weight is None else grad_weight.to(weight.dtype)
        grad_bias = grad.sum(1, keepdim=True).to(ctx.bias_dtype) if needs_bias else None
        return grad_x, grad_weight, grad_bias

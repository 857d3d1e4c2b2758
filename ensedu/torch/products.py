"""``x (W ∘ r sᵀ)`` for all members, in the cheaper of two equal forms: scale or fold.

*Scale* multiplies activations, ``((x ∘ r) W) ∘ s``, B (m + n) numbers a member. *Fold* multiplies
the weight, ``x (W ∘ r sᵀ)``, m n numbers a member, each in two steps. All else is the same matrix
products, but for one: the gradient of scale's r needs that of x, whether or not x wants one.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from ensedu.torch.product_backward import MemorySavingFold, MemorySavingScale, saving_memory
from ensedu.torch.product_forms import fold, scale

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
    folded = r.ndim == 2 and not needs_one_form() and folds(x.shape[-2], m, n, spares_product)
    if r.ndim == 2 and not folded:
        r, s = r.unsqueeze(1), s.unsqueeze(1)
    form, by_hand = (fold, MemorySavingFold.apply) if folded else (scale, MemorySavingScale.apply)
    # A compiler decides on its own whether to keep many matrices.
    many = folded and len(r) * m * n > FEW_ENTRIES and not torch.compiler.is_compiling()
    if memory_saving or many:
        return saving_memory(form, by_hand, x, weight, r, s, bias)
    return form(x, weight, r, s, bias)


def folds(batch: int, in_features: int, out_features: int, spares_product: bool = False) -> bool:
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

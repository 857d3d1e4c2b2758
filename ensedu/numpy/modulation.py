"""The modulated product ((x ∘ r) W) ∘ s and its gradient, for BatchEnsemble and rank-1 layers.

It equals ``x (W ∘ r sᵀ)`` without forming any member's matrix (Wen et al. 2020, eq. 5).
"""

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.numpy.base import sum_to


def forward(
    x: Float[Array, "M B m"] | Float[Array, "B m"],
    weight: Float[Array, "m n"],
    r: Float[Array, "M #B m"],
    s: Float[Array, "M #B n"],
) -> Float[Array, "M B n"]:
    """Scale the inputs by r, multiply by the one shared weight, scale the outputs by s."""
    return ((x * r) @ weight) * s


def backward(
    grad: Float[Array, "M B n"],
    x: Float[Array, "M B m"] | Float[Array, "B m"],
    weight: Float[Array, "m n"],
    r: Float[Array, "M #B m"],
    s: Float[Array, "M #B n"],
) -> tuple[Array, Array, Array, Array]:
    """Return the gradients of x, the weight, r (M, B, m) and s (M, B, n).

    Those of r and s are still per example: sum over B for one r and s per member.
    """
    scaled = x * r  # (M, B, m)
    product = scaled @ weight  # (M, B, n)
    grad_product = grad * s  # (M, B, n)
    grad_scaled = grad_product @ weight.T  # (M, B, m)
    m, n = weight.shape
    grad_weight = scaled.reshape(-1, m).T @ grad_product.reshape(-1, n)
    return sum_to(grad_scaled * r, x.shape), grad_weight, grad_scaled * x, grad * product

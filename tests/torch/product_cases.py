"""Forms of a modulated product, arguments for them, and what each must be."""

from functools import partial

import torch

from ensedu.torch import products
from tests.backends import B, M, m, n

K = 2
FORMS = {
    "scale": products.scale,
    "scale again": partial(products.MemorySaving.apply, products.scale, products.scale_gradients),
    "fold": products.fold,
    "fold again": partial(products.MemorySaving.apply, products.fold, products.fold_gradients),
    "each by hand": lambda x, weight, r, s, bias: products.StackedProduct.apply(
        x.expand(len(r), *x.shape[-2:]), products.modulated_weights(weight, r, s), bias
    ),
}


def call(form, x, weight, r, s, bias):
    """Run a form by name on plain arguments: r (M, m), s (M, n), bias (M, n) or None."""
    if "scale" in form:
        r, s = r[..., None, :], s[..., None, :]
    return FORMS[form](x, weight, r, s, None if bias is None else bias[..., None, :])


def by_member(x, weight, r, s, bias):
    """The definition, a member at a time."""
    rows = []
    for i in range(len(r)):
        one = x if x.ndim == 2 else x[i]
        y = one @ (weight.T * torch.outer(r[i], s[i]))
        rows.append(y if bias is None else y + bias[i])
    return torch.stack(rows)


def arguments(M=M, B=B, m=m, n=n, broadcast=False, bias=True, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(B, m) if broadcast else (M, B, m), (n, m), (M, m), (M, n), (M, n)]
    drawn = [
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in shapes
    ]
    return drawn if bias else [*drawn[:4], None]


def gradients(y, tensors):
    weights = torch.arange(1.0, y.numel() + 1, dtype=y.dtype).reshape(y.shape).cos()
    return torch.autograd.grad((y * weights).sum(), tensors)


def tensors_of(values):
    return [value for value in values if value is not None]

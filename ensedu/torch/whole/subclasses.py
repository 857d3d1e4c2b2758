"""Which layers of a model are plain products, those of classes of its own among them.

A library may derive from ``nn.Linear`` or ``nn.Conv2d`` to cast a dtype, or to pad as TensorFlow
does. Such a layer is compared with the plain product, on inputs of several sizes.
"""

import copy
import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Padding = Callable[[Tensor], Tensor]
# How large the entries of inputs are on which layers are compared.
ENTRY_SIZES = (1.0, 1000.0)


def as_product(module: nn.Module) -> tuple[bool, Padding | None]:
    """Return whether `module` is a product that can be swapped, and the padding in front of it."""
    if type(module) in (nn.Linear, nn.Conv2d):
        return True, None
    if not isinstance(module, (nn.Linear, nn.Conv2d)) or not _has_weight_and_bias_alone(module):
        return False, None
    if module.weight.is_meta:  # without values there is nothing to compare
        return False, None
    if isinstance(module, nn.Linear):
        shapes = [(2, module.in_features), (2, 3, module.in_features)]
        return _computes(module, nn.Linear.forward, shapes), None
    shapes = _image_shapes(module)
    if _computes(module, nn.Conv2d.forward, shapes):
        return True, None
    if module.padding not in ((0, 0), "valid"):
        return False, None
    padding = SamePadding(module)
    plain = _computes(module, lambda conv, x: nn.Conv2d.forward(conv, padding(x)), shapes)
    return plain, padding if plain else None


class SamePadding:
    """Pad so that a stride of s makes ⌈size / s⌉ of a size, as TensorFlow's "same" does."""

    def __init__(self, conv: nn.Conv2d) -> None:
        self.kernel_size, self.stride, self.dilation = conv.kernel_size, conv.stride, conv.dilation

    def __call__(self, x: Tensor) -> Tensor:
        sides: list[int] = []
        for axis in (-1, -2):
            size, stride = x.shape[axis], self.stride[axis]
            reach = self.dilation[axis] * (self.kernel_size[axis] - 1) + 1
            total = max((-(-size // stride) - 1) * stride + reach - size, 0)
            sides += [total // 2, total - total // 2]
        return F.pad(x, sides)


def _has_weight_and_bias_alone(module: nn.Module) -> bool:
    own = dict(module.named_parameters())
    return own.keys() <= {"weight", "bias"} and not list(module.buffers())


def _image_shapes(conv: nn.Conv2d) -> list[tuple[int, ...]]:
    """Sizes of images that meet every rest of the stride, on both axes."""
    height, width = (
        dilation * (k - 1) + 2 for dilation, k in zip(conv.dilation, conv.kernel_size, strict=True)
    )
    steps = 2 * max(conv.stride)
    return [(2, conv.in_channels, height + i, width + 2 * i + 1) for i in range(steps)]


def _computes(module: Any, plain: Callable[[Any, Tensor], Tensor], shapes: list[Any]) -> bool:
    """Whether a module, while training or not, computes what `plain` does with its arrays.

    On inputs small and large, with the gradient, and on copies: a forward pass may change things.
    """
    source = torch.Generator().manual_seed(0)
    try:
        with torch.random.fork_rng([]), torch.enable_grad():
            for shape, size in itertools.product(shapes, ENTRY_SIZES):
                x = (size * torch.randn(shape, generator=source)).to(module.weight)
                for training in (True, False):
                    results = []
                    for form in (nn.Module.__call__, plain):
                        own = copy.deepcopy(module).train(training).requires_grad_(True)
                        leaf = x.clone().requires_grad_(True)
                        y = form(own, leaf)
                        y.square().sum().backward()
                        results.append((y.detach(), leaf.grad, own.weight.grad))
                    if not all(map(_nearly_equal, *results)):
                        return False
    except (RuntimeError, TypeError, ValueError, AssertionError, AttributeError):
        return False  # it needs another input, so it does more
    return True


def _nearly_equal(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None or one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one - other).abs() <= 1e-3 * other.abs().max()).all())

"""What every NumPy layer has: parameters, gradients, checked arrays."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks, layer_checks
from ensedu.common.array_checks import check_float64, check_rng

Noise = dict[str, Array]


class Layer:
    """Base of all layers: ``forward(x)``, ``backward(grad)``, ``params``, ``grads``.

    ``backward`` adds the gradient of the latest forward pass to ``grads``, and returns the gradient
    with respect to its input; ``zero_grad`` empties ``grads``, as an optimizer's ``step`` does. A
    layer that draws also has ``noise(rng, input_shape)``, and takes it as ``forward(x, noise)``.
    """

    #: The row of `ensedu.methods.METHODS` that says what each array in ``params`` is for; in a
    #: plain layer the names say it.
    method: ClassVar[str] = ""
    #: A layer that draws takes ``(x, noise)``.
    forward: Callable[..., Array]
    backward: Callable[..., Array]

    def __init__(self) -> None:
        self.params: dict[str, Array] = {}
        self.grads: dict[str, Array] = {}
        self._cache: Any = None

    def __call__(self, x: Array, noise: Noise | None = None) -> Array:
        return self.forward(x) if noise is None else self.forward(x, noise=noise)

    def zero_grad(self) -> None:
        """Empty the gradients."""
        self.grads = {}

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the output's shape for an input of this shape."""
        return checks.array_shape("input_shape", input_shape)

    def _add(self, **grads: Array) -> None:
        """Add to the gradients."""
        for name, grad in grads.items():
            self.grads[name] = self.grads[name] + grad if name in self.grads else grad

    def _recall(self, grad: Array) -> Any:
        """Return what ``forward`` kept, after checking `grad` against the output's shape."""
        self._check_grad(grad, None if self._cache is None else self._cache[-1])
        *cached, _ = self._cache
        return cached[0] if len(cached) == 1 else cached

    def _check_grad(self, grad: Array, shape: tuple[int, ...] | None) -> None:
        """Check `grad` against the output's shape, ``None`` as long as there was no output."""
        if shape is None:
            raise ValueError(
                f"{type(self).__name__}.backward: grad was given before any forward pass; "
                "accepted after forward(x)"
            )
        check_float64(f"{type(self).__name__}: grad", grad)
        if grad.shape != shape:
            raise ValueError(
                f"{type(self).__name__}: grad has shape {grad.shape}, "
                f"accepted is the output's shape {shape}"
            )


class WeightLayer(Layer):
    """Base of the layers with `in_features` inputs and `out_features` outputs."""

    def __init__(self, in_features: int, out_features: int, rng: Generator) -> None:
        super().__init__()
        self.in_features = checks.positive_int("in_features", in_features)
        self.out_features = checks.positive_int("out_features", out_features)
        self.rng = check_rng("rng", rng)

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*self._input_shape(input_shape)[:-1], self.out_features)

    def _uniform(self, *shape: int) -> Array:
        """Draw from U(-1/√m, 1/√m), where ``nn.Linear`` starts its weight and its bias too."""
        bound = self.in_features**-0.5
        return self.rng.uniform(-bound, bound, shape)

    def _normal(self, rng: Generator | None, *shape: int) -> Array:
        rng = self.rng if rng is None else check_rng("rng", rng)
        return rng.standard_normal(shape)

    def _input(self, x: Array) -> Array:
        """Check an input and copy it: what happens to it later must not reach ``backward``."""
        check_float64(f"{type(self).__name__}: input x", x)
        self._check_shape(x.shape, "input x has shape")
        return x.copy()

    def _input_shape(self, value: tuple[int, ...]) -> tuple[int, ...]:
        """Check the shape of an input that is not there yet."""
        shape = checks.array_shape("input_shape", value)
        self._check_shape(shape, "input_shape is")
        return shape

    def _check_shape(self, shape: tuple[int, ...], what: str) -> None:
        members = getattr(self, "ensemble_size", None)
        layer_checks.check_batch(type(self).__name__, shape, (self.in_features,), members, what)

    def _checked(self, noise: Noise, shapes: dict[str, tuple[int, ...]]) -> Noise:
        """Check that `noise` has just the arrays named in `shapes`, of those shapes; copy it."""
        layer_checks.check_noise(noise, shapes, check_float64)
        return {name: array.copy() for name, array in noise.items()}

    def _no_noise(self, noise: Any) -> None:
        if noise is not None:
            raise TypeError(
                f"noise must be None for {type(self).__name__}, which draws nothing, "
                f"got {checks.describe(noise)}"
            )

    def _noise_shape(self, noise: Any, name: str) -> tuple[int, ...]:
        """Return the shape of an array of noise that is not checked yet; () where there is none."""
        array = noise.get(name) if isinstance(noise, dict) else None
        return array.shape if isinstance(array, np.ndarray) else ()

    def __repr__(self) -> str:
        size = f", ensemble_size={self.ensemble_size}" if hasattr(self, "ensemble_size") else ""
        return f"{type(self).__name__}({self.in_features}, {self.out_features}{size})"


class MemberLayer(WeightLayer):
    """Base of the layers with `ensemble_size` members.

    (B, m) for all members, (M, B, m), or (S, M, B, m) for S samples in; the same with n for m,
    and at least the axis M, out.
    """

    def __init__(
        self, in_features: int, out_features: int, ensemble_size: int, rng: Generator
    ) -> None:
        super().__init__(in_features, out_features, rng)
        self.ensemble_size = checks.positive_int("ensemble_size", ensemble_size)

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        shape = self._input_shape(input_shape)
        return (*shape[:-3], self.ensemble_size, shape[-2], self.out_features)


def sum_to(grad: Array, shape: tuple[int, ...]) -> Array:
    """Sum `grad` over the axes along which an array of this `shape` was repeated."""
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    repeated = [i for i, size in enumerate(shape) if size == 1 and grad.shape[i] != 1]
    return grad.sum(axis=tuple(repeated), keepdims=True)

"""What every NumPy layer has: parameters, gradients, checked arrays."""

from typing import Any, ClassVar

import numpy as np
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import _checks

DTYPES = (np.dtype(np.float64), np.dtype(np.float32))


class Layer:
    """Base of all layers: ``forward(x)``, ``backward(grad)``, ``params``, ``grads``.

    ``backward`` replaces ``grads`` by the gradient of the latest forward pass and returns the
    gradient with respect to its input.
    """

    #: The role in `ensedu.counting` of each array in ``params``.
    roles: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self.params: dict[str, Array] = {}
        self.grads: dict[str, Array] = {}
        self._cache: Any = None

    def __call__(self, x: Array) -> Array:
        return self.forward(x)

    def _recall(self, grad: Array, dtype: np.dtype | None = None) -> Any:
        """Return what ``forward`` kept, after checking `grad` against the output's shape."""
        if self._cache is None:
            raise ValueError(
                f"{type(self).__name__}.backward: grad was given before any forward pass; "
                "accepted after forward(x)"
            )
        *kept, shape = self._cache
        check_array(f"{type(self).__name__}: grad", grad, dtype)
        if grad.shape != shape:
            raise ValueError(
                f"{type(self).__name__}: grad has shape {grad.shape}, "
                f"accepted is the output's shape {shape}"
            )
        return kept[0] if len(kept) == 1 else kept


class WeightLayer(Layer):
    """Base of the layers with `in_features` inputs and `out_features` outputs."""

    def __init__(
        self, in_features: int, out_features: int, rng: Generator, dtype: np.typing.DTypeLike
    ) -> None:
        super().__init__()
        self.in_features = _checks.positive_int("in_features", in_features)
        self.out_features = _checks.positive_int("out_features", out_features)
        self.rng = check_rng("rng", rng)
        self.dtype = check_dtype(dtype)

    def _uniform(self, *shape: int) -> Array:
        """Draw from U(-1/√m, 1/√m), where ``nn.Linear`` starts its weight and its bias too."""
        bound = self.in_features**-0.5
        return self.rng.uniform(-bound, bound, shape).astype(self.dtype)

    def _normal(self, rng: Generator | None, *shape: int) -> Array:
        rng = self.rng if rng is None else check_rng("rng", rng)
        return rng.standard_normal(shape, dtype=self.dtype)

    def _check_sample(self, sample: dict[str, Array], shapes: dict[str, tuple[int, ...]]) -> None:
        """Check that `sample` has just the arrays named in `shapes`, of those shapes."""
        _checks.sample(sample, shapes, lambda name, x: check_array(name, x, self.dtype))

    def __repr__(self) -> str:
        size = f", ensemble_size={self.ensemble_size}" if hasattr(self, "ensemble_size") else ""
        return f"{type(self).__name__}({self.in_features}, {self.out_features}{size})"


class MemberLayer(WeightLayer):
    """Base of the layers with `ensemble_size` members: (M, B, m) or (B, m) in, (M, B, n) out."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        ensemble_size: int,
        rng: Generator,
        dtype: np.typing.DTypeLike,
    ) -> None:
        super().__init__(in_features, out_features, rng, dtype)
        self.ensemble_size = _checks.positive_int("ensemble_size", ensemble_size)

    def _check_input(self, x: Array) -> None:
        check_array(f"{type(self).__name__}: input x", x, self.dtype)
        _checks.batch(type(self).__name__, x.shape, self.in_features, self.ensemble_size)


def sum_to(grad: Array, shape: tuple[int, ...]) -> Array:
    """Sum `grad` over the member axis if the input was broadcast to all members."""
    return grad if grad.ndim == len(shape) else grad.sum(axis=0)


def check_array(name: str, value: Any, dtype: np.dtype | None = None) -> None:
    """Check that `value` is an array of `dtype` (of any dtype in ``DTYPES`` if ``None``)."""
    accepted = [dtype] if dtype is not None else DTYPES
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, got {type(value).__name__}")
    if value.dtype not in accepted:
        raise TypeError(
            f"{name} has dtype {value.dtype}, accepted is {' or '.join(map(str, accepted))}"
        )


def check_dtype(dtype: np.typing.DTypeLike) -> np.dtype:
    """Return `dtype` as float64 or float32."""
    try:
        result = np.dtype(dtype) if dtype is not None else None
    except TypeError:
        result = None
    if result is None or result not in DTYPES:  # a dtype equals None where it is the default
        raise TypeError(f"dtype must be float64 or float32, got {dtype!r}")
    return result


def check_rng(name: str, rng: Any) -> Generator:
    """Return `rng` if it is a ``numpy.random.Generator``."""
    if not isinstance(rng, Generator):
        raise TypeError(
            f"{name} must be a numpy.random.Generator (numpy.random.default_rng(seed)), "
            f"got {type(rng).__name__}"
        )
    return rng

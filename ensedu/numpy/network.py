"""Layers in a row, and multilayer perceptrons for each method."""

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import _checks
from ensedu.numpy.activations import ReLU
from ensedu.numpy.base import Layer, check_array
from ensedu.numpy.batch_ensemble import BatchEnsembleLinear
from ensedu.numpy.bayes import BayesLinear
from ensedu.numpy.deep_ensemble import DeepEnsembleLinear
from ensedu.numpy.dropout import MCDropout
from ensedu.numpy.linear import Linear
from ensedu.numpy.rank1 import Rank1Linear


class Tile(Layer):
    """Repeat a batch: (B, features) -> (S, B, features), one copy for each of S samples.

    Parameters
    ----------
    ensemble_size
        S, a positive integer.

    Raises
    ------
    TypeError, ValueError
        For a bad size, and for an input that is not (B, features).
    """

    def __init__(self, ensemble_size: int) -> None:
        super().__init__()
        self.ensemble_size = _checks.positive_int("ensemble_size", ensemble_size)

    def forward(self, x: Float[Array, "B features"]) -> Float[Array, "S B features"]:
        check_array("Tile: input x", x)
        if x.ndim != 2:
            raise ValueError(f"Tile: input x has shape {x.shape}, accepted is (B, features)")
        y = np.repeat(x[None], self.ensemble_size, axis=0)
        self._cache = x.dtype, y.shape
        return y

    def backward(self, grad: Float[Array, "S B features"]) -> Float[Array, "B features"]:
        self._recall(grad)
        return grad.sum(axis=0)

    def __repr__(self) -> str:
        return f"Tile({self.ensemble_size})"


class Sequential:
    """Layers applied one after another; ``params`` and ``grads`` are named "index.name"."""

    def __init__(self, *layers: "Layer | Sequential") -> None:
        for i, layer in enumerate(layers):
            if not isinstance(layer, (Layer, Sequential)):
                raise TypeError(f"layers[{i}] must be an ensedu.numpy layer, got {layer!r}")
        self.layers = list(layers)

    def __call__(self, x: Array) -> Array:
        return self.forward(x)

    def forward(self, x: Array) -> Array:
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, grad: Array) -> Array:
        for layer in reversed(self.layers):
            grad = layer.backward(grad)
        return grad

    @property
    def params(self) -> dict[str, Array]:
        return {
            f"{i}.{k}": v for i, layer in enumerate(self.layers) for k, v in layer.params.items()
        }

    @property
    def grads(self) -> dict[str, Array]:
        return {
            f"{i}.{k}": v for i, layer in enumerate(self.layers) for k, v in layer.grads.items()
        }

    def kl(self) -> float:
        """The sum of the layers' KLs, in nats; 0 without a Bayesian layer."""
        return float(sum(layer.kl() for layer in self.layers if hasattr(layer, "kl")))

    def kl_backward(self, scale: float = 1.0) -> None:
        """Add the gradient of ``scale * kl()`` to the layers' ``grads``; after ``backward``."""
        for layer in self.layers:
            if hasattr(layer, "kl_backward"):
                layer.kl_backward(scale)

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(repr, self.layers))})"


def mlp(
    sizes: Sequence[int],
    method: str = "single",
    ensemble_size: int = 1,
    *,
    rng: Generator,
    dtype: np.typing.DTypeLike = np.float64,
    **options: Any,
) -> Sequential:
    """A multilayer perceptron with ReLU between its layers and nothing after the last.

    Parameters
    ----------
    sizes
        At least two positive integers: inputs m, hidden widths, outputs n.
    method
        One of `ensedu.counting.METHODS`. ``"single"`` maps (B, m) to (B, n), all others map it
        to (M, B, n).
    ensemble_size
        Number of members M. For ``"mean_field"`` and ``"mc_dropout"``, number of samples of a
        forward pass; without effect for ``"single"``.
    rng, dtype
        As for `Linear`.
    options
        Further arguments of the method's layer (``init``, ``prior``, ...); for ``"mc_dropout"``
        those of `MCDropout`, which follows each ReLU.

    Raises
    ------
    TypeError, ValueError
        For a bad size or method, and for an option that the layer does not have.
    """
    sizes = _checks.layer_sizes("sizes", sizes)
    _checks.one_of("method", method, _checks.METHODS)
    M = _checks.positive_int("ensemble_size", ensemble_size)
    own = {"rng": rng, "dtype": dtype, **options}
    # What stands for one layer of a plain network: its weights, and what follows them.
    block: Callable[[int, int], list[Layer]] = {
        "single": lambda m, n: [Linear(m, n, **own), ReLU()],
        "deep_ensemble": lambda m, n: [DeepEnsembleLinear(m, n, M, **own), ReLU()],
        "batch_ensemble": lambda m, n: [BatchEnsembleLinear(m, n, M, **own), ReLU()],
        "rank1": lambda m, n: [Rank1Linear(m, n, M, **own), ReLU()],
        "mean_field": lambda m, n: [BayesLinear(m, n, **own), ReLU()],
        "mc_dropout": lambda m, n: [
            Linear(m, n, rng=rng, dtype=dtype),
            ReLU(),
            MCDropout(rng=rng, **options),
        ],
    }[method]
    *hidden, last = (block(m, n) for m, n in pairwise(sizes))
    tile = [Tile(M)] if method in ("mean_field", "mc_dropout") else []
    return Sequential(*tile, *chain.from_iterable(hidden), last[0])

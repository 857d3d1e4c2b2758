"""Formulas: the count of a layer and of a multilayer perceptron, by the row of its method."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from ensedu.common import checks
from ensedu.counting.counts import Count, sum_of_layers
from ensedu.methods import (
    METHODS,
    ROLE_LABELS,
    ROLES,
    checked_sizes,
    functions_by_method,
    layer_methods,
    role_sums,
)

__all__ = ["FUNCTIONS", "formula_table", "layer", "mlp"]


def layer(
    in_features: int,
    out_features: int,
    method: str = "single",
    ensemble_size: int | None = None,
    *,
    samples: int | None = None,
    kernel_size: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Count:
    """The count of one layer.

    Parameters
    ----------
    in_features, out_features
        m and n, positive integers; channels for a convolution.
    method
        A key of `ensedu.methods.METHODS`.
    ensemble_size
        Number of members M, for a method that has them.
    samples
        Number of samples of a forward pass, for a method that draws; it changes nothing.
    kernel_size
        Side of a square kernel, or ``(height, width)``; 1 for a linear layer.
    bias
        Whether there is a bias per output.

    Raises
    ------
    TypeError, ValueError
        For a size that is not a positive integer, an unknown `method`, members or samples that it
        does not have, and a `bias` that is not a bool.

    Examples
    --------
    >>> layer(50, 50, "batch_ensemble", 4)
    Count(shared=2500, per_member=400, scales=0, biases=200, frozen=0)
    """
    sizes = {
        "m": checks.positive_int("in_features", in_features),
        "n": checks.positive_int("out_features", out_features),
        "M": checked_sizes(method, ensemble_size, samples)[0],
    }
    area = prod(checks.pair("kernel_size", kernel_size))
    checks.boolean("bias", bias)
    numbers: dict[str, Any] = dict.fromkeys(ROLES, 0)
    for array in METHODS[method].arrays:
        size = prod(sizes[letter] for letter in array.shape.split())
        if array.role != "biases":
            numbers[array.role] += size * area if "m n" in array.shape else size
        elif bias:
            numbers[array.role] += size
    return Count(**numbers)


if TYPE_CHECKING:

    class LayerOfAMethod(Protocol):
        """`layer` for one method."""

        def __call__(
            self,
            in_features: int,
            out_features: int,
            ensemble_size: int | None = None,
            *,
            samples: int | None = None,
            kernel_size: int | tuple[int, int] = 1,
            bias: bool = True,
        ) -> Count: ...


#: `layer` for each method, by the name of the function.
FUNCTIONS = functions_by_method(layer)
globals().update(FUNCTIONS)  # each stands where its __module__ says that it does


def mlp(
    sizes: Sequence[int],
    method: str = "single",
    ensemble_size: int | None = None,
    *,
    samples: int | None = None,
    bias: bool = True,
) -> Count:
    """The count of a multilayer perceptron, with one entry of ``.layers`` per weight layer.

    Parameters
    ----------
    sizes
        At least two positive integers: inputs, hidden widths, outputs.
    method, ensemble_size, samples, bias
        As for `layer`, which also says what is raised.

    Examples
    --------
    >>> mlp([1, 50, 50, 1], "batch_ensemble", 4).total
    3812
    """
    sizes = checks.layer_sizes("sizes", sizes)
    checked_sizes(method, ensemble_size, samples)
    given: dict[str, Any] = {"ensemble_size": ensemble_size, "samples": samples}
    layers = []
    for (m, n), kind in zip(pairwise(sizes), layer_methods(method, len(sizes) - 1), strict=True):
        c = layer(m, n, kind, **(given if kind == method else {}), bias=bias)
        layers.append(Count(c.shared, c.per_member, c.scales, c.biases, name=f"{m} → {n}"))
    return sum_of_layers(layers)


def formula_table() -> dict[str, Any]:
    """What `layer` counts by, as JSON can hold it: a script that reads it counts the same.

    ``roles`` are their labels; ``methods`` have for each key ``label``, ``source``, ``members``,
    ``stochastic``, ``body`` and ``arrays`` with ``name``, ``shape`` and ``role``, as
    `ensedu.methods.Method` explains them, and ``sums``, `ensedu.methods.role_sums`.

    Examples
    --------
    >>> formula_table()["methods"]["single"]["arrays"][0]
    {'name': 'weight', 'shape': 'm n', 'role': 'shared'}
    """
    fields = ("label", "source", "members", "stochastic", "body")
    return {
        "roles": ROLE_LABELS,
        "methods": {
            key: {name: getattr(row, name) for name in fields}
            | {"arrays": [asdict(array) for array in row.arrays], "sums": role_sums(key)}
            for key, row in METHODS.items()
        },
    }

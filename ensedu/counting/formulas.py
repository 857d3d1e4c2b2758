"""What is counted, the formulas for it by the row of a method, and how those compare."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import isqrt, prod
from typing import Any

from ensedu.common import checks
from ensedu.common.text_table import Cell, Column, Row, TextTable
from ensedu.methods import (
    METHODS,
    ROLE_LABELS,
    ROLES,
    checked_sizes,
    layer_methods,
    role_sums,
    size_option,
)


@dataclass(frozen=True)
class Count:
    """Trainable numbers by role. Two counts are equal when all roles and `frozen` are."""

    #: Weights of which all members use one copy.
    shared: int = 0
    #: Weights that each member owns, a deep ensemble's matrices, or (means of) fast weights.
    per_member: int = 0
    #: Standard deviations of weights and of fast weights.
    stds: int = 0
    #: All that belongs to biases, standard deviations of biases included.
    biases: int = 0
    #: How many of the numbers above are held fixed (``requires_grad=False``).
    frozen: int = 0
    #: A label, and the counts that this one is the sum of; neither takes part in ``==``.
    name: str = field(default="", compare=False, repr=False)
    layers: tuple["Count", ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        for part in (*ROLES, "frozen"):
            # frozen: plain assignment is refused, and a NumPy integer would overflow later
            object.__setattr__(self, part, checks.natural_int(part, getattr(self, part)))
        checks.text("name", self.name)
        layers = self.layers
        if not isinstance(layers, tuple) or not all(isinstance(c, Count) for c in layers):
            raise TypeError(f"layers must be a tuple of Counts, got {checks.describe(layers)}")

    @property
    def weights(self) -> int:
        """``shared + per_member + stds``, all but the biases."""
        return self.shared + self.per_member + self.stds

    @property
    def total(self) -> int:
        """``weights + biases``."""
        return self.weights + self.biases

    def __add__(self, other: "Count") -> "Count":
        if not isinstance(other, Count):
            return NotImplemented
        return Count(*(getattr(self, part) + getattr(other, part) for part in (*ROLES, "frozen")))

    def __str__(self) -> str:
        return repr(self._as_table())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self._as_table()._repr_mimebundle_()

    def _as_table(self) -> TextTable:
        """One row a layer and the sum, or this count alone; one column a role."""
        titles = ROLE_LABELS | {"total": "total"} | ({"frozen": "frozen"} if self.frozen else {})
        names = [layer.name for layer in self.layers]
        names.append(self.name or ("all layers" if names else ""))
        rows = [
            Row(
                name,
                tuple(Cell(f"{getattr(part, role):,}") for role in titles),
                total=part is self and len(names) > 1,
            )
            for name, part in zip(names, (*self.layers, self), strict=True)
        ]
        return TextTable(tuple(map(Column, titles.values())), tuple(rows))


def sum_of_layers(layers: Sequence[Count]) -> Count:
    """Return the count of a network, which knows those of its layers."""
    total = sum(layers, start=Count())
    numbers = {role: getattr(total, role) for role in (*ROLES, "frozen")}
    return Count(**numbers, layers=tuple(layers))


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

    Examples
    --------
    >>> layer(50, 50, "batch_ensemble", 4)
    Count(shared=2500, per_member=400, stds=0, biases=200, frozen=0)
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


def _layer_of(method: str) -> Callable[..., Count]:
    def function(
        in_features: int,
        out_features: int,
        ensemble_size: int | None = None,
        *,
        samples: int | None = None,
        kernel_size: int | tuple[int, int] = 1,
        bias: bool = True,
    ) -> Count:
        return layer(
            in_features, out_features, method, ensemble_size,
            samples=samples, kernel_size=kernel_size, bias=bias,
        )  # fmt: skip

    function.__name__ = function.__qualname__ = "linear" if method == "single" else method
    function.__doc__ = f"`layer` for ``{method!r}``: {METHODS[method].source}."
    return function


linear = _layer_of("single")
deep_ensemble = _layer_of("deep_ensemble")
batch_ensemble = _layer_of("batch_ensemble")
rank1 = _layer_of("rank1")
mean_field = _layer_of("mean_field")
mc_dropout = _layer_of("mc_dropout")
last_layer = _layer_of("last_layer")


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
        As for `layer`.

    Examples
    --------
    >>> mlp([1, 50, 50, 1], "batch_ensemble", 4).total
    3812
    """
    sizes = checks.layer_sizes("sizes", sizes)
    checked_sizes(method, ensemble_size, samples)
    size_options: dict[str, Any] = {"ensemble_size": ensemble_size, "samples": samples}
    layers = []
    for (m, n), kind in zip(pairwise(sizes), layer_methods(method, len(sizes) - 1), strict=True):
        c = layer(m, n, kind, **(size_options if kind == method else {}), bias=bias)
        layers.append(Count(c.shared, c.per_member, c.stds, c.biases, name=f"{m} → {n}"))
    return sum_of_layers(layers)


def formula_table() -> dict[str, Any]:
    """What `layer` counts by, as JSON can hold it: a script that reads it counts the same.

    ``roles`` are their labels; ``methods`` have for each key ``label``, ``source``,
    ``has_members``, ``stochastic``, ``body`` and ``arrays`` with ``name``, ``shape`` and ``role``,
    as `ensedu.methods.Method` explains them, and ``sums``, `ensedu.methods.role_sums`.

    Examples
    --------
    >>> formula_table()["methods"]["single"]["arrays"][0]
    {'name': 'weight', 'shape': 'm n', 'role': 'shared'}
    """
    fields = ("label", "source", "has_members", "stochastic", "body")
    return {
        "roles": ROLE_LABELS,
        "methods": {
            key: {name: getattr(row, name) for name in fields}
            | {"arrays": [asdict(array) for array in row.arrays], "sums": role_sums(key)}
            for key, row in METHODS.items()
        },
    }


def one_more_member(
    in_features: int,
    out_features: int,
    method: str,
    *,
    kernel_size: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Count:
    """What one member more adds to a layer; every formula is linear in M, so M does not matter.

    A method without members takes one more sample for nothing: ``Count()``.

    Examples
    --------
    >>> one_more_member(50, 50, "deep_ensemble").total
    2550
    >>> one_more_member(50, 50, "batch_ensemble").total
    150
    """
    of_two, of_one = (
        layer(
            in_features,
            out_features,
            method,
            **size_option(method, M),
            kernel_size=kernel_size,
            bias=bias,
        )
        for M in (2, 1)
    )
    return Count(*(getattr(of_two, role) - getattr(of_one, role) for role in ROLES))


def asymptotic_ratio(method: str, ensemble_size: int, *, relative_to: str = "single") -> Fraction:
    """The limit of ``total(method) / total(relative_to)`` as a square layer's width grows.

    Only the terms in m n survive, so this is an exact ratio of small integers.

    Examples
    --------
    >>> asymptotic_ratio("batch_ensemble", 4, relative_to="deep_ensemble")
    Fraction(1, 4)
    """
    checks.one_of("method", method, METHODS)
    checks.one_of("relative_to", relative_to, METHODS)
    checks.positive_int("ensemble_size", ensemble_size)

    def leading(name: str) -> int:
        return _quadratic(lambda h: layer(h, h, name, **size_option(name, ensemble_size)).total)[0]

    return Fraction(leading(method), leading(relative_to))


def _quadratic(f: Callable[[int], int]) -> tuple[int, int, int]:
    """The integers a, b, c of ``f(h) = a h² + b h + c``, read off three of its values.

    A count has integer coefficients, so the halved second difference is exact.
    """
    f1, f2, f3 = f(1), f(2), f(3)
    a = (f3 - 2 * f2 + f1) // 2
    b = f2 - f1 - 3 * a
    return a, b, f1 - a - b


def break_even_width(sizes: Sequence[int | None], method: str, ensemble_size: int) -> int | None:
    """The width from which on `method` holds fewer numbers than a deep ensemble.

    Parameters
    ----------
    sizes
        The sizes of a network, with ``None`` where the width h stands: ``[None, None]`` is a
        square layer, ``[1, None, 1]`` one hidden layer between a scalar input and output.
    method
        A method whose members are a shared matrix times r sᵀ.
    ensemble_size
        Number of members M, the same for both.

    Returns
    -------
    int or None
        The smallest h such that the method is smaller at h and at every greater width; ``None``
        where there is no such width.

    Notes
    -----
    A layer is smaller if and only if ``(M - 1) m n > M (m + n)``, and with standard deviations of
    r and s ``(M - 1) m n > 2 M (m + n)``: never for m = 1, n = 1 or M = 1. Biases play no part:
    both methods hold M n of them.

    Examples
    --------
    >>> break_even_width([None, None], "batch_ensemble", 4)
    3
    >>> break_even_width([1, None, None, 1], "rank1", 4)
    10
    >>> break_even_width([1, None, 1], "batch_ensemble", 4) is None
    True
    """
    checks.one_of("method", method, [key for key, row in METHODS.items() if row.modulated])
    listed = isinstance(sizes, Sequence) and not isinstance(sizes, (str, bytes, bytearray))
    if not listed or not any(size is None for size in sizes):
        raise TypeError(
            "sizes must be a sequence of positive integers with None for the width, "
            f"got {checks.describe(sizes)}"
        )

    def saving(h: int) -> int:
        filled = [h if size is None else size for size in sizes]
        deep, other = (mlp(filled, name, ensemble_size) for name in ("deep_ensemble", method))
        return deep.total - other.total

    # The saving is a h² + b h + c with a ≥ 0: past its last root it is positive for ever.
    a, b, c = _quadratic(saving)
    if a == 0:
        if b <= 0:
            return 1 if b == 0 and c > 0 else None
        return max(1, -c // b + 1)
    discriminant = b * b - 4 * a * c
    if discriminant < 0:
        return 1
    last = (isqrt(discriminant) - b) // (2 * a)
    return max(1, last + 1)

"""Exact parameter counts: formulas for each method, and the count of real arrays.

A layer has ``m = in_features`` inputs, ``n = out_features`` outputs and, for a convolution, a
kernel of ``k = height * width`` entries; an ensemble has ``M = ensemble_size`` members.

==================  ============  ==============  ================  ========
method              ``shared``    ``per_member``  ``scales``        ``biases``
==================  ============  ==============  ================  ========
``single``          ``m n k``                                       ``n``
``deep_ensemble``                 ``M m n k``                       ``M n``
``batch_ensemble``  ``m n k``     ``M (m + n)``                     ``M n``
``rank1``           ``m n k``     ``M (m + n)``   ``M (m + n)``     ``M n``
``mean_field``      ``m n k``                     ``m n k``         ``2 n``
``mc_dropout``      ``m n k``                                       ``n``
==================  ============  ==============  ================  ========

Everything is an exact integer (or a ``Fraction``), and only the standard library is needed.

References: Lakshminarayanan et al. 2017 (deep ensembles), Wen et al. 2020 (BatchEnsemble, eq. 3),
Dusenberry et al. 2020 (rank-1 BNN, eq. 3), Blundell et al. 2015 (mean-field).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from itertools import pairwise
from math import isqrt, prod
from typing import Any

from ensedu import _checks
from ensedu._checks import METHODS

__all__ = [
    "METHODS",
    "Count",
    "asymptotic_ratio",
    "batch_ensemble",
    "break_even_width",
    "count",
    "deep_ensemble",
    "layer",
    "linear",
    "mc_dropout",
    "mean_field",
    "mlp",
    "one_more_member",
    "rank1",
]

ROLES = ("shared", "per_member", "scales", "biases")


@dataclass(frozen=True)
class Count:
    """Trainable numbers by role. Two counts are equal when all roles and `frozen` are.

    Attributes
    ----------
    shared
        Weights of which all members use one copy.
    per_member
        Weights that each member owns: a deep ensemble's matrices, the (means of the) fast weights.
    scales
        Standard deviations of weights and of fast weights.
    biases
        All that belongs to biases, standard deviations of biases included.
    frozen
        How many of the numbers above are held fixed (``requires_grad=False``).
    name, layers
        A label, and the counts that this one is the sum of; neither takes part in ``==``.
    """

    shared: int = 0
    per_member: int = 0
    scales: int = 0
    biases: int = 0
    frozen: int = 0
    name: str = field(default="", compare=False, repr=False)
    layers: tuple["Count", ...] = field(default=(), compare=False, repr=False)

    @property
    def weights(self) -> int:
        """All but the biases: ``shared + per_member + scales``."""
        return self.shared + self.per_member + self.scales

    @property
    def total(self) -> int:
        """``weights + biases``."""
        return self.weights + self.biases

    def __add__(self, other: "Count") -> "Count":
        if not isinstance(other, Count):
            return NotImplemented
        return Count(*(getattr(self, part) + getattr(other, part) for part in (*ROLES, "frozen")))

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in rows
        ]
        if self.layers:
            lines.insert(-1, "-" * max(map(len, lines)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *body = [[escape(cell) for cell in row] for row in self._rows()]
        cells = "".join(f'<th scope="col">{cell}</th>' for cell in head)
        lines = [f'<table class="ensedu-count"><thead><tr>{cells}</tr></thead><tbody>']
        for name, *numbers in body:
            cells = "".join(f"<td>{number}</td>" for number in numbers)
            lines.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
        return "\n".join([*lines, "</tbody></table>"])

    def _rows(self) -> list[list[str]]:
        parts = [*ROLES, "total", *(["frozen"] if self.frozen else [])]
        rows = [["", *(part.replace("_", " ") for part in parts)]]
        if self.layers:
            counts = [*self.layers, self]
            names = [*(layer.name for layer in self.layers), self.name or "all layers"]
        else:
            counts, names = [self], [self.name]
        for name, part in zip(names, counts, strict=True):
            rows.append([name, *(f"{getattr(part, p):,}" for p in parts)])
        return rows


def _sum(layers: Sequence[Count], name: str = "") -> Count:
    total = sum(layers, start=Count())
    return Count(*(getattr(total, p) for p in (*ROLES, "frozen")), name=name, layers=tuple(layers))


def _sizes(
    in_features: int, out_features: int, kernel_size: int | tuple[int, int], bias: bool
) -> tuple[int, int, int, int]:
    """Return m, n, k and the number of biases, all checked."""
    m = _checks.positive_int("in_features", in_features)
    n = _checks.positive_int("out_features", out_features)
    kernel_area = prod(_checks.pair("kernel_size", kernel_size))
    return m, n, kernel_area, n if _checks.boolean("bias", bias) else 0


def linear(
    in_features: int,
    out_features: int,
    *,
    kernel_size: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Count:
    """One network: ``m n k`` weights and ``n`` biases.

    Parameters
    ----------
    in_features, out_features
        Numbers of inputs and outputs; channels for a convolution.
    kernel_size
        Side of a square kernel, or ``(height, width)``; 1 for a linear layer.
    bias
        Whether there is a bias per output.

    Raises
    ------
    TypeError, ValueError
        For a size that is not a positive integer, or a `bias` that is not a bool.

    Examples
    --------
    >>> linear(50, 50).total
    2550
    """
    m, n, k, biases = _sizes(in_features, out_features, kernel_size, bias)
    return Count(shared=m * n * k, biases=biases)


def deep_ensemble(
    in_features: int,
    out_features: int,
    *,
    ensemble_size: int,
    kernel_size: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Count:
    """M whole networks: ``M (m n k + n)`` (Lakshminarayanan et al. 2017).

    Arguments and errors as for `linear`; `ensemble_size` is M, a positive integer.

    Examples
    --------
    >>> deep_ensemble(50, 50, ensemble_size=4).total
    10200
    """
    m, n, k, biases = _sizes(in_features, out_features, kernel_size, bias)
    M = _checks.positive_int("ensemble_size", ensemble_size)
    return Count(per_member=M * m * n * k, biases=M * biases)


def batch_ensemble(
    in_features: int,
    out_features: int,
    *,
    ensemble_size: int,
    kernel_size: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Count:
    """One shared weight, and r (m), s (n) and a bias per member (Wen et al. 2020, eq. 3).

    Arguments and errors as for `deep_ensemble`.

    Examples
    --------
    >>> batch_ensemble(50, 50, ensemble_size=4)
    Count(shared=2500, per_member=400, scales=0, biases=200, frozen=0)
    """
    m, n, k, biases = _sizes(in_features, out_features, kernel_size, bias)
    M = _checks.positive_int("ensemble_size", ensemble_size)
    return Count(shared=m * n * k, per_member=M * (m + n), biases=M * biases)


def rank1(
    in_features: int,
    out_features: int,
    *,
    ensemble_size: int,
    kernel_size: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Count:
    """As `batch_ensemble`, with a standard deviation beside each entry of r and s.

    The shared weight and the biases stay point estimates (Dusenberry et al. 2020, sec. 3).
    Arguments and errors as for `deep_ensemble`.

    Examples
    --------
    >>> rank1(50, 50, ensemble_size=4)
    Count(shared=2500, per_member=400, scales=400, biases=200, frozen=0)
    """
    m, n, k, biases = _sizes(in_features, out_features, kernel_size, bias)
    M = _checks.positive_int("ensemble_size", ensemble_size)
    return Count(m * n * k, per_member=M * (m + n), scales=M * (m + n), biases=M * biases)


def mean_field(
    in_features: int,
    out_features: int,
    *,
    kernel_size: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Count:
    """A mean and a standard deviation for every weight and bias (Blundell et al. 2015).

    Arguments and errors as for `linear`.

    Examples
    --------
    >>> mean_field(50, 50)
    Count(shared=2500, per_member=0, scales=2500, biases=100, frozen=0)
    """
    m, n, k, biases = _sizes(in_features, out_features, kernel_size, bias)
    return Count(shared=m * n * k, scales=m * n * k, biases=2 * biases)


def mc_dropout(
    in_features: int,
    out_features: int,
    *,
    kernel_size: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Count:
    """The count of `linear`: dropping units holds no number (Gal and Ghahramani 2016)."""
    return linear(in_features, out_features, kernel_size=kernel_size, bias=bias)


_WITH_MEMBERS: dict[str, Callable[..., Count]] = {
    "deep_ensemble": deep_ensemble,
    "batch_ensemble": batch_ensemble,
    "rank1": rank1,
}
_WITHOUT_MEMBERS: dict[str, Callable[..., Count]] = {
    "single": linear,
    "mean_field": mean_field,
    "mc_dropout": mc_dropout,
}


def layer(
    in_features: int,
    out_features: int,
    method: str,
    ensemble_size: int = 1,
    *,
    kernel_size: int | tuple[int, int] = 1,
    bias: bool = True,
) -> Count:
    """The count of one layer under any of `METHODS`.

    For a method without members, `ensemble_size` is the number of samples of a forward pass and
    changes nothing. Raises as the method's own function does, and for an unknown `method`.
    """
    _checks.one_of("method", method, METHODS)
    M = _checks.positive_int("ensemble_size", ensemble_size)
    sizes: dict[str, Any] = {"kernel_size": kernel_size, "bias": bias}
    if method in _WITH_MEMBERS:
        return _WITH_MEMBERS[method](in_features, out_features, ensemble_size=M, **sizes)
    return _WITHOUT_MEMBERS[method](in_features, out_features, **sizes)


def mlp(
    sizes: Sequence[int], method: str = "single", ensemble_size: int = 1, *, bias: bool = True
) -> Count:
    """The count of a multilayer perceptron, with one entry of ``.layers`` per weight layer.

    Parameters
    ----------
    sizes
        At least two positive integers: inputs, hidden widths, outputs.
    method
        One of `METHODS`.
    ensemble_size
        Number of members M; without effect for a method without members.
    bias
        Whether layers have biases.

    Examples
    --------
    >>> mlp([1, 50, 50, 1], "batch_ensemble", 4).total
    3812
    """
    sizes = _checks.layer_sizes("sizes", sizes)
    layers = []
    for m, n in pairwise(sizes):
        c = layer(m, n, method, ensemble_size, bias=bias)
        layers.append(Count(c.shared, c.per_member, c.scales, c.biases, name=f"{m} → {n}"))
    return _sum(layers)


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
    two, one = (
        layer(in_features, out_features, method, M, kernel_size=kernel_size, bias=bias)
        for M in (2, 1)
    )
    return Count(*(getattr(two, role) - getattr(one, role) for role in ROLES))


def asymptotic_ratio(method: str, ensemble_size: int, *, relative_to: str = "single") -> Fraction:
    """The limit of ``total(method) / total(relative_to)`` as a square layer's width grows.

    Only the terms in m n survive, so this is an exact ratio of small integers.

    Examples
    --------
    >>> asymptotic_ratio("batch_ensemble", 4, relative_to="deep_ensemble")
    Fraction(1, 4)
    """
    _checks.one_of("relative_to", relative_to, METHODS)
    leading = {
        name: _quadratic(lambda h, name=name: layer(h, h, name, ensemble_size).total)[0]
        for name in (method, relative_to)
    }
    return Fraction(leading[method], leading[relative_to])


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
        ``"batch_ensemble"`` or ``"rank1"``.
    ensemble_size
        Number of members M, the same for both.

    Returns
    -------
    int or None
        The smallest h such that the method is smaller at h and at every greater width; ``None``
        where there is no such width.

    Notes
    -----
    A layer is smaller if and only if ``(M - 1) m n > M (m + n)``, for rank-1
    ``(M - 1) m n > 2 M (m + n)``: never for m = 1, n = 1 or M = 1. Biases play no part: both
    methods hold M n of them.

    Examples
    --------
    >>> break_even_width([None, None], "batch_ensemble", 4)
    3
    >>> break_even_width([1, None, None, 1], "rank1", 4)
    10
    >>> break_even_width([1, None, 1], "batch_ensemble", 4) is None
    True
    """
    _checks.one_of("method", method, ("batch_ensemble", "rank1"))
    if isinstance(sizes, str) or not isinstance(sizes, Sequence) or None not in sizes:
        raise TypeError(
            "sizes must be a sequence of positive integers with None for the width, "
            f"got {sizes!r} ({type(sizes).__name__})"
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


def count(thing: Any) -> Count:
    """Count the real arrays of an `ensedu.numpy` layer or network, or of any ``torch.nn.Module``.

    Each layer of ensedu says which role each of its arrays has. In any other module a parameter
    with "bias" in its name is a bias, and every other one is shared, or each member's own inside
    the copies of a deep ensemble. An array that several layers
    use (tied weights) counts once, where it is first met; a Torch parameter with
    ``requires_grad=False`` counts, and is flagged in ``frozen``; buffers never count.

    Raises
    ------
    TypeError
        If `thing` is neither, or holds a lazy parameter without a shape yet.

    Examples
    --------
    >>> import numpy as np, ensedu.numpy as en
    >>> count(en.BatchEnsembleLinear(2, 3, ensemble_size=2, rng=np.random.default_rng(0)))
    Count(shared=6, per_member=10, scales=0, biases=6, frozen=0)
    """
    seen: set[int] = set()
    layers = []
    for name, part, arrays in _parts(thing):
        numbers = dict.fromkeys((*ROLES, "frozen"), 0)
        fresh = [(key, array, role) for key, array, role in arrays if id(array) not in seen]
        for key, array, role in fresh:
            seen.add(id(array))
            if type(array).__name__ == "UninitializedParameter":
                raise TypeError(
                    f"thing holds {name}.{key}, a lazy parameter without a shape; accepted is a "
                    "module whose parameters are all initialized"
                )
            size = prod(array.shape)
            numbers[role] += size
            # NumPy arrays have no such flag: everything in `params` is trained.
            numbers["frozen"] += 0 if getattr(array, "requires_grad", True) else size
        if fresh:
            layers.append(Count(**numbers, name=f"{name} {type(part).__name__}".strip()))
    return layers[0] if len(layers) == 1 else _sum(layers)


def _parts(thing: Any, name: str = "") -> Iterator[tuple[str, Any, list[tuple[str, Any, str]]]]:
    """Yield (name, layer, its own arrays as (key, array, role)) for each layer inside `thing`."""
    if hasattr(thing, "named_modules"):
        containers: dict[str, Any] = {}
        for path, module in thing.named_modules():
            start = f"{path}." if path else ""
            if hasattr(module, "role_inside"):
                containers[start] = module
            arrays = []
            for key, array in module.named_parameters(recurse=False):
                role = _role(module, key)
                for outer, container in containers.items():
                    if start.startswith(outer):
                        role = container.role_inside(f"{start}{key}".removeprefix(outer), role)
                arrays.append((key, array, role))
            yield path, module, arrays
    elif hasattr(thing, "layers") and not isinstance(thing, Count):
        for i, part in enumerate(thing.layers):
            yield from _parts(part, f"{name}.{i}".lstrip("."))
    elif hasattr(thing, "params"):
        yield name, thing, [(key, array, _role(thing, key)) for key, array in thing.params.items()]
    else:
        raise TypeError(
            "thing must be an ensedu.numpy layer or network or a torch.nn.Module, "
            f"got {thing!r} ({type(thing).__name__})"
        )


def _role(layer: Any, key: str) -> str:
    return getattr(type(layer), "roles", {}).get(key, "biases" if "bias" in key else "shared")

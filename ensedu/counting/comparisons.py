"""Formulas compared: another member, the limit of wide layers, the width from which one is less."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt

from ensedu.common import checks
from ensedu.counting.counts import Count
from ensedu.counting.formulas import layer, mlp
from ensedu.methods import METHODS, ROLES, size_option

__all__ = ["asymptotic_ratio", "break_even_width", "one_more_member"]


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
    return Count(*(getattr(two, role) - getattr(one, role) for role in ROLES))


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
            f"got {checks.given(sizes)}"
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

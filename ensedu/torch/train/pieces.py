"""A large tensor, such as a file that is mapped into memory, a few megabytes at a time."""

from collections.abc import Iterator

from torch import Tensor

__all__ = ["first_not_finite", "pieces"]

#: How many numbers are looked at at once: what is computed of them is of their size.
PIECE = 2**18


def pieces(x: Tensor, above: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Yield all of a tensor with an axis or more in views of some rows each, in order.

    With each comes the index of its first row, `above` being that of `x` in a larger tensor.
    """
    row = x[0].numel() if len(x) else 0
    if row > PIECE:
        for i, one in enumerate(x):
            yield from pieces(one, (*above, i))
        return
    rows = PIECE // max(1, row)
    for start in range(0, len(x), rows):
        yield (*above, start), x[start : start + rows]


def first_not_finite(x: Tensor, *, infinite_ok: bool = False) -> tuple[int, ...] | None:
    """Return the index of the first number that is not finite, or is NaN; ``None`` without one."""
    if not (x.is_floating_point() or x.is_complex()):
        return None
    if x.ndim == 0:
        return None if first_not_finite(x[None], infinite_ok=infinite_ok) is None else ()
    for (*above, start), piece in pieces(x):
        numbers = piece.float() if piece.itemsize == 1 else piece  # not all can be asked
        bad = numbers.isnan() if infinite_ok else numbers.isfinite().logical_not_()
        if bad.any():
            row, *rest = bad.nonzero()[0].tolist()
            return (*above, start + row, *rest)
    return None

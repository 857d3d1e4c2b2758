"""Exercises in code: a reader fills a gap, runs the cell, and is told what is right or missing.

>>> import numpy as np
>>> from workshop.page.practice import attempt
>>> def double(x):
...     return ...
>>> attempt(double(np.ones((2, 3))), wanted=2 * np.ones((2, 3)))
Your turn: replace the dots, then run this cell.
>>> attempt(np.ones((2, 3)) + np.eye(2, 3), wanted=2 * np.ones((2, 3)))
Not yet: 4 of 6 numbers differ, the largest difference is 1.
>>> attempt(2 * np.ones((2, 3)), wanted=2 * np.ones((2, 3)))
Right.
"""

import numbers
from typing import Any

import numpy as np

UNFINISHED = "Your turn: replace the dots, then run this cell."
RIGHT = "Right."
CLOSE = 1e-9  # relative to the number, and to the largest that is wanted
LONGEST = 40  # letters of a reader's text that are repeated
BOOLS = (bool, np.bool_)


def attempt(value: Any, *, wanted: Any) -> None:
    """Print one line on a reader's value: unfinished, right, or how it differs from ``wanted``.

    ``wanted`` is a number, an array, or lists and tuples of them. Numbers are equal to nine digits.
    Whatever the value is, no error is raised.

    >>> attempt(..., wanted=3)
    Your turn: replace the dots, then run this cell.
    >>> attempt(None, wanted=3)
    Not yet: you gave None, wanted is one number.
    >>> attempt([1.0, 2.0], wanted=[1.0, 2.0, 3.0])
    Not yet: the shape is (2,), wanted is (3,).
    """
    try:
        fault = UNFINISHED if _unfinished(value) else _difference(value, wanted)
    except Exception:  # a reader's object may raise whatever it likes
        fault = f"you gave {_named(value)}, wanted is {_named(wanted)}"
    if fault == UNFINISHED:
        print(UNFINISHED)
    else:
        print(f"Not yet: {fault}." if fault else RIGHT)


def _unfinished(value: Any) -> bool:
    """Whether ``...`` stands anywhere in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    elif isinstance(value, np.ndarray):
        value = value.ravel().tolist() if value.dtype == object else ()
    if isinstance(value, (list, tuple)):
        return any(map(_unfinished, value))
    return value is ...


def _difference(value: Any, wanted: Any) -> str:
    """Say how a value differs from what is wanted; nothing if it does not."""
    if isinstance(wanted, (list, tuple)) and not all(map(_plain, wanted)):
        return _by_item(value, wanted)
    if not isinstance(wanted, BOOLS) and (array := _array(wanted)) is not None:
        return _by_number(value, array)
    return "" if bool(value == wanted) else _other(value, wanted)


def _by_item(value: Any, wanted: list | tuple) -> str:
    if not isinstance(value, (list, tuple, np.ndarray)):
        kind = type(wanted).__name__
        return f"you gave {_named(value)}, wanted is a {kind} of {len(wanted)}"
    if len(value) != len(wanted):
        return f"you gave {len(value)}, wanted are {len(wanted)}"
    faults = enumerate(map(_difference, value, wanted), start=1)
    return next((f"in item {place}, {fault}" for place, fault in faults if fault), "")


def _by_number(value: Any, wanted: np.ndarray) -> str:
    given = _array(value)
    if given is None or given.shape != wanted.shape:
        if given is None or not given.shape or not wanted.shape:
            return _other(value, wanted)
        return f"the shape is {given.shape}, wanted is {wanted.shape}"
    exact = all(array.dtype.kind in "biu" for array in (given, wanted))
    with np.errstate(all="ignore"):
        sizes = np.abs(wanted[np.isfinite(wanted)])
        scale = float(sizes.max(initial=0)) or 1.0
        close = np.isclose(given, wanted, rtol=CLOSE, atol=CLOSE * scale, equal_nan=True)
        differs = given != wanted if exact else ~close
        gaps = np.abs(np.subtract(given, wanted, dtype=complex))
    if not differs.any():
        return ""
    largest = gaps[differs & np.isfinite(gaps)].max(initial=0)
    by = f"{round(largest):,}" if exact else f"{largest:.3g}"
    if not given.shape:
        if not largest or np.iscomplexobj(given) or np.iscomplexobj(wanted):
            return "the number differs"
        size = "small" if given < wanted else "large"
        few = "," if exact else ".4g" if f"{given:.4g}" != f"{wanted:.4g}" else ".12g"
        return f"you gave {given:{few}}, which is {by} too {size}"
    how_many = f"{differs.sum():,} of {differs.size:,} numbers differ"
    if not np.isfinite(gaps[differs]).all():
        return f"{how_many}, and some are not finite"
    return f"{how_many}, the largest difference is {by}"


def _plain(item: Any) -> bool:
    """Whether this is a number, or lists of numbers: part of one array."""
    if isinstance(item, (list, tuple)):
        return all(map(_plain, item))
    return isinstance(item, (numbers.Number, np.number))


def _array(value: Any) -> np.ndarray | None:
    """Return what holds numbers as an array; a tensor too. None for anything else."""
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
        if isinstance(value, (list, tuple)):
            value = [item.detach() if hasattr(item, "detach") else item for item in value]
        array = np.asarray(value)
    except Exception:  # lists of unequal lengths; objects that are no array and say so
        return None
    return array if array.dtype.kind in "biufc" else None


def _other(value: Any, wanted: Any) -> str:
    return f"you gave {_named(value)}, wanted is {_named(wanted)}"


def _named(value: Any) -> str:
    """Say in words what this is."""
    if value is None or isinstance(value, BOOLS):
        return str(value)
    if isinstance(value, str):
        return f"the text {value if len(value) <= LONGEST else value[:LONGEST] + '…'!r}"
    if isinstance(value, dict):
        return f"a dictionary of {len(value)}"
    if (array := _array(value)) is not None:
        return f"an array of shape {array.shape}" if array.shape else "one number"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}, which form no array"
    return "a function" if callable(value) else f"an object of type {type(value).__name__}"

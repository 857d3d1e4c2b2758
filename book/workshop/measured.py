"""What was measured, for the chapters that read it: the files in ``book/workshop/results``.

`make bench`, `make results` and others write them; each script or experiment says
what its keys mean.
"""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from numbers import Number
from typing import Any

from ensedu.common import checks

__all__ = ["load", "names", "row"]


def names() -> list[str]:
    """Return the names of all measurements that exist, in order."""
    return [*_sorted()]


@functools.cache
def _sorted() -> tuple[str, ...]:
    return tuple(sorted(_names(files("workshop") / "results", "")))


def _names(folder: Traversable, before: str) -> Iterator[str]:
    """Yield the names of the files in a folder and in those inside."""
    for file in folder.iterdir():
        if file.is_dir():
            yield from _names(file, f"{before}{file.name}/")
        elif file.name.endswith(".json"):
            yield before + file.name.removesuffix(".json")


def load(name: str) -> dict[str, Any]:
    """Return a measurement by name, such as ``"speed-cpu"``.

    Raises
    ------
    TypeError, ValueError
        If there is none of this name; the message lists those that exist.
    """
    checks.one_of("name", name, names())
    return json.loads(_text(name))


def _text(name: str) -> str:
    return (files("workshop") / "results" / f"{name}.json").read_text(encoding="utf-8")


def row(rows: Iterable[Mapping[str, Any]], **keys: Any) -> Mapping[str, Any]:
    """Return the one row in which all `keys` have these values.

    Raises
    ------
    TypeError, ValueError
        If no row or several have them; for none, the message lists what each key can be. For rows
        that are no mappings, and for a value that is neither a string, a number nor ``None``.

    Examples
    --------
    >>> row([{"m": 50, "B": 1}, {"m": 50, "B": 32}], m=50, B=32)
    {'m': 50, 'B': 32}
    """
    try:
        rows = list(rows)
    except (TypeError, RuntimeError):  # a nested tensor says so when one asks for its rows
        raise TypeError(f"rows must be mappings, got {checks.describe(rows)}") from None
    if not rows:
        raise ValueError("rows must be mappings, at least one, got none")
    for i, one in enumerate(rows):
        if not isinstance(one, Mapping):
            raise TypeError(f"rows[{i}] must be a mapping, got {checks.describe(one)}")
    for key, value in keys.items():
        if not isinstance(value, (str, Number, type(None))):
            raise TypeError(
                f"{key} must be a string, a number or None, got {checks.describe(value)}"
            )
    found = [one for one in rows if all(one.get(key) == value for key, value in keys.items())]
    if len(found) == 1:
        return found[0]
    asked = ", ".join(f"{key}={checks.short_repr(value)}" for key, value in keys.items())
    if found:
        raise ValueError(f"keys must fit one row, got {asked}, which fits {len(found)}")
    exist = "; ".join(
        f"{key} is one of {', '.join(dict.fromkeys(repr(one.get(key)) for one in rows))}"
        for key in keys
    )
    raise ValueError(f"keys must fit a row, got {asked}; {exist}")

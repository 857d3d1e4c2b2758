"""What was measured, for the chapters that read it: the files in ``book/workshop/results``.

`make bench`, `make results` and others write them; each script or experiment says
what its keys mean.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ensedu.common import checks

RESULTS = Path(__file__).with_name("results")


def tables_in(file: Path) -> dict[str, dict[str, Any]]:
    """Return the tables of a file by name: several of one experiment, or one that is all of it."""
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {file.stem: found} if "machine" in found else found


_tables_in = functools.cache(tables_in)


def _tables(name: str = "") -> dict[str, dict[str, Any]]:
    """Return all tables, or those of files with whose name this one begins, as a table's does."""
    files = (file for file in RESULTS.glob("*.json") if not name or name.startswith(file.stem))
    return {each: table for file in files for each, table in _tables_in(file).items()}


def names() -> list[str]:
    """Return the names of all measurements that exist, in order."""
    return sorted(_tables())


def load(name: str) -> dict[str, Any]:
    """Return a measurement by name, such as ``"speed-cpu"``.

    Raises
    ------
    TypeError, ValueError
        If there is none of this name; the message lists those that exist.
    """
    found = _tables(name) if isinstance(name, str) else {}
    if name not in found:
        checks.one_of("name", name, names())
    return json.loads(json.dumps(found[name]))  # whoever changes it changes a copy


def row(rows: Iterable[Mapping[str, Any]], **keys: Any) -> Mapping[str, Any]:
    """Return the one row in which all `keys` have these values.

    Raises ``ValueError`` if no row or several have them; for none, the message lists what each key
    can be.

    Examples
    --------
    >>> row([{"m": 50, "B": 1}, {"m": 50, "B": 32}], m=50, B=32)
    {'m': 50, 'B': 32}
    """
    rows = list(rows)
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

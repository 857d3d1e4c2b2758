"""What was measured, for the chapters that read it: the files of `ensedu.results`.

`make bench` and the scripts in ``benchmarks/`` write them; each script says what its keys mean.
"""

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from ensedu import checks

__all__ = ["load", "names", "row"]


def names() -> list[str]:
    """Return the names of all measurements that exist, in order."""
    found = (files("ensedu") / "results").iterdir()
    return sorted(file.name.removesuffix(".json") for file in found if file.name.endswith(".json"))


def load(name: str) -> dict[str, Any]:
    """Return a measurement by name, such as ``"speed-cpu"``.

    Raises
    ------
    TypeError, ValueError
        If there is none of this name; the message lists those that exist.
    """
    checks.one_of("name", name, names())
    return json.loads((files("ensedu") / "results" / f"{name}.json").read_text(encoding="utf-8"))


def row(rows: Iterable[Mapping[str, Any]], **keys: Any) -> Mapping[str, Any]:
    """Return the one row in which all `keys` have these values.

    Raises
    ------
    ValueError
        If no row or several have them; for none, the message lists what each key can be.

    Examples
    --------
    >>> row([{"m": 50, "B": 1}, {"m": 50, "B": 32}], m=50, B=32)
    {'m': 50, 'B': 32}
    """
    rows = list(rows)
    found = [one for one in rows if all(one.get(key) == value for key, value in keys.items())]
    if len(found) == 1:
        return found[0]
    asked = ", ".join(f"{key}={value!r}" for key, value in keys.items())
    if found:
        raise ValueError(f"keys must fit one row, got {asked}, which fits {len(found)}")
    exist = "; ".join(
        f"{key} is one of {', '.join(map(repr, dict.fromkeys(one.get(key) for one in rows)))}"
        for key in keys
    )
    raise ValueError(f"keys must fit a row, got {asked}; {exist}")

"""What was measured as JSON that people can read, too: a row, or a contestant, a line."""

import json
import os
from pathlib import Path
from typing import Any

DEPTH = 3  # what is nested no deeper stands on one line


def as_json(value: Any) -> Any:
    """Return `value` as JSON would give it back, tuples as lists.

    Raises ``TypeError`` or ``ValueError`` for what JSON cannot hold, such as an array, or NaN.
    """
    return json.loads(json.dumps(value, allow_nan=False))


def rounded(value: Any, digits: int = 4) -> Any:
    """Round every float in a tree of dicts and lists to so many significant digits."""
    if isinstance(value, dict):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item, digits) for item in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def write_json(path: str | Path, result: Any, *, digits: int | None = 4) -> None:
    """Write a result, rounded unless `digits` is None; a reader finds the old file or the new."""
    path = Path(path)
    result = result if digits is None else rounded(result, digits)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as opened:
        opened.write(json_text(result) + "\n")
        opened.flush()
        os.fsync(opened.fileno())
    part.replace(path)


def json_text(value: Any, indent: str = "") -> str:
    """Return JSON in which tables, and what is nested deeper than `DEPTH`, break into lines."""
    if nesting(value) <= DEPTH:
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, list):
        lines = [inner + json_text(item, inner) for item in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    pairs = {key: f"{json.dumps(key)}: {json_text(item, inner)}" for key, item in value.items()}
    flat = ", ".join(pair for key, pair in pairs.items() if nesting(value[key]) == 0)
    lines = [flat] * bool(flat) + [pair for key, pair in pairs.items() if nesting(value[key])]
    return "{" + f",\n{inner}".join(lines) + f"\n{indent}}}"


def nesting(value: Any) -> int:
    """Return how many dicts and lists stand inside each other; a list of dicts is always deep."""
    if isinstance(value, dict):
        return 1 + max(map(nesting, value.values()), default=0)
    if not isinstance(value, (list, tuple)):
        return 0
    found = 1 + max(map(nesting, value), default=0)
    return max(found, DEPTH + 1) if any(isinstance(item, dict) for item in value) else found

"""Which measurements exist: for what names them, and reads none.

The build computes a notebook again where a table changed and a module that it imports reads tables.
"""

import functools
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["names"]


def names() -> list[str]:
    """Return the names of all measurements that exist, in order."""
    return [*_sorted()]


@functools.cache
def _sorted() -> tuple[str, ...]:
    return tuple(sorted(_names(files("ensedu.book") / "results", "")))


def _names(folder: Traversable, before: str) -> Iterator[str]:
    """Yield the names of the files in a folder and in those inside."""
    for file in folder.iterdir():
        if file.is_dir():
            yield from _names(file, f"{before}{file.name}/")
        elif file.name.endswith(".json"):
            yield before + file.name.removesuffix(".json")

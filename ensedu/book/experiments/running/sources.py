"""Which code of ensedu a row, or a page, was computed with."""

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import ensedu

__all__ = ["code_digest", "files_digest", "imported_files", "source_files"]

PACKAGE = Path(ensedu.__file__).parent


def code_digest(function: Callable[..., Any]) -> str:
    """Return a hash of what stands in `source_files`, without comments and layout."""
    return files_digest(source_files(function))


def files_digest(paths: Iterable[Path]) -> str:
    """Return a hash of what stands in files of Python, without comments and layout."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(_meant(path.read_bytes()))
    return found.hexdigest()[:16]


def source_files(function: Callable[..., Any]) -> set[Path]:
    """Return the file of a function, and all of ensedu that it imports, directly or not."""
    own = sys.modules[function.__module__].__file__
    if not own:
        return set()
    return {Path(own).resolve()} | imported_files(Path(own).read_bytes())


def imported_files(code: str | bytes) -> set[Path]:
    """Return all files of ensedu that code imports, wherever in it, directly or not."""
    found: set[Path] = set()
    left = set(_imported(code))
    while left:
        path = left.pop()
        found.add(path)
        left |= set(_imported(path.read_bytes())) - found
    return found


def _imported(code: str | bytes) -> Iterator[Path]:
    for name in _imported_names(code):
        yield from _files_of(name)


@cache
def _imported_names(code: str | bytes) -> frozenset[str]:
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(name for name in names if name.partition(".")[0] == "ensedu")


@cache
def _meant(code: bytes) -> bytes:
    return ast.dump(ast.parse(code)).encode()


def _files_of(name: str) -> Iterator[Path]:
    """Yield the file of a module, and those of the packages around it."""
    path = PACKAGE
    yield path / "__init__.py"
    for part in name.split(".")[1:]:
        path = path / part
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.exists():
                yield file.resolve()

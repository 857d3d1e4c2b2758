"""Which code a row was computed with."""

import ast
import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ensedu

__all__ = ["code_digest", "source_files"]

PACKAGE = Path(ensedu.__file__).parent


def code_digest(function: Callable[..., Any]) -> str:
    """Return a hash of what stands in `source_files`, without comments and layout."""
    found = hashlib.sha256()
    for path in sorted(source_files(function)):
        found.update(ast.dump(_parsed(path)).encode())
    return found.hexdigest()[:16]


def source_files(function: Callable[..., Any]) -> set[Path]:
    """Return the file of a function, and all of ensedu that it imports, directly or not."""
    own = sys.modules[function.__module__].__file__
    found: set[Path] = set()
    left = {Path(own).resolve()} if own else set()
    while left:
        path = left.pop()
        found.add(path)
        left |= set(_imported(path)) - found
    return found


def _imported(path: Path) -> Iterator[Path]:
    for node in ast.walk(_parsed(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.partition(".")[0] == "ensedu":
                yield from _files_of(name)


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def _files_of(name: str) -> Iterator[Path]:
    """Yield the file of a module, and those of the packages around it."""
    path = PACKAGE
    yield path / "__init__.py"
    for part in name.split(".")[1:]:
        path = path / part
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.exists():
                yield file.resolve()

"""Which code of ours a row, or a page, was computed with."""

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import ensedu
import workshop

PACKAGES = {name.__name__: Path(name.__file__).parent for name in (ensedu, workshop)}


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
    """Return the file of a function, and all of ours that it imports, directly or not."""
    own = sys.modules[function.__module__].__file__
    if not own:
        return set()
    return {Path(own).resolve()} | imported_files(Path(own).read_bytes())


def imported_files(code: str | bytes) -> set[Path]:
    """Return all files of ours that code imports, wherever in it, directly or not.

    Of a package that only passes names on, such as ``workshop.plot``, those modules alone whose
    names the code reads, ``plot.figure_key``; all where it does anything else with the package.
    """
    found: set[Path] = set()
    known: set[str] = set()
    left = set(_names(code))
    while left:
        name = left.pop()
        known.add(name)
        files, more = _resolved(name)
        for file in files - found:
            code = file.read_bytes()
            if file.name != "__init__.py" or not _passes_on(code):
                more |= _names(code)
        found |= files
        left |= more - known
    return found


@cache
def _names(code: str | bytes) -> frozenset[str]:
    """Return what code reads of ours, by its full name: "workshop.plot.figure_key"."""
    tree = ast.parse(code)
    read = _reads(tree)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            full = {alias.name: alias.asname for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = {f"{node.module}.{a.name}": a.asname or a.name for a in node.names}
        else:
            continue
        for name, bound in full.items():
            if name.partition(".")[0] in PACKAGES:
                found |= {name + rest for rest in read.get(bound, {""})} if bound else {name}
    return frozenset(found)


def _reads(tree: ast.AST) -> dict[str, set[str]]:
    """Return what follows each name where it is read: ".network", or "" for the name alone."""
    found: dict[str, set[str]] = {}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        rest, part = "", node
        while isinstance(part, ast.Attribute):
            rest, part = f".{part.attr}{rest}", part.value
        if isinstance(part, ast.Name) and id(node) not in inner:
            found.setdefault(part.id, set()).add(rest)
    return found


def _resolved(name: str) -> tuple[set[Path], set[str]]:
    """Return the files that a name leads through, and the names that a package passes on for it."""
    package, *parts = name.split(".")
    path = PACKAGES[package]
    files = {(path / "__init__.py").resolve()}
    while parts:
        inner = path / parts[0]
        if not (inner / "__init__.py").exists():
            break
        path, parts = inner, parts[1:]
        files.add((path / "__init__.py").resolve())
    if parts and (module := path / f"{parts[0]}.py").exists():
        return files | {module.resolve()}, set()
    passed_on = _passed_on((path / "__init__.py").read_bytes())
    if parts and parts[0] in passed_on:
        return files, {passed_on[parts[0]]}
    return files, set(passed_on.values())


@cache
def _passed_on(code: bytes) -> dict[str, str]:
    """Return the names that a package imports from ours, and where each comes from."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES
        for alias in node.names
    }


@cache
def _passes_on(code: bytes) -> bool:
    """Whether a package has no functions and classes of its own."""
    own = (ast.FunctionDef, ast.ClassDef)
    return not any(isinstance(node, own) for node in ast.parse(code).body)


@cache
def _meant(code: bytes) -> bytes:
    return ast.dump(ast.parse(code)).encode()

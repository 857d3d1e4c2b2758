"""Scripts of what lives on a page: small ES modules, joined into one text of two lives.

`Bundle.module` is an ES module, as Jupyter loads it; `Bundle.classic` is a plain script, as a page
that lies in a folder can load. Both are the same functions between another head and tail.
"""

import functools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["HERE", "Bundle"]

HERE = Path(__file__).parent
IMPORT = re.compile(r"^import [^;]+;\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|class|function) (\w+))", re.MULTILINE)


def _part(path: str) -> tuple[str, list[str]]:
    """Return a file without imports and exports, and the names that it exported."""
    text = (HERE / f"{path}.js").read_text(encoding="utf-8")
    return EXPORT.sub("", IMPORT.sub("", text)).strip(), EXPORT.findall(text)


@dataclass(frozen=True)
class Bundle:
    """Files that are joined, each after what it needs.

    Attributes
    ----------
    name
        What a page's other scripts call the object of all functions.
    page
        The files, without their ending, in `HERE`; the last exports ``begin``, which a page calls,
        and ``render``, which anywidget does.
    constants
        Returns what Python gives to the scripts, by name.
    worker
        Files that a Worker runs as well, before those of `page`.
    """

    name: str
    page: tuple[str, ...]
    constants: Callable[[], dict[str, Any]]
    worker: tuple[str, ...] = ()

    def engine(self) -> str:
        """Return what a Worker runs: a function, as text, whose object holds all of it by name."""
        parts = [_part(path) for path in self.worker]
        names = ", ".join(name for _, names in parts for name in names)
        texts = "\n\n".join(text for text, _ in parts)
        return f"() => {{\n{texts}\n\nreturn {{ {names} }};\n}}"

    def module(self) -> str:
        """Return the ES module: every function by name, and as its default what anywidget calls."""
        text, names = self._joined
        named = names.removesuffix(", render")  # anywidget wants it in the default alone
        return f"{text}\n\nexport {{ {named} }};\nexport default {{ render }};\n"

    def classic(self) -> str:
        """Return the script of a page: every function is in an object, and it starts by itself."""
        text, names = self._joined
        return (
            f'globalThis.{self.name} = (() => {{\n"use strict";\n\n{text}\n\n'
            f"return {{ {names} }};\n}})();\n{self.name}.begin();\n"
        )

    @functools.cached_property
    def _joined(self) -> tuple[str, str]:
        """All functions as one text, and the names of those that the files exported."""
        worker, page = ([_part(path) for path in paths] for paths in (self.worker, self.page))
        inside = ", ".join(name for _, names in worker for name in names)
        outside = ", ".join(name for _, names in (*worker, *page) for name in names)
        head = [f"const ENGINE = {self.engine()};", f"const {{ {inside} }} = ENGINE();"]
        constants = [
            f"const {name} = {json.dumps(value, ensure_ascii=False)};"
            for name, value in self.constants().items()
        ]
        texts = [text for text, _ in page]
        return "\n\n".join([*(head if worker else []), *constants, *texts]), outside

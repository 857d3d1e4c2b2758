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

HERE = Path(__file__).parent
IMPORT = re.compile(r"^import [^;]+;\n", re.MULTILINE)
COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|class|function) (\w+))", re.MULTILINE)


def _part(path: str) -> tuple[str, list[str]]:
    """Return a file without imports, exports and comments, and the names that it exported."""
    text = (HERE / f"{path}.js").read_text(encoding="utf-8")
    text = COMMENT.sub("", text)
    return EXPORT.sub("", IMPORT.sub("", text)).strip(), EXPORT.findall(text)


def _declared(constants: dict[str, Any]) -> list[str]:
    """Return the lines that declare constants."""
    return [
        f"const {name} = {json.dumps(value, ensure_ascii=False)};"
        for name, value in constants.items()
    ]


@dataclass(frozen=True)
class Bundle:
    """Files that are joined, each after what it needs."""

    #: What a page's other scripts call the object of all functions.
    name: str
    #: The files, without their ending, in `HERE`; the last exports ``begin``, which a page calls,
    #: and ``render``, which anywidget does.
    page: tuple[str, ...]
    #: Returns what Python gives to the scripts of `page`, by name.
    constants: Callable[[], dict[str, Any]]
    #: Files that a Worker runs as well, before those of `page`.
    worker: tuple[str, ...] = ()
    #: Returns what Python gives to those of `worker`, and so to all; a page exports it, too.
    worker_constants: Callable[[], dict[str, Any]] = dict

    def engine(self) -> str:
        """Return what a Worker runs: a function, as text, whose object holds all of it by name."""
        texts = [*_declared(self.worker_constants()), *(_part(path)[0] for path in self.worker)]
        joined = "\n\n".join(texts)
        return f"() => {{\n{joined}\n\nreturn {{ {', '.join(self._worker_names())} }};\n}}"

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
        names = self._worker_names()
        head = [f"const ENGINE = {self.engine()};", f"const {{ {', '.join(names)} }} = ENGINE();"]
        page = [_part(path) for path in self.page]
        texts = [
            *(head if names else []),
            *_declared(self.constants()),
            *(text for text, _ in page),
        ]
        exported = [*names, *(name for _, names in page for name in names)]
        return "\n\n".join(texts), ", ".join(exported)

    def _worker_names(self) -> list[str]:
        """The constants and functions that a Worker has."""
        exported = [name for path in self.worker for name in _part(path)[1]]
        return [*self.worker_constants(), *exported]

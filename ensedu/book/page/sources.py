"""Where a figure comes from: its drawing code, and the tables that its rows were read from."""

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ensedu.book.measured_names import names
from ensedu.common import checks

__all__ = [
    "EXPERIMENT", "OTHERS", "PAGES", "RESULTS", "SITE", "Code", "Sources", "checked_tables",
    "code_of_draw", "lines_of_names", "source",
]  # fmt: skip

SITE = "ensedu-site:"  # stands before an address of the site until a page knows where it lies
EXPERIMENT = "ensedu-experiment:"  # and before the name of a table, whose code a page knows
PAGES, RESULTS = "code/", "_static/results/"  # where pages of code lie, and copies of tables
FEW = 2  # tables that one line names
#: What computes the tables that no experiment does.
OTHERS = {
    "live": "make bench-live",
    "scaling": "make scaling",
    "speed-cpu": "make bench",
    "whole-models": "make bench",
    "zoo": "make zoo",
}


@dataclass(frozen=True)
class Code:
    """A function, a method or an experiment, by its module and its name there."""

    module: str
    name: str

    @property
    def address(self) -> str:
        """Where the site shows it."""
        return f"{SITE}{PAGES}{self.module.replace('.', '/')}.html#{self.name}"


@dataclass(frozen=True)
class Sources:
    """What stands below a figure: links on a page, the same as text elsewhere.

    Tables that are `called` something else than their names are all of one experiment.
    """

    code: Code | None
    tables: tuple[str, ...]
    called: Mapping[str, str] = field(default_factory=dict)

    def html(self, numbers: str = "") -> str:
        """Return a line of links, after that to the `numbers`, and folded those to tables."""
        parts = [numbers] if numbers else []
        if self.code:
            parts.append(f'<a href="{self.code.address}">drawing code</a>')
        line = f"<p>{' · '.join(parts)}</p>" if parts else ""
        if self.tables:
            words = f"{len(self.tables)} table{'s' if len(self.tables) > 1 else ''}"
            line += f"<details><summary>{words}</summary>{self._list()}</details>"
        return f'<div class="ensedu-sources">{line}</div>' if line else ""

    def _list(self) -> str:
        """Return links to all tables, and to what computes them; of a few also the commands."""
        above = ""
        if self.called:
            links = [_table_link(name, self.called[name]) for name in self.tables]
            above = f'<p>Computed by <a href="{EXPERIMENT}{self.tables[0]}">one experiment</a>:</p>'
        elif len(self.tables) <= FEW:
            links = [f"{_table_links(n)}: <code>{_words(n)[2]}</code>" for n in self.tables]
        else:
            links = [*map(_table_links, self.tables)]
        return f"{above}<ul>{''.join(f'<li>{link}</li>' for link in links)}</ul>"

    def text(self) -> str:
        """Return the same in words."""
        parts = []
        if self.code:
            parts.append(f"drawing code: {self.code.module}.{self.code.name}")
        few = [f"{kind} {name}: {command}" for kind, name, command in map(_words, self.tables)]
        many = ", ".join(self.called.get(name, name) for name in self.tables)
        many = f"{len(self.tables)} tables: {many}"
        return " · ".join(parts + (few if len(few) <= FEW else [many]))


def checked_tables(table: Any) -> tuple[str, ...]:
    """Return the names of measured tables: one, several, or none; each must exist.

    Several may be the keys of what readers call them.
    """
    if isinstance(table, str):
        named: Sequence[str] = [table]
    elif isinstance(table, Sequence | Mapping):
        named = [*table]
    else:
        raise TypeError(f"table must be a name or several, got {checks.given(table)}")
    exist = names()
    return tuple(dict.fromkeys(checks.one_of("table", name, exist) for name in named))


def code_of_draw(draw: Callable[..., Any]) -> Code | None:
    """Return where a function of this package begins; None for one of a notebook, or of others."""
    while isinstance(draw, partial):
        draw = draw.func
    function = inspect.unwrap(getattr(draw, "__func__", draw))
    module = getattr(function, "__module__", None) or ""
    # Of a function that another one makes, the one that makes it.
    name = getattr(function, "__qualname__", "").partition(".<locals>")[0]
    if not module.startswith("ensedu.") or name not in lines_of_names(source(module)):
        return None
    return Code(module, name)


def source(module: str) -> str:
    """Return the text of a module."""
    found = find_spec(module)
    assert found is not None and found.origin is not None, module
    return Path(found.origin).read_text(encoding="utf-8")


def lines_of_names(text: str) -> dict[str, int]:
    """Return on which line each name of a module begins: functions, classes, methods, values."""
    found: dict[str, int] = {}

    def note(nodes: Sequence[ast.stmt], before: str) -> None:
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found[before + node.name] = node.lineno
            if isinstance(node, ast.ClassDef):
                note(node.body, f"{before}{node.name}.")
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                found.update(dict.fromkeys([before + name for name in names], node.lineno))

    note(ast.parse(text).body, "")
    return found


def _words(name: str) -> tuple[str, str, str]:
    """Return what computes a table: an experiment or not, its name, and its command."""
    if name in OTHERS:
        return "table", name, OTHERS[name]
    return "experiment", name, f"make results NAME={name}"


def _table_link(name: str, words: str) -> str:
    return f'<a href="{SITE}{RESULTS}{name}.json">{escape(words)}</a>'


def _table_links(name: str) -> str:
    kind, called, _ = _words(name)
    if name in OTHERS:
        return _table_link(name, f"{kind} {called}")
    experiment = f'<a href="{EXPERIMENT}{name}">{kind} {escape(called)}</a>'
    return f"{experiment} ({_table_link(name, 'its table')})"

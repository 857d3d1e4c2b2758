"""Where a figure comes from: its numbers, its measured tables, and its drawing code."""

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from ensedu.book.experiments import LOCATIONS
from ensedu.book.page.frames import SITE
from ensedu.common import checks

__all__ = ["OTHERS", "PAGES", "RESULTS", "Code", "checked_tables", "code_of_draw", "menu", "text"]

PAGES, RESULTS = "code/", "_static/results/"  # where pages of code lie, and copies of tables
#: What computes the tables that no experiment does.
OTHERS = {
    "live": "make bench-live",
    "scaling": "make scaling",
    "speed-cpu": "make bench",
    "whole-models": "make bench",
    "zoo": "make zoo",
}


class Code(NamedTuple):
    """A function, a method or an experiment, by its module and its name there."""

    module: str
    name: str

    def link(self, words: str) -> str:
        """Return a link to where the site shows it."""
        address = f"{SITE}{PAGES}{self.module.replace('.', '/')}.html#{self.name}"
        return f'<a href="{address}">{words}</a>'


def menu(numbers: str, tables: Iterable[str], code: Code | None) -> str:
    """Return the list that unfolds below a figure: `numbers`, a link, then tables, then code."""
    lines = [numbers, *_computed(tables), code.link("Drawing code") if code else ""]
    items = "".join(f"<li>{line}</li>" for line in lines if line)
    return f'<ul class="ensedu-sources">{items}</ul>' if items else ""


def text(tables: Iterable[str], code: Code | None) -> str:
    """Return in words where a figure without numbers comes from."""
    drawn = f"drawing code: {code.module}.{code.name}" if code else ""
    listed = ", ".join(tables)
    return " · ".join(filter(None, [drawn, listed and f"tables: {listed}"]))


def checked_tables(table: Any) -> tuple[str, ...]:
    """Return the names of measured tables: one, several, or none; each must exist."""
    if not isinstance(table, Iterable):
        raise TypeError(f"table must be a name or several, got {checks.given(table)}")
    named = [table] if isinstance(table, str) else table
    exist = sorted(LOCATIONS | OTHERS)
    return tuple(dict.fromkeys(checks.one_of("table", name, exist) for name in named))


def code_of_draw(draw: Callable[..., Any]) -> Code | None:
    """Return where a function of this package begins; None for one of a notebook, or of others."""
    while isinstance(draw, partial):
        draw = draw.func
    function = inspect.unwrap(getattr(draw, "__func__", draw))
    module = getattr(function, "__module__", None) or ""
    # Of a function that another one makes, the one that makes it.
    name = getattr(function, "__qualname__", "").partition(".<locals>")[0]
    known = module.startswith("ensedu.") and name.replace(".", "_").isidentifier()
    return Code(module, name) if known else None


def _computed(tables: Iterable[str]) -> list[str]:
    """Return a line for each experiment, or script, with the tables that it computes."""
    found: dict[str, list[str]] = {}
    for name in tables:
        found.setdefault(LOCATIONS.get(name) or OTHERS[name], []).append(name)
    return [_line(by, names) for by, names in found.items()]


def _line(by: str, names: list[str]) -> str:
    links = ", ".join(f'<a href="{SITE}{RESULTS}{name}.json">{name}</a>' for name in names)
    if names[0] in LOCATIONS:
        module, _, own = by.partition(".")
        experiment = Code(f"ensedu.book.experiments.{module}", own).link("this experiment")
        command = f"make results NAME={names[0] if len(names) == 1 else '…'}"
    else:
        experiment, command = "a script", by
    tables = "Table" if len(names) == 1 else "Tables"
    return f"{tables} {links}, computed by {experiment}: <code>{command}</code>"

"""Where a figure comes from: its numbers, its measured tables, and its drawing code."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple

from ensedu.common import checks
from workshop.page.frames import SITE


class Code(NamedTuple):
    """A function, a method or an experiment, by its module and its name there."""

    module: str
    name: str

    def link(self, words: str) -> str:
        """Return a link to where the site shows it."""
        page = self.module.replace(".", "/")
        return f'<a href="{SITE}code/{page}.html#{self.name}">{words}</a>'


def menu(numbers: str, tables: Iterable[str], code: Code | None) -> str:
    """Return the list that unfolds below a figure: `numbers`, a link, then tables, then code.

    Of tables it has the names: the build knows which experiments compute them.
    """
    lines = [numbers, code.link("Drawing code") if code else ""]
    items = [f"<li>{line}</li>" for line in lines if line]
    if named := " ".join(tables):
        items.insert(bool(numbers), f"<li data-tables>{named}</li>")
    return f'<ul class="ensedu-sources">{"".join(items)}</ul>' if items else ""


def text(tables: Iterable[str], code: Code | None) -> str:
    """Return in words where a figure without numbers comes from."""
    drawn = f"drawing code: {code.module}.{code.name}" if code else ""
    listed = ", ".join(tables)
    return " · ".join(filter(None, [drawn, listed and f"tables: {listed}"]))


def checked_tables(table: Any) -> tuple[str, ...]:
    """Return the names of measured tables: one, several, or none; each must exist."""
    named = [table] if isinstance(table, str) else table
    if not isinstance(named, Sequence) or not all(isinstance(name, str) for name in named):
        raise TypeError(f"table must be a name or several, got {checks.describe(table)}")
    for name in named:
        if not (files("workshop") / "results" / f"{name}.json").is_file():
            raise ValueError(f"table must be in book/workshop/results, got {checks.describe(name)}")
    return tuple(dict.fromkeys(named))


def code_of_draw(draw: Callable[..., Any]) -> Code | None:
    """Return where a function of this package begins; None for one of a notebook, or of others."""
    while isinstance(draw, partial):
        draw = draw.func
    function = inspect.unwrap(getattr(draw, "__func__", draw))
    module = getattr(function, "__module__", None) or ""
    # Of a function that another one makes, the one that makes it.
    name = getattr(function, "__qualname__", "").partition(".<locals>")[0]
    known = module.startswith(("ensedu.", "workshop.")) and name.replace(".", "_").isidentifier()
    return Code(module, name) if known else None

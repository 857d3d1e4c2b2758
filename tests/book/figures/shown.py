"""The figures of the notebooks, as their cells call them: what draws, what says, and for what."""

import ast
import io
from contextlib import redirect_stdout, suppress
from functools import cache
from unittest import mock

from ensedu.book.page import explore
from tests.book.conftest import read

IMPORTS = ast.Import | ast.ImportFrom


class Shown:
    """What `explore` was given; it stands in the place of an `Explorer`, which draws at once."""

    def __init__(self, draw, alt, values, choices, *, name, rescale, **_):
        self.draw, self.alt, self.start, self.choices = draw, alt, values, choices
        self.name, self.rescale, self._group = name, rescale, [self]

    def said(self, state):
        """Return the sentence below the figure."""
        return self.alt.format(**state) if isinstance(self.alt, str) else self.alt(**state)

    def states(self):
        """Return where the sliders start, and their last values."""
        last = {name: own[-1] for name, own in self.choices.items()}
        return [self.start] if last == self.start else [self.start, last]


@cache
def figures(page):
    """Return all figures of a page, by name; of its cells those run that figures need."""
    found = {}

    class Collected(Shown):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            found[self.name] = self

    cells = [cell for cell in read(page).cells if cell.cell_type == "code"]
    scope = {"__name__": "__main__"}
    with mock.patch.object(explore, "Explorer", Collected), redirect_stdout(io.StringIO()):
        for statement, proves in needed(cells):
            # What a proof makes of what only proofs have is in no figure.
            with suppress(*[NameError] * proves):
                exec(compile(ast.Module([statement], []), page, "exec"), scope)
    return found


def needed(cells):
    """Return the statements of cells that show a figure, or make what these use.

    Of cells that prove, and of others, those are taken that import or name something. Beside each
    stands whether it is of a cell that proves.
    """
    found, wanted = [], set()
    for cell in reversed(cells):
        body, tagged = ast.parse(cell.source).body, bool(cell.metadata.get("tags"))
        whole = ast.Module(body, [])
        if "explore" not in names(whole, ast.Load) and (
            tagged or not names(whole, ast.Store) & wanted
        ):
            body = [
                one for one in body
                if isinstance(one, IMPORTS)
                or (isinstance(one, ast.Assign) and names(one, ast.Store) & wanted)
            ]  # fmt: skip
        wanted |= names(ast.Module(body, []), ast.Load)
        found = [(one, tagged) for one in body] + found
    return found


def names(tree, context):
    """Return the names that code reads, or those that it gives."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=own) if isinstance(own, context):
                found.add(name)
            case ast.FunctionDef(name=name) if context is ast.Store:
                found.add(name)
            case ast.alias(name=name, asname=called) if context is ast.Store:
                found.add(called or name)
    return found

"""The figures of the notebooks, as their cells call them: what draws, what says, and for what."""

import ast
import io
import itertools
from contextlib import ExitStack, redirect_stdout, suppress
from functools import cache
from unittest import mock

from ensedu import torch as et
from tests.book.conftest import read
from tests.book.plot.looks import drawn, holds
from workshop.experiments import running_example
from workshop.page import explore

IMPORTS = ast.Import | ast.ImportFrom
#: How long what figures show may be trained: less is hardly a curve, more is for claims to prove.
EPOCHS = 20


def fit_briefly(*given, epochs, fit=et.fit, **options):
    """Train as `fit` does, and stop early."""
    return fit(*given, epochs=min(epochs, EPOCHS), **options)


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
        last = self.every()[-1]
        return [self.start] if last == self.start else [self.start, last]

    def every(self):
        """Return all that the sliders can be set to."""
        rows = itertools.product(*self.choices.values())
        return [dict(zip(self.choices, row, strict=True)) for row in rows]


def check(shown, state, said, *given):
    """Fail unless a figure says this, and shows each of these sequences of numbers."""
    assert said in shown.say(*state), shown.say(*state)
    figure = drawn(lambda: shown.draw(*state))
    for values in given:
        assert holds(figure, values), values


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
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(mock.patch.object(explore, "Explorer", Collected))
        for module in (et, running_example):
            stack.enter_context(mock.patch.object(module, "fit", fit_briefly))
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

"""Cells that step back: each folds to one line, code folds below what it draws.

A cell with the tag `check` begins with a comment, `# Checked: …`, and one with
the tag `yours` with `# Yours: …`: that is the line. They are executed and
tested as any other. What a figure comes from folds with its code. A page runs
nothing: what code asks a reader to change stands below it, as for Jupyter.
"""

import re
from html import escape

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

# By tag: how the first line of the cell begins, and the line that is shown.
FIRST = {"check": ("# Checked: ", "Checked: "), "yours": ("# Yours: ", "Try it in Jupyter: ")}
DRAWN = '<table class="ensedu-table"', '<div class="ensedu-sheet"'
CHANGE = re.compile(r"^# Change this: (.*(?:\n# .*)*)\n", re.MULTILINE)
MENU = re.compile(r'<ul class="ensedu-sources">.*?</ul>', re.DOTALL)


class FoldCells(SphinxTransform):
    """Fold cells, after figures are made of what they show."""

    default_priority = 310

    def apply(self, **options):
        """Fold what is tagged, and the code of figures and tables."""
        told = False  # where the cells of a page are changed: once is enough
        for cell in list(self.document.findall(nodes.container)):
            if cell.get("nb_element") != "cell_code":
                continue
            tags = cell["cell_metadata"].get("tags", ())
            if tag := next(filter(tags.__contains__, FIRST), None):
                cell.children = fold(tag, first_line(cell, tag), cell.children)
            elif shows(cell):
                code, *outputs = cell.children
                menu = cut_menu(cell)
                words = "Data and code" if menu else "Code"
                cell.children = [*outputs, *fold("menu", words, [*menu, code])]
            else:
                asked = changes(cell, None if told else self.env.docname)
                told = told or bool(asked)
                cell += asked
                continue
            for child in cell.children:
                child.parent = cell
            cell.attributes.pop("hide_mode", None)  # folded already


def changes(cell, page=None):
    """Take out of code what a reader may change; return a paragraph of it.

    With the notebook of a page, if it is named.
    """
    where = ""
    if page:
        notebook = f"{'../' * page.count('/')}_sources/{page}.ipynb"
        where = f' <a href="{notebook}" download>in Jupyter</a>'
    found = []
    for code in cell.children[0].findall(nodes.literal_block):
        for asked in CHANGE.findall(code.astext()):
            words = escape(asked.replace("\n# ", " "))
            found.append(f'<p class="ensedu-change">Change{where}: {words}</p>')
        code.children = [nodes.Text(CHANGE.sub("", code.astext()))]
        code.rawsource = code.astext()
    return [nodes.raw("", one, format="html") for one in found]


def shows(cell):
    """Whether a cell shows a figure or a table."""
    raw = [output.astext() for output in cell.findall(nodes.raw)]
    drawn = any(begin in one for one in raw for begin in DRAWN)
    return drawn or any(cell.findall(nodes.figure))


def cut_menu(cell):
    """Take out of what a cell shows the list of what that comes from."""
    for shown in cell.findall(nodes.raw):
        if menu := MENU.search(shown.astext()):
            shown.children = [nodes.Text(MENU.sub("", shown.astext()))]
            return [nodes.raw("", menu[0], format="html")]
    return []


def first_line(cell, tag):
    """Return the line that a cell with this tag folds to."""
    first = cell.children[0].astext().lstrip().partition("\n")[0]
    begin, shown = FIRST[tag]
    if not first.startswith(begin):
        raise ExtensionError(
            f"a cell with the tag {tag!r} must begin with {begin!r}, got {first!r}"
        )
    return shown + first.removeprefix(begin)


def fold(kind, words, children):
    """Return nodes behind a line of words, which a click unfolds."""
    head = f'<details class="ensedu-fold ensedu-{kind}"><summary>{escape(words)}</summary>'
    return [
        nodes.raw("", head, format="html"),
        *children,
        nodes.raw("", "</details>", format="html"),
    ]


def setup(app):
    """Register with Sphinx."""
    app.add_transform(FoldCells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

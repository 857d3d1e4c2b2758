"""Cells that step back: checks fold to one line, code folds below its figure.

A cell with the tag `check` begins with a comment, `# Checked: …`: that is the
line. It is executed and tested as any other.
"""

from html import escape

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

CHECK, PREFIX = "check", "# Checked: "
FIGURE_CODE = "Code of this figure"


class FoldCells(SphinxTransform):
    """Fold cells, after figures are made of what they show."""

    default_priority = 310

    def apply(self, **options):
        """Fold each cell that is a check, or shows a figure."""
        for cell in list(self.document.findall(nodes.container)):
            if cell.get("nb_element") != "cell_code":
                continue
            if CHECK in cell["cell_metadata"].get("tags", ()):
                cell.children = fold(
                    "check", f"Checked: {claim(cell)}", cell.children
                )
            elif any(cell.findall(nodes.figure)):
                code, *outputs = cell.children
                cell.children = [*outputs, *fold("code", FIGURE_CODE, [code])]
            else:
                continue
            for child in cell.children:
                child.parent = cell
            cell.attributes.pop("hide_mode", None)  # folded already


def claim(cell):
    """Return what a check says in its first line."""
    first = cell.children[0].astext().lstrip().partition("\n")[0]
    if not first.startswith(PREFIX):
        raise ExtensionError(
            f"a cell with the tag {CHECK!r} must begin with {PREFIX!r}, "
            f"got {first!r}"
        )
    return first.removeprefix(PREFIX)


def fold(kind, words, children):
    """Return nodes behind a line of words, which a click unfolds."""
    head = (
        f'<details class="ensedu-fold ensedu-{kind}">'
        f"<summary>{escape(words)}</summary>"
    )
    return [
        nodes.raw("", head, format="html"),
        *children,
        nodes.raw("", "</details>", format="html"),
    ]


def setup(app):
    """Register with Sphinx."""
    app.add_transform(FoldCells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

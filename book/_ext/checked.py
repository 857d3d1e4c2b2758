"""Where a chapter's claims are: one line above its references.

A page has it if there is a module of claims of its name.
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes

LABEL = "how-a-number-is-checked"  # a section of the reading guide
CLAIMS = "tests/book/claims"


def module(docname):
    """Return the file that would hold the claims of a page."""
    chapter = docname.removeprefix("book/").replace("-", "_")
    return f"{CLAIMS}/{chapter}.py"


def tell_claims(app, doctree):
    """Put the line above the references, or at the end of a page without."""
    docname = app.env.docname
    file = module(docname)
    if not (Path(app.srcdir) / file).exists():
        return
    line = nodes.paragraph(classes=["ensedu-checked"])
    link = addnodes.pending_xref(
        refdomain="std",
        reftype="ref",
        refdoc=docname,
        reftarget=LABEL,
        refexplicit=True,
        refwarn=True,
    )
    link += nodes.inline("", "How each number is checked")
    line += [
        link,
        nodes.Text("; what this page claims: "),
        nodes.literal("", file),
    ]
    folds = filter(is_references, doctree.findall(nodes.container))
    if fold := next(folds, None):
        fold.parent.insert(fold.parent.index(fold), line)
    else:
        [*doctree.findall(nodes.section)][-1].append(line)


def is_references(node):
    """Whether this is the dropdown of references."""
    title = next(node.findall(nodes.rubric), nodes.rubric())
    return (
        node.get("design_component") == "dropdown"
        and title.astext() == "References"
    )


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-read", tell_claims)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

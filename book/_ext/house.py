"""What this book changes in the tools that build it.

Pages ask no other host for anything, kernels know that a book is built,
signatures stay readable.
"""

import importlib.util
from pathlib import Path

from docutils import nodes
from numpy.typing import DTypeLike
from sphinx.util.fileutil import copy_asset
from sphinx.util.typing import stringify_annotation

# The script, its fonts, and the TeX packages that a formula may need.
MATHJAX_PARTS = (
    "tex-chtml.js",
    "output/chtml/fonts/woff-v2",
    "input/tex/extensions",
)


# The extensions for proofs and exercises give these to each box of a page.
DOUBLED_IDS = {"proof", "proof-content", "exercise-content", "solution-content"}


def number_doubled_ids(app, doctree):
    """Number ids that several elements of a page have."""
    boxes = [
        node
        for node in doctree.findall(nodes.Element)
        if DOUBLED_IDS.intersection(node["ids"])
    ]
    for number, node in enumerate(boxes, start=1):
        node["ids"] = [f"{name}-{number}" for name in node["ids"]]


# A column needs its longest cell, but at most so many letters: longer ones
# are words, which wrap. A phone has room for the letters of a line.
COLUMN, LINE = 24, 34
MISSING = "–"  # stands in a cell that has nothing to say


def stack_tables(app, doctree):
    """Mark tables that a phone has no room for, and name what is in a cell.

    There each row is a block: a column's name stands before its cell.
    """
    for table in doctree.findall(nodes.table):
        rows = [
            [entry.astext() for entry in row.findall(nodes.entry)]
            for row in table.findall(nodes.row)
        ]
        columns = zip(*rows, strict=False)
        needs = (min(COLUMN, max(map(len, cells))) for cells in columns)
        if not table.next_node(nodes.thead) or sum(needs) <= LINE:
            continue
        table["classes"].append("ensedu-stacked")
        for row in table.next_node(nodes.tbody).findall(nodes.row):
            named = [*zip(rows[0], row.findall(nodes.entry), strict=False)]
            # Of two, the second needs no name below the first.
            for title, entry in named[1:] if len(named) > 2 else []:
                if entry.astext() == MISSING:
                    entry["classes"].append("ensedu-missing")
                if title and (text := entry.next_node(nodes.paragraph)):
                    label = nodes.inline("", title, classes=["ensedu-title"])
                    text.insert(0, [label, nodes.Text(" ")])


def copy_mathjax(app, exception):
    """Copy what the pages use of MathJax out of the installed package."""
    if exception is None and app.builder.format == "html":
        package = Path(
            importlib.util.find_spec("sphinx-mathjax-offline").origin
        ).parent
        for part in MATHJAX_PARTS:
            source, target = (
                package / "static/mathjax" / part,
                app.outdir / "_static/mathjax" / part,
            )
            copy_asset(source, target if source.is_dir() else target.parent)


def drop_thebe(app, pagename, templatename, context, doctree):
    """Drop Thebe: declared twice, it throws an error and names another host."""
    context["script_files"] = [
        script
        for script in context["script_files"]
        if "thebe"
        not in f"{script.filename} {script.attributes.get('body', '')}".lower()
    ]


def shorten(app, what, name, obj, options, signature, returns):
    """Write `DTypeLike`, which autodoc spells out as a union of eight types.

    And `...` for a default that a function makes: `<factory>` is no Python.
    """
    if signature:
        long = stringify_annotation(DTypeLike, "smart")
        signature = signature.replace(long, "DTypeLike")
        signature = signature.replace("<factory>", "...")
    return signature, returns


def setup(app):
    """Register with Sphinx."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("doctree-read", number_doubled_ids)
    app.connect("doctree-read", stack_tables)
    app.connect("autodoc-process-signature", shorten)
    app.connect("html-page-context", drop_thebe, priority=900)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

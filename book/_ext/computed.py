"""What a page computes: its script and style, and curves that a reader draws.

A page that has such a figure loads both. A curve of
`workshop.figures.guesses` stands in the first box of its chapter.
"""

import shutil
from pathlib import Path

from docutils import nodes
from figures import drawn

from workshop.figures.guesses import GUESSES
from workshop.page.computed import BUNDLE, SCRIPT, STYLE
from workshop.page.computed.guessing import html

BOX = '<div class="ensedu-predict">'
PARTS = '<div class="ensedu-computed"', '<div class="ensedu-guess"'


def ask(app, doctree):
    """Put the curve that a reader draws into the box of its chapter."""
    page = app.env.docname
    if page not in GUESSES:
        return
    box = next(one for one in doctree.findall(nodes.raw) if BOX in one.astext())
    text = html(GUESSES[page], page, drawn(app))
    box.parent.insert(
        box.parent.index(box) + 1, nodes.raw("", text, format="html")
    )


def load(app, pagename, templatename, context, doctree):
    """Load the script and the style on pages that need them."""
    if any(part in context.get("body", "") for part in PARTS):
        app.add_js_file(SCRIPT, loading_method="async")
        app.add_css_file(STYLE.name)


def write(app, exception):
    """Write both beside the pages."""
    if exception is None and app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        (static / SCRIPT).write_text(BUNDLE.classic(), encoding="utf-8")
        shutil.copy(STYLE, static)


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-read", ask)
    app.connect("html-page-context", load)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""What a page computes: its script and style, and what a reader guesses.

A page that has such a figure loads both. A curve to draw, or the answers to
choose from, of `workshop.figures.guesses` stand in the first box of a chapter.
"""

import shutil
from pathlib import Path

from docutils import nodes
from figures import drawn
from opening import is_dropdown

from workshop.figures.guesses import CHOICES, GUESSES
from workshop.page.computed import BUNDLE, SCRIPT, STYLE
from workshop.page.computed.guessing import choices, html

BOX = '<div class="ensedu-predict">'
PARTS = '<div class="ensedu-computed"', '<div class="ensedu-guess"'


def ask(app, doctree):
    """Put what a reader draws, or chooses, into the box of its chapter."""
    page = app.env.docname
    if page not in GUESSES and page not in CHOICES:
        return
    box = next(one for one in doctree.findall(nodes.raw) if BOX in one.astext())
    place = box.parent.index(box) + 1
    if page in GUESSES:
        text = html(GUESSES[page], page, drawn(app))
    else:
        _, options, right = CHOICES[page]
        text = choices(options, right)
        place += next(
            k for k, one in enumerate(box.parent[place:]) if is_dropdown(one)
        )
    box.parent.insert(place, nodes.raw("", text, format="html"))


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

"""A page with a ranking, or a guide, styled as the book's pages are, and read from a folder."""

import contextlib
from importlib.resources import files
from pathlib import Path

from book._ext import palette
from scripts.browsing import DESK
from tests.browser import small

CSS = Path(__file__).parents[2] / "book" / "_css"
ARTICLE = """
  html body { display: block; margin: 0 auto; max-width: 47rem; padding: 0 24px }
  html body .bd-article { padding: 0 }
"""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
SIDEWAYS = """[document.scrollingElement, ...document.querySelectorAll('.text_html')]
  .some((part) => part.scrollWidth > part.clientWidth)"""


def styles():
    """Return what a page of the book is styled with, in its order."""
    theme = (
        files(name) / "theme" / name / "static" / "styles" / f"{name.replace('_', '-')}.css"
        for name in ("pydata_sphinx_theme", "sphinx_book_theme")
    )
    own = (CSS / f"{name}.css" for name in ("house", "figures", "tables", "print", "verdict"))
    sheets = [*(path.read_text() for path in theme), palette.style_sheet()]
    return "\n".join([*sheets, *(path.read_text() for path in own), ARTICLE])


def write(path, part, bundle):
    """Write a page that shows this part, with room above and below."""
    space = '<div style="height: 1000px"></div>'
    body = (
        f'<div class="bd-content"><div class="bd-article"><p><a href="#">before</a></p>'
        '<div class="cell_output"><div class="output text_html">'
        f"<figure>{part.html()}<figcaption><p>{part.caption}</p></figcaption></figure>"
        f'</div></div><p><a href="#">after</a></p></div></div>{space}'
    )
    small.write(path, "A verdict", body, styles(), bundle.classic())


@contextlib.contextmanager
def opening(browser, path):
    """Yield what opens a page in a browser, in a mode, of a size, at a place."""
    with small.watched(browser, path.as_uri()) as open_page:

        def open_one(mode="light", viewport=DESK, at="", **options):
            page = open_page(mode, viewport=viewport, **options)
            page.set_default_timeout(9000)
            page.goto(path.as_uri() + at)
            # Without scripts it stays as it was written, light.
            if options.get("java_script_enabled", True):
                page.evaluate("mode => { document.documentElement.dataset.theme = mode }", mode)
            return page

        yield open_one


def axe(page, root):
    """Return what axe finds in one part of a page."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(Axe().axe_script)
    options = {"runOnly": RULES, "preload": {"assets": ["media"]}}
    found = page.evaluate("([root, options]) => axe.run(root, options)", [root, options])
    return [
        (rule["id"], node["html"][:200], node["failureSummary"])
        for rule in found["violations"]
        for node in rule["nodes"]
    ]

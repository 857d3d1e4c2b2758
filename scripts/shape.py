"""Print the shape of each chapter of the built book: its length, its numbers, its code.

    python scripts/shape.py _build/html

Words are those that are not folded; numbers are words with a digit, in 100 words. Height is
`scrollHeight` of the whole page in Chromium, 1280 × 900 pixels, everything folded as a reader finds
it. Lines of code are those of the notebook without its exercises, of its module in
`book/workshop/figures`, of its claims, and of the notebook's longest cell.
"""

import sys
from urllib.parse import urlsplit

from bs4 import BeautifulSoup

from book._ext.reading import read
from scripts.browsing import (
    DESK,
    chromium,
    open_context,
    pages,
    serve,
    site_of,
    visit,
)
from scripts.source_lines import count

CHAPTERS = ("book/counting/", "book/learning/", "book/theory/", "book/cost/")
SCREEN = {"width": 1280, "height": 900}
MAX_TOP = 700  # of the first figure, so that the first screen shows most of it
BOXES = """() => {
  const seen = { opacityProperty: true, visibilityProperty: true };
  const kinds = ["explorer", "trainer", "digit", "xray"];
  const shown = kinds.map((kind) => `figure:has(.ensedu-${kind}), .ensedu-report`).join(", ");
  const boxes = [...document.querySelectorAll(`article :is(${shown}, .ensedu-table-box)`)]
    .filter((figure) => figure.checkVisibility(seen))
    .map((figure) => figure.getBoundingClientRect());
  return {
    height: document.documentElement.scrollHeight,
    top: boxes.length ? boxes[0].top + scrollY : null,
  };
}"""
TITLES = (
    "words", "numbers", "minutes", "height px", "first figure px",
    "notebook", "figures", "claims", "longest cell",
)  # fmt: skip


def measure(page):
    """Return the height of an open page, and the top of its first figure or table."""
    page.set_viewport_size(SCREEN)
    boxes = page.evaluate(BOXES)
    page.set_viewport_size(DESK)
    return boxes


def shapely(page):
    """A chapter shows a figure, or a table, on its first screen."""
    if not urlsplit(page.url).path.lstrip("/").startswith(CHAPTERS):
        return
    boxes = measure(page)
    if boxes["top"] is None:
        yield "chapter without a figure", ""
        return
    if boxes["top"] > MAX_TOP:
        yield f"first figure below {MAX_TOP} px", f"{boxes['top']:.0f}"


def row(page, site, name):
    """Return a chapter's line of the table."""
    boxes, reading = measure(page), read(article(site / name))
    return (
        f"{reading.words:,}",
        f"{100 * reading.numbers / reading.words:.1f}",
        reading.minutes,
        f"{boxes['height']:,}",
        "–" if boxes["top"] is None else f"{boxes['top']:.0f}",
        *count(name.removesuffix(".html")),
    )


def article(file):
    """Return the article of a page, as HTML."""
    return str(BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser").article)


def main(arguments=None):
    """Print the table."""
    parser, site = site_of(__doc__, arguments)
    names = [name for name in pages(site) if name.startswith(CHAPTERS)]
    if not names:
        parser.error(f"{site} holds no chapter: run `make book`")
    width = max(map(len, names))
    print(f"{'chapter':{width}}", *TITLES, sep="  ")
    with serve(site) as home, chromium() as browser:
        page = open_context(browser).new_page()
        for name in names:
            visit(page, home + name)
            cells = zip(row(page, site, name), TITLES, strict=True)
            print(
                f"{name:{width}}", *(f"{cell!s:>{len(title)}}" for cell, title in cells), sep="  "
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

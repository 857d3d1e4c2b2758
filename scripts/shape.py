"""Print the shape of each chapter of the built book: its length, and what takes the room.

    python scripts/shape.py _build/html

Height is `scrollHeight` of the whole page in Chromium, 1280 × 900 pixels, everything folded as a
reader finds it; figures are taken with their sliders and captions. Words and lines are those that
are not folded.
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

CHAPTERS = ("book/counting/", "book/learning/", "book/theory/", "book/cost/")
SCREEN = {"width": 1280, "height": 900}
MAX_TOP = 700  # of the first figure, so that the first screen shows most of it
BOXES = """() => {
  const seen = { opacityProperty: true, visibilityProperty: true };
  const kinds = ["explorer", "trainer", "digit", "ranking", "guide"];
  const shown = `:is(${kinds.map((kind) => `.ensedu-${kind}`).join(", ")})`;
  const boxes = [...document.querySelectorAll(`article figure:has(${shown})`)]
    .filter((figure) => figure.checkVisibility(seen))
    .map((figure) => figure.getBoundingClientRect());
  return {
    height: document.documentElement.scrollHeight,
    top: boxes.length ? boxes[0].top + scrollY : null,
    figures: boxes.reduce((sum, box) => sum + box.height, 0),
  };
}"""
TITLES = ("height px", "words", "minutes", "code", "printed", "figures", "first figure px")


def measure(page):
    """Return height, top of the first figure, and height of all figures of an open page."""
    page.set_viewport_size(SCREEN)
    boxes = page.evaluate(BOXES)
    page.set_viewport_size(DESK)
    return boxes


def shapely(page):
    """A chapter shows a figure on its first screen; heights are told, and fail nothing."""
    if not urlsplit(page.url).path.lstrip("/").startswith(CHAPTERS):
        return
    boxes = measure(page)
    if boxes["top"] is None:
        yield "chapter without a figure", ""
        return
    if boxes["top"] > MAX_TOP:
        yield f"first figure below {MAX_TOP} px", f"{boxes['top']:.0f}"


def row(page, file):
    """Return a chapter's line of the table."""
    boxes, reading = measure(page), read(article(file))
    return (
        f"{boxes['height']:,}",
        f"{reading.words:,}",
        reading.minutes,
        reading.code,
        reading.printed,
        f"{boxes['figures'] / boxes['height']:.0%}",
        "–" if boxes["top"] is None else f"{boxes['top']:.0f}",
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
            cells = zip(row(page, site / name), TITLES, strict=True)
            print(
                f"{name:{width}}", *(f"{cell!s:>{len(title)}}" for cell, title in cells), sep="  "
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

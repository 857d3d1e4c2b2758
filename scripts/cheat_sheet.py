"""Print the book's cheat sheet to one page of A4.

    python scripts/cheat_sheet.py _build/html _build/html/_static/cheat-sheet.pdf

Fails where it is more than one page, or where the built book has no such page.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.browsing import NO_BROWSER, chromium, find_browser, open_context, visit  # noqa: E402

PAGE = "book/cheat-sheet.html"


def printed(browser, address):
    """Return the bytes of a PDF: a page as a reader prints it, who leaves backgrounds away."""
    with open_context(browser) as context:
        page = context.new_page()
        visit(page, address)
        return page.pdf(prefer_css_page_size=True)


def pages(pdf):
    """Count the pages of a PDF, each of which is an object of its own."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def main(arguments=None):
    """Write the file; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="the folder of the built book")
    parser.add_argument("target", type=Path, help="the PDF to write")
    options = parser.parse_args(arguments)
    file = options.site.resolve() / PAGE
    if not file.is_file():
        parser.error(f"{options.site} holds no {PAGE}: run `make book`")
    if not find_browser():
        parser.error(NO_BROWSER)
    with chromium() as browser:
        pdf = printed(browser, file.as_uri())
    if (count := pages(pdf)) != 1:
        print(f"{PAGE} takes {count} pages, accepted is 1", file=sys.stderr)
        return 1
    options.target.parent.mkdir(parents=True, exist_ok=True)
    options.target.write_bytes(pdf)
    return 0


if __name__ == "__main__":
    sys.exit(main())

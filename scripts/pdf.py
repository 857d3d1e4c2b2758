"""Print the built book to PDF: its chapters as one file, and the cheat sheet on one page of A4.

    python scripts/pdf.py _build/html

Writes beside that folder book.pdf, with an outline, and links from one page to another, and
cheat-sheet.pdf. Fails where the sheet takes more than one page.
"""

import sys
from io import BytesIO
from pathlib import Path
from urllib.parse import urldefrag

import yaml
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NullObject

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.browsing import chromium, open_context, site_of, visit  # noqa: E402

SHEET = "book/cheat-sheet.html"
# Reference of the package, which one reads beside a program.
LEFT_OUT = "book/api/"
# Chromium keeps the place of an element only if a link of its own page leads there.
ANCHORED = """() => {
  const links = document.createElement("p");
  links.style = "font-size: 1px; line-height: 1px; opacity: 0";
  for (const { id } of document.querySelectorAll("article [id]")) {
    const link = document.createElement("a");
    link.href = `#${id}`;
    link.textContent = ".";
    links.append(link);
  }
  document.querySelector("article").append(links);
}"""
# Pages are counted through the book.
COUNTED = """@page {{ @bottom-center {{ content: counter(page) }} }}
html {{ counter-reset: page {before} }}"""


def contents():
    """Return the book's parts in order: the heading of each, and the addresses of its pages."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [(part["caption"], [one["file"] for one in part["chapters"]]) for part in toc["parts"]]
    return {
        heading: [f"{file}.html" for file in files if not file.startswith(LEFT_OUT)]
        for heading, files in [(None, [toc["root"]]), *parts]
    }


def printed(browser, address, before=None):
    """Return the title of a page, and its PDF, as a reader prints it who leaves backgrounds away.

    `before` is how many pages of the book come before it, whose number its own then continue.
    """
    with open_context(browser) as context:
        page = context.new_page()
        visit(page, address)
        if before is not None:
            page.add_style_tag(content=COUNTED.format(before=before))
            page.evaluate(ANCHORED)
        pdf = page.pdf(prefer_css_page_size=True)
        return page.title().partition(" — ")[0], PdfReader(BytesIO(pdf))


def bound(browser, site, parts):
    """Return pages of a site, part by part, as one PDF."""
    book, places = PdfWriter(), {}
    for heading, names in parts.items():
        part = None
        for name in names:
            address, before = (site / name).as_uri(), len(book.pages)
            title, pdf = printed(browser, address, before)
            book.append(pdf, import_outline=False)
            if heading and not part:
                part = book.add_outline_item(title=heading, page_number=before)
            book.add_outline_item(title=title, page_number=before, parent=part)
            places[address] = before, None
            for key, place in pdf.named_destinations.items():
                number = before + pdf.get_destination_page_number(place)
                places[f"{address}#{key[1:]}"] = number, place.top
    for page in book.pages:
        for link in page.annotations or ():
            if "/A" in link.get_object():  # else it stays on its page
                lead(link.get_object(), book, places)
    return book


def lead(link, book, places):
    """Let a link to a page of the book's folder lead there in the book, or nowhere."""
    address = link["/A"]["/URI"]
    number, top = places.get(address) or places.get(urldefrag(address).url) or (None, None)
    if number is not None:
        page, none = book.pages[number].indirect_reference, NullObject()
        place = ArrayObject([page, NameObject("/XYZ"), none, top or none, none])
        link[NameObject("/A")] = DictionaryObject(
            {NameObject("/S"): NameObject("/GoTo"), NameObject("/D"): place}
        )
    elif address.startswith("file:"):
        del link["/A"]


def main(arguments=None):
    """Write the files; returns the exit status."""
    parser, site = site_of(__doc__, arguments)
    if not (site / SHEET).is_file():
        parser.error(f"{site} holds no {SHEET}: run `make book`")
    with chromium() as browser:
        _, sheet = printed(browser, (site / SHEET).as_uri())
        bound(browser, site, contents()).write(site.parent / "book.pdf")
    PdfWriter(sheet).write(site.parent / "cheat-sheet.pdf")
    if (count := len(sheet.pages)) != 1:
        print(f"{SHEET} takes {count} pages, accepted is 1", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

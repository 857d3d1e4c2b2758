"""The built pages: links that resolve, pictures with words, heads."""

import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from book._ext.access import tie

TITLE = "The Weights of Uncertainty"


@cache
def anchors(file):
    """Return what links can name in a file, found without its tree."""
    return {*re.findall(r'\bid="([^"]*)"', file.read_text(encoding="utf-8"))}


def test_internal_links_resolve(built):
    file, soup = built
    broken = []
    for link in soup.find_all("a", href=True):
        address = urlsplit(link["href"])
        if address.scheme or address.netloc:
            continue
        target = (file.parent / unquote(address.path)).resolve() if address.path else file
        if not target.exists():
            broken.append(link["href"])
        elif address.fragment and target.suffix == ".html":
            # A link that sets a slider names the figure, and after a colon the setting.
            if unquote(address.fragment).partition(":")[0] not in anchors(target):
                broken.append(link["href"])
    assert not broken


def told(element):
    """The pictures that are told to a reader who hears the page: not a cut-out that repeats one.

    Nor axes in a template, which a script takes out to draw on, and tells by its own words.
    """
    images = [image for image in element.find_all("img") if not image.find_parent("template")]
    return [image for image in images if not image.find_parent(attrs={"aria-hidden": "true"})]


def test_figures_have_a_number_a_caption_and_words(built):
    article = built[1].find("article")
    living = ", ".join(f".ensedu-{kind}" for kind in ("explorer", "trainer", "digit"))
    for figure in article.select(f"figure:has({living})"):
        caption = figure.find("figcaption")
        assert re.match(r"Fig\. \d+(\.\d+)? ", caption.get_text(" ", strip=True)), figure["id"]
        assert len(caption.get_text().split()) >= 7, f"a caption says what it means: {figure['id']}"
        for image in told(figure):
            assert len(image["alt"].split()) >= 8, f"alt text says what is seen: {figure['id']}"
    assert all(image.get("alt", "").strip() for image in told(article))
    assert not article.select(".cell_output img:not(figure img):not(.ensedu-still img)")


def content(head, name):
    found = head.find_all("meta", attrs={"property" if ":" in name else "name": name})
    assert len(found) == 1, name
    return found[0]["content"]


def test_each_page_says_what_it_is(built):
    file, page = built
    soup = page.head
    assert content(soup, "og:title") in soup.title.get_text()
    assert content(soup, "og:description") == content(soup, "description")
    assert not re.search(r"[<\\]", content(soup, "description"))
    icons = soup.find_all("link", rel="icon")
    assert len(icons) == 1
    assert (file.parent / icons[0]["href"]).exists()
    card = soup.find("meta", property="og:image")
    assert card is None or card["content"].startswith("https://")


def test_the_front_page_says_it_too(html):
    file = html / "index.html"
    soup = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
    assert content(soup, "og:title") == soup.title.get_text() == TITLE
    assert (file.parent / soup.find("a")["href"]).exists()
    assert (file.parent / soup.find("link", rel="icon")["href"]).exists()


@pytest.mark.parametrize("marks", [",", ").", "?!", ")", ";"])
def test_all_marks_after_a_formula_stay_with_it(marks):
    m, n = (f'<span class="math">{letter}</span>' for letter in "mn")
    page = BeautifulSoup(f"({m}{marks} or {n} so", "html.parser")
    tie(page)
    assert str(page) == f'(<span class="ensedu-tied">{m}{marks}</span> or {n} so'

"""The built pages: links that resolve, nothing asked of another host, a picture with words."""

import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from book._ext.access import tie


@pytest.fixture(scope="module")
def html(root):
    folder = root / "_build" / "html"
    if not (folder / "index.html").exists():
        pytest.skip("the book is not built: run `make book`")
    return folder


@cache
def parse(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def page_file(html, page):
    file = html / f"{page}.html"
    assert file.exists(), f"{page} is in the table of contents, not in the build"
    return file


def test_internal_links_resolve(html, page):
    file = page_file(html, page)
    broken = []
    for link in parse(file).find_all("a", href=True):
        address = urlsplit(link["href"])
        if address.scheme or address.netloc:
            continue
        target = (file.parent / unquote(address.path)).resolve() if address.path else file
        if not target.exists():
            broken.append(link["href"])
        elif address.fragment and target.suffix == ".html":
            # A link that sets a slider names the figure, and after a colon the setting.
            anchor = unquote(address.fragment).partition(":")[0]
            if not parse(target).find(attrs={"id": anchor}):
                broken.append(link["href"])
    assert not broken


def test_nothing_comes_from_another_host(html, page):
    soup = parse(page_file(html, page))
    addresses = [
        tag[attribute]
        for tag in soup.find_all(["script", "link", "img", "iframe", "source", "video", "audio"])
        for attribute in ("src", "href", "srcset")
        if tag.get(attribute) and tag.get("rel") != ["canonical"]
    ]
    assert not [address for address in addresses if urlsplit(address).netloc]
    inline = " ".join(script.get_text() for script in soup.find_all("script", src=False))
    assert "http://" not in inline
    assert "https://" not in inline


def test_every_picture_has_words(html, page):
    article = parse(page_file(html, page)).find("article")
    assert not [image for image in article.find_all("img") if not image.get("alt", "").strip()]


def test_figures_have_a_number_a_caption_and_words(html, page):
    article = parse(page_file(html, page)).find("article")
    living = ", ".join(
        f".ensedu-{kind}" for kind in ("explorer", "trainer", "digit", "ranking", "guide")
    )
    for figure in article.select(f"figure:has({living})"):
        caption = figure.find("figcaption")
        assert re.match(r"Fig\. \d+(\.\d+)? ", caption.get_text(" ", strip=True)), figure["id"]
        assert len(caption.get_text().split()) >= 7, f"a caption says what it means: {figure['id']}"
        for image in figure.find_all("img"):
            assert len(image["alt"].split()) >= 8, f"alt text says what is seen: {figure['id']}"
    assert not article.select(".cell_output img:not(figure img):not(.ensedu-still img)")


def test_one_title_and_no_doubled_ids(html, page):
    soup = parse(page_file(html, page))
    assert len(soup.find("article").find_all("h1")) == 1
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(ids) == len(set(ids))


def test_a_formula_keeps_its_mark():
    page = BeautifulSoup(
        'If <span class="math">m</span>, or <span class="math">n</span> and more', "html.parser"
    )
    tie(page)
    assert str(page) == (
        'If <span class="ensedu-tied"><span class="math">m</span>,</span> or '
        '<span class="math">n</span> and more'
    )


@pytest.mark.parametrize("marks", [").", "?!", ")", ";"])
def test_all_marks_after_a_formula_stay_with_it(marks):
    page = BeautifulSoup(f'(<span class="math">m</span>{marks} so', "html.parser")
    tie(page)
    assert page.select_one(".ensedu-tied").get_text() == f"m{marks}"

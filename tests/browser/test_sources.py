"""Below figures: one fold, with numbers that can be read, and code and tables that are there."""

import csv
import io
import json
import re

import pytest

from ensedu import counting
from ensedu.book import measured
from ensedu.methods import METHODS, size_option
from scripts.browsing import PHONE, visit
from scripts.check_site import accessible

CONTEST = "book/learning/shootout.html"
COUNTS = "book/counting/comparison.html"
MEASURED = "book/theory/width-and-ensemble-size.html"
SPILLS = "(box) => box.scrollWidth > box.clientWidth"


def fold(page, name):
    """The fold below a figure."""
    return page.locator(f".cell:has([data-name={name}]) details.ensedu-menu")


def test_links_lead_somewhere_and_nothing_is_fetched_before(page, server):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, server + CONTEST)
    assert asked and not [url for url in asked if url.endswith((".csv", ".json"))]
    links = page.locator(".ensedu-sources a")
    addresses = {link.evaluate("(link) => link.href") for link in links.all()}
    kinds = {re.sub(r".*(csv|html#|json).*", r"\1", address) for address in addresses}
    assert kinds == {"csv", "html#", "json"}
    for address in addresses:
        assert page.request.get(address).status == 200, address


def test_numbers_are_those_of_the_figure(page, server):
    visit(page, server + COUNTS)
    found = fold(page, "fig-co-depth")
    found.locator("summary").click()
    link = found.get_by_text("Numbers (CSV)")
    address = link.evaluate("(link) => link.href")
    rows = list(csv.DictReader(io.StringIO(page.request.get(address).text())))
    methods = {METHODS[method].label: method for method in METHODS}
    assert {(row["width"], row["x"]) for row in rows} == {
        (width, depth) for width in ("50", "500", "1000") for depth in "123456789"
    }
    for row in rows:
        method = methods[row["series"]]
        sizes = [1, *[int(row["width"])] * int(row["x"]), 1]
        total = counting.mlp(sizes, method, **size_option(method, 4)).total
        wanted = total / counting.mlp(sizes).total
        assert float(row["y"]) == pytest.approx(wanted, rel=1e-5)
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "fig-co-depth.csv"


def test_code_opens_at_its_function(page, server):
    visit(page, server + COUNTS)
    found = fold(page, "fig-co-depth")
    found.locator("summary").click()
    assert "explore(shown" in found.locator("pre").inner_text()
    found.get_by_text("Drawing code").click()
    page.wait_for_url("**/code/ensedu/book/figures/comparison.html#Depths.draw")
    line = page.locator(":target")
    assert line.text_content().strip().startswith("def draw(")
    assert line.bounding_box()["y"] < page.viewport_size["height"]
    assert not list(accessible(page))


@pytest.mark.parametrize("home", ["server", "folder"], indirect=True)
def test_a_table_names_its_command_and_opens(page, home):
    visit(page, home + MEASURED)
    found = fold(page, "fig-we-gap")
    assert found.inner_text() == "Data and code"
    found.locator("summary").press("Enter")
    assert "make results NAME=width" in found.inner_text()
    page.emulate_media(media="print")
    assert not found.is_visible()
    page.emulate_media(media="null")
    page.goto(found.get_by_text("width", exact=True).evaluate("(link) => link.href"))
    assert json.loads(page.locator("pre").text_content()) == measured.load("width")


@pytest.mark.parametrize("name", [CONTEST, COUNTS])
def test_the_fold_begins_where_the_caption_does_and_fits_a_phone(open_page, server, name):
    page = open_page(viewport=PHONE | {"width": 390})
    visit(page, server + name)
    for cell in page.locator(".cell:has(> details.ensedu-menu):has(figcaption p)").all():
        words, caption = cell.locator("details.ensedu-menu > summary"), cell.locator("figcaption p")
        above, below = caption.bounding_box(), words.bounding_box()
        assert abs(above["x"] - below["x"]) < 1
        assert 0 < below["y"] - above["y"] - above["height"] < 16
        words.click()
        assert words.bounding_box()["y"] - caption.bounding_box()["y"] == pytest.approx(
            below["y"] - above["y"], abs=0.5
        )
    lists = page.locator(".ensedu-sources").all()
    assert lists and not [one for one in lists if one.evaluate(SPILLS)]

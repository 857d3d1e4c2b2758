"""Below figures: numbers that can be read, code and tables that are there; nothing in the way."""

import csv
import io
import json
import re

import pytest

from ensedu.book import measured
from ensedu.book.experiments.contest import reading
from ensedu.book.experiments.contest.tasks import LABELS
from scripts.browsing import PHONE, visit
from scripts.check_site import accessible

CONTEST = "book/learning/shootout.html"
CHOOSING = "book/cost/choosing.html"
BELOW = "figcaption .ensedu-sources"
SPILLS = "(box) => box.scrollWidth > box.clientWidth"


def below(page, name):
    return page.locator(f"figure:has([data-name={name}]) {BELOW}")


def test_links_lead_somewhere(page, server):
    visit(page, server + CONTEST)
    links = page.locator(f"{BELOW} a")
    addresses = {link.evaluate("(link) => link.href") for link in links.all()}
    kinds = {re.sub(r".*(csv|html#|json).*", r"\1", address) for address in addresses}
    assert kinds == {"csv", "html#", "json"}
    for address in addresses:
        assert page.request.get(address).status == 200, address


def test_numbers_are_those_of_the_figure(page, server):
    visit(page, server + CONTEST)
    found = below(page, "fig-contest-dot").get_by_text("Numbers (CSV)")
    address = found.evaluate("(link) => link.href")
    rows = list(csv.DictReader(io.StringIO(page.request.get(address).text())))
    assert {row["data"] for row in rows} == {LABELS[task] for task in reading.tasks()}
    shown = {
        row["data"]: float(row["x"]) for row in rows if row["series"] == "deep ensemble, sources"
    }
    wanted = reading.compared()["deep_ensemble"].tasks
    # The others are arrowheads.
    inside = {LABELS[one.task]: one.scaled for one in wanted if not one.clipped}
    assert shown == pytest.approx(inside, rel=1e-5)
    with page.expect_download() as download:
        found.click()
    assert download.value.suggested_filename == "fig-contest-dot.csv"


def test_code_opens_at_its_function(page, server):
    visit(page, server + CONTEST)
    below(page, "fig-contest-dot").get_by_text("drawing code").click()
    page.wait_for_url("**/code/ensedu/book/figures/best.html#Dots.draw")
    line = page.locator(":target")
    assert line.text_content().strip().startswith("def draw(")
    assert line.bounding_box()["y"] < page.viewport_size["height"]
    assert not list(accessible(page))


@pytest.mark.parametrize("home", ["server", "folder"], indirect=True)
def test_a_table_names_its_command_and_opens(page, home):
    visit(page, home + CONTEST)
    line = below(page, "fig-contest-luck")
    assert "make" not in line.inner_text()
    line.locator("summary").press("Enter")
    assert "make results NAME=contest/concrete" in line.inner_text()
    address = line.get_by_text("its table").evaluate("(link) => link.href")
    page.goto(address)
    assert json.loads(page.locator("pre").text_content()) == measured.load("contest/concrete")


def test_many_tables_fold_and_the_line_does_not_print(page, server):
    visit(page, server + CONTEST)
    line = below(page, "fig-contest")
    items = line.locator("li")
    assert items.count() > 10 and not items.first.is_visible()
    line.locator("summary").press("Enter")
    assert items.first.is_visible()
    page.emulate_media(media="print")
    assert not line.is_visible()


def test_a_page_fetches_no_numbers(page, server):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, server + CONTEST)
    assert asked and not [url for url in asked if url.endswith((".csv", ".json"))]


@pytest.mark.parametrize("name", [CONTEST, CHOOSING])
def test_the_line_fits_a_phone(open_page, server, name):
    page = open_page(viewport=PHONE | {"width": 390})
    visit(page, server + name)
    lines = page.locator(BELOW).all()
    assert lines and not [line for line in lines if line.evaluate(SPILLS)]

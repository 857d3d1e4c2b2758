"""What leads from page to page: the front door, search, the choice of light or dark.

Page by page, `scripts/check_site.py` looks at the book.
"""

from urllib.parse import quote, unquote, urlsplit

import pytest

from scripts.check_site import THEME, open_context, visit

# Names in tables of which a part, up to an underscore, takes more than one line.
BROKEN = """() => [...document.querySelectorAll("table code .pre")].filter((name) =>
  [...name.childNodes].filter((part) => part.nodeType === 3 && part.data.trim()).some((part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
  })).map((name) => name.textContent)"""
SMALL_LETTERS = """() => [...document.querySelectorAll("article :is(sub, sup, p, td, label)")]
  .filter((part) => part.checkVisibility() && part.textContent.trim())
  .map((part) => [parseFloat(getComputedStyle(part).fontSize), part.outerHTML.slice(0, 60)])
  .filter(([size]) => size < 11)"""


def test_the_front_door_leads_to_the_first_page(page, folder):
    page.goto(folder + "index.html")
    page.wait_for_url(folder + "book/intro.html")
    assert page.locator("article h1").inner_text().startswith("The Weights of Uncertainty")


def search(page, home, site):
    """Search for a term, and follow the first link."""
    page.goto(f"{home}search.html?q=fast+weights")
    results = page.locator("#search-results ul.search > li > a")
    results.first.wait_for()
    for link in results.all():
        assert (site / unquote(urlsplit(link.get_attribute("href")).path)).is_file()
    results.first.click()
    page.locator("article h1").wait_for()
    assert "fast weight" in page.locator("article").inner_text().lower()


def test_search_finds_fast_weights(page, server, site):
    search(page, server, site)


def test_search_finds_fast_weights_in_a_folder(browser, folder, site):
    # Not on watch: a folder gives no summaries of what is found, and the browser logs that.
    with open_context(browser) as context:
        search(context.new_page(), folder, site)


FIRST = {
    "KL weight": "book/learning/bayes-by-backprop",
    "fast weights": "book/learning/batch-ensemble",
    "Bayes by Backprop": "book/learning/bayes-by-backprop",
    "MC dropout": "book/learning/mc-dropout",
    "rank-1 perturbations": "book/theory/rank-1-perturbations",
    "gradient flow": "book/theory/gradient-flow",
    "conformal_quantile": "book/api/uncertainty",
}


@pytest.mark.parametrize("query", FIRST)
def test_search_finds_the_chapter_first(page, server, query):
    page.goto(f"{server}search.html?q={quote(query)}")
    results = page.locator("#search-results ul.search > li")
    results.first.wait_for()
    link = results.first.locator("> a").get_attribute("href")
    assert link.partition(".html")[0] == FIRST[query]


def test_no_menu_is_found_nor_shown(page, server):
    page.goto(server + "search.html?q=weight")
    summaries = page.locator("#search-results p.context")
    summaries.first.wait_for()
    page.wait_for_timeout(1000)
    assert summaries.count() > 5
    for words in summaries.all_inner_texts():
        assert "Contents" not in words and "Goals" not in words[:20]
    # Words of buttons are no words of a page.
    term = "Search._index.terms"
    page.wait_for_function(f"Object.keys({term}).length > 1000")
    assert page.evaluate(f"!('erases' in {term})")


@pytest.mark.parametrize("query", ["KL weight"])
def test_the_magnifier_covers_no_letter(page, server, query):
    page.goto(server + "search.html")
    page.keyboard.press("Control+k")
    for field in page.locator(".bd-search").all():
        if not field.is_visible():
            continue
        icon, box = (field.locator(part).bounding_box() for part in ("i, svg", "input"))
        padding = field.locator("input").evaluate(
            "e => parseFloat(getComputedStyle(e).paddingLeft)"
        )
        assert icon["x"] + icon["width"] <= box["x"] + padding


def test_a_first_visit_says_nothing_wrong(browser, server):
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append((message.type, message.text)))
    visit(page, server + "book/intro.html")
    assert page.evaluate(THEME) == "dark"
    assert [text for kind, text in said if kind in ("error", "warning")] == []
    context.close()


def test_names_in_tables_break_behind_underscores_alone(open_page, server):
    page = open_page(viewport={"width": 360, "height": 740})
    visit(page, server + "book/reading-guide.html")
    broken = page.evaluate(BROKEN)
    assert broken == []
    assert page.locator("table code wbr").count() > 5


def test_small_letters_of_a_phone_can_be_read(open_page, server):
    """Indices and exponents, too, on the pages that have them as text."""
    for address in ("book/playground.html", "book/cheat-sheet.html", "book/live.html"):
        page = open_page(viewport={"width": 360, "height": 740})
        visit(page, server + address)
        small = page.evaluate(SMALL_LETTERS)
        assert small == [], address


def test_on_paper_no_table_is_cut(page, server):
    visit(page, server + "book/learning/shootout.html")
    page.emulate_media(media="print")
    whole = "(table) => getComputedStyle(table).breakInside"
    tables = page.locator("table:visible").all()
    assert tables and all(each.evaluate(whole) == "avoid" for each in tables)


def test_the_switch_of_light_and_dark_is_remembered(browser, server):
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    visit(page, server + "book/intro.html")
    assert page.evaluate(THEME) == "dark"  # as the reader's system has it
    while page.evaluate(THEME) == "dark":
        page.locator("button.theme-switch-button:visible").first.click()
    visit(page, server + "book/glossary.html")
    assert page.evaluate(THEME) == "light"
    context.close()


def test_a_phone_shows_what_methods_cost_on_the_first_screen(open_page, server):
    page = open_page(viewport={"width": 390, "height": 844})
    visit(page, server + "book/cost/choosing.html")
    row = page.locator(".ensedu-prices tbody tr").nth(1).bounding_box()
    assert row["y"] + row["height"] < 700

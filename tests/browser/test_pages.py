"""Every page as a reader meets it: wide and narrow, light and dark, on paper, without scripts."""

from urllib.parse import unquote, urlsplit

import pytest

from scripts.check_site import open_context, visit

SEEN = "element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })"
# In an article, what a reader without scripts can see, or unfold by hand.
HIDDEN = f"""() => {{
  const seen = {SEEN};
  const open = (element) => !element.parentElement.closest("details:not([open])");
  return [...document.querySelectorAll("article :is(h1, h2, h3, p, pre, table, figure, img)")]
    .filter((element) => element.tagName === "IMG" || element.textContent.trim())
    .filter((element) => !element.matches(".toggler")) // in an index, it folds by script
    .filter((element) => open(element) && !seen(element))
    .map((element) => element.outerHTML.slice(0, 120));
}}"""
# Of a picture with no pixels, only the words are shown.
EMPTY = """() => [...document.querySelectorAll("article img")]
  .filter((image) => image.complete && !image.naturalWidth)
  .map((image) => image.src.slice(0, 120))"""
SIDEWAYS = """() => {
  const page = document.scrollingElement;
  return page.scrollWidth - page.clientWidth;
}"""
THEME = "document.documentElement.dataset.theme"


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_page_fits_phone_tablet_and_desk(open_page, server, address, mode):
    page = open_page(mode)
    visit(page, server + address)
    assert page.evaluate(THEME) == mode
    for width in (360, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(SIDEWAYS) == 0, f"scrolls sideways at {width} px"
    assert page.locator("h1:visible").count() == 1


def test_a_page_is_whole_in_a_folder(page, folder, address):
    visit(page, folder + address)
    assert page.evaluate(EMPTY) == []
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
    assert page.locator("article .math.notranslate:not(:has(mjx-container))").count() == 0


def test_a_page_needs_no_scripts(open_page, server, address):
    page = open_page(java_script_enabled=False)
    page.goto(server + address)
    assert page.locator("h1:visible").count() == 1
    assert page.evaluate(HIDDEN) == []
    assert page.evaluate(EMPTY) == []


def test_a_page_on_paper_is_its_article(page, server, address):
    visit(page, server + address)
    page.emulate_media(media="print")
    for part in (".bd-sidebar", ".bd-header", ".bd-header-article", ".prev-next-footer"):
        for element in page.locator(part).all():
            assert not element.is_visible(), f"{part} is printed"
    article = page.locator("article, #search-results").first.bounding_box()
    assert article["width"] > 0.85 * page.viewport_size["width"]
    assert page.evaluate(SIDEWAYS) == 0


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
